"""Random variates from a stream of uniform numbers (a one-element uint64 array, set to a key).

Shapes and weights must be non-negative; NaN or a negative shape gives NaN instead of an endless
rejection loop. The log versions exist because nearly half of all gamma variates of shape 0.001 are
below the smallest double.

[Marsaglia00] Marsaglia, Tsang. A simple method for generating gamma variables. TOMS 26, 2000.
[Michael76] Michael, Schucany, Haas. Generating random variates using transformations with multiple
roots. The American Statistician 30, 1976.
[Polson13] Polson, Scott, Windle. Bayesian inference for logistic models using Polya-Gamma latent
variables. JASA 108, 2013.
"""

import math

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.rng import uniform

_SPLIT = 0.64  # boundary between the two series of the Jacobi density, [Polson13] section 4
_PG_TERMS = 24  # of the sum of gammas; the rest is one gamma of the same mean and variance
_PG_MOST_TERMS = 200  # for small c, whose Laplace transform is not negligible far out
_PG_NORMAL = 50.0  # below it, a sum of exact draws is cheaper for whole c than a truncated sum
_PG_LARGE_TILT = 40.0


@jit
def draw_normal(stream):
    """A standard normal number (Box-Muller); always uses two uniforms, never exceeds 8.6."""
    radius = math.sqrt(-2.0 * math.log1p(-uniform(stream)))
    return radius * math.cos(2.0 * math.pi * uniform(stream))


@jit
def draw_exponential(stream):
    """An exponential number of mean 1."""
    return -math.log1p(-uniform(stream))


