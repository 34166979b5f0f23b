"""Scores of all labels for documents, while labels' terms stand still.

phi_vy = rate_vy + base_y: a sparse part for the terms that a label has met, and what smoothing gives to all.
With a prior p_y over the labels of a document, a token of term v belongs to label y with probability
phi_vy p_y / sum phi_vj p_j; sums over labels run over the sparse part and one number for the rest.
"""

import numpy as np

from bayou.kernels.compile import fast_jit, jit


@jit
def _step(out, weight, pairs, d, words, base):
    """Expected tokens of each label when ``weight`` is the prior; the sum of base_y p_y is taken once.

    n_y = p_y (base_y sum_v c_v / t_v + sum_v c_v rate_vy / t_v), t_v = sum_y phi_vy p_y.
    """
    indptr, terms, counts = pairs
    cell_ptr, cell_labels, rate = words
    rest = 0.0
    for y in range(weight.size):
        rest += base[y] * weight[y]
        out[y] = 0.0
    common = 0.0
    for j in range(indptr[d], indptr[d + 1]):
        v = terms[j]
        total = rest
        for c in range(cell_ptr[v], cell_ptr[v + 1]):
            total += rate[c] * weight[cell_labels[c]]
        if total <= 0.0:
            continue
        r = counts[j] / total
        common += r
        for c in range(cell_ptr[v], cell_ptr[v + 1]):
            out[cell_labels[c]] += r * rate[c]
    for y in range(weight.size):
        out[y] = weight[y] * (out[y] + common * base[y])


@jit
def score_docs(out, pairs, lo, hi, words, base, prior, strength, n_steps):
    """``out[d]`` = share of the document's tokens that each label is expected to have; rows sum to one.

    Parameters
    ----------
    words : (cell_ptr, cell_labels, rate) by term
    prior : float64 array (documents, labels), or one row for all documents
        Sums to one.
    strength : float
        Tokens that the prior is worth; a negative number for as many as the document has.
    n_steps : int
        One asks the prior alone what each token says. Further ones let the document's own labels count:
        a_y = strength p_y + n_y, the expectation-maximisation of labelled LDA.
    """
    indptr, _, counts = pairs
    n_labels = base.size
    weight = np.empty(n_labels)
    found = np.empty(n_labels)
    for d in range(lo, hi):
        row = prior[d if prior.shape[0] > 1 else 0]
        length = 0.0
        for j in range(indptr[d], indptr[d + 1]):
            length += counts[j]
        for y in range(n_labels):
            weight[y] = row[y]
            out[d, y] = row[y]
        mass = strength if strength >= 0.0 else length
        for _ in range(n_steps if length > 0.0 else 0):
            _step(found, weight, pairs, d, words, base)
            for y in range(n_labels):
                weight[y] = mass * row[y] + found[y]
        if n_steps > 0 and length > 0.0:
            _share_into(out[d], found)


@jit
def _share_into(row, found):
    """Found tokens as shares; what was there stays where nothing was found."""
    total = 0.0
    for y in range(found.size):
        total += found[y]
    if total > 0.0:
        for y in range(found.size):
            row[y] = found[y] / total


@fast_jit
def label_priors(out, doc_topic, lo, hi, alpha, rows):
    """``out[d] += sum_k theta_dk phi'_ky``: what the topics of a document say about its labels.

    theta = (n_dk + alpha_k) / (N_d + sum alpha). ``rows`` is topics x labels.
    """
    for d in range(lo, hi):
        mass = 0.0
        for k in range(alpha.size):
            mass += doc_topic[d, k] + alpha[k]
        for k in range(alpha.size):
            theta = (doc_topic[d, k] + alpha[k]) / mass
            for y in range(rows.shape[1]):
                out[d, y] += theta * rows[k, y]
