"""Factorised expectation-maximisation on distinct (document, term) pairs.

With theta_dk = (n_dk + alpha_k) / (n_k + V beta) and m_vk = n_vk + beta, a token of term v in document d
has topic k with probability theta_dk m_vk / t, t = sum_k theta_dk m_vk. Sums of c_dv times these over the
pairs of a document or of a term factorise:

    n_dk = theta_dk sum_v (c_dv / t_dv) m_vk          n_vk = m_vk sum_d (c_dv / t_dv) theta_dk

so no responsibility is ever stored: `*_docs` kernels write theta_d and the ratios c / t, `*_terms`
kernels turn them into new counts, one owner and a fixed order per term. The ``cavity`` kernels remove
the token's own responsibility from the document side (CVB0 with one-sided removal):

    weight = (n_dk + alpha_k - e_dvk) m_vk / (n_k + V beta),  e_dvk = m_vk B_dk / t_old

where B and t_old come from a plain step just before. Sums then have two factorised terms.

[Foulds13] Foulds, Boyles, DuBois, Smyth, Welling. Stochastic collapsed variational Bayesian inference for
latent Dirichlet allocation. KDD 2013.

Rows are passed as (matrix, row number): a view for each pair would cost as much as a short row. Where a
document reads its rows several times they are laid out first, with topics that have nothing up to whole
vector instructions. The room for them is made in the kernel itself: of arrays that come from elsewhere the
compiler does not know that they do not overlap.
"""

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.rng import GOLDEN, INIT, key, unit
from bayou.kernels.token import LANES, sum_of


@fast_jit
def _spread_into(theta, n_d, alpha, inv_topic):
    """theta_k = (n_dk + alpha_k) / (n_k + V beta)."""
    for k in range(alpha.size):
        theta[k] = (n_d[k] + alpha[k]) * inv_topic[k]


@jit
def _clear(acc):
    for k in range(acc.size):
        acc[k] = np.float32(0.0)


@fast_jit
def _dot(a, matrix, i):
    total = np.float32(0.0)
    for k in range(matrix.shape[1]):
        total += a[k] * matrix[i, k]
    return total


@fast_jit
def _axpy(acc, r, matrix, i):
    for k in range(acc.size):
        acc[k] += r * matrix[i, k]


@jit
def longest(indptr, lo, hi):
    """Largest number of pairs of a document among lo .. hi."""
    most = 0
    for d in range(lo, hi):
        most = max(most, indptr[d + 1] - indptr[d])
    return most


@jit
def _leave(theta, i, mine):
    """Row i, as wide as the matrix is."""
    for k in range(theta.shape[1]):
        theta[i, k] = mine[k]


@fast_jit
def _plain_step(acc, th, ratio, packed, pairs, d, start, scale, floor, width):
    """The sums of a document over its rows, which are contiguous; returns the sum of its ratios."""
    indptr, _, counts = pairs
    _clear(acc)
    total, at = np.float32(0.0), 0
    for j in range(indptr[d], indptr[d + 1]):
        t = np.float32(0.0)
        for k in range(width):
            t += th[k] * packed[at + k]
        r = counts[j] / (scale * t + floor)
        for k in range(width):
            acc[k] += r * packed[at + k]
        ratio[j - start] = r
        total += r
        at += width
    return total


@fast_jit
def plain_docs(
    doc_topic, theta, ratio, pairs, first, lo, hi, term_topic, scale, beta, prior, n_inner
):
    """`n_inner` plain steps for documents lo .. hi; theta and ratio are those of the last one.

    ``pairs`` = (indptr, terms, counts) of the corpus, ``prior`` = (alpha, 1 / (n_k + V beta)). Rows of
    ``theta`` and entries of ``ratio`` are counted from document ``first``. The true counts are
    ``scale * term_topic``: an online pass decays all rows by changing one number.
    """
    indptr, terms, _ = pairs
    alpha, inv_topic = prior
    n_topics, start = alpha.size, indptr[first]
    width = (n_topics + LANES - 1) // LANES * LANES
    acc, th = np.zeros(width, np.float32), np.zeros(width, np.float32)
    packed = np.zeros(longest(indptr, lo, hi) * width, np.float32)
    for d in range(lo, hi):
        n_d, at = doc_topic[d], 0
        for j in range(indptr[d], indptr[d + 1]):
            v = terms[j]
            for k in range(n_topics):
                packed[at + k] = term_topic[v, k]
            at += width
        for _ in range(n_inner):
            _spread_into(th, n_d, alpha, inv_topic)
            floor = beta * sum_of(th, 0, width)
            total = _plain_step(acc, th, ratio, packed, pairs, d, start, scale, floor, width)
            for k in range(n_topics):
                n_d[k] = th[k] * (scale * acc[k] + beta * total)
        _leave(theta, d - first, th)


