"""Slow, obvious twins of the measures."""

import itertools
import math

import numpy as np
from scipy import special
from tests.reference import lda


def exact_evidence(topics, alpha, tokens):
    """p(tokens | topics, alpha) by adding up all assignments of topics to tokens."""
    n_topics = len(topics)
    total = 0.0
    for z in itertools.product(range(n_topics), repeat=len(tokens)):
        counts = np.bincount(np.array(z, int), minlength=n_topics)
        log_p = special.gammaln(alpha.sum()) - special.gammaln(alpha.sum() + len(tokens))
        log_p += (special.gammaln(alpha + counts) - special.gammaln(alpha)).sum()
        total += math.exp(log_p) * math.prod(topics[k, w] for k, w in zip(z, tokens, strict=True))
    return total


def exact_proportions(topics, alpha, tokens):
    """E[theta | tokens] by adding up all assignments."""
    n_topics = len(topics)
    mean, total = np.zeros(n_topics), 0.0
    for z in itertools.product(range(n_topics), repeat=len(tokens)):
        counts = np.bincount(np.array(z, int), minlength=n_topics)
        weight = math.prod(topics[k, w] for k, w in zip(z, tokens, strict=True))
        weight *= math.exp((special.gammaln(alpha + counts) - special.gammaln(alpha)).sum())
        mean += weight * (alpha + counts) / (alpha.sum() + len(tokens))
        total += weight
    return mean / total


def fold_in_em(topics, alpha, counts, n_iter):
    """One document's proportions by the fixed point theta ~ alpha + E[n | theta]."""
    theta = alpha / alpha.sum()
    for _ in range(n_iter):
        joint = theta[:, None] * topics
        expected = (joint / joint.sum(axis=0) * counts).sum(axis=1)
        theta = (expected + alpha) / (expected + alpha).sum()
    return theta


def completion(topics, alpha, observed, scored, n_iter):
    """Mean log probability of the scored tokens, document by document."""
    total = 0.0
    for seen, unseen in zip(observed, scored, strict=True):
        total += unseen @ np.log(fold_in_em(topics, alpha, seen, n_iter) @ topics)
    return total / scored.sum()


def windows(docs, width):
    """Every window as a set of terms."""
    for doc in docs:
        if doc:
            for start in range(max(1, len(doc) - width + 1)):
                yield set(doc[start : start + width])


def npmi_of_pair(a, b, sets, eps):
    p_a = sum(a in s for s in sets) / len(sets)
    p_b = sum(b in s for s in sets) / len(sets)
    p_ab = sum(a in s and b in s for s in sets) / len(sets)
    if p_a == 0 or p_b == 0:
        return 0.0
    if p_ab == 1:
        return 1.0
    if p_ab + eps == 0:
        return -1.0
    return math.log((p_ab + eps) / (p_a * p_b)) / -math.log(p_ab + eps)


def npmi(lists, sets, eps=1e-12):
    return [
        np.mean([npmi_of_pair(a, b, sets, eps) for a, b in itertools.combinations(terms, 2)])
        for terms in lists
    ]


def c_v(lists, sets, eps=1e-12):
    values = []
    for terms in lists:
        vectors = np.array([[npmi_of_pair(a, b, sets, eps) for b in terms] for a in terms])
        whole = vectors.sum(axis=0)
        cosines = []
        for vector in vectors:
            norm = math.sqrt(vector @ vector) * math.sqrt(whole @ whole)
            cosines.append(vector @ whole / norm if norm > 0 else 0.0)
        values.append(np.mean(cosines))
    return values


def frex(topics, weight):
    n_topics, n_terms = topics.shape
    scores = np.empty(topics.shape)
    shares = topics / topics.sum(axis=0)
    for k in range(n_topics):
        for v in range(n_terms):
            exclusive = sum(shares[k] <= shares[k, v]) / n_terms
            frequent = sum(topics[k] <= topics[k, v]) / n_terms
            scores[k, v] = 1 / (weight / exclusive + (1 - weight) / frequent)
    return scores


def shrunk_share(shares, count):
    """One term's shares over topics, James-Stein shrinkage to the uniform vector."""
    target = 1 / len(shares)
    distance = sum((shares - target) ** 2)
    if count <= 1 or distance == 0:
        return np.full(len(shares), target)
    weight = min(1.0, (1 - sum(shares**2)) / ((count - 1) * distance))
    return weight * target + (1 - weight) * shares


def draw(weights, stream):
    """An index with probability proportional to its weight, or -1 where there is none to draw."""
    u = stream.next()
    return lda.pick(weights, u) if np.sum(weights) > 0 else -1


def counts_of(z, n_topics):
    return np.bincount([k for k in z if k >= 0], minlength=n_topics)


def gibbs_proportions(topics, alpha, tokens, burn_in, n_samples, stream):
    """Mean of (n + alpha) / (N + sum alpha) over kept sweeps; the first sweep finds a start."""
    z, kept = [-1] * len(tokens), []
    for _ in range(1 + burn_in + n_samples):
        for i, w in enumerate(tokens):
            n = counts_of(z[:i] + z[i + 1 :], len(alpha))
            z[i] = draw(topics[:, w] * (n + alpha), stream)
        mean = counts_of(z, len(alpha)) + alpha
        kept.append(mean / mean.sum())
    return np.mean(kept[1 + burn_in :], axis=0)


def left_to_right(topics, alpha, tokens, n_particles, stream):
    """ln of the estimate of p(tokens): every particle moves, predicts, and is resampled by that."""
    n_topics, particles, total = len(alpha), [[] for _ in range(n_particles)], 0.0
    for n, w in enumerate(tokens):
        chances = []
        for z in particles:
            for i in range(n):
                others = counts_of(z[:i] + z[i + 1 :], n_topics)
                z[i] = draw(topics[:, tokens[i]] * (others + alpha), stream)
            chances.append(float(topics[:, w] @ (counts_of(z, n_topics) + alpha)))
        if sum(chances) <= 0:
            return -math.inf
        total += math.log(sum(chances) / n_particles / (n + alpha.sum()))
        points = (np.arange(n_particles) + stream.next()) * sum(chances) / n_particles
        parents = np.searchsorted(np.cumsum(chances), points, side="right")
        particles = [list(particles[r]) for r in parents]
        for z in particles:
            z.append(draw(topics[:, w] * (counts_of(z, n_topics) + alpha), stream))
    return total
