"""Tables of a Chinese restaurant franchise: Stirling ratios, table counts, concentrations.

A generalised Stirling number S^n_m counts the ways to seat n customers at m tables, discount a:
S^{n+1}_m = S^n_{m-1} + (n - m a) S^n_m. Samplers need two ratios of them and nothing else [Buntine14],
and both follow from V^n_m = S^n_m / S^n_{m-1}, whose recursion adds positive terms only:

    V^{n+1}_m = (1 + (n - m a) V^n_m) / (1 / V^n_{m-1} + n - (m - 1) a)

with 1 / V^n_1 read as 0. ``ratios[n, m]`` holds V^n_m; rows n and columns m below 2 are zero.

[Buntine14] Buntine, Mishra. Experiments with non-parametric topic models. KDD 2014.
[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

import math

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.draw import draw_gamma, draw_log_beta
from bayou.kernels.rng import CONCENTRATION, key, uniform

_SUM_UP_TO = 16  # customers whose expected tables are added up one by one
_ASYMPTOTIC = 8.0  # from here on five terms of the series of psi are exact to 1e-12


@jit
def next_ratio(here, left, n, m, discount):
    """V^{n+1}_m from V^n_m and V^n_{m-1}, for m >= 2."""
    below = n - (m - 1) * discount
    if m > 2:
        below += 1.0 / left
    return (1.0 + (n - m * discount) * here) / below


@jit
def fill_ratios(ratios, n_known, m_known, discount):
    """Fill ``ratios`` beyond the first ``n_known`` rows and ``m_known`` columns, which are filled already."""
    n_rows, n_columns = ratios.shape
    for n in range(1, n_rows - 1):
        first = m_known if n + 1 < n_known else 2
        for m in range(max(first, 2), min(n + 2, n_columns)):
            ratios[n + 1, m] = next_ratio(ratios[n, m], ratios[n, m - 1], n, m, discount)


@jit
def _ratio_beyond(ratios, n, m, discount):
    """V^n_m beyond the table: the missing rows and columns are computed and not stored."""
    columns = np.zeros(m + 1)
    begin = min(ratios.shape[0] - 1, n) if m < ratios.shape[1] else 1
    if begin > 1:
        for j in range(2, m + 1):
            columns[j] = ratios[begin, j]
    for i in range(max(begin, 1), n):
        for j in range(min(m, i + 1), 1, -1):
            columns[j] = next_ratio(columns[j], columns[j - 1], i, j, discount)
    return columns[m]


@jit
def ratio(ratios, n, m, discount):
    """V^n_m = S^n_m / S^n_{m-1} for m >= 2; 0 where m > n."""
    if m > n:
        return 0.0
    if n < ratios.shape[0] and m < ratios.shape[1]:
        return ratios[n, m]
    return _ratio_beyond(ratios, n, m, discount)


@jit
def join_ratio(ratios, n, m, discount):
    """U^n_m = S^{n+1}_m / S^n_m: one more customer, no more tables; 1 <= m <= n."""
    joined = n - m * discount
    if m > 1:
        joined += 1.0 / ratio(ratios, n, m, discount)
    return joined


@jit
def open_ratio(ratios, n, m, discount):
    """W^n_m = S^{n+1}_{m+1} / S^n_m: one more customer at a new table; 1 <= m <= n."""
    return 1.0 + (n - (m + 1) * discount) * ratio(ratios, n, m + 1, discount)


@jit
def fill_factors(factors, ratios, discount):
    """Fill ``factors[n, m]`` = (W^n_m (m + 1) / (n + 1), U^n_m (n - m + 1) / (n + 1)), 1 <= m <= n.

    The next customer opens a table, or joins one, when all ways to say who opened the tables there are
    count as one. The first is never below 1, and 1 where everybody has a table of his own.
    """
    n_rows, n_columns, _ = factors.shape
    for n in range(1, n_rows):
        for m in range(1, min(n + 1, n_columns)):
            factors[n, m, 0] = open_ratio(ratios, n, m, discount) * (m + 1) / (n + 1)
            factors[n, m, 1] = join_ratio(ratios, n, m, discount) * (n - m + 1) / (n + 1)


@jit
def factor(factors, ratios, n, m, joins, discount):
    """``factors[n, m, joins]``, computed if the array is too small."""
    if n < factors.shape[0] and m < factors.shape[1]:
        return factors[n, m, joins]
    if joins == 1:
        return join_ratio(ratios, n, m, discount) * (n - m + 1) / (n + 1)
    return open_ratio(ratios, n, m, discount) * (m + 1) / (n + 1)


@jit
def draw_tables(stream, n, x):
    """Tables of n customers in a restaurant where the dish has mass x, P(m) ~ S^n_m x**m [Teh06].

    Customer i opens a table with probability x / (x + i); no Stirling number is needed.
    """
    if n <= 0:
        return 0
    m = 1
    for i in range(1, n):
        if uniform(stream) * (x + i) < x:
            m += 1
    return m


@jit
def digamma(x):
    """psi(x) for x > 0, by its asymptotic series after x has been made large."""
    value = 0.0
    while x < _ASYMPTOTIC:
        value -= 1.0 / x
        x += 1.0
    s = 1.0 / (x * x)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132)))))
    return value + math.log(x) - 0.5 / x - series


@jit
def expected_tables(n, x):
    """E[m] = x (psi(x + n) - psi(x)) of `draw_tables`, also for a fractional number of customers."""
    if n <= 0.0:
        return 0.0
    if x <= 0.0:
        return min(n, 1.0)
    if n <= _SUM_UP_TO and n == math.floor(n):
        total = 1.0
        for i in range(1, np.int64(n)):
            total += x / (x + i)
        return total
    return x * (digamma(x + n) - digamma(x))


@jit
def expected_tables_into(out, counts, mass):
    """E[m] of counts (rows x dishes), ``mass`` has one number per dish."""
    for d in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            out[d, k] = expected_tables(counts[d, k], mass[k])


@jit
def tables_into(out, counts, mass, ids, seed, purpose, sweep):
    """Draw tables of counts (rows x dishes), each row by the key of its id."""
    stream = np.empty(1, np.uint64)
    for d in range(counts.shape[0]):
        stream[0] = key(seed, purpose, sweep, ids[d])
        for k in range(counts.shape[1]):
            out[d, k] = draw_tables(stream, counts[d, k], mass[k])


@jit
def _draw_powers(stream, b, tables, discount):
    """Number of factors b in prod_{i < tables} (b + i a) once each sum has been decided."""
    if discount <= 0.0:
        return float(tables)
    powers = 0.0
    for i in range(tables):
        if uniform(stream) * (b + i * discount) < b:
            powers += 1.0
    return powers


@jit
def draw_concentration(b, customers, tables, discount, prior, seed, sweep, level):
    """A concentration given restaurants that share it: Gamma prior (shape, rate), exact in two steps.

    Each restaurant contributes prod_{i < m}(b + i a) Gamma(b) / Gamma(b + N). With ln q ~ ln Beta(b, N)
    for each, b ~ Gamma(shape + sum m, rate - sum ln q); a discount a turns each factor b + i a into b
    with probability b / (b + i a). Restaurants without customers say nothing.
    """
    shape, rate = prior
    stream = np.empty(1, np.uint64)
    stream[0] = key(seed, CONCENTRATION, sweep, level)
    for j in range(customers.size):
        if customers[j] > 0:
            rate -= draw_log_beta(stream, b, float(customers[j]))
            shape += _draw_powers(stream, b, tables[j], discount)
    return draw_gamma(stream, shape) / rate
