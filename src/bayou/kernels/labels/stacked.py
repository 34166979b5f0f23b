"""Hierarchical Dirichlet processes over labels by direct assignment: tokens, tables and roots.

Topics over labels are the dishes of documents, with masses b1 g_k; labels are the dishes of topics, with
masses c1 h_y. Given the roots g and h a label token of label y has topic k with probability

    (n_dk + b1 g_k) (n_ky + c1 h_y) / (n_k + c1)

up to a factor, itself taken out of all counts: the token formula of LDA, with a prior for each label.
Tables are sums of Bernoulli draws, and a root is a Dirichlet draw around its tables [Teh06].

[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.draw import draw_dirichlet_into
from bayou.kernels.hdp.tables import draw_tables
from bayou.kernels.rng import GOLDEN, STACK_ROOT, STACK_TABLES, STACK_TOKEN, key, unit
from bayou.kernels.token import count_document, pick, shift, weigh_into


@jit
def stack_sweep(z, tokens, label_topic, topic, alpha, mass, seed, sweep):
    """Draw the topic of every label token given all others; counts are kept up to date.

    ``tokens`` = (indptr, labels), ``label_topic`` is n_yk, ``topic`` n_k; ``alpha`` = b1 g, ``mass`` = c1 h.
    """
    indptr, labels = tokens
    n_topics = alpha.size
    whole = 0.0
    for y in range(mass.size):
        whole += mass[y]
    doc_row = np.zeros(n_topics)
    weight = np.empty(n_topics)
    for d in range(indptr.size - 1):
        count_document(doc_row, z, indptr[d], indptr[d + 1])
        at = key(seed, STACK_TOKEN, sweep, d)
        for i in range(indptr[d], indptr[d + 1]):
            y = labels[i]
            shift(doc_row, label_topic, y, topic, z[i], -1.0)
            total = weigh_into(weight, doc_row, alpha, label_topic, y, mass[y], topic, whole)
            at += GOLDEN
            k = pick(weight, unit(at) * total)
            z[i] = k
            shift(doc_row, label_topic, y, topic, k, 1.0)


@jit
def document_tables(tables, per_doc, z, indptr, mass, seed, sweep):
    """``tables[k]`` = M_k and ``per_doc[d]`` = m_d of documents whose tokens have topics z."""
    stream, row = np.empty(1, np.uint64), np.zeros(mass.size)
    for k in range(mass.size):
        tables[k] = 0
    for d in range(indptr.size - 1):
        count_document(row, z, indptr[d], indptr[d + 1])
        stream[0] = key(seed, STACK_TABLES, sweep, d)
        total = 0
        for k in range(mass.size):
            if row[k] > 0:
                m = draw_tables(stream, np.int64(row[k]), mass[k])
                tables[k] += m
                total += m
        per_doc[d] = total


@jit
def entry_tables(tables, per_doc, counts, indptr, labels, mass, seed, sweep):
    """`document_tables` for sparse counts: ``counts`` holds the tokens of the dishes ``labels``."""
    stream = np.empty(1, np.uint64)
    for y in range(mass.size):
        tables[y] = 0
    for d in range(indptr.size - 1):
        stream[0] = key(seed, STACK_TABLES, sweep, d)
        total = 0
        for i in range(indptr[d], indptr[d + 1]):
            m = draw_tables(stream, counts[i], mass[labels[i]])
            tables[labels[i]] += m
            total += m
        per_doc[d] = total


@jit
def topic_tables(tables, per_topic, label_topic, mass, seed, sweep):
    """``tables[y]`` = M_y and ``per_topic[k]`` = m_k of topics that have label tokens n_yk."""
    stream = np.empty(1, np.uint64)
    n_labels, n_topics = label_topic.shape
    for y in range(n_labels):
        tables[y] = 0
    for k in range(n_topics):
        stream[0] = key(seed, STACK_TABLES, sweep, k)
        total = 0
        for y in range(n_labels):
            if label_topic[y, k] > 0:
                m = draw_tables(stream, np.int64(label_topic[y, k]), mass[y])
                tables[y] += m
                total += m
        per_topic[k] = total


@jit
def draw_root_into(root, tables, concentration, seed, sweep):
    """``root`` ~ Dir(M + b0 / K) over all dishes, those without a table included."""
    stream, mass = np.empty(1, np.uint64), np.empty(tables.size)
    stream[0] = key(seed, STACK_ROOT, sweep, 0)
    for k in range(tables.size):
        mass[k] = tables[k] + concentration / tables.size
    draw_dirichlet_into(root, stream, mass)
