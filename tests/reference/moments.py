"""Moments by listing positions, tensors by listing entries, EM document by document."""

from itertools import permutations, product

import numpy as np


def moments_by_positions(counts):
    """M1, M2, M3 of one document: averages over ordered tuples of different positions."""
    words = np.repeat(np.arange(len(counts)), np.asarray(counts, int))
    d = len(counts)
    first, second, third = np.zeros(d), np.zeros((d, d)), np.zeros((d, d, d))
    for v in words:
        first[v] += 1.0 / len(words)
    pairs = list(permutations(range(len(words)), 2))
    for i, j in pairs:
        second[words[i], words[j]] += 1.0 / len(pairs)
    triples = list(permutations(range(len(words)), 3))
    for i, j, k in triples:
        third[words[i], words[j], words[k]] += 1.0 / len(triples)
    return first, second, third


def corpus_moments(counts, weights):
    """Means over documents of at least three tokens, by the documents' weights."""
    parts = [moments_by_positions(c) for c in counts]
    total = sum(weights)
    return [sum(w * p[i] for w, p in zip(weights, parts, strict=True)) / total for i in range(3)]


def population(weights, topics):
    """M1, M2, M3 of the single-topic model; topics are rows."""
    return (
        np.einsum("k,ka->a", weights, topics),
        np.einsum("k,ka,kb->ab", weights, topics, topics),
        np.einsum("k,ka,kb,kc->abc", weights, topics, topics, topics),
    )


def sequences(weights, topics, length):
    """Every document of so many tokens with its probability."""
    d = topics.shape[1]
    for words in product(range(d), repeat=length):
        p = float(np.sum(weights * np.prod(topics[:, words], axis=1)))
        yield np.bincount(words, minlength=d), p


def lda_moments(alpha, topics):
    """M1, M2, M3 of different tokens under LDA, from the moments of a Dirichlet."""
    k, a0 = len(alpha), alpha.sum()
    second = (np.outer(alpha, alpha) + np.diag(alpha)) / (a0 * (a0 + 1))
    third = np.zeros((k, k, k))
    for i, j, m in product(range(k), repeat=3):
        rising = alpha[i] * (alpha[j] + (i == j)) * (alpha[m] + (i == m) + (j == m))
        third[i, j, m] = rising / (a0 * (a0 + 1) * (a0 + 2))
    return (
        topics.T @ (alpha / a0),
        np.einsum("ij,ia,jb->ab", second, topics, topics),
        np.einsum("ijm,ia,jb,mc->abc", third, topics, topics, topics),
    )


def responsibilities(counts, weights, topics):
    """p(topic | document) by plain products; topics are rows."""
    joint = weights * np.prod(topics[None] ** counts[:, None], axis=2)
    return joint / joint.sum(axis=1, keepdims=True), np.log(joint.sum(axis=1))


def smoothed(stats, n_docs, known, pseudo, beta):
    """phi from mean statistics of a document: tokens of the topic and pseudo-tokens of the unigram."""
    unigram = (known + beta) / (known.sum() + beta * len(known))
    tokens = stats.sum(axis=1) * n_docs
    phi = stats / stats.sum(axis=1, keepdims=True)
    return (tokens[:, None] * phi + pseudo * unigram) / (tokens[:, None] + pseudo)


def stepwise(counts, share, stats, size, exponent, pseudo, beta):
    """Stepwise EM from given mean statistics (topics x terms); what they are after all documents."""
    known, n_docs = np.zeros(counts.shape[1]), 0
    for t, lo in enumerate(range(0, len(counts), size)):
        batch = counts[lo : lo + size]
        phi = smoothed(stats, n_docs + 1, known, pseudo, beta)
        resp, _ = responsibilities(batch, share / share.sum(), phi)
        eta = (t + 2.0) ** -exponent
        share = (1 - eta) * share + eta * resp.mean(axis=0)
        stats = (1 - eta) * stats + eta * (resp.T @ batch) / len(batch)
        known, n_docs = known + batch.sum(axis=0), n_docs + len(batch)
    return share, stats


def spectral_method(counts, n_topics, seed=0):
    """Algorithm 1 of the paper on SpectralLeader, line by line: weights and topics, before any clipping.

    Every document has the same weight. Pairs and triples are averages over all positions.
    """
    _, second, third = corpus_moments(counts, np.ones(len(counts)))
    values, vectors = np.linalg.eigh(second)
    values, vectors = values[::-1][:n_topics], vectors[:, ::-1][:, :n_topics]
    whiten = vectors / np.sqrt(values)
    tensor = np.einsum("abc,ai,bj,ck->ijk", third, whiten, whiten, whiten)
    rng, weights, topics = np.random.default_rng(seed), [], []
    for _ in range(n_topics):
        best, size = None, -np.inf
        for _ in range(20):
            v = rng.normal(size=n_topics)
            for _ in range(200):
                v = np.einsum("ijk,j,k->i", tensor, v / np.linalg.norm(v), v / np.linalg.norm(v))
            v = v / np.linalg.norm(v)
            value = np.einsum("ijk,i,j,k->", tensor, v, v, v)
            if value > size:
                best, size = v, value
        weights.append(size**-2.0)
        topics.append(size * np.linalg.pinv(whiten.T) @ best)
        tensor = tensor - size * np.einsum("i,j,k->ijk", best, best, best)
    return np.array(weights), np.array(topics)
