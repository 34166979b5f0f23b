"""Gaussian posteriors of linear weights that learn from mini-batches: the Gibbs classifier.

With loss 2c max(0, margin - y w'x) in the exponent, q(w) of mean field is Gaussian: each document counts as
an observation of weight omega and linear term kappa (`pseudo`), which follow from the mean f and the
variance s of its own prediction. Rounds repeat this until convergence. They use the documents of a batch only
through the matrix X S_t X' (``gram``, its lower triangle), S_t the covariance before the batch: the cost of a
round does not depend on the number of weights. Conventions are those of `passive_aggressive`.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
"""

import numpy as np

from bayou.kernels.cholesky import backward_into, factor_into, forward_into
from bayou.kernels.compile import jit
from bayou.kernels.margin.passive_aggressive import dot

_LEAST_GAP = 1e-10  # a document with gap and variance zero would get an infinite weight
# Largest information of a document about its prediction, relative to the prior: with more, double precision
# cannot solve the equations. Only extreme costs reach it.
_MOST_SAID = 1e10


@jit
def pseudo(f, s, y, cost, width, tube, most):
    """Weight and linear term (omega, kappa) in place of a document's loss, [Shi17] eq. 28 with its margin.

    f and s are mean and variance of its prediction; the gap is sqrt((margin - y f)^2 + s). The cost is
    lowered where omega would be above ``most``.
    """
    if tube:
        above = max(np.sqrt((y - f - width) ** 2 + s), _LEAST_GAP)
        below = max(np.sqrt((y - f + width) ** 2 + s), _LEAST_GAP)
        cost = min(cost, 0.5 * most * min(above, below))
        omega = cost / above + cost / below
        return omega, cost * (y - width) / above + cost * (y + width) / below
    gap = max(np.sqrt((width - y * f) ** 2 + s), _LEAST_GAP)
    cost = min(cost, most * gap)
    return cost / gap, y * (cost + cost * width / gap)


@jit
def pull_into(pull, a, gram, start, omega, kappa, n):
    """Multipliers alpha with w = w_t + S_t X'alpha, S_t the covariance before: O(n^3) for any width.

    (X S_t X' + 1/omega) alpha = kappa/omega - X w_t, written with I + sqrt(omega) X S_t X' sqrt(omega),
    which is never near singular.
    """
    for d in range(n):
        for e in range(d + 1):
            a[d, e] = np.sqrt(omega[d] * omega[e]) * gram[d, e]
        a[d, d] += 1.0
        pull[d] = (kappa[d] - omega[d] * start[d]) / np.sqrt(omega[d])
    factor_into(a, n)
    forward_into(pull, a, n)
    backward_into(pull, a, n)
    for d in range(n):
        pull[d] *= np.sqrt(omega[d])


@jit
def remaining_variance(a, gram, omega, d, n, v):
    """Variance of document d's prediction after the batch, from the factor of `pull_into`."""
    for e in range(n):
        v[e] = np.sqrt(omega[e]) * gram[max(d, e), min(d, e)]
    forward_into(v, a, n)
    left = gram[d, d]
    for e in range(n):
        left -= v[e] * v[e]
    return max(left, 0.0)


@jit
def gather_responses(known, y, i, lo, hi):
    """Collect the documents from lo to hi that have a response of task i; returns their number."""
    n = 0
    for d in range(lo, hi):
        if not np.isnan(y[d, i]):
            known[n] = d
            n += 1
    return n


@jit
def renew_pseudo(omega, kappa, n, f, s, y, i, known, costs, width, tube, gram):
    """Renew (omega, kappa) from means and variances; returns the largest relative change of omega."""
    moved = 0.0
    for e in range(n):
        d = known[e]
        most = _MOST_SAID / gram[e, e] if gram[e, e] > 0.0 else np.inf
        new, kappa[e] = pseudo(f[e], s[e], y[d, i], costs[d], width, tube, most)
        moved = max(moved, abs(new - omega[e]) / new)
        omega[e] = new
    return moved


