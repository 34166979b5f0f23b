"""A mini-batch of online max-margin learning: expected topics, auxiliary variables, and sums for the weights.

q(phi_k) = Dir(Delta_k), and the weights of task i have q(w_i) = N(mu_i, S_i). Terms are numbered 0, 1, ...
within the batch, so that no loop here is longer than the batch. ``zbar`` = (start, number, topics, values)
are rows of non-zeros as `response.zbar_rows` writes them.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
"""

import math

import numpy as np

from bayou.kernels.cholesky import backward_into, factor_fast_into, forward_into
from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.draw import draw_inverse_gaussian, draw_polya_gamma, polya_gamma_mean
from bayou.kernels.margin.passive_aggressive import add_into, best_dual, dot
from bayou.kernels.margin.response import HINGE, INSENSITIVE, LOGISTIC
from bayou.kernels.rng import BATCH, RESPONSE, key

_LEAST_ROW = 1e-20  # of the largest weight of a term; every topic stays possible
_LEAST, _MOST = 1e-12, 1e6  # of 1 / lambda, which is heavy-tailed


@jit
def exp_digamma(x):
    """exp(psi(x)) for x > 0, to nine digits.

    exp(psi(y + 1/2)) = y + 1 / (24 y) - 37 / (5760 y**3) + 10313 / (2903040 y**5) - ..., after
    psi(x) = psi(x + 6) - sum_j 1 / (x + j) has made y large; the sum is that of three pairs, each
    1 / (x + j) + 1 / (x + 5 - j) = (2x + 5) / (x (x + 5) + j (5 - j)), as one fraction.
    """
    if x >= 6.5:
        y = x - 0.5
        i = 1.0 / y
        q = i * i
        return y + i * (1.0 / 24.0 - q * (37.0 / 5760.0 - q * (10313.0 / 2903040.0)))
    y = x + 5.5
    i = 1.0 / y
    q = i * i
    series = y + i * (1.0 / 24.0 - q * (37.0 / 5760.0 - q * (10313.0 / 2903040.0)))
    a = x * (x + 5.0)
    b, c = a + 4.0, a + 6.0
    below = (2.0 * x + 5.0) * (b * c + a * (b + c)) / (a * b * c)
    return series * math.exp(-below)


@jit
def number_documents(ids, seed, step):
    """Keys of the documents of mini-batch ``step``; each document has its own random numbers."""
    for d in range(ids.size):
        ids[d] = key(seed, BATCH, step, d)


@jit
def prior_rows(base, terms, lo, hi, raw, scale, beta):
    """exp(psi(Delta_vk)) of the terms lo .. hi before the batch, Delta_vk = beta + scale raw_vk."""
    empty = exp_digamma(beta)
    for j in range(lo, hi):
        for k in range(base.shape[1]):
            n = scale * raw[terms[j], k]
            base[j, k] = empty if n <= 0.0 else exp_digamma(n + beta)


@jit
def expected_rows(rows, base, terms, lo, hi, raw, scale, added, beta, inv):
    """exp(E ln phi_vk) of the terms lo .. hi of the batch, the largest of a term scaled to one.

    Delta_vk = beta + scale raw_vk + added_vk; ``base`` as in `prior_rows`; ``inv`` = exp(-psi(sum_v
    Delta_vk)).
    """
    n_topics = rows.shape[1]
    weight = np.empty(n_topics)
    for j in range(lo, hi):
        top = 0.0
        for k in range(n_topics):
            weight[k] = base[j, k] * inv[k]
            if added[j, k] > 0.0:
                n = scale * raw[terms[j], k] + added[j, k]
                weight[k] = exp_digamma(n + beta) * inv[k]
            top = max(top, weight[k])
        if not top > 0.0:  # no topic has the term, and the prior underflows
            for k in range(n_topics):
                weight[k] = inv[k]
                top = max(top, weight[k])
        for k in range(n_topics):
            rows[j, k] = max(weight[k] / top, _LEAST_ROW)


@jit
def mean_rows(rows, terms, lo, hi, raw, scale, beta, inv):
    """E phi_vk = Delta_vk / sum_u Delta_uk of the terms lo .. hi; ``inv`` = 1 / sum_u Delta_uk."""
    for j in range(lo, hi):
        for k in range(rows.shape[1]):
            rows[j, k] = (scale * raw[terms[j], k] + beta) * inv[k]


@jit
def count_into(added, terms, z, by):
    """``added[term, topic] += by`` for every token."""
    for i in range(z.size):
        added[terms[i], z[i]] += by


@jit
def add_zbar(out, zbar, by):
    """``out += by zbar``, all documents x topics."""
    start, number, topics, values = zbar
    for d in range(number.size):
        for j in range(start[d], start[d] + number[d]):
            out[d, topics[j]] += by * values[j]


@jit
def _moments(zbar, d, mean, spread, i):
    """Mean and variance of f_di = w_i . zbar_d."""
    start, number, topics, values = zbar
    f, s = 0.0, 0.0
    m = min(i, spread.shape[0] - 1)
    for j in range(start[d], start[d] + number[d]):
        k, a = topics[j], np.float64(values[j])
        f += a * mean[i, k]
        for j2 in range(start[d], start[d] + number[d]):
            s += a * values[j2] * spread[m, k, topics[j2]]
    return f, max(s, 0.0)


@jit
def _inverse(stream, b, floor, drawn):
    """1 / lambda with b = c sqrt(gap**2 + s): drawn, or its expectation; a floor bounds both.

    Topics use the drawn one, with lambda at least 1 if there is a floor. Weights use the expected one.
    """
    if not drawn:
        return 1.0 / max(b, floor, _LEAST)
    x = draw_inverse_gaussian(stream, 1.0 / b)
    return min(max(x, _LEAST), 1.0 if floor > 0.0 else _MOST)