@fast_jit
def _first_step(acc, th, ratio_sub, packed, pairs, d, start, width):
    """The sums of a plain step, and the ratio that a single token of each pair has."""
    indptr, _, counts = pairs
    _clear(acc)
    at = 0
    for j in range(indptr[d], indptr[d + 1]):
        t = np.float32(0.0)
        for k in range(width):
            t += th[k] * packed[at + k]
        ratio_sub[j - start] = min(counts[j], np.float32(1.0)) / t
        r = counts[j] / t
        for k in range(width):
            acc[k] += r * packed[at + k]
        at += width


@fast_jit
def _cavity_step(acc, acc_sub, th, sb, ratio, ratio_sub, packed, pairs, d, start, width):
    """The sums of a step in which each token is without its own count."""
    indptr, _, counts = pairs
    _clear(acc)
    _clear(acc_sub)
    at = 0
    for j in range(indptr[d], indptr[d + 1]):
        one, two = np.float32(0.0), np.float32(0.0)
        for k in range(width):
            m = packed[at + k]
            one += th[k] * m
            two += sb[k] * m * m
        r = counts[j] / (one - ratio_sub[j - start] * two)
        q = r * ratio_sub[j - start]
        for k in range(width):
            m = packed[at + k]
            acc[k] += r * m
            acc_sub[k] += q * m * m
        ratio[j - start] = r
        ratio_sub[j - start] = q
        at += width


@fast_jit
def cavity_docs(doc_topic, theta, sub, ratio, ratio_sub, pairs, first, lo, hi, smooth, prior):
    """One plain and one cavity step for documents lo .. hi; ``smooth`` holds m = n_vk + beta.

    A count below one removes only itself, so that n_dk + alpha_k - e stays at least alpha_k.
    """
    indptr, terms, _ = pairs
    alpha, inv_topic = prior
    n_topics, start = alpha.size, indptr[first]
    width = (n_topics + LANES - 1) // LANES * LANES
    acc, acc_sub = np.zeros(width, np.float32), np.zeros(width, np.float32)
    th, sb = np.zeros(width, np.float32), np.zeros(width, np.float32)
    packed = np.zeros(longest(indptr, lo, hi) * width, np.float32)
    for d in range(lo, hi):
        n_d, at = doc_topic[d], 0
        for j in range(indptr[d], indptr[d + 1]):
            v = terms[j]
            for k in range(n_topics):
                packed[at + k] = smooth[v, k]
            at += width
        _spread_into(th, n_d, alpha, inv_topic)
        _first_step(acc, th, ratio_sub, packed, pairs, d, start, width)
        for k in range(n_topics):
            n_d[k] = th[k] * acc[k]
            sb[k] = th[k] * inv_topic[k]
        _spread_into(th, n_d, alpha, inv_topic)
        _cavity_step(acc, acc_sub, th, sb, ratio, ratio_sub, packed, pairs, d, start, width)
        for k in range(n_topics):
            n_d[k] = max(th[k] * acc[k] - sb[k] * acc_sub[k], np.float32(0.0))
        _leave(theta, d - first, th)
        _leave(sub, d - first, sb)


@fast_jit
def plain_terms(out, by_term, lo, hi, theta, ratio, term_topic, scale, beta, gain):
    """``out[v] += gain * (scale n_vk + beta) * sum_d ratio theta_dk`` for the batch's terms lo .. hi.

    ``by_term`` = (terms, termptr, rows, at): the batch's distinct terms, and for each its pairs as
    (row of theta, entry of ratio). ``out`` may be ``term_topic`` itself.
    """
    terms, termptr, rows, at = by_term
    acc = np.empty(theta.shape[1], np.float32)
    for i in range(lo, hi):
        _clear(acc)
        for j in range(termptr[i], termptr[i + 1]):
            _axpy(acc, ratio[at[j]], theta, rows[j])
        row, old = out[terms[i]], term_topic[terms[i]]
        for k in range(row.size):
            row[k] += gain * (scale * old[k] + beta) * acc[k]


@fast_jit
def cavity_terms(out, by_term, lo, hi, theta, sub, ratio, ratio_sub, smooth, gain):
    """``out[v] += gain (m sum_d ratio theta - m^2 sum_d ratio_sub sub)``, the batch's terms lo .. hi."""
    terms, termptr, rows, at = by_term
    acc, acc_sub = np.empty(theta.shape[1], np.float32), np.empty(theta.shape[1], np.float32)
    for i in range(lo, hi):
        _clear(acc)
        _clear(acc_sub)
        for j in range(termptr[i], termptr[i + 1]):
            _axpy(acc, ratio[at[j]], theta, rows[j])
            _axpy(acc_sub, ratio_sub[at[j]], sub, rows[j])
        row, m = out[terms[i]], smooth[terms[i]]
        for k in range(row.size):
            row[k] += gain * max(m[k] * acc[k] - m[k] * m[k] * acc_sub[k], np.float32(0.0))


