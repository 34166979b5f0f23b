"""Online labelled LDA: every token of a document belongs to one of the document's labels.

n_vy, the tokens of term v that belong to label y, is sparse and stored as cells in term-major order:
``cells`` = (cellptr, labels, raw), with the labels of a term increasing. An entry is a (document, term,
label) whose label is one of the document's. The entries of pair j start at ``entryptr[j]``, in the order of
the document's labels, ``own`` = (labelptr, labels). ``by_term`` = (terms, termptr, rows, at) groups the pairs
of a batch by term.

No array has the size terms x labels. Work space has the size of one row of labels.

[Foulds13] Foulds, Boyles, DuBois, Smyth, Welling. Stochastic collapsed variational Bayesian inference for
latent Dirichlet allocation. KDD 2013.
"""

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.rng import GOLDEN, LABEL_BATCH, key, unit

_NONE, _ONE = np.float32(0.0), np.float32(1.0)


@jit
def gather_terms(entry, by_term, lo, hi, cells, own, entryptr, n_labels):
    """``entry`` = n_vy of its cell, 0 if there is no cell, for the batch's terms lo .. hi."""
    terms, termptr, rows, at = by_term
    cellptr, cell_labels, raw = cells
    labelptr, labels = own
    row = np.zeros(n_labels, np.float32)
    for i in range(lo, hi):
        v = terms[i]
        for c in range(cellptr[v], cellptr[v + 1]):
            row[cell_labels[c]] = raw[c]
        for j in range(termptr[i], termptr[i + 1]):
            e = entryptr[at[j]]
            for i_own in range(labelptr[rows[j]], labelptr[rows[j] + 1]):
                entry[e] = row[labels[i_own]]
                e += 1
        for c in range(cellptr[v], cellptr[v + 1]):
            row[cell_labels[c]] = _NONE


@jit
def _add_term(row, by_term, i, entry, own, entryptr):
    """Add the batch's entries of its i-th term to ``row``, one number per label."""
    _, termptr, rows, at = by_term
    labelptr, labels = own
    for j in range(termptr[i], termptr[i + 1]):
        e = entryptr[at[j]]
        for i_own in range(labelptr[rows[j]], labelptr[rows[j] + 1]):
            row[labels[i_own]] += entry[e]
            e += 1


@jit
def pool_terms(out, by_term, lo, hi, entry, own, entryptr, n_labels):
    """``out`` = the sum of all entries of the same term and label, for the batch's terms lo .. hi."""
    _, termptr, rows, at = by_term
    labelptr, labels = own
    row = np.zeros(n_labels, np.float32)
    for i in range(lo, hi):
        _add_term(row, by_term, i, entry, own, entryptr)
        for j in range(termptr[i], termptr[i + 1]):
            e = entryptr[at[j]]
            for i_own in range(labelptr[rows[j]], labelptr[rows[j] + 1]):
                out[e] = row[labels[i_own]]
                e += 1
        for j in range(termptr[i], termptr[i + 1]):
            for i_own in range(labelptr[rows[j]], labelptr[rows[j] + 1]):
                row[labels[i_own]] = _NONE


@jit
def weigh_docs(weight, pairs, lo, hi, old, fresh, own, entryptr, mix, prior):
    """``weight`` = (N_vy + beta) / (N_y + V beta) with N_vy = factor_y (keep old + gain fresh).

    ``mix`` = (keep, gain) blends the old counts with those of the batch. ``prior`` = (factor, beta,
    1 / (N_y + V beta)), with one factor and one inverse per label.
    """
    indptr = pairs[0]
    labelptr, labels = own
    keep, gain = mix
    factor, beta, inverse = prior
    for d in range(lo, hi):
        for j in range(indptr[d], indptr[d + 1]):
            e = entryptr[j]
            for i_own in range(labelptr[d], labelptr[d + 1]):
                y = labels[i_own]
                n = factor[y] * (keep * old[e] + gain * fresh[e])
                weight[e] = (n + beta) * inverse[y]
                e += 1


