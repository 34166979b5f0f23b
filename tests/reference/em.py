"""Dense twins of the EM kernels: every responsibility (document, term, topic) is written out."""

import numpy as np
from scipy.special import gammaln


def topic_rows(n_vk, beta):
    """phi_vk = (n_vk + beta) / (n_k + V beta)."""
    return (n_vk + beta) / (n_vk.sum(axis=0) + len(n_vk) * beta)


def normalised(weights):
    """Weights that sum to one over the last axis."""
    return weights / weights.sum(axis=-1, keepdims=True)


def responsibilities(n_dk, rows, alpha):
    """p(z = k | d, v) in proportion to (n_dk + a_k) phi_vk."""
    return normalised((n_dk + alpha)[:, None, :] * rows[None, :, :])


def sums(X, r):
    """(n_dk, n_vk): expected tokens of every document and of every term."""
    return np.einsum("dv,dvk->dk", X, r), np.einsum("dv,dvk->vk", X, r)


def em_step(X, n_dk, n_vk, alpha, beta):
    """One step of expectation-maximisation for Dir(alpha + 1), Dir(beta + 1)."""
    return sums(X, responsibilities(n_dk, topic_rows(n_vk, beta), alpha))


def cavity_step(X, n_dk, n_vk, alpha, beta):
    """A plain step for documents, then CVB0 that removes a token's own share from its document."""
    return cavity_under(X, n_dk, topic_rows(n_vk, beta), alpha)


def cavity_under(X, n_dk, rows, alpha):
    """The same under topics that are given."""
    r = responsibilities(n_dk, rows, alpha)
    n_dk = sums(X, r)[0]
    own = r * np.minimum(X, 1.0)[:, :, None]
    return sums(X, normalised((n_dk[:, None, :] + alpha - own) * rows[None, :, :]))


def objective(X, n_dk, n_vk, alpha, beta):
    """ln p(w, theta, phi) up to a constant at the estimates that the counts stand for."""
    theta, rows = normalised(n_dk + alpha), topic_rows(n_vk, beta)
    fit = (X * np.log(theta @ rows.T)).sum()
    return fit + (alpha * np.log(theta)).sum() + beta * np.log(rows).sum()


def fold_in(x, rows, alpha, n_steps):
    """n_k of one document with topics fixed, from an even spread."""
    n = np.full(len(alpha), x.sum() / len(alpha))
    for _ in range(n_steps):
        n = x @ normalised((n + alpha) * rows)
    return n


def scvb0_document(x, n, rows, alpha, n_passes, tau, kappa):
    """Stochastic CVB0 of one document, pair after pair, each with its clumped count."""
    n, i = n.copy(), 0
    for _ in range(n_passes):
        for v in np.flatnonzero(x):
            i += 1
            keep = (1.0 - (tau + i) ** -kappa) ** x[v]
            n = keep * n + (1.0 - keep) * x.sum() * normalised((n + alpha) * rows[v])
    return n


def evidence(counts, alpha):
    """sum over rows of ln p(counts | Dirichlet-multinomial(alpha)), without the coefficient."""
    alpha = np.broadcast_to(alpha, counts.shape[-1:])
    rise = gammaln(counts + alpha) - gammaln(alpha)
    total = alpha.sum()
    return rise.sum() + (gammaln(total) - gammaln(counts.sum(axis=1) + total)).sum()
