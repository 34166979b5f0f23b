"""Losses as Gaussian pseudo-observations, and the weights they give.

A loss on the discriminant f becomes exp(kappa f - omega f**2 / 2) once an auxiliary variable is drawn:

    hinge           exp(-2c max(0, m - y f))          1/l ~ IG(1 / (c |m - y f|), 1)
                    omega = c**2 / l                  kappa = c y (1 + c m / l)
    insensitive     exp(-2c max(0, |y - f| - e))      1/l, 1/l' ~ IG(1 / (c |y - f -+ e|), 1)
                    omega = c**2 (1/l + 1/l')         kappa = c**2 ((y - e) / l + (y + e) / l')
    logistic        (1 + exp(-y f))**-c               l ~ PG(c, f)
                    omega = l                         kappa = c y / 2
    smooth hinge    (1 + exp(g (m - y f)))**(-2c / g) l ~ PG(2c / g, g (m - y f))
                    omega = g**2 l                    kappa = y (c + omega m)

(m the margin, e the half-width of the tube, g = 1 / (smoothing m).) The loss of the smooth hinge is
log(1 + exp(g x)) / g at x = m - y f. For g -> inf it is the hinge loss. With g = 1 and m = 0 the factor is
the logistic one of cost 2c. l integrates out by the Laplace transform of PG(b, 0):
exp(-2c loss) = 2**-b exp(-c x) cosh(g x / 2)**-b, b = 2c / g.

Given omega and kappa, the weights of a task are normal with precision I / s + sum_d omega_d zbar_d zbar_d'
and linear term sum_d kappa_d zbar_d.
"""

import math

import numpy as np

from bayou.kernels.cholesky import backward_into, factor_fast_into, forward_into
from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.draw import draw_inverse_gaussian, draw_normal, draw_polya_gamma
from bayou.kernels.rng import RESPONSE, WEIGHTS, key

HINGE, INSENSITIVE, LOGISTIC, SMOOTH_HINGE = 0, 1, 2, 3
_LEAST, _MOST = 1e-12, 1e6  # of 1 / lambda, which is heavy-tailed


@jit
def _draw_inverse(stream, c, gap):
    """1 / lambda ~ IG(1 / (c |gap|), 1), kept within bounds; a gap of zero is the limit."""
    x = draw_inverse_gaussian(stream, 1.0 / (c * abs(gap)) if gap != 0.0 else math.inf)
    return min(max(x, _LEAST), _MOST)


@jit
def augment(stream, loss, c, width, y, f, smoothing):
    """(omega, kappa) of one task of one document.

    ``width`` is the margin or the tube's half-width. ``smoothing`` matters to the smooth hinge only.
    """
    if loss == HINGE:
        inverse = _draw_inverse(stream, c, width - y * f)
        return c * c * inverse, c * y * (1.0 + c * width * inverse)
    if loss == INSENSITIVE:
        below = _draw_inverse(stream, c, y - f - width)
        above = _draw_inverse(stream, c, y - f + width)
        return c * c * (below + above), c * c * ((y - width) * below + (y + width) * above)
    if loss == LOGISTIC:
        return draw_polya_gamma(stream, c, f), 0.5 * c * y
    if loss == SMOOTH_HINGE:
        g = 1.0 / (smoothing * width)
        omega = g * g * draw_polya_gamma(stream, 2.0 * c / g, g * (width - y * f))
        return omega, y * (c + omega * width)
    raise ValueError("unknown code of a loss")


@jit
def first_guess(loss, c, width, y):
    """(omega, kappa) of one task of one document before anything is known of its score f.

    At lambda = 1 of the hinge loss, also for the smooth hinge; for the logistic loss at the mean for f = 0.
    Labels must be strong here to break the symmetry of the topics. The mean of lambda for f = 0, omega =
    c / m instead of c**2, gives the smooth hinge much worse topics.
    """
    if loss in (HINGE, SMOOTH_HINGE):
        return c * c, c * y * (1.0 + c * width)
    if loss == INSENSITIVE:
        return 2.0 * c * c, 2.0 * c * c * y
    if loss == LOGISTIC:
        return 0.25 * c, 0.5 * c * y
    raise ValueError("unknown code of a loss")


@jit
def start_rows(omega, kappa, y, cost, lo, hi, loss, width):
    """`first_guess` of documents lo .. hi; zero where there is no label."""
    for d in range(lo, hi):
        for i in range(y.shape[1]):
            o, m = 0.0, 0.0
            if cost[d, i] > 0.0:
                o, m = first_guess(loss, np.float64(cost[d, i]), width, np.float64(y[d, i]))
            omega[d, i] = o
            kappa[d, i] = m