@fast_jit
def relax_terms(smooth, new, lo, hi, beta, step):
    """Over-relaxed replacement of m = n + beta by n <- max(0, n + step (new - n)); clears ``new``."""
    for v in range(lo, hi):
        old, fresh = smooth[v], new[v]
        for k in range(old.size):
            n = old[k] - beta
            old[k] = max(n + step * (fresh[k] - n), np.float32(0.0))
            fresh[k] = np.float32(0.0)


@fast_jit
def affine_terms(matrix, lo, hi, scale, shift):
    """``matrix[v] = scale * matrix[v] + shift`` for rows lo .. hi."""
    for v in range(lo, hi):
        row = matrix[v]
        for k in range(row.size):
            row[k] = scale * row[k] + shift


@fast_jit
def smooth_terms(out, terms, lo, hi, term_topic, scale, beta):
    """``out[v] = scale * n_vk + beta`` for the batch's terms lo .. hi."""
    for i in range(lo, hi):
        row, old = out[terms[i]], term_topic[terms[i]]
        for k in range(row.size):
            row[k] = scale * old[k] + beta


@jit
def noise_terms(out, mean, lo, hi, seed):
    """``out[v, k] = mean[v] * Exp(1)``: topics that differ, around the corpus' distribution."""
    for v in range(lo, hi):
        at = key(seed, INIT, 0, v)
        for k in range(out.shape[1]):
            at += GOLDEN
            out[v, k] = -np.log1p(-unit(at)) * mean[v]


@fast_jit
def rows_into(out, term_topic, lo, hi, beta, inv_topic):
    """``out[v] = (n_vk + beta) / (n_k + V beta)`` for terms lo .. hi."""
    for v in range(lo, hi):
        for k in range(inv_topic.size):
            out[v, k] = (term_topic[v, k] + beta) * inv_topic[k]


@jit
def column_sums(out, matrix, lo, hi):
    """``out[k] += sum of matrix[lo:hi, k]`` in double precision, rows in order."""
    for i in range(lo, hi):
        for k in range(out.size):
            out[k] += matrix[i, k]


@jit
def group_by_term(termptr, rows, at, slot, pairs, lo, hi):
    """Fill a batch's pairs grouped by term; ``slot[v]`` is the position of term v in the batch."""
    indptr, terms, _ = pairs
    start = indptr[lo]
    cursor = termptr[:-1].copy()
    for d in range(lo, hi):
        for j in range(indptr[d], indptr[d + 1]):
            i = slot[terms[j]]
            rows[cursor[i]] = d - lo
            at[cursor[i]] = j - start
            cursor[i] += 1


@jit
def place_tokens(at, cursor, terms):
    """Positions of each term's tokens in order; ``cursor[v]`` starts at those of v and is advanced."""
    for i in range(terms.size):
        v = terms[i]
        at[cursor[v]] = i
        cursor[v] += 1


@fast_jit
def scvb0_docs(doc_topic, theta, ratio, pairs, first, lo, hi, term_topic, scale, beta, prior, rate):
    """Stochastic passes over the pairs of documents lo .. hi [Foulds13], then theta and ratio.

    N_dk <- (1 - r)^c N_dk + (1 - (1 - r)^c) C_d gamma_k for a pair of count c, where
    r = (tau + i)^-kappa at the i-th pair; ``rate`` = (number of passes, tau, kappa). The ratios are those
    of the final theta, so that the statistics of the document factorise.
    """
    indptr, terms, counts = pairs
    alpha, inv_topic = prior
    n_passes, tau, kappa = rate
    start = indptr[first]
    for d in range(lo, hi):
        th, n_d = theta[d - first], doc_topic[d]
        length = np.float32(0.0)
        for j in range(indptr[d], indptr[d + 1]):
            length += counts[j]
        i = 0
        for _ in range(n_passes):
            for j in range(indptr[d], indptr[d + 1]):
                i += 1
                _spread_into(th, n_d, alpha, inv_topic)
                floor = beta * sum_of(th, 0, alpha.size)
                v = terms[j]
                keep = np.float32((1.0 - (tau + i) ** -kappa) ** counts[j])
                move = (np.float32(1.0) - keep) * length / (scale * _dot(th, term_topic, v) + floor)
                for k in range(alpha.size):
                    n_d[k] = keep * n_d[k] + move * th[k] * (scale * term_topic[v, k] + beta)
        _spread_into(th, n_d, alpha, inv_topic)
        floor = beta * sum_of(th, 0, alpha.size)
        for j in range(indptr[d], indptr[d + 1]):
            ratio[j - start] = counts[j] / (scale * _dot(th, term_topic, terms[j]) + floor)
