"""Slow, obvious twins of the kernels of labels, and joint densities to enumerate.

A document is a list of terms and a list of labels; z is the label of every token, in the order of documents.
"""

import itertools
import math

import numpy as np
from tests.reference.lda import Stream, pick

LABELS, LABEL_TOPICS, LABEL_BLOCKS = 55, 56, 57


def flat(docs):
    """(document, term) of every token."""
    return [(d, v) for d, (terms, _) in enumerate(docs) for v in terms]


def log_dm(counts, prior):
    """The ordered Dirichlet-multinomial."""
    out = math.lgamma(sum(prior)) - math.lgamma(sum(prior) + sum(counts))
    return out + sum(
        math.lgamma(a + n) - math.lgamma(a) for n, a in zip(counts, prior, strict=True)
    )


def log_joint(docs, z, n_terms, n_labels, beta, alpha, boost=0.0, greedy=False):
    """ln p(w, z | Y): labels' terms and documents' labels integrated out; greedy: labels equally likely."""
    n_vy = np.zeros((n_terms, n_labels))
    n_dy = np.zeros((len(docs), n_labels))
    for (d, v), y in zip(flat(docs), z, strict=True):
        n_vy[v, y] += 1
        n_dy[d, y] += 1
    out = sum(log_dm(n_vy[:, y], [beta] * n_terms) for y in range(n_labels))
    for d, (terms, own) in enumerate(docs):
        if greedy:
            out -= len(terms) * math.log(len(own))
        else:
            out += log_dm(n_dy[d, own], [alpha[y] + boost / len(own) for y in own])
    return out


def conditional(docs, z, i, n_terms, n_labels, beta, alpha, boost=0.0, greedy=False):
    """p(z_i | rest) over the labels of the token's document, as a ratio of joint densities."""
    own = docs[flat(docs)[i][0]][1]
    logs = []
    for y in own:
        moved = list(z)
        moved[i] = y
        logs.append(log_joint(docs, moved, n_terms, n_labels, beta, alpha, boost, greedy))
    p = np.exp(np.array(logs) - max(logs))
    return p / p.sum()


def assignments(docs):
    """Every way to label the tokens."""
    return itertools.product(*(docs[d][1] for d, _ in flat(docs)))


def gibbs_sweep(docs, z, n_terms, n_labels, beta, alpha, boost, greedy, seed, sweep):
    """Every token drawn anew from its conditional; the labels after the sweep and the conditionals."""
    z, seen = list(z), []
    i = 0
    for d, (terms, own) in enumerate(docs):
        stream = Stream(seed, LABELS, sweep, d)
        for _ in terms:
            if len(own) > 1:
                p = conditional(docs, z, i, n_terms, n_labels, beta, alpha, boost, greedy)
                z[i] = own[pick(p, stream.next())]
            else:
                p = np.ones(1)
            seen.append(p)
            i += 1
    return z, seen


def cvb0(docs, gamma, n_terms, n_labels, beta, alpha, boost, greedy):
    """One step of CVB0 against the counts of the step before; gamma is a list of arrays over labels."""
    n_vy, n_dy = np.zeros((n_terms, n_labels)), np.zeros((len(docs), n_labels))
    for (d, v), g in zip(flat(docs), gamma, strict=True):
        n_vy[v] += g
        n_dy[d] += g
    out = []
    for (d, v), g in zip(flat(docs), gamma, strict=True):
        own = docs[d][1]
        w = (n_vy[v] - g + beta) / (n_vy.sum(axis=0) - g + n_terms * beta)
        if not greedy:
            w = w * (n_dy[d] - g + alpha + boost / len(own))
        new = np.zeros(n_labels)
        new[own] = w[own] / w[own].sum() if len(own) > 1 else 1.0
        out.append(new)
    return out


def block_log_joint(docs, z, k, n_terms, n_labels, n_topics, beta, beta_y, alpha):
    """ln p(w, z, z') of Fast-Dependency-LDA."""
    n_vy, n_yk = np.zeros((n_terms, n_labels)), np.zeros((n_labels, n_topics))
    n_dk = np.zeros((len(docs), n_topics))
    for (d, v), y, t in zip(flat(docs), z, k, strict=True):
        n_vy[v, y] += 1
        n_yk[y, t] += 1
        n_dk[d, t] += 1
    out = sum(log_dm(n_vy[:, y], [beta] * n_terms) for y in range(n_labels))
    out += sum(log_dm(n_yk[:, t], [beta_y] * n_labels) for t in range(n_topics))
    return out + sum(log_dm(row, alpha) for row in n_dk)


def block_sweep(docs, z, k, n_terms, n_labels, n_topics, beta, beta_y, alpha, seed, sweep):
    """Label and topic of every token drawn together from ratios of the joint."""
    z, k = list(z), list(k)
    i = 0
    for d, (terms, own) in enumerate(docs):
        stream = Stream(seed, LABEL_BLOCKS, sweep, d)
        for _ in terms:
            pairs = list(itertools.product(own, range(n_topics)))
            logs = []
            for y, t in pairs:
                z[i], k[i] = y, t
                logs.append(
                    block_log_joint(docs, z, k, n_terms, n_labels, n_topics, beta, beta_y, alpha)
                )
            p = np.exp(np.array(logs) - max(logs))
            z[i], k[i] = pairs[pick(p, stream.next())]
            i += 1
    return z, k


def alternating_sweep(docs, z, k, n_terms, n_labels, n_topics, beta, beta_y, alpha, seed, sweep):
    """The label of every token given its topic, then the topic given the label, from ratios of the joint."""
    z, k, i = list(z), list(k), 0
    for d, (terms, own) in enumerate(docs):
        stream = Stream(seed, LABEL_BLOCKS, sweep, d)
        for _ in terms:
            for values, choices in ((z, own), (k, range(n_topics))):
                logs = []
                for value in choices:
                    values[i] = value
                    logs.append(
                        block_log_joint(
                            docs, z, k, n_terms, n_labels, n_topics, beta, beta_y, alpha
                        )
                    )
                p = np.exp(np.array(logs) - max(logs))
                values[i] = choices[pick(p, stream.next())]
            i += 1
    return z, k


def scores(terms, counts, phi, prior, strength, n_steps):
    """Expectation-maximisation of labelled LDA on one document; phi is (terms, labels)."""
    weight = np.array(prior, float)
    length = np.sum(counts)
    mass = length if strength < 0 else strength
    found = np.array(prior, float)
    for _ in range(n_steps if length else 0):
        found = np.zeros(len(prior))
        for v, c in zip(terms, counts, strict=True):
            share = phi[v] * weight
            found += c * share / share.sum()
        weight = mass * np.asarray(prior) + found
    return found / found.sum()


def log_evidence(terms, phi, links, alpha):
    """ln p(w) of one document with both floors enumerated: all labels and topics of all tokens."""
    n_topics, n_labels = links.shape
    total = 0.0
    for k in itertools.product(range(n_topics), repeat=len(terms)):
        n_k = np.bincount(k, minlength=n_topics)
        p = math.exp(log_dm(n_k, alpha))
        for y in itertools.product(range(n_labels), repeat=len(terms)):
            total += p * math.prod(
                phi[v, a] * links[t, a] for v, a, t in zip(terms, y, k, strict=True)
            )
    return math.log(total)