@jit
def predict_into(f, gram, start, pull, n):
    """Means of the predictions after the batch: f = X w_t + X S_t X' alpha."""
    for d in range(n):
        f[d] = start[d]
        for e in range(n):
            f[d] += gram[max(d, e), min(d, e)] * pull[e]


@jit
def diagonal_gram_into(gram, precision, i, rows, known, n, at):
    """x_d'S x_e for the documents of a batch; ``at`` is a row of zeros as wide as the weights."""
    indptr, indices, data = rows
    for d in range(n):
        lo, hi = indptr[known[d]], indptr[known[d] + 1]
        for j in range(lo, hi):
            at[indices[j]] = data[j] / precision[i, indices[j]]
        for e in range(d + 1):
            total = 0.0
            for j in range(indptr[known[e]], indptr[known[e] + 1]):
                total += data[j] * at[indices[j]]
            gram[d, e] = total
        for j in range(lo, hi):
            at[indices[j]] = 0.0


@jit
def diagonal_spread_into(s, precision, i, rows, known, omega, n, at):
    """Variances under the diagonal precision with the batch added; leaves ``at`` as it was."""
    indptr, indices, data = rows
    for d in range(n):
        for j in range(indptr[known[d]], indptr[known[d] + 1]):
            at[indices[j]] += omega[d] * data[j] * data[j]
    for d in range(n):
        s[d] = 0.0
        for j in range(indptr[known[d]], indptr[known[d] + 1]):
            s[d] += data[j] * data[j] / (precision[i, indices[j]] + at[indices[j]])
    for d in range(n):
        for j in range(indptr[known[d]], indptr[known[d] + 1]):
            at[indices[j]] = 0.0


@jit
def settle(gram, start, work, y, i, known, n, costs, prior, stop, spread):
    """Rounds of mean field until no omega changes by more than a share ``tol``.

    ``spread`` = (precision, rows, at) of a diagonal posterior; precision without rows means a full one.
    """
    omega, kappa, pull, f, s, v, a = work
    width, tube = prior
    precision, rows, at = spread
    for e in range(n):
        f[e], s[e], omega[e] = start[e], gram[e, e], 0.0
    for _ in range(stop[0]):
        moved = renew_pseudo(omega, kappa, n, f, s, y, i, known, costs, width, tube, gram)
        pull_into(pull, a, gram, start, omega, kappa, n)
        if moved <= stop[1]:
            break
        predict_into(f, gram, start, pull, n)
        if len(precision):
            diagonal_spread_into(s, precision, i, rows, known, omega, n, at)
        else:
            for e in range(n):
                s[e] = remaining_variance(a, gram, omega, e, n, v)


@jit
def workspace(ends):
    """Vectors and a matrix for the largest batch."""
    n = 1
    for b in range(len(ends) - 1):
        n = max(n, ends[b + 1] - ends[b])
    vectors = (np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n))
    return (*vectors, np.empty((n, n)))


@jit
def diagonal_batches(mean, precision, drift, lo, hi, rows, y, costs, ends, prior, stop, first):
    """Batches under a diagonal precision, of tasks lo to hi.

    The mean is the exact one given the diagonal before the batch; of the precision after it only the
    diagonal is kept: the nearest diagonal posterior in KL(q || p).
    """
    work = workspace(ends)
    n_most, width = len(work[0]), mean.shape[1]
    gram, start = np.empty((n_most, n_most)), np.empty(n_most)
    known, at = np.empty(n_most, np.int64), np.zeros(width)
    indptr, indices, data = rows
    for i in range(lo, hi):
        for b in range(len(ends) - 1):
            n = gather_responses(known, y, i, ends[b], ends[b + 1])
            diagonal_gram_into(gram, precision, i, rows, known, n, at)
            for e in range(n):
                start[e] = dot(mean, i, rows, known[e])
            settle(gram, start, work, y, i, known, n, costs, prior, stop, (precision, rows, at))
            omega, pull = work[0], work[2]
            for e in range(n):
                for j in range(indptr[known[e]], indptr[known[e] + 1]):
                    by = pull[e] * data[j] / precision[i, indices[j]]
                    mean[i, indices[j]] += by
                    if len(drift):
                        drift[i, indices[j]] += by * (first + b)
            for e in range(n):
                for j in range(indptr[known[e]], indptr[known[e] + 1]):
                    precision[i, indices[j]] += omega[e] * data[j] * data[j]