@jit
def respond(omega, kappa, zbar, weights, y, cost, ids, lo, hi, loss, drawn, seed, sweep):
    """(omega, kappa) of documents lo .. hi, with 1 / lambda drawn given zbar or at its expectation.

    ``weights`` = (mean, spread), ``spread`` one covariance for each task or one for all; ``loss`` = (kind,
    width, floor). Zero where the cost is: there is no label.
    """
    mean, spread = weights
    kind, width, floor = loss
    stream = np.empty(1, np.uint64)
    for d in range(lo, hi):
        stream[0] = key(seed, RESPONSE, sweep, ids[d])
        for i in range(y.shape[1]):
            c, t = np.float64(cost[d, i]), np.float64(y[d, i])
            o, m = 0.0, 0.0
            if c > 0.0:
                f, s = _moments(zbar, d, mean, spread, i)
                if kind == HINGE:
                    gap = width - t * f
                    x = _inverse(stream, c * math.sqrt(gap * gap + s), floor, drawn)
                    o, m = c * c * x, c * t * (1.0 + c * width * x)
                elif kind == INSENSITIVE:
                    under, over = t - f - width, t - f + width
                    x = _inverse(stream, c * math.sqrt(under * under + s), floor, drawn)
                    x2 = _inverse(stream, c * math.sqrt(over * over + s), floor, drawn)
                    o, m = c * c * (x + x2), c * c * ((t - width) * x + (t + width) * x2)
                elif kind == LOGISTIC:
                    size = math.sqrt(f * f + s)  # lambda ~ PG(c, sqrt(E f**2))
                    o, m = polya_gamma_mean(c, size), 0.5 * c * t
                    if drawn:
                        o = draw_polya_gamma(stream, c, size)
                else:
                    raise ValueError("unknown code of a loss")
            omega[d, i] = o
            kappa[d, i] = m


@fast_jit
def _add_outer(matrix, topics, values, lo, hi, by):
    for j in range(lo, hi):
        a = by * values[j]
        for j2 in range(lo, hi):
            matrix[topics[j], topics[j2]] += a * values[j2]


@jit
def add_precision(precision, zbar, omega, lo, hi, by):
    """``P_i += by sum_d omega_di zbar_d zbar_d'`` for matrices lo .. hi."""
    start, number, topics, values = zbar
    for i in range(lo, hi):
        for d in range(number.size):
            o = by * omega[d, i]
            if o != 0.0:
                _add_outer(precision[i], topics, values, start[d], start[d] + number[d], o)


@jit
def add_linear(linear, zbar, kappa, lo, hi, by):
    """``b_i += by sum_d kappa_di zbar_d`` for tasks lo .. hi."""
    start, number, topics, values = zbar
    for i in range(lo, hi):
        for d in range(number.size):
            m = by * kappa[d, i]
            if m != 0.0:
                for j in range(start[d], start[d] + number[d]):
                    linear[i, topics[j]] += m * values[j]


@jit
def factorise(factor, precision, lo, hi):
    """Lower Cholesky factors of matrices lo .. hi."""
    n = precision.shape[1]
    for i in range(lo, hi):
        for k in range(n):
            for j in range(n):
                factor[i, k, j] = precision[i, k, j]
        factor_fast_into(factor[i])


@jit
def invert(spread, factor, precision, lo, hi):
    """Lower Cholesky factors of matrices lo .. hi, and their inverses."""
    n = precision.shape[1]
    x = np.empty(n)
    factorise(factor, precision, lo, hi)
    for i in range(lo, hi):
        for k in range(n):
            for j in range(n):
                x[j] = 0.0
            x[k] = 1.0
            forward_into(x, factor[i], n)
            backward_into(x, factor[i], n)
            for j in range(n):
                spread[i, k, j] = x[j]


@jit
def solve(mean, factor, linear, lo, hi):
    """mu_i = P_i**-1 b_i for tasks lo .. hi; one factor for each, or one for all."""
    for i in range(lo, hi):
        m = min(i, factor.shape[0] - 1)
        for k in range(mean.shape[1]):
            mean[i, k] = linear[i, k]
        forward_into(mean[i], factor[m], mean.shape[1])
        backward_into(mean[i], factor[m], mean.shape[1])


@jit
def ascend(mean, duals, lo, hi, rows, norms, y, cost, prior, stop):
    """Passive-aggressive step of tasks lo .. hi over a mini-batch, by dual coordinate ascent [Shi17].

    As `passive_aggressive.average_batches`, with a cost for each document and task: ``duals`` carry the sign
    of their pull and at most 2c, and ``mean`` moves by variance * sum_d dual_d zbar_d.
    """
    variance, width, tube = prior
    n_rounds, tol = stop
    for i in range(lo, hi):
        for _ in range(n_rounds):
            moved = 0.0
            for d in range(norms.size):
                cap = 2.0 * cost[d, i]
                if cap <= 0.0 or norms[d] == 0.0:
                    continue
                f, t = dot(mean, i, rows, d), np.float64(y[d, i])
                new = best_dual(duals[d, i], f, t, variance * norms[d], cap, width, tube)
                step = new - duals[d, i]
                if step != 0.0:
                    add_into(mean, i, rows, d, variance * step)
                    duals[d, i] = new
                    moved = max(moved, abs(step) / cap)
            if moved <= tol or norms.size == 1:
                break
