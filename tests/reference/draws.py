"""Slow, obvious draws and laws that the kernels are compared with."""

import numpy as np
from scipy import stats


def mix(x):
    """SplitMix64 output function in Python integers of any size."""
    mask = 2**64 - 1
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def unmix(x):
    """The inverse of `mix`: undo every xor-shift, multiply by the inverse odd constants."""
    mask = 2**64 - 1

    def unshift(y, s):
        z = y
        for _ in range(64 // s):
            z = y ^ (z >> s)
        return z

    x = unshift(x, 31)
    x = unshift((x * pow(0x94D049BB133111EB, -1, 2**64)) & mask, 27)
    return unshift((x * pow(0xBF58476D1CE4E5B9, -1, 2**64)) & mask, 30)


def polya_gamma(c, f, size, seed, n_terms=2000):
    """PG(c, f) as its defining sum of gammas, cut after many terms, tail replaced by its mean."""
    rng = np.random.default_rng(seed)
    total = np.zeros(size)
    expected = 0.0
    for k in range(1, n_terms + 1):
        weight = 1.0 / (2 * np.pi**2 * ((k - 0.5) ** 2 + f**2 / (4 * np.pi**2)))
        total += weight * rng.gamma(c, size=size)
        expected += weight * c
    mean = c / 4 if f == 0 else c * np.tanh(f / 2) / (2 * f)
    return total + (mean - expected)


def polya_gamma_of_terms(c, f, n_terms, gamma):
    """PG(c, f) of n gammas and a gamma for the rest, of its mean and variance; ``gamma(shape)`` draws one."""
    k = np.arange(1_000_000)
    weight = 1 / (2 * np.pi**2 * ((k + 0.5) ** 2 + f**2 / (4 * np.pi**2)))
    rest = 1 / (2 * np.pi**2 * len(k))  # the mean of all later terms, by the integral
    total = sum(w * gamma(c) for w in weight[:n_terms])
    mean, variance = c * (weight[n_terms:].sum() + rest), c * (weight[n_terms:] ** 2).sum()
    return total + variance / mean * gamma(mean**2 / variance)


def polya_gamma_transform(c, f, t):
    """E exp(-t x) of PG(c, f): (cosh(f / 2) / cosh(sqrt(f**2 / 4 + t / 2)))**c."""
    at = np.sqrt(f * f / 4 + t / 2)
    return np.exp(c * (np.logaddexp(f / 2, -f / 2) - np.logaddexp(at, -at)))


def inverse_gaussian_law(mean, shape):
    """The inverse Gaussian law of scipy in our parameters."""
    return stats.invgauss(mu=mean / shape, scale=shape)


def alias_masses(prob, alias):
    """The probabilities that an alias table stands for."""
    masses = np.zeros(len(prob), np.longdouble)  # the sums here must not add errors of their own
    for k in range(len(prob)):
        masses[k] += np.longdouble(prob[k]) / len(prob)
        masses[alias[k]] += (1 - np.longdouble(prob[k])) / len(prob)
    return masses.astype(np.float64)
