"""Loops of the metrics: splitting documents, fitting their topics, scoring, counting windows.

Documents are rows of a compressed matrix (``indptr``, ``terms``, ``counts``) or, if single tokens matter,
``indptr`` and ``tokens`` (one term per occurrence). Topics are term-major: ``term_topics[v, k]`` is the
probability of term v in topic k. Clarity has priority over speed here; all sums are in double precision.

[Wallach09] Wallach, Murray, Salakhutdinov, Mimno. Evaluation methods for topic models. ICML 2009.
[Buntine09] Buntine. Estimating likelihoods for topic models. ACML 2009.
"""

import math

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.draw import draw_discrete
from bayou.kernels.rng import GOLDEN, METRIC, key, mix, permutation, uniform

# Purposes of a document's key (the third word of `key`).
SPLIT, GIBBS, LEFT_TO_RIGHT = 0, 1, 2


@jit
def content_keys(indptr, terms, counts, seed, use):
    """One key per row, hashed from its terms and counts: equal rows have equal keys."""
    keys = np.empty(len(indptr) - 1, np.uint64)
    for d in range(len(keys)):
        k = key(seed, METRIC, use, 0)
        for i in range(indptr[d], indptr[d + 1]):
            k = mix((k ^ np.uint64(terms[i])) + GOLDEN)
            k = mix((k ^ np.uint64(counts[i])) + GOLDEN)
        keys[d] = k
    return keys


@jit
def _whole_tokens(counts, start, stop):
    """The number of tokens of a row, or -1 if a count is not a whole number."""
    n = 0
    for i in range(start, stop):
        if counts[i] != math.floor(counts[i]):
            return -1
        n += np.int64(counts[i])
    return n


@jit
def _deal_into(observed, scored, counts, start, n, k):
    """Deal the n tokens of a row in keyed order: even positions are observed, odd ones scored."""
    entry = np.empty(n, np.int64)
    i = start - 1
    left = 0
    for j in range(n):
        while left == 0:
            i += 1
            left = np.int64(counts[i])
        entry[j] = i
        left -= 1
    order = permutation(n, k)
    for j in range(n):
        if j % 2 == 0:
            observed[entry[order[j]]] += 1.0
        else:
            scored[entry[order[j]]] += 1.0


@jit
def split_into(observed, scored, indptr, counts, keys):
    """Split every row in two (arrays of zeros, like ``counts``); fractional rows are halved."""
    for d in range(len(keys)):
        n = _whole_tokens(counts, indptr[d], indptr[d + 1])
        if n >= 0:
            _deal_into(observed, scored, counts, indptr[d], n, keys[d])
        else:
            for i in range(indptr[d], indptr[d + 1]):
                observed[i] = 0.5 * counts[i]
                scored[i] = 0.5 * counts[i]


@fast_jit
def _mixture(theta, phi):
    """sum_k theta_k phi_k: the probability of a term in a document."""
    total = 0.0
    for k in range(len(phi)):
        total += theta[k] * phi[k]
    return total


@fast_jit
def _share_into(expected, theta, phi, scale):
    """Add scale * theta_k phi_k to the expected counts of a document."""
    for k in range(len(phi)):
        expected[k] += scale * theta[k] * phi[k]


@fast_jit
def _prior_mean_into(theta, alpha, expected):
    """theta_k proportional to alpha_k + n_k."""
    total = 0.0
    for k in range(len(alpha)):
        total += alpha[k] + expected[k]
    for k in range(len(alpha)):
        theta[k] = (alpha[k] + expected[k]) / total


@jit
def fold_in_em_into(theta, indptr, terms, counts, term_topics, alpha, n_iter):
    """Topic proportions of every row by the fixed point theta ~ alpha + E[n | theta].

    Starts at the prior mean, which is the result for empty rows. Terms that no topic produces are skipped.
    """
    expected = np.empty(len(alpha))
    for d in range(len(theta)):
        expected[:] = 0.0
        _prior_mean_into(theta[d], alpha, expected)
        for _ in range(n_iter):
            expected[:] = 0.0
            for i in range(indptr[d], indptr[d + 1]):
                p = _mixture(theta[d], term_topics[terms[i]])
                if p > 0.0:
                    _share_into(expected, theta[d], term_topics[terms[i]], counts[i] / p)
            _prior_mean_into(theta[d], alpha, expected)


@jit
def _predict_into(weights, phi, doc_topic, alpha):
    """weights_k = phi_k (n_k + alpha_k); their sum."""
    total = 0.0
    for k in range(len(alpha)):
        weights[k] = phi[k] * (doc_topic[k] + alpha[k])
        total += weights[k]
    return total


@jit
def _sweep_prefix(z, n, tokens, term_topics, doc_topic, alpha, weights, stream):
    """Redraw the topics of the first n tokens given all others, p(z = k) ~ phi_kw (n_k + alpha_k).

    Topic -1 means not assigned; a token keeps it if no topic produces its term.
    """
    for i in range(n):
        if z[i] >= 0:
            doc_topic[z[i]] -= 1.0
        _predict_into(weights, term_topics[tokens[i]], doc_topic, alpha)
        z[i] = draw_discrete(stream, weights, len(alpha))
        if z[i] >= 0:
            doc_topic[z[i]] += 1.0


@jit
def _gibbs_row_into(theta, tokens, term_topics, alpha, schedule, stream):
    """Average of E[theta | z] over the kept sweeps; theta starts at zero."""
    n_topics = len(alpha)
    z = np.full(len(tokens), -1, np.int64)
    doc_topic, mean, weights = np.zeros(n_topics), np.empty(n_topics), np.empty(n_topics)
    for sweep in range(1 + schedule[0] + schedule[1]):  # the first sweep initialises the topics
        _sweep_prefix(z, len(tokens), tokens, term_topics, doc_topic, alpha, weights, stream)
        if sweep > schedule[0]:
            _prior_mean_into(mean, alpha, doc_topic)
            for k in range(n_topics):
                theta[k] += mean[k] / schedule[1]


