"""Labelled LDA: the label of every token, among the labels of its document.

    p(z = y | rest) = (n_vy + beta_y) / (n_y + V beta_y) (n_dy + a_y + b / |Y_d|)

with the token removed from all counts. Greedy training leaves the last factor out: the labels of a document
are equally likely, a_y at infinity. Counts n_vy are stored only for (term, label) pairs that can occur, in
one array ``cells``. ``slots`` holds the places of the cells of a (document, term) pair, one per label of the
document. A label whose ``gain`` is zero keeps its cells: its terms are given.
"""

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.rng import GOLDEN, INIT, LABELS, key, unit


@jit
def fill_slots(slots, place, first, indptr, labels, by_term, pattern, lo, hi):
    """Places of the cells of all pairs of the terms lo .. hi of ``by_term``; ``place`` is work space.

    ``first[d]`` is the start of document d in ``slots``, ``pattern`` = (indptr, labels) of the cells by term.
    """
    label_ptr, label_ids = labels
    terms, termptr, rows, at = by_term
    cell_ptr, cell_labels = pattern
    for i in range(lo, hi):
        v = terms[i]
        for c in range(cell_ptr[v], cell_ptr[v + 1]):
            place[cell_labels[c]] = c
        for j in range(termptr[i], termptr[i + 1]):
            d = rows[j]
            begin = label_ptr[d]
            m = label_ptr[d + 1] - begin
            to = first[d] + (at[j] - indptr[d]) * m
            for n in range(m):
                slots[to + n] = place[label_ids[begin + n]]


@jit
def start_labels(z, docs, seed):
    """A label at random for every token, as its place in the document; ``docs`` as in `gibbs_labels`."""
    _, _, token_ptr, label_ptr, _, _, _ = docs
    for d in range(token_ptr.size - 1):
        m = label_ptr[d + 1] - label_ptr[d]
        at = key(seed, INIT, 55, d)
        for i in range(token_ptr[d], token_ptr[d + 1]):
            at += GOLDEN
            z[i] = np.int64(unit(at) * m)


@jit
def count_labels(cells, z, docs, gain):
    """``cells[c] +=`` the number of tokens that have its term and label."""
    pair_ptr, times, token_ptr, label_ptr, label_ids, first, slots = docs
    for d in range(token_ptr.size - 1):
        begin = label_ptr[d]
        m = label_ptr[d + 1] - begin
        i = token_ptr[d]
        for p in range(pair_ptr[d], pair_ptr[d + 1]):
            cell = first[d] + (p - pair_ptr[d]) * m
            for _ in range(times[p]):
                cells[slots[cell + z[i]]] += gain[label_ids[begin + z[i]]]
                i += 1


@jit
def _pick_few(weight, m, target):
    """The place at which the running sum of the first m weights passes ``target``; branch-free."""
    j, below = 0, 0.0
    for n in range(m - 1):
        below += weight[n]
        j += target >= below
    while weight[j] <= 0.0 and j > 0:  # rounding, or given terms that leave no label possible
        j -= 1
    return j


@jit
def _count_own(own, z, lo, hi, labels, alpha, boost):
    """n_dy + a_y + b / m of the labels of a document."""
    label_ids, begin, m = labels
    for n in range(m):
        own[n] = alpha[label_ids[begin + n]] + boost / m
    for i in range(lo, hi):
        own[z[i]] += 1.0


@jit
def gibbs_labels(z, docs, cells, totals, prior, kept, seed, sweep):
    """Draw every token's label from its conditional given all others; counts are kept up to date.

    A token that keeps its label writes nothing: it is removed from one weight, not from the counts. The body
    is one function, because a call with a dozen arrays per token would cost as much as the draw.

    Parameters
    ----------
    docs : (pair_ptr, times, token_ptr, label_ptr, label_ids, first, slots)
        Pairs and tokens of documents, whole counts of pairs, labels, and the places of their cells.
    cells, totals : n_vy and n_y
    prior : (beta, vbeta, gain, alpha, boost, greedy)
        Of each label's terms; of labels in a document, a_y and b.
    kept : float32 array like ``cells``, or without entries
        The conditional probabilities are added: expected counts, with less variance than drawn ones.
    """
    pair_ptr, times, token_ptr, label_ptr, label_ids, first, slots = docs
    beta, vbeta, gain, alpha, boost, greedy = prior
    inverse = 1.0 / (totals + vbeta)
    less = 1.0 / (totals - gain + vbeta)  # with one token less
    most = 1
    for d in range(token_ptr.size - 1):
        most = max(most, label_ptr[d + 1] - label_ptr[d])
    weight, own = np.zeros(most), np.zeros(most)
    for d in range(token_ptr.size - 1):
        begin = label_ptr[d]
        m = label_ptr[d + 1] - begin
        if m < 2:
            _keep_only(kept, d, docs, gain)
            continue
        labels = (label_ids, begin, m)
        i = token_ptr[d]
        if not greedy:
            _count_own(own, z, i, token_ptr[d + 1], labels, alpha, boost)
        at = key(seed, LABELS, sweep, d)
        for p in range(pair_ptr[d], pair_ptr[d + 1]):
            cell = first[d] + (p - pair_ptr[d]) * m
            for _ in range(times[p]):
                old = z[i]
                total = 0.0
                for n in range(m):
                    y = label_ids[begin + n]
                    w = (cells[slots[cell + n]] + beta[y]) * inverse[y]
                    if not greedy:
                        w *= own[n]
                    weight[n] = w
                    total += w
                y = label_ids[begin + old]
                w = (cells[slots[cell + old]] - gain[y] + beta[y]) * less[y]
                if not greedy:
                    w *= own[old] - 1.0
                total += w - weight[old]
                weight[old] = w
                at += GOLDEN
                new = _pick_few(weight, m, unit(at) * total)
                if kept.size and total > 0.0:
                    scale = 1.0 / total
                    for n in range(m):
                        kept[slots[cell + n]] += weight[n] * scale * gain[label_ids[begin + n]]
                if new != old:
                    z[i] = new
                    own[old] -= 1.0
                    own[new] += 1.0
                    cells[slots[cell + old]] -= gain[y]
                    _total(totals, inverse, less, y, -gain[y], gain[y], vbeta[y])
                    y = label_ids[begin + new]
                    cells[slots[cell + new]] += gain[y]
                    _total(totals, inverse, less, y, gain[y], gain[y], vbeta[y])
                i += 1