@jit
def share_docs(entry, pairs, lo, hi, weight, own, entryptr):
    """Expected tokens of each label if the labels of a document are equally likely a priori."""
    indptr, _, counts = pairs
    labelptr = own[0]
    for d in range(lo, hi):
        n_own = labelptr[d + 1] - labelptr[d]
        for j in range(indptr[d], indptr[d + 1]):
            first = entryptr[j]
            total = _NONE
            for i in range(n_own):
                total += weight[first + i]
            for i in range(n_own):
                entry[first + i] = counts[j] * weight[first + i] / total


@jit
def _tilted_sum(weight, first, n_d, alpha):
    """Sum of (n_dy + alpha_y) times the weights of a pair."""
    total = _NONE
    for i in range(n_d.size):
        total += weight[first + i] * (n_d[i] + alpha[i])
    return total


@jit
def pass_docs(entry, pairs, lo, hi, weight, own, entryptr, alpha, rate):
    """Stochastic passes over each document [Foulds13], then its expected tokens under the final n_d.

    N_dy <- (1 - r)^c N_dy + (1 - (1 - r)^c) C_d gamma_y for a pair of count c, r = (tau + i)^-kappa at the
    i-th pair; ``rate`` = (passes, tau, kappa), ``alpha`` has one number per label.
    """
    indptr, _, counts = pairs
    labelptr, labels = own
    n_passes, tau, kappa = rate
    for d in range(lo, hi):
        n_own = labelptr[d + 1] - labelptr[d]
        n_d, prior = np.empty(n_own, np.float32), np.empty(n_own, np.float32)
        length = _NONE
        for j in range(indptr[d], indptr[d + 1]):
            length += counts[j]
        for i in range(n_own):
            n_d[i] = length / n_own
            prior[i] = alpha[labels[labelptr[d] + i]]
        at = 0
        for _ in range(n_passes):
            for j in range(indptr[d], indptr[d + 1]):
                at += 1
                keep = np.float32((1.0 - (tau + at) ** -kappa) ** counts[j])
                move = (_ONE - keep) * length / _tilted_sum(weight, entryptr[j], n_d, prior)
                for i in range(n_own):
                    gamma = weight[entryptr[j] + i] * (n_d[i] + prior[i])
                    n_d[i] = keep * n_d[i] + move * gamma
        for j in range(indptr[d], indptr[d + 1]):
            total = _tilted_sum(weight, entryptr[j], n_d, prior)
            for i in range(n_own):
                gamma = weight[entryptr[j] + i] * (n_d[i] + prior[i])
                entry[entryptr[j] + i] = counts[j] * gamma / total


@jit
def _weigh_own(out, weight, first, n_d, prior):
    """``out`` = (n_dy + prior_y) times the weights of a pair; gives their sum."""
    total = _NONE
    for i in range(n_d.size):
        out[i] = weight[first + i] * (n_d[i] + prior[i])
        total += out[i]
    return total


@jit
def _pick_own(weight, target):
    """The first label at which the running sum of the weights exceeds ``target``."""
    for i in range(weight.size):
        if target < weight[i]:
            return i
        target -= weight[i]
    return weight.size - 1


@jit
def sample_docs(entry, held, pairs, lo, hi, weight, own, entryptr, alpha, n_sweeps, keys):
    """Gibbs sweeps of each document under fixed weights; entries are averaged over the kept sweeps.

    A token's label is drawn in proportion to (n_dy + alpha_y) w_vy, without the token in n_d. A kept sweep
    adds these probabilities to the entries, not the drawn label: same mean, less variance. The first sweep
    starts without any labels. ``alpha`` without entries: all labels are equally likely, whatever n_d is.
    ``held[s]`` = n_dy after the s-th kept sweep, in the order of ``own``. ``n_sweeps`` = (burn-in, kept),
    ``keys`` = (seed, step).
    """
    indptr, _, counts = pairs
    labelptr, labels = own
    burn_in, n_kept = n_sweeps
    seed, step = keys
    share = _ONE / np.float32(n_kept)
    flat = alpha.size == 0
    for d in range(lo, hi):
        begin, n_own = labelptr[d], labelptr[d + 1] - labelptr[d]
        if n_own == 0:
            continue
        n_tokens = 0
        for j in range(indptr[d], indptr[d + 1]):
            n_tokens += np.int64(counts[j])
        z = np.full(n_tokens, -1, np.int32)
        tally, prior = np.zeros(n_own, np.float32), np.ones(n_own, np.float32)
        chance = np.empty(n_own, np.float32)
        n_d = np.zeros(n_own, np.float32) if flat else tally
        for i in range(n_own if not flat else 0):
            prior[i] = alpha[labels[begin + i]]
        for s in range(burn_in + n_kept + 1):
            at = key(seed, LABEL_BATCH, step * 65_536 + s, d)
            t = 0
            for j in range(indptr[d], indptr[d + 1]):
                for _ in range(np.int64(counts[j])):
                    at += GOLDEN
                    if z[t] >= 0:
                        tally[z[t]] -= _ONE
                    total = _weigh_own(chance, weight, entryptr[j], n_d, prior)
                    z[t] = _pick_own(chance, np.float32(unit(at)) * total)
                    tally[z[t]] += _ONE
                    if s > burn_in:
                        for i in range(n_own):
                            entry[entryptr[j] + i] += share * chance[i] / total
                    t += 1
            if s > burn_in:
                for i in range(n_own):
                    held[s - burn_in - 1, begin + i] = tally[i]


