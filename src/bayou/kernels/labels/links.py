"""Topics over labels, the upper level: LDA whose tokens are the labels of documents or of their words.

`bayou.kernels.lda.sweep.gibbs_sweep` sweeps the upper level. The kernels here connect it with the lower one:
labels of words drawn from their probabilities and, to compare with greedy training, both levels together:

    p(z = y, z' = k | rest) = (n_vy + beta) / (n_y + V beta) (n_yk + b) / (n_k + L b) (n_dk + a_k)

or one given the other: the factors of y for z, the factors of k for z'.
"""

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.rng import GOLDEN, LABEL_BLOCKS, LABEL_TOPICS, key, unit
from bayou.kernels.token import pick


@jit
def count_links(label_topic, topic, labels, z):
    """``label_topic`` = n_yk and ``topic`` = n_k of tokens with labels and topics; both are overwritten."""
    for y in range(label_topic.shape[0]):
        for k in range(label_topic.shape[1]):
            label_topic[y, k] = 0
    for k in range(topic.size):
        topic[k] = 0
    for i in range(labels.size):
        label_topic[labels[i], z[i]] += 1
        topic[z[i]] += 1


@jit
def start_links(z, indptr, n_topics, seed):
    """Topics at random for the tokens of all documents."""
    for d in range(indptr.size - 1):
        at = key(seed, LABEL_TOPICS, 0, d)
        for i in range(indptr[d], indptr[d + 1]):
            at += GOLDEN
            z[i] = np.int64(unit(at) * n_topics)


@jit
def draw_shares(labels, docs, share, seed, sweep):
    """The label of every token drawn from the probabilities of CVB0; ``docs`` as in `gibbs_labels`."""
    pair_ptr, times, token_ptr, label_ptr, label_ids, first, _ = docs
    for d in range(token_ptr.size - 1):
        begin = label_ptr[d]
        m = label_ptr[d + 1] - begin
        at = key(seed, LABEL_TOPICS, sweep + 1, d)
        i = token_ptr[d]
        for p in range(pair_ptr[d], pair_ptr[d + 1]):
            cell = first[d] + (p - pair_ptr[d]) * m
            for _ in range(times[p]):
                at += GOLDEN
                labels[i] = label_ids[begin + pick(share[cell : cell + m], unit(at))]
                i += 1


@jit
def labels_of(labels, z, token_ptr, label_ptr, label_ids):
    """The label of every token from its place among the labels of the document."""
    for d in range(token_ptr.size - 1):
        for i in range(token_ptr[d], token_ptr[d + 1]):
            labels[i] = label_ids[label_ptr[d] + z[i]]


@jit
def _weigh_blocks(weight, cells, slots, cell, labels, totals, prior, links, doc_row):
    """Weights of all (label, topic) pairs of a token; returns their sum. ``labels`` = (ids, begin, m)."""
    label_ids, begin, m = labels
    beta, vbeta = prior
    label_topic, topic, alpha, beta_y = links
    n_topics = alpha.size
    mass = beta_y * label_topic.shape[0]
    total = 0.0
    for n in range(m):
        y = label_ids[begin + n]
        word = (cells[slots[cell + n]] + beta[y]) / (totals[y] + vbeta[y])
        for k in range(n_topics):
            w = word * (label_topic[y, k] + beta_y) / (topic[k] + mass) * (doc_row[k] + alpha[k])
            weight[n * n_topics + k] = w
            total += w
    return total


@jit
def _weigh_labels(weight, cells, slots, cell, labels, totals, prior, links, k):
    """Weights of the labels of a token that has topic k; returns their sum."""
    label_ids, begin, m = labels
    beta, vbeta = prior
    label_topic, _, _, beta_y = links
    total = 0.0
    for n in range(m):
        y = label_ids[begin + n]
        word = (cells[slots[cell + n]] + beta[y]) / (totals[y] + vbeta[y])
        weight[n] = word * (label_topic[y, k] + beta_y)
        total += weight[n]
    return total


@jit
def _weigh_topics(weight, links, doc_row, y):
    """Weights of the topics of a token that has label y; returns their sum."""
    label_topic, topic, alpha, beta_y = links
    mass = beta_y * label_topic.shape[0]
    total = 0.0
    for k in range(alpha.size):
        weight[k] = (label_topic[y, k] + beta_y) / (topic[k] + mass) * (doc_row[k] + alpha[k])
        total += weight[k]
    return total


@jit
def block_sweep(z, links_z, docs, cells, totals, prior, links, kept, blocked, seed, sweep):
    """Draw label and topic of every token, given all others; all counts are kept up to date.

    ``blocked``: both together. Otherwise the label given the topic, then the topic given the label, which
    costs labels + topics per token instead of labels x topics. ``docs`` as in `gibbs_labels`, ``prior`` =
    (beta, vbeta), ``links`` = (n_yk, n_k, alpha, b); ``kept`` gains the probabilities of labels.
    """
    pair_ptr, times, token_ptr, label_ptr, label_ids, first, slots = docs
    label_topic, topic, alpha, _ = links
    n_topics = alpha.size
    most = 1
    for d in range(token_ptr.size - 1):
        most = max(most, label_ptr[d + 1] - label_ptr[d])
    weight = np.zeros(most * n_topics if blocked else max(most, n_topics))
    doc_row = np.zeros(n_topics)
    width = n_topics if blocked else 1  # topics per label among the weights of labels
    for d in range(token_ptr.size - 1):
        begin = label_ptr[d]
        m = label_ptr[d + 1] - begin
        for k in range(n_topics):
            doc_row[k] = 0.0
        for i in range(token_ptr[d], token_ptr[d + 1]):
            doc_row[links_z[i]] += 1.0
        at = key(seed, LABEL_BLOCKS, sweep, d)
        i = token_ptr[d]
        for p in range(pair_ptr[d], pair_ptr[d + 1]):
            cell = first[d] + (p - pair_ptr[d]) * m
            for _ in range(times[p]):
                y = label_ids[begin + z[i]]
                cells[slots[cell + z[i]]] -= 1
                totals[y] -= 1
                label_topic[y, links_z[i]] -= 1
                topic[links_z[i]] -= 1
                doc_row[links_z[i]] -= 1
                own = (label_ids, begin, m)
                if blocked:
                    total = _weigh_blocks(
                        weight, cells, slots, cell, own, totals, prior, links, doc_row
                    )
                else:
                    total = _weigh_labels(
                        weight, cells, slots, cell, own, totals, prior, links, links_z[i]
                    )
                at += GOLDEN
                found = pick(weight[: m * width], unit(at) * total)
                if kept.size:
                    for n in range(m * width):
                        kept[slots[cell + n // width]] += weight[n] / total
                z[i] = found // width
                if blocked:
                    links_z[i] = found % width
                else:
                    total = _weigh_topics(weight, links, doc_row, label_ids[begin + z[i]])
                    at += GOLDEN
                    links_z[i] = pick(weight[:n_topics], unit(at) * total)
                y = label_ids[begin + z[i]]
                cells[slots[cell + z[i]]] += 1
                totals[y] += 1
                label_topic[y, links_z[i]] += 1
                topic[links_z[i]] += 1
                doc_row[links_z[i]] += 1
                i += 1