@jit
def _total(totals, inverse, less, y, by, gain, vbeta):
    """Change the total of a label, and the inverses that depend on it."""
    totals[y] += by
    inverse[y] = 1.0 / (totals[y] + vbeta)
    less[y] = 1.0 / (totals[y] - gain + vbeta)


@jit
def _keep_only(kept, d, docs, gain):
    """A document with one label: all tokens have this label, without a draw."""
    pair_ptr, times, _, label_ptr, label_ids, first, slots = docs
    if kept.size and label_ptr[d + 1] > label_ptr[d]:
        for p in range(pair_ptr[d], pair_ptr[d + 1]):
            kept[slots[first[d] + p - pair_ptr[d]]] += times[p] * gain[label_ids[label_ptr[d]]]


@jit
def cvb_docs(share, docs, cells, totals, prior, lo, hi):
    """One step of CVB0 for documents lo .. hi against a snapshot of the counts.

    ``share`` holds gamma, the probability of each label for a token of each pair. The token is removed from
    all counts. ``docs`` and ``prior`` as in `gibbs_labels`, with any counts of pairs.
    """
    pair_ptr, _, _, label_ptr, label_ids, first, slots = docs
    beta, vbeta, gain, alpha, boost, greedy = prior
    most = 1
    for d in range(lo, hi):
        most = max(most, label_ptr[d + 1] - label_ptr[d])
    doc_row = np.zeros(most)
    weight = np.zeros(most)
    for d in range(lo, hi):
        begin = label_ptr[d]
        m = label_ptr[d + 1] - begin
        if m < 2:
            continue
        _expect_document(doc_row, share, d, docs)
        for p in range(pair_ptr[d], pair_ptr[d + 1]):
            cell = first[d] + (p - pair_ptr[d]) * m
            total = 0.0
            for n in range(m):
                y = label_ids[begin + n]
                own = np.float64(share[cell + n]) * gain[y]
                w = max(cells[slots[cell + n]] - own, 0.0) + beta[y]
                w /= max(totals[y] - own, 0.0) + vbeta[y]
                if not greedy:
                    w *= max(doc_row[n] - share[cell + n], 0.0) + alpha[y] + boost / m
                weight[n] = w
                total += w
            if total > 0.0:  # given terms may leave none of the labels possible
                for n in range(m):
                    share[cell + n] = weight[n] / total


@jit
def _expect_document(doc_row, share, d, docs):
    """n_dy = sum of c gamma over the pairs of a document."""
    pair_ptr, times, _, label_ptr, _, first, _ = docs
    m = label_ptr[d + 1] - label_ptr[d]
    for n in range(m):
        doc_row[n] = 0.0
    for p in range(pair_ptr[d], pair_ptr[d + 1]):
        cell = first[d] + (p - pair_ptr[d]) * m
        for n in range(m):
            doc_row[n] += times[p] * share[cell + n]


@jit
def cvb_terms(cells, share, docs, by_term, start, cell_ptr, gain, lo, hi):
    """Expected counts n_vy of the terms lo .. hi of ``by_term``; only one thread writes to a cell.

    ``start`` holds the cells without any token.
    """
    pair_ptr, times, _, label_ptr, label_ids, first, slots = docs
    terms, termptr, rows, at = by_term
    for i in range(lo, hi):
        v = terms[i]
        for c in range(cell_ptr[v], cell_ptr[v + 1]):
            cells[c] = start[c]
        for j in range(termptr[i], termptr[i + 1]):
            d = rows[j]
            m = label_ptr[d + 1] - label_ptr[d]
            cell = first[d] + (at[j] - pair_ptr[d]) * m
            for n in range(m):
                y = label_ids[label_ptr[d] + n]
                cells[slots[cell + n]] += times[at[j]] * share[cell + n] * gain[y]


@jit
def label_totals(totals, cells, cell_labels):
    """n_y from the cells, in their order."""
    for y in range(totals.size):
        totals[y] = 0.0
    for c in range(cells.size):
        totals[cell_labels[c]] += cells[c]


@jit
def start_shares(share, docs, n_labels, lo, hi, seed):
    """Labels of a document equally likely; free topics with noise, since equal ones would stay equal."""
    pair_ptr, _, _, label_ptr, label_ids, first, _ = docs
    for d in range(lo, hi):
        begin = label_ptr[d]
        m = label_ptr[d + 1] - begin
        at = key(seed, INIT, 56, d)
        for p in range(pair_ptr[d], pair_ptr[d + 1]):
            cell = first[d] + (p - pair_ptr[d]) * m
            total = 0.0
            for n in range(m):
                w = 1.0
                if label_ids[begin + n] >= n_labels:
                    at += GOLDEN
                    w = 0.5 + unit(at)
                share[cell + n] = w
                total += w
            for n in range(m):
                share[cell + n] /= total