@jit
def whiten_into(z, factor, i, rows, d):
    """z = U'^-1 x_d for the upper factor U of the precision U'U; z'z is the variance of w'x_d."""
    indptr, indices, data = rows
    width = factor.shape[1]
    for k in range(width):
        z[k] = 0.0
    for j in range(indptr[d], indptr[d + 1]):
        z[indices[j]] = data[j]
    for k in range(width):
        if z[k] != 0.0:
            z[k] /= factor[i, k, k]
            for j in range(k + 1, width):
                z[j] -= factor[i, k, j] * z[k]


@jit
def colour_into(z, factor, i):
    """z <- U^-1 z."""
    width = factor.shape[1]
    for k in range(width - 1, -1, -1):
        total = z[k]
        for j in range(k + 1, width):
            total -= factor[i, k, j] * z[j]
        z[k] = total / factor[i, k, k]


@jit
def enter_into(factor, i, v):
    """The factor of U'U + v v', by rotations; overwrites v. Nothing is subtracted: it stays definite."""
    width = factor.shape[1]
    for k in range(width):
        if v[k] != 0.0:
            r = np.hypot(factor[i, k, k], v[k])
            c, s = factor[i, k, k] / r, v[k] / r
            factor[i, k, k] = r
            for j in range(k + 1, width):
                old = factor[i, k, j]
                factor[i, k, j] = c * old + s * v[j]
                v[j] = c * v[j] - s * old


@jit
def full_batches(mean, factor, drift, lo, hi, rows, y, costs, ends, prior, stop, first):
    """Batches under a full precision, kept as its upper Cholesky factor, of tasks lo to hi."""
    work = workspace(ends)
    n_most, width = len(work[0]), mean.shape[1]
    gram, start = np.empty((n_most, n_most)), np.empty(n_most)
    known, z, v = np.empty(n_most, np.int64), np.empty((n_most, width)), np.empty(width)
    indptr, indices, data = rows
    none = np.empty((0, 0))
    for i in range(lo, hi):
        for b in range(len(ends) - 1):
            n = gather_responses(known, y, i, ends[b], ends[b + 1])
            for d in range(n):
                start[d] = dot(mean, i, rows, known[d])
                whiten_into(z[d], factor, i, rows, known[d])
                for e in range(d + 1):
                    gram[d, e] = 0.0
                    for k in range(width):
                        gram[d, e] += z[d, k] * z[e, k]
            settle(gram, start, work, y, i, known, n, costs, prior, stop, (none, rows, v))
            omega, pull = work[0], work[2]
            v[:] = 0.0
            for d in range(n):
                for k in range(width):
                    v[k] += pull[d] * z[d, k]
            colour_into(v, factor, i)
            for k in range(width):
                mean[i, k] += v[k]
                if len(drift):
                    drift[i, k] += v[k] * (first + b)
            for d in range(n):
                v[:] = 0.0
                for j in range(indptr[known[d]], indptr[known[d] + 1]):
                    v[indices[j]] = np.sqrt(omega[d]) * data[j]
                enter_into(factor, i, v)


@jit
def full_variances_into(out, factor, rows, lo, hi):
    """x_d'S x_d of every task, for documents lo to hi."""
    z = np.empty(factor.shape[1])
    for d in range(lo, hi):
        for i in range(len(factor)):
            whiten_into(z, factor, i, rows, d)
            out[d, i] = 0.0
            for k in range(len(z)):
                out[d, i] += z[k] * z[k]
