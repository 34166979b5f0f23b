"""Slow twins of labels on a stream: dense, one token after the other."""

import itertools
import math

import numpy as np

from bayou.kernels.rng import GOLDEN, LABEL_BATCH, key, unit


def shares(counts, own, rows):
    """Expected tokens (terms x labels) of documents under phi = rows, labels of a document alike."""
    out = np.zeros_like(rows)
    for d, labels in enumerate(own):
        for v in np.flatnonzero(counts[d]):
            w = rows[v, labels]
            out[v, labels] += counts[d, v] * w / w.sum()
    return out


def phi(N, beta):
    """(N_vy + beta) / (N_y + V beta)."""
    return (N + beta) / (N.sum(axis=0) + len(N) * beta)


def word_step(N, counts, own, beta, rho, total, n_rounds):
    """N <- (1 - rho) N + rho (C / |M|) (shares of the batch), in rounds; ``total`` is C_w."""
    new = N
    for _ in range(n_rounds):
        new = (1 - rho) * N + rho * total / counts.sum() * shares(counts, own, phi(new, beta))
    return new


def smooth_fixed_point(counts, own, rows, alpha, n=2000):
    """n_d of each document by expectation-maximisation under Dir(alpha + 1), to its end."""
    out = []
    for d, labels in enumerate(own):
        n_d = np.full(len(labels), counts[d].sum() / len(labels))
        for _ in range(n):
            w = rows[:, labels] * (n_d + alpha)
            n_d = (counts[d][:, None] * w / w.sum(axis=1, keepdims=True)).sum(axis=0)
        out.append(n_d)
    return out


def sampled(counts, own, rows, alpha, burn_in, n_kept, seed, step):
    """The sweeps of `sample_docs`, token by token: mean probabilities (documents, terms, labels)."""
    out = np.zeros((*counts.shape, rows.shape[1]), np.float32)
    golden = int(GOLDEN)
    for d, labels in enumerate(own):
        words = [v for v in np.flatnonzero(counts[d]) for _ in range(int(counts[d, v]))]
        z = [None] * len(words)
        n_d = np.zeros(len(labels), np.float32)
        for s in range(burn_in + n_kept + 1):
            at = key(seed, LABEL_BATCH, step * 65_536 + s, d)
            for t, v in enumerate(words):
                at = np.uint64((int(at) + golden) % 2**64)
                if z[t] is not None:
                    n_d[z[t]] -= 1
                tilt = np.ones(len(labels)) if alpha is None else n_d + alpha[labels]
                w = (rows[v, labels].astype(np.float32) * tilt.astype(np.float32)).astype(
                    np.float32
                )
                target = np.float32(unit(at)) * np.float32(sum(w, np.float32(0.0)))
                i = 0
                while i < len(labels) - 1 and target >= w[i]:
                    target = np.float32(target - w[i])
                    i += 1
                z[t] = i
                n_d[i] += 1
                if s > burn_in:
                    out[d, v, labels] += w / w.sum() / n_kept
    return out


def log_dm(n, a):
    """ln of the ordered Dirichlet-multinomial."""
    a = np.asarray(a, float)
    value = math.lgamma(a.sum()) - math.lgamma(a.sum() + sum(n))
    return value + sum(math.lgamma(x + k) - math.lgamma(x) for x, k in zip(a, n, strict=True))


def stirling(n, m):
    """Unsigned Stirling numbers of the first kind."""
    if n == 0 or m == 0:
        return float(n == m)
    return stirling(n - 1, m - 1) + (n - 1) * stirling(n - 1, m)


def franchise(counts, below, above):
    """p(z) of restaurants with dish counts (restaurants x dishes) under a finite root, tables summed out."""
    counts = np.asarray(counts, int)
    n_dishes = counts.shape[1]
    ranges = [range(1 if n else 0, n + 1) for n in counts.ravel()]
    total = 0.0
    for tables in itertools.product(*ranges):
        m = np.array(tables).reshape(counts.shape)
        value = math.exp(log_dm(m.sum(axis=0), np.full(n_dishes, above / n_dishes)))
        for row, seats in zip(counts, m, strict=True):
            value *= below ** seats.sum() * math.gamma(below) / math.gamma(below + row.sum())
            value *= math.prod(stirling(n, k) for n, k in zip(row, seats, strict=True))
        total += value
    return total


def joint_shares(counts, own, rows, links, alpha, n_steps):
    """lambda of words over (label, topic) pairs: tokens (terms x labels) and (labels x topics)."""
    n_labels, n_topics = links.shape
    words, cross = np.zeros_like(rows), np.zeros((n_labels, n_topics))
    for d, labels in enumerate(own):
        n_d = np.full(n_topics, counts[d].sum() / n_topics)
        for step in range(n_steps + 1):
            new = np.zeros(n_topics)
            for v in np.flatnonzero(counts[d]):
                table = rows[v, labels][:, None] * links[labels] * (n_d + alpha)
                table *= counts[d, v] / table.sum()
                new += table.sum(axis=0)
                if step == n_steps:
                    words[v, labels] += table.sum(axis=1)
                    cross[labels] += table
            n_d = new
    return words, cross
