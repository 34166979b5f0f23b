"""Topics that are born and die, written out: all partitions of a few tokens, and the sampler in plain NumPy.

A corpus is (indptr, terms, rho, n_terms). ``known`` = (tables, delta) of topics from before: the tables they
have at the root, and Dirichlet parameters (terms x topics) of their terms; new topics have ``beta``.
"""

import itertools
import math

import numpy as np
from scipy.special import gammaln
from tests.reference import lda, margin
from tests.reference.franchise import stirling

GROWTH = 50  # as in `kernels.rng`


def partitions(n_tokens, n_known):
    """All assignments: topics from before by number, new ones in the order of their first token."""

    def extend(z):
        if len(z) == n_tokens:
            yield tuple(z)
            return
        for k in range(max([n_known - 1, *z]) + 2):
            yield from extend([*z, k])

    return list(extend([]))


def named(z, n_known):
    """The assignment with its new topics numbered in the order of their first token."""
    names = {k: k for k in range(n_known)}
    return tuple(names.setdefault(int(k), len(names)) for k in z)


def log_topics(z, indptr, alpha, gamma, tables):
    """ln p(z) with theta and the sticks integrated out: a sum over the tables of every document."""
    n_known = len(tables)
    n_topics = max(max(z) + 1, n_known)
    counts = np.array([np.bincount(list(z[a:b]), minlength=n_topics)
                       for a, b in itertools.pairwise(indptr)])  # fmt: skip
    pairs = [(d, k) for d, k in np.ndindex(counts.shape) if counts[d, k]]
    ways, total = stirling(len(z), 0.0), 0.0
    before = float(np.sum(tables))
    for chosen in itertools.product(*(range(1, counts[p] + 1) for p in pairs)):
        m = np.zeros(n_topics)
        value = 1.0
        for (d, k), t in zip(pairs, chosen, strict=True):
            m[k] += t
            value *= ways[counts[d, k]][t] * alpha**t
        log_root = gammaln(before + gamma) - gammaln(before + gamma + m.sum())
        for k in range(n_topics):
            if k < n_known:
                log_root += gammaln(tables[k] + m[k]) - gammaln(tables[k])
            else:
                log_root += math.log(gamma) + gammaln(m[k])
        total += value * math.exp(log_root)
    return math.log(total) - sum(gammaln(alpha + n) - gammaln(alpha) for n in np.diff(indptr))


def log_words(z, terms, beta, n_terms, delta):
    """ln p(w | z) with topics integrated out."""
    out = 0.0
    for k in set(z):
        prior = delta[:, k] if k < delta.shape[1] else np.full(n_terms, beta)
        n = np.bincount([w for w, t in zip(terms, z, strict=True) if t == k], minlength=n_terms)
        out += gammaln(prior.sum()) - gammaln(prior.sum() + n.sum())
        out += (gammaln(prior + n) - gammaln(prior)).sum()
    return out


def log_labels(z, corpus, omega, kappa, mean, spread, variance):
    """E[kappa f - omega f^2 / 2] under N(mean, spread) of one task; new topics have weight N(0, variance)."""
    indptr, _, rho, _ = corpus
    n_known = len(mean)
    n_topics = max(max(z) + 1, n_known)
    mu, cov = np.zeros(n_topics), np.eye(n_topics) * variance
    mu[:n_known], cov[:n_known, :n_known] = mean, spread
    zbar = margin.zbar_of(z, rho, indptr, n_topics)
    f, s = zbar @ mu, np.einsum("dk,kj,dj->d", zbar, cov, zbar)
    return float((kappa * f - 0.5 * omega * (f**2 + s)).sum())


def log_evidence(z, corpus, omega, kappa, variance):
    """ln of the integral of exp(sum_d kappa f - omega f^2 / 2) over weights around an unknown level."""
    indptr, _, rho, _ = corpus
    zbar = margin.zbar_of(z, rho, indptr, max(z) + 1)
    x = np.column_stack([zbar, np.ones(len(zbar))])
    p = x.T @ (omega[:, None] * x) + np.diag([1 / variance] * zbar.shape[1] + [0.0])
    b = x.T @ kappa
    logdet = np.linalg.slogdet(p)[1] + zbar.shape[1] * math.log(variance)
    return -0.5 * logdet + 0.5 * b @ np.linalg.solve(p, b)


def law(logs):
    """Probabilities from their logarithms up to a constant."""
    mass = np.exp(np.array(logs) - max(logs))
    return mass / mass.sum()


class Sampler:
    """The twin of `growing_sweep.sweep_docs`, one number after the other."""

    def __init__(self, corpus, z, sticks, mortal, prior, delta):
        self.indptr, self.terms, self.rho, self.n_terms = corpus
        self.z, self.stick, self.mortal = list(map(int, z)), np.array(sticks), list(mortal)
        self.alpha, self.gamma, self.beta = prior
        self.delta = delta  # terms x columns, beta where nothing is known
        self.rest = 1.0 - self.stick.sum()
        used = [k for k in range(len(sticks)) if k in self.z or not mortal[k]]
        self.free = [k for k in range(len(sticks) - 1, -1, -1) if k not in used]

    def sweep(self, labels, seed, number, ids):
        omega, kappa, eta, spread = labels
        for d, span in enumerate(lda.spans(self.indptr)):
            stream = lda.Stream(seed, GROWTH, number, ids[d])
            for i in span:
                s, self.z[i] = self.z[i], None
                if s not in self.z and self.mortal[s]:
                    self.rest += self.stick[s]
                    self.stick[s] = 0.0
                    self.free.append(s)
                weight = self.weights(i, span) * self.tilt(i, span, omega[d], kappa[d], eta, spread)
                t = lda.pick(weight, np.float32(stream.next()))
                u = stream.next()
                if self.free and self.free[-1] == t:
                    self.free.pop()
                    part = 1.0 - (1.0 - u) ** (1.0 / self.gamma)
                    self.stick[t] = part * self.rest
                    self.rest -= self.stick[t]
                self.z[i] = t

    def weights(self, i, span):
        out = np.zeros(len(self.stick))
        for k in range(len(out)):
            prior = self.alpha * self.stick[k]
            if k in self.free:
                prior = self.alpha * self.rest if k == self.free[-1] else 0.0
            here = [self.terms[j] for j in range(len(self.z)) if self.z[j] == k]
            n_dk = sum(self.z[j] == k for j in span)
            word = here.count(self.terms[i]) + self.delta[self.terms[i], k]
            out[k] = (n_dk + prior) * word / (len(here) + self.delta[:, k].sum())
        return out

    def tilt(self, i, span, omega, kappa, eta, spread):
        zbar = np.zeros(len(self.stick))
        for j in span:
            if self.z[j] is not None:
                zbar[self.z[j]] += self.rho[j]
        lean = kappa @ eta
        gram = np.einsum("i,ik,ij->kj", omega, eta, eta)
        for m in range(len(spread)):
            gram = gram + (omega.sum() if len(spread) == 1 else omega[m]) * spread[m]
        g = self.rho[i] * (lean - gram @ zbar) - 0.5 * self.rho[i] ** 2 * np.diag(gram)
        return np.exp(g - g.max())