@jit
def merge_sizes(size, slot, by_term, lo, hi, cells, own, n_labels):
    """``size[v]`` = cells of term v after the merge, for terms lo .. hi; ``slot[v]``: place in the batch."""
    _, termptr, rows, _ = by_term
    cellptr, cell_labels, _ = cells
    labelptr, labels = own
    seen = np.full(n_labels, -1, np.int64)
    for v in range(lo, hi):
        n = cellptr[v + 1] - cellptr[v]
        if slot[v] >= 0:
            for c in range(cellptr[v], cellptr[v + 1]):
                seen[cell_labels[c]] = v
            for j in range(termptr[slot[v]], termptr[slot[v] + 1]):
                for i_own in range(labelptr[rows[j]], labelptr[rows[j] + 1]):
                    y = labels[i_own]
                    if seen[y] != v:
                        seen[y] = v
                        n += 1
        size[v] = n


@jit
def merge_terms(out, slot, by_term, lo, hi, cells, entry, own, entryptr, gain, n_labels):
    """``out`` = cells of terms lo .. hi plus ``gain`` times the entries; `merge_sizes` gives its size."""
    _, termptr, rows, _ = by_term
    cellptr, cell_labels, raw = cells
    newptr, new_labels, new_raw = out
    labelptr, labels = own
    row, seen = np.zeros(n_labels, np.float32), np.full(n_labels, -1, np.int64)
    for v in range(lo, hi):
        at = newptr[v]
        for c in range(cellptr[v], cellptr[v + 1]):
            new_labels[at] = cell_labels[c]
            new_raw[at] = raw[c]
            at += 1
            seen[cell_labels[c]] = v
        if slot[v] < 0:
            continue
        _add_term(row, by_term, slot[v], entry, own, entryptr)
        for j in range(termptr[slot[v]], termptr[slot[v] + 1]):
            for i_own in range(labelptr[rows[j]], labelptr[rows[j] + 1]):
                y = labels[i_own]
                if seen[y] != v:
                    seen[y] = v
                    new_labels[at] = y
                    new_raw[at] = _NONE
                    at += 1
        _put_in_order(new_labels, new_raw, newptr[v], cellptr[v + 1] - cellptr[v], at)
        for c in range(newptr[v], at):
            new_raw[c] += gain * row[new_labels[c]]
        for c in range(newptr[v], at):
            row[new_labels[c]] = _NONE


@jit
def _put_in_order(labels, raw, begin, n_old, end):
    """Sort the cells begin .. end by label; the first ``n_old`` are sorted and the others are empty."""
    first = begin + n_old
    if first == end:
        return
    new = np.sort(labels[first:end])
    a, b, at = first - 1, new.size - 1, end - 1
    while b >= 0:
        if a >= begin and labels[a] > new[b]:
            labels[at], raw[at] = labels[a], raw[a]
            a -= 1
        else:
            labels[at], raw[at] = new[b], _NONE
            b -= 1
        at -= 1


@jit
def label_sums(out, labels, raw):
    """``out[y] +=`` sum of the cells of label y, in double precision and in their order."""
    for c in range(labels.size):
        out[labels[c]] += raw[c]