@jit
def fold_in_gibbs_into(theta, indptr, tokens, term_topics, alpha, schedule, keys):
    """Topic proportions by collapsed Gibbs; schedule = (sweeps to drop, sweeps to keep)."""
    stream = np.empty(1, np.uint64)
    theta[:] = 0.0
    for d in range(len(keys)):
        stream[0] = keys[d]
        row = tokens[indptr[d] : indptr[d + 1]]
        _gibbs_row_into(theta[d], row, term_topics, alpha, schedule, stream)


@jit
def log_likelihood_into(sums, indptr, terms, counts, theta, term_topics):
    """sums_d = sum_w n_dw log(sum_k theta_dk phi_kw)."""
    for d in range(len(sums)):
        total = 0.0
        for i in range(indptr[d], indptr[d + 1]):
            total += counts[i] * np.log(_mixture(theta[d], term_topics[terms[i]]))
        sums[d] = total


@jit
def _ancestors_into(ancestors, weights, total, stream):
    """Systematic resampling: particle r gets R weight_r / total copies, rounded up or down."""
    n = len(weights)
    last = 0
    for r in range(n):
        if weights[r] > 0.0:
            last = r
    u = uniform(stream)
    r = 0
    reached = weights[0]
    for i in range(n):
        while r < last and reached <= (i + u) * total / n:
            r += 1
            reached += weights[r]
        ancestors[i] = r


@jit
def _copy_particles_into(new_z, new_counts, z, counts, ancestors, n):
    """Copy each particle from its ancestor: n topics and their counts."""
    for r in range(len(ancestors)):
        for i in range(n):
            new_z[r, i] = z[ancestors[r], i]
        for k in range(counts.shape[1]):
            new_counts[r, k] = counts[ancestors[r], k]


@jit
def _predictions_into(chances, z, counts, tokens, n, term_topics, alpha, stream):
    """Update every particle by one sweep over the first n tokens, then predict token n with it."""
    weights = np.empty(len(alpha))
    total = 0.0
    for r in range(len(chances)):
        _sweep_prefix(z[r], n, tokens, term_topics, counts[r], alpha, weights, stream)
        chances[r] = _predict_into(weights, term_topics[tokens[n]], counts[r], alpha)
        total += chances[r]
    return total


@jit
def _left_to_right_row(tokens, term_topics, alpha, n_particles, stream):
    """Log of an unbiased estimate of p(tokens), [Wallach09] algorithm 3, [Buntine09].

    The probability of token n is mean_r sum_k phi_kw (n_k + alpha_k) / (n + sum alpha). Particles are then
    resampled by the probabilities they gave, which makes the product of these means unbiased for any
    number of particles. Without resampling, that holds for a single particle only.
    """
    n_topics = len(alpha)
    z = np.full((n_particles, len(tokens)), -1, np.int64)
    counts = np.zeros((n_particles, n_topics))
    spare_z, spare_counts = z.copy(), counts.copy()
    chances, weights = np.empty(n_particles), np.empty(n_topics)
    ancestors = np.empty(n_particles, np.int64)
    mass, log_p = 0.0, 0.0
    for k in range(n_topics):
        mass += alpha[k]
    for n in range(len(tokens)):
        total = _predictions_into(chances, z, counts, tokens, n, term_topics, alpha, stream)
        if total <= 0.0:
            return -math.inf
        log_p += math.log(total / n_particles) - math.log(n + mass)
        _ancestors_into(ancestors, chances, total, stream)
        _copy_particles_into(spare_z, spare_counts, z, counts, ancestors, n)
        z, spare_z, counts, spare_counts = spare_z, z, spare_counts, counts
        for r in range(n_particles):
            _predict_into(weights, term_topics[tokens[n]], counts[r], alpha)
            z[r, n] = draw_discrete(stream, weights, n_topics)
            counts[r, z[r, n]] += 1.0
    return log_p


@jit
def left_to_right_into(evidence, indptr, tokens, term_topics, alpha, n_particles, keys):
    """Log evidence of every row, with its tokens in keyed order."""
    stream = np.empty(1, np.uint64)
    for d in range(len(evidence)):
        order = permutation(indptr[d + 1] - indptr[d], keys[d])
        for i in range(len(order)):
            order[i] = tokens[indptr[d] + order[i]]
        stream[0] = mix(keys[d] + GOLDEN)
        evidence[d] = _left_to_right_row(order, term_topics, alpha, n_particles, stream)


@jit
def overlap(starts, stops, a, a_stop, b, b_stop):
    """Number of points in both of two sorted lists of disjoint intervals: entries a .. and entries b .. ."""
    shared = 0
    while a < a_stop and b < b_stop:
        shared += max(0, min(stops[a], stops[b]) - max(starts[a], starts[b]))
        if stops[a] < stops[b]:
            a += 1
        else:
            b += 1
    return shared


@jit
def count_windows_into(shared, windows, starts, stops, columns):
    """shared[i, j] = number of windows with both terms i and j of a topic.

    Term columns[i] occurs in the windows of intervals windows[column] .. windows[column + 1].
    """
    for i in range(len(columns)):
        for j in range(i + 1):
            a, b = columns[i], columns[j]
            shared[i, j] = overlap(
                starts, stops, windows[a], windows[a + 1], windows[b], windows[b + 1]
            )
            shared[j, i] = shared[i, j]
