"""Online MedLDA in plain NumPy by enumeration: every assignment of topics, every term written out."""

from itertools import product

import numpy as np
from scipy.special import digamma, gammaln


def local_logits(z, n, terms, rho, alpha, delta, lean, gram):
    """ln p(z_n = k | rest) up to a constant, from the joint of ONE document.

    ``lean`` = sum_i kappa_i mu_i and ``gram`` = sum_i omega_i (mu_i mu_i' + S_i), over all tokens.
    """
    n_topics = len(alpha)
    out = np.empty(n_topics)
    log_phi = digamma(delta) - digamma(delta.sum(axis=0))
    for k in range(n_topics):
        now = np.array(z)
        now[n] = k
        counts = np.bincount(now, minlength=n_topics)
        zbar = np.bincount(now, weights=rho, minlength=n_topics)
        words = sum(log_phi[v, t] for v, t in zip(terms, now, strict=True))
        out[k] = gammaln(counts + alpha).sum() + words + lean @ zbar - 0.5 * zbar @ gram @ zbar
    return out - np.logaddexp.reduce(out)


class Enumerated:
    """Mean field q(w) q(phi) q(Z, lambda) of the Gibbs classifier on a few tokens [Shi17] 5.3.

    q(Z) factorises over documents; each is a table over all assignments. lambda is integrated out, which
    leaves exp(-c zeta - b) with b = c sqrt(zeta^2 + zbar' S zbar).
    """

    def __init__(self, docs, y, alpha, delta, precision, linear, cost, margin):
        self.docs, self.y, self.alpha = docs, y, alpha
        self.delta0, self.p0, self.b0 = delta, precision, linear
        self.c, self.margin = cost, margin
        self.delta, self.p, self.b = delta.copy(), precision.copy(), linear.copy()
        self.states = [list(product(range(len(alpha)), repeat=len(doc))) for doc in docs]
        self.q = [np.full(len(s), 1.0 / len(s)) for s in self.states]

    def zbar(self, z):
        return np.bincount(z, minlength=len(self.alpha)) / len(z)

    def gaps(self, d, z):
        """(zeta, b) of every task under the current q(w)."""
        x = self.zbar(z)
        zeta, b = np.empty(len(self.p)), np.empty(len(self.p))
        for i, (p, linear) in enumerate(zip(self.p, self.b, strict=True)):
            s = np.linalg.inv(p)
            zeta[i] = self.margin - self.y[d][i] * (s @ linear) @ x
            b[i] = self.c * np.sqrt(zeta[i] ** 2 + x @ s @ x)
        return zeta, b

    def step_topics(self):
        log_phi = digamma(self.delta) - digamma(self.delta.sum(axis=0))
        for d, doc in enumerate(self.docs):
            logits = []
            for z in self.states[d]:
                zeta, b = self.gaps(d, z)
                counts = np.bincount(z, minlength=len(self.alpha))
                words = sum(log_phi[v, k] for v, k in zip(doc, z, strict=True))
                logits.append(
                    gammaln(counts + self.alpha).sum() + words - self.c * zeta.sum() - b.sum()
                )
            logits = np.array(logits)
            self.q[d] = np.exp(logits - np.logaddexp.reduce(logits))

    def step_weights(self):
        """P = P_t + c^2 sum E[zbar zbar' / lambda], with E[1 / lambda | z] = 1 / b(z)."""
        p, linear = self.p0.copy(), self.b0.copy()
        for d in range(len(self.docs)):
            for q, z in zip(self.q[d], self.states[d], strict=True):
                _, b = self.gaps(d, z)
                x = self.zbar(z)
                for i in range(len(p)):
                    y = self.y[d][i]
                    p[i] += q * self.c**2 * np.outer(x, x) / b[i]
                    linear[i] += q * self.c * y * (1 + self.c * self.margin / b[i]) * x
        self.p, self.b = p, linear

    def step_phi(self):
        delta = self.delta0.copy()
        for d, doc in enumerate(self.docs):
            for q, z in zip(self.q[d], self.states[d], strict=True):
                for v, k in zip(doc, z, strict=True):
                    delta[v, k] += q
        self.delta = delta

    def objective(self):
        """KL(q || q_t) - E ln p(words, topics) + E[loss], lambda at its optimum given (Z, q(w))."""
        out = sum(_kl_normal(p, b, p0, b0) for p, b, p0, b0 in
                  zip(self.p, self.b, self.p0, self.b0, strict=True))  # fmt: skip
        out += _kl_dirichlet(self.delta, self.delta0)
        log_phi = digamma(self.delta) - digamma(self.delta.sum(axis=0))
        for d, doc in enumerate(self.docs):
            for q, z in zip(self.q[d], self.states[d], strict=True):
                zeta, b = self.gaps(d, z)
                counts = np.bincount(z, minlength=len(self.alpha))
                words = sum(log_phi[v, k] for v, k in zip(doc, z, strict=True))
                prior = gammaln(counts + self.alpha).sum()
                out += q * (np.log(max(q, 1e-300)) - prior - words + self.c * zeta.sum() + b.sum())
        return out


def _kl_normal(p, b, p0, b0):
    s = np.linalg.inv(p)
    gap = s @ b - np.linalg.solve(p0, b0)
    logs = np.linalg.slogdet(p)[1] - np.linalg.slogdet(p0)[1]
    return 0.5 * (np.trace(p0 @ s) + gap @ p0 @ gap - len(b) + logs)


def _kl_dirichlet(delta, delta0):
    total, total0 = delta.sum(axis=0), delta0.sum(axis=0)
    out = gammaln(total) - gammaln(total0) - (gammaln(delta) - gammaln(delta0)).sum(axis=0)
    return (out + ((delta - delta0) * (digamma(delta) - digamma(total))).sum(axis=0)).sum()