@jit
def draw_rows(omega, kappa, zbar, eta, y, cost, ids, lo, hi, loss, width, seed, sweep, smoothing):
    """Redraw (omega, kappa) of documents lo .. hi given their discriminants zbar . eta_i.

    ``zbar`` = (start, number, topics, values): rows of non-zeros. ``cost`` is c for each document and task,
    zero where there is no label.
    """
    start, number, topics, values = zbar
    stream = np.empty(1, np.uint64)
    for d in range(lo, hi):
        stream[0] = key(seed, RESPONSE, sweep, ids[d])
        for i in range(y.shape[1]):
            if cost[d, i] > 0.0:
                f = 0.0
                for j in range(start[d], start[d] + number[d]):
                    f += values[j] * eta[i, topics[j]]
                c, target = np.float64(cost[d, i]), np.float64(y[d, i])
                o, m = augment(stream, loss, c, width, target, f, smoothing)
                omega[d, i] = o
                kappa[d, i] = m


@jit
def zbar_rows(zbar, z, rho, indptr, n_topics, lo, hi):
    """Non-zeros of zbar_d for documents lo .. hi; ``zbar`` = (start, number, topics, values)."""
    start, number, topics, values = zbar
    row = np.zeros(n_topics, np.float32)
    for d in range(lo, hi):
        for i in range(indptr[d], indptr[d + 1]):
            row[z[i]] += rho[i]
        n = 0
        for i in range(indptr[d], indptr[d + 1]):
            k = z[i]
            if row[k] != np.float32(0.0):
                topics[start[d] + n] = k
                values[start[d] + n] = row[k]
                row[k] = np.float32(0.0)
                n += 1
        number[d] = n


@fast_jit
def _add_outer(precision, linear, topics, values, lo, hi, o, m):
    for j in range(lo, hi):
        a = np.float64(values[j])
        k = topics[j]
        linear[k] += m * a
        for j2 in range(lo, hi):
            precision[k, topics[j2]] += o * a * values[j2]


@jit
def gather(precision, linear, zbar, omega, kappa, task, variance):
    """Precision and linear term of one task's weights."""
    start, number, topics, values = zbar
    n_topics = linear.size
    for k in range(n_topics):
        linear[k] = 0.0
        for j in range(n_topics):
            precision[k, j] = 0.0
        precision[k, k] = 1.0 / variance
    for d in range(number.size):
        o, m = np.float64(omega[d, task]), np.float64(kappa[d, task])
        if o != 0.0 or m != 0.0:
            _add_outer(precision, linear, topics, values, start[d], start[d] + number[d], o, m)


@jit
def draw_weights(eta, mean, zbar, omega, kappa, lo, hi, variance, seed, sweep):
    """eta_i ~ N(P_i**-1 b_i, P_i**-1) and its mean for tasks lo .. hi, by P = R R'."""
    n_topics = eta.shape[1]
    precision, linear = np.empty((n_topics, n_topics)), np.empty(n_topics)
    stream = np.empty(1, np.uint64)
    for i in range(lo, hi):
        gather(precision, linear, zbar, omega, kappa, i, variance)
        factor_fast_into(precision)
        forward_into(linear, precision, n_topics)
        stream[0] = key(seed, WEIGHTS, sweep, i)
        noise = np.empty(n_topics)
        for k in range(n_topics):
            noise[k] = draw_normal(stream)
        backward_into(linear, precision, n_topics)
        backward_into(noise, precision, n_topics)
        for k in range(n_topics):
            mean[i, k] = linear[k]
            eta[i, k] = linear[k] + noise[k]


@jit
def draw_coordinates(
    eta, mean, columns, fitted, omega, kappa, lo, hi, variance, n_passes, seed, sweep
):
    """The weights of tasks lo .. hi one coordinate after the other; omega and kappa are (tasks x docs).

    P_k = 1 / s + sum_d omega_d zbar_dk**2,
    m_k = sum_d zbar_dk (kappa_d - omega_d (f_d - eta_k zbar_dk)) / P_k.
    ``columns`` = (indptr, docs, values) is zbar by topics, ``fitted`` room for f of every document. ``mean``
    becomes the conditional mean of the last pass.
    """
    indptr, docs, values = columns
    stream = np.empty(1, np.uint64)
    n_docs = omega.shape[1]
    f = fitted
    for i in range(lo, hi):
        stream[0] = key(seed, WEIGHTS, sweep, i)
        for d in range(n_docs):
            f[d] = 0.0
        for k in range(eta.shape[1]):
            for j in range(indptr[k], indptr[k + 1]):
                f[docs[j]] += eta[i, k] * values[j]
        for _ in range(n_passes):
            for k in range(eta.shape[1]):
                precision, linear, old = 1.0 / variance, 0.0, np.float64(eta[i, k])
                for j in range(indptr[k], indptr[k + 1]):
                    d, a = docs[j], np.float64(values[j])
                    precision += omega[i, d] * a * a
                    linear += a * (kappa[i, d] - omega[i, d] * (f[d] - old * a))
                mean[i, k] = linear / precision
                new = mean[i, k] + draw_normal(stream) / math.sqrt(precision)
                eta[i, k] = new
                for j in range(indptr[k], indptr[k + 1]):
                    f[docs[j]] += (np.float64(eta[i, k]) - old) * values[j]