@jit
def _gamma_above_one(stream, shape):
    """Gamma(shape, 1) for shape >= 1 by squeezing a cubed normal [Marsaglia00]."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = draw_normal(stream)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = 1.0 - uniform(stream)
        if math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return d * v


@jit
def draw_log_gamma(stream, shape):
    """The logarithm of a Gamma(shape, 1) number; -inf at shape 0, finite for any tiny shape."""
    if not (shape >= 0.0 and shape < math.inf):
        return math.nan
    if shape >= 1.0:
        return math.log(_gamma_above_one(stream, shape))
    # Gamma(a) = Gamma(a + 1) * U**(1 / a), [Marsaglia00] section 6, kept as a logarithm.
    boosted = math.log(_gamma_above_one(stream, shape + 1.0))
    return boosted - draw_exponential(stream) / np.float64(shape)


@jit
def draw_gamma(stream, shape):
    """A Gamma(shape, 1) number; shapes below about 0.001 often give 0 (see `draw_log_gamma`)."""
    if shape >= 1.0 and shape < math.inf:
        return _gamma_above_one(stream, shape)
    return math.exp(draw_log_gamma(stream, shape))


@jit
def draw_log_beta(stream, a, b):
    """The logarithm of a Beta(a, b) number; exact even if the number itself underflows to 0."""
    if a <= 0.0 and b > 0.0:
        return -math.inf
    x = draw_log_gamma(stream, a)
    y = draw_log_gamma(stream, b)
    if y > x:
        return x - y - math.log1p(math.exp(x - y))
    return -math.log1p(math.exp(y - x))


@jit
def draw_beta(stream, a, b):
    """A Beta(a, b) number; a = b = 0 defines no distribution and gives NaN."""
    return math.exp(draw_log_beta(stream, a, b))


@jit
def draw_inverse_gaussian(stream, mean):
    """An inverse Gaussian number of the given mean and shape 1 [Michael76].

    With r = 1 / mean the smaller root is 1 / (r + v**2 / 2 + sqrt(r v**2 + v**4 / 4)). No term is
    subtracted, so there is no cancellation for a large mean. mean = inf is the Levy law 1 / v**2.
    """
    if not (mean >= 0.0):
        return math.nan
    rate = 1.0 / np.float64(mean)
    v = draw_normal(stream)
    half = 0.5 * v * v
    x = 1.0 / (rate + half + math.sqrt(half * (2.0 * rate + half)))
    # Keep the smaller root with probability mean / (mean + x); otherwise mean**2 / x.
    if uniform(stream) * (1.0 + x * rate) > 1.0:
        return 1.0 / (x * rate * rate)
    return x


@jit
def draw_wald(stream, mean, shape):
    """An inverse Gaussian number of any mean and shape > 0, by scaling the law of shape 1."""
    return shape * draw_inverse_gaussian(stream, mean / shape)


@jit
def _jacobi_right_mass(z):
    """Probability that the proposal for the tilted Jacobi law lies above the split [Polson13]."""
    rate = math.pi * math.pi / 8.0 + 0.5 * z * z
    root = math.sqrt(0.5 / _SPLIT)
    upper = 0.5 * math.erfc(-root * (_SPLIT * z - 1.0))
    lower = 0.5 * math.erfc(root * (_SPLIT * z + 1.0))
    # q / p of [Polson13]; z <= 20 here, so no exponential overflows.
    left = math.exp(rate * _SPLIT - z) * upper + math.exp(rate * _SPLIT + z) * lower
    return 1.0 / (1.0 + 4.0 / math.pi * rate * left)


@jit
def _inverse_gaussian_below_split(stream, z):
    """IG(1 / z, 1) conditioned on being below the split, [Polson13] algorithms 2 and 3."""
    if z * _SPLIT > 1.0:
        while True:
            x = draw_inverse_gaussian(stream, 1.0 / z)
            if x < _SPLIT:
                return x
    while True:
        e = draw_exponential(stream)
        if e * e > 2.0 * draw_exponential(stream) / _SPLIT:
            continue
        x = _SPLIT / ((1.0 + _SPLIT * e) * (1.0 + _SPLIT * e))
        if uniform(stream) <= math.exp(-0.5 * z * z * x):
            return x


@jit
def _accept_jacobi(stream, x):
    """Accept x by the alternating series a_n(x) / a_0(x) = (2n + 1) exp(-n (n + 1) decay)."""
    if x > _SPLIT:
        decay = 0.5 * math.pi * math.pi * x
    else:
        decay = 2.0 / x
    u = uniform(stream)
    bound = 1.0
    n = 0
    while True:
        n += 1
        term = (2.0 * n + 1.0) * math.exp(-n * (n + 1.0) * decay)
        if n % 2 == 1:
            bound -= term
            if u <= bound:
                return True
        else:
            bound += term
            if u > bound:
                return False


@jit
def _polya_gamma_one(stream, tilt, right_mass):
    """An exact PG(1, tilt) number [Polson13]."""
    z = 0.5 * tilt
    while True:
        if uniform(stream) < right_mass:
            rate = math.pi * math.pi / 8.0 + 0.5 * z * z
            x = _SPLIT + draw_exponential(stream) / rate
        else:
            x = _inverse_gaussian_below_split(stream, z)
        if _accept_jacobi(stream, x):
            return 0.25 * x


@jit
def polya_gamma_mean(c, tilt):
    """The mean c tanh(f / 2) / (2 f) of PG(c, f); c / 4 at f = 0."""
    f = abs(tilt)
    if f < 1e-8:
        return 0.25 * c
    return -0.5 * c * math.expm1(-f) / ((1.0 + math.exp(-f)) * f)


@jit
def polya_gamma_variance(c, tilt):
    """The variance c (sinh f - f) / (4 f**3 cosh(f / 2)**2) of PG(c, f); c / 24 at f = 0."""
    f = abs(tilt)
    e = math.exp(-f)
    if f < 0.1:
        f2 = f * f  # the series of (sinh f - f) / f**3, to avoid cancellation in the difference
        return c * e * (1.0 / 6.0 + f2 / 120.0 + f2 * f2 / 5040.0) / ((1.0 + e) * (1.0 + e))
    return 0.5 * c * (1.0 - e * e - 2.0 * f * e) / (f * f * f * (1.0 + e) * (1.0 + e))


@jit
def _polya_gamma_sum(stream, c, tilt):
    """PG(c, f) as the first terms of its sum of gammas, plus one gamma in place of the others.

    That gamma has the mean and the variance of the terms it replaces, so that only third and higher
    cumulants of this remainder differ. With 12 / c terms the Laplace transform E exp(-t x) is correct within
    0.3 % for c > 0.06 wherever it is above exp(-10).
    """
    n_terms = int(min(max(_PG_TERMS, 12.0 / c), _PG_MOST_TERMS))
    shift = tilt * tilt / (4.0 * math.pi * math.pi)
    drawn = 0.0
    mean, variance = polya_gamma_mean(c, tilt), polya_gamma_variance(c, tilt)
    for k in range(n_terms):
        weight = 0.5 / (math.pi * math.pi * ((k + 0.5) * (k + 0.5) + shift))
        drawn += weight * draw_gamma(stream, c)
        mean -= weight * c
        variance -= weight * weight * c
    return drawn + variance / mean * draw_gamma(stream, mean * mean / variance)


@jit
def draw_polya_gamma(stream, c, f):
    """A Polya-Gamma PG(c, f) number, c >= 0 real [Polson13].

    For |f| > 40 the law is the inverse Gaussian of mean c / 2f and shape c**2 / 4, up to a factor
    (1 + exp(-|f|))**c. Otherwise it is normal from c = 50 on; a negative number would be 8.6 deviations
    from the mean and cannot be drawn. Below 50 it is exact for whole c and a sum of gammas otherwise.
    """
    tilt = np.float64(abs(f))
    if not (c >= 0.0 and tilt >= 0.0):
        return math.nan
    if c == 0.0:
        return 0.0
    if tilt > _PG_LARGE_TILT:
        return draw_wald(stream, 0.5 * c / tilt, 0.25 * c * c)
    if c >= _PG_NORMAL:
        deviation = math.sqrt(polya_gamma_variance(c, tilt))
        return polya_gamma_mean(c, tilt) + deviation * draw_normal(stream)
    if c != math.floor(c):
        return _polya_gamma_sum(stream, c, tilt)
    right_mass = _jacobi_right_mass(0.5 * tilt)
    total = 0.0
    for _ in range(int(c)):
        total += _polya_gamma_one(stream, tilt, right_mass)
    return total


@jit
def draw_dirichlet_into(out, stream, alpha):
    """Fill ``out`` with a Dirichlet(alpha) vector; entries of zero alpha are 0."""
    top = -math.inf
    for k in range(len(alpha)):
        out[k] = draw_log_gamma(stream, alpha[k])
        if out[k] > top:
            top = out[k]
    total = 0.0
    for k in range(len(alpha)):
        out[k] = math.exp(out[k] - top)
        total += out[k]
    for k in range(len(alpha)):
        out[k] /= total


@jit
def draw_discrete(stream, weights, n):
    """An index below n with probability proportional to its weight; -1 if no weight is positive."""
    total = 0.0
    last = -1
    for k in range(n):
        total += weights[k]
        if weights[k] > 0.0:
            last = k
    point = uniform(stream) * total
    below = 0.0
    for k in range(last):
        below += weights[k]
        if point < below:
            return k
    return last
