"""Scores of all labels for documents, with the terms of labels fixed.

phi_vy = rate_vy + base_y: a sparse part for terms with counts in a label, and the smoothing of all terms.
With a prior p_y over the labels of a document, a token of term v belongs to label y with probability
phi_vy p_y / sum phi_vj p_j. Sums over labels run over the sparse part, plus one number for the rest.
"""

import numpy as np

from bayou.kernels.compile import fast_jit, jit

DENSE = 1 << 23  # most numbers in the dense form of a document: 32 MB
BLOCK = 256  # labels whose topics are read together


@jit
def _step(out, weight, pairs, d, words, base):
    """Expected tokens of each label under the prior ``weight``; the sum of base_y p_y is computed once.

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
def _is_dense_faster(pairs, d, words, n_labels):
    """Whether the dense form of a document is faster than its cells.

    Eight contiguous labels cost about as much as one lookup.
    """
    indptr, terms, _ = pairs
    cell_ptr = words[0]
    n_met = 0
    for j in range(indptr[d], indptr[d + 1]):
        n_met += cell_ptr[terms[j] + 1] - cell_ptr[terms[j]]
    n_all = (indptr[d + 1] - indptr[d]) * n_labels
    return n_all <= DENSE and 8 * n_met > n_all


@jit
def _spread_into(rows, pairs, d, words, base):
    """``rows`` = phi_vy of a document's terms, one row of all labels per term."""
    indptr, terms, _ = pairs
    cell_ptr, cell_labels, rate = words
    for j in range(indptr[d], indptr[d + 1]):
        row, v = rows[j - indptr[d]], terms[j]
        for y in range(base.size):
            row[y] = base[y]
        for c in range(cell_ptr[v], cell_ptr[v + 1]):
            row[cell_labels[c]] += rate[c]


@fast_jit
def _dense_step(found, weight, pairs, d, rows):
    """`_step` with dense phi, so that sums over labels are contiguous."""
    indptr, _, counts = pairs
    n_labels = weight.size
    for y in range(n_labels):
        found[y] = np.float32(0.0)
    for j in range(indptr[d], indptr[d + 1]):
        row, total = rows[j - indptr[d]], np.float32(0.0)
        for y in range(n_labels):
            total += row[y] * weight[y]
        if total <= 0.0:
            continue
        r = np.float32(counts[j] / total)
        for y in range(n_labels):
            found[y] += r * row[y]
    for y in range(n_labels):
        found[y] *= weight[y]


@jit
def _most_dense_terms(pairs, lo, hi, words, n_labels, n_steps):
    """Terms of the largest document that uses the dense form."""
    most = 0
    for d in range(lo, hi if n_steps > 1 else lo):
        if _is_dense_faster(pairs, d, words, n_labels):
            most = max(most, pairs[0][d + 1] - pairs[0][d])
    return most


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
        The first step uses the prior only. Further steps add the document's own labels,
        a_y = strength p_y + n_y: expectation-maximisation of labelled LDA.
    """
    indptr, _, counts = pairs
    n_labels = base.size
    weight, found = np.empty(n_labels), np.empty(n_labels)
    weight32, found32 = np.empty(n_labels, np.float32), np.empty(n_labels, np.float32)
    rows = np.empty(
        (_most_dense_terms(pairs, lo, hi, words, n_labels, n_steps), n_labels), np.float32
    )
    for d in range(lo, hi):
        row = prior[d if prior.shape[0] > 1 else 0]
        length = 0.0
        for j in range(indptr[d], indptr[d + 1]):
            length += counts[j]
        for y in range(n_labels):
            out[d, y] = row[y]
        if n_steps == 0 or length <= 0.0:
            continue
        mass = strength if strength >= 0.0 else length
        if n_steps > 1 and _is_dense_faster(pairs, d, words, n_labels):
            _spread_into(rows, pairs, d, words, base)
            _dense_steps(found32, weight32, pairs, d, rows, row, mass, n_steps)
            _share_into(out[d], found32)
        else:
            _steps(found, weight, pairs, d, words, base, row, mass, n_steps)
            _share_into(out[d], found)


@jit
def _steps(found, weight, pairs, d, words, base, row, mass, n_steps):
    """Expectation-maximisation with sparse phi."""
    for y in range(row.size):
        weight[y] = row[y]
    for _ in range(n_steps):
        _step(found, weight, pairs, d, words, base)
        for y in range(row.size):
            weight[y] = mass * row[y] + found[y]


@jit
def _dense_steps(found, weight, pairs, d, rows, row, mass, n_steps):
    """Expectation-maximisation with dense phi."""
    for y in range(row.size):
        weight[y] = row[y]
    for _ in range(n_steps):
        _dense_step(found, weight, pairs, d, rows)
        for y in range(row.size):
            weight[y] = mass * row[y] + found[y]


@jit
def _share_into(row, found):
    """``row`` = tokens as shares; unchanged if there are no tokens."""
    total = 0.0
    for y in range(found.size):
        total += found[y]
    if total > 0.0:
        for y in range(found.size):
            row[y] = found[y] / total


@fast_jit
def label_priors(out, doc_topic, lo, hi, alpha, rows):
    """``out[d] += sum_k theta_dk phi'_ky``: the topics' prior of a document's labels.

    theta = (n_dk + alpha_k) / (N_d + sum alpha). ``rows`` is topics x labels; labels are processed in blocks
    that fit in the cache.
    """
    n_labels = rows.shape[1]
    mass = np.zeros(hi - lo)
    for d in range(lo, hi):
        for k in range(alpha.size):
            mass[d - lo] += doc_topic[d, k] + alpha[k]
    for first in range(0, n_labels, BLOCK):
        last = min(first + BLOCK, n_labels)
        part = np.ascontiguousarray(rows[:, first:last])
        sums = np.empty(last - first)
        for d in range(lo, hi):
            for y in range(sums.size):
                sums[y] = 0.0
            for k in range(alpha.size):
                theta = (doc_topic[d, k] + alpha[k]) / mass[d - lo]
                for y in range(sums.size):
                    sums[y] += theta * part[k, y]
            for y in range(sums.size):
                out[d, first + y] += sums[y]


@fast_jit
def term_topics(out, words, links, rest):
    """psi_vk = sum_y rate_vy phi'_yk + rest_k: a term in a topic over labels, with its label summed out.

    ``links`` is labels x topics; ``rest`` is sum_y base_y phi'_yk.
    """
    cell_ptr, cell_labels, rate = words
    for v in range(out.shape[0]):
        for k in range(rest.size):
            out[v, k] = rest[k]
        for c in range(cell_ptr[v], cell_ptr[v + 1]):
            y, r = cell_labels[c], rate[c]
            for k in range(rest.size):
                out[v, k] += r * links[y, k]
        for k in range(rest.size):
            out[v, k] = max(out[v, k], np.float32(1e-30))
