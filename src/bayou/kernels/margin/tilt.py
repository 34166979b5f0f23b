"""What labels add to the weight of a topic, the same for every loss, any number of tasks.

After augmentation a document's labels contribute prod_i exp(kappa_i f_i - omega_i f_i**2 / 2) with
f_i = eta_i . zbar, zbar_k = sum of rho_n over the document's tokens in topic k. With token n removed, putting
it into topic k multiplies that by exp(g_k) up to a factor,

    g_k = rho_n (lean_k - (G zbar)_k) - rho_n**2 G_kk / 2,
    lean = sum_i kappa_i eta_i,   G = sum_i omega_i eta_i eta_i',

so lean and G are all that a sampler must know of the labels. Where weights are not drawn but have a mean
eta_i and a covariance S_i, G = sum_i omega_i (eta_i eta_i' + S_i); ``spread`` holds S_i of each task, one S
of all, or nothing. Rows of G are made when first wanted: most documents use few of the topics.
"""

import numpy as np

from bayou.kernels.compile import fast_jit, jit

_LOG2E = np.float32(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_LOWEST = np.float32(-80.0)  # exp of it is far below the rounding of a float32 sum
_C2, _C3, _C4 = np.float32(0.5), np.float32(1.6666665e-1), np.float32(4.1665795e-2)
_C5, _C6 = np.float32(8.3334519e-3), np.float32(1.3981999e-3)
_BIAS, _SHIFT = np.int32(127), np.int32(23)
_ONE, _HALF, _ZERO = np.float32(1.0), np.float32(0.5), np.float32(0.0)


@fast_jit
def lean_into(lean, diag, eta, spread, omega, kappa, d):
    """``lean`` and the diagonal of G for document d; eta is (tasks x topics). True if labels say anything."""
    for k in range(lean.size):
        lean[k] = _ZERO
        diag[k] = _ZERO
    some = False
    for i in range(eta.shape[0]):
        o, c = omega[d, i], kappa[d, i]
        if o != _ZERO or c != _ZERO:
            some = True
            for k in range(lean.size):
                lean[k] += c * eta[i, k]
                diag[k] += o * eta[i, k] * eta[i, k]
            if spread.shape[0] > 0:
                j = min(i, spread.shape[0] - 1)
                for k in range(lean.size):
                    diag[k] += o * spread[j, k, k]
    return some


@fast_jit
def _add_spread(gram, k, spread, omega, d):
    """Row k of sum_i omega_i S_i, added to G."""
    if spread.shape[0] == 1:
        mass = _ZERO
        for i in range(omega.shape[1]):
            mass += omega[d, i]
        for j in range(gram.shape[1]):
            gram[k, j] += mass * spread[0, k, j]
        return
    for i in range(spread.shape[0]):
        for j in range(gram.shape[1]):
            gram[k, j] += omega[d, i] * spread[i, k, j]


@fast_jit
def row_into(gram, k, eta, spread, omega, d):
    """Row k of G for document d; four tasks at a time, so that the row is read and written less often."""
    n_tasks, n_topics = eta.shape
    whole = n_tasks - n_tasks % 4
    for j in range(n_topics):
        gram[k, j] = _ZERO
    for i in range(0, whole, 4):
        a, b = omega[d, i] * eta[i, k], omega[d, i + 1] * eta[i + 1, k]
        c, e = omega[d, i + 2] * eta[i + 2, k], omega[d, i + 3] * eta[i + 3, k]
        for j in range(n_topics):
            gram[k, j] += (a * eta[i, j] + b * eta[i + 1, j]) + (
                c * eta[i + 2, j] + e * eta[i + 3, j]
            )
    for i in range(whole, n_tasks):
        a = omega[d, i] * eta[i, k]
        for j in range(n_topics):
            gram[k, j] += a * eta[i, j]
    if spread.shape[0] > 0:
        _add_spread(gram, k, spread, omega, d)


@fast_jit
def add_row(h, gram, k, by):
    """``h += by G_k``."""
    for j in range(h.size):
        h[j] += by * gram[k, j]


@fast_jit
def leave_into(g, h, gram, s, rho, lean, diag):
    """Take a token of weight rho out of topic s (h = G zbar follows), and g of all topics."""
    half = _HALF * rho * rho
    for k in range(g.size):
        x = h[k] - rho * gram[s, k]
        h[k] = x
        g[k] = rho * (lean[k] - x) - half * diag[k]


@jit
def largest(g):
    """The largest of g; four at a time, so that no comparison waits for the one before it."""
    whole = g.size - g.size % 4
    a = b = c = e = np.float32(-np.inf)
    for k in range(0, whole, 4):
        a, b = max(a, g[k]), max(b, g[k + 1])
        c, e = max(c, g[k + 2]), max(e, g[k + 3])
    for k in range(whole, g.size):
        a = max(a, g[k])
    return max(a, b, c, e)


@jit
def exp_into(g, top, bits):
    """``g`` and the powers of two in ``bits`` with exp(g_old - top) = g * power, for g_old <= top.

    exp(x) = 2**n exp(r), |r| <= ln 2 / 2, to single precision; values under e**-80 become e**-80. Writing
    n + 127 into the exponent's bits makes 2**n when the memory is read as float32: no call in the loop.
    """
    for k in range(g.size):
        x = max(g[k] - top, _LOWEST)
        n = np.int32(x * _LOG2E - _HALF)  # x <= 0: cutting off is rounding
        m = np.float32(n)
        r = x - m * _LN2_HIGH - m * _LN2_LOW
        bits[k] = (n + _BIAS) << _SHIFT
        g[k] = ((((((_C6 * r + _C5) * r + _C4) * r + _C3) * r + _C2) * r + _ONE) * r) + _ONE


@jit
def lay_out(zbar, z, rho, lo, hi):
    """zbar of the tokens lo .. hi, written over ``zbar``."""
    for k in range(zbar.size):
        zbar[k] = _ZERO
    for i in range(lo, hi):
        zbar[z[i]] += rho[i]
