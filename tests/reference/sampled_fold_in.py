"""Slow twin of `inference.lda.sampled_fold_in`: all assignments of a short document, one by one."""

import numpy as np


def expected_zbar(rows, alpha, term_weight, terms):
    """E zbar of one document under fixed rows, p(z) ~ prod_n (n_dk + alpha_k) phi_kv, and its variance."""
    n, k = len(terms), len(alpha)
    total, mean, square = 0.0, np.zeros(k), np.zeros(k)
    rho = np.array([term_weight[v] for v in terms], float)
    rho /= rho.sum()
    for z in np.ndindex(*[k] * n):
        weight, seen, zbar = 1.0, np.zeros(k), np.zeros(k)
        for v, t, part in zip(terms, z, rho, strict=True):
            weight *= (seen[t] + alpha[t]) * rows[v, t]
            seen[t] += 1.0
            zbar[t] += part
        total += weight
        mean += weight * zbar
        square += weight * zbar**2
    return mean / total, square / total - (mean / total) ** 2
