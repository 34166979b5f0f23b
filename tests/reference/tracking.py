"""Twins of the tracker's kernels, and a stream in which a topic is away and another gets a new aspect."""

from collections import Counter

import numpy as np
from scipy.special import gammaln
from tests.reference import lda

from bayou import Corpus

N_TOPICS, N_SLICES, ABSENT, RETURN, CHANGED, SHIFT = 6, 8, (3, 4), 5, 1, 6
ASPECT = 0.30  # mass of the new aspect of topic 1 from slice 6 on


def simulated(seed, n_docs=200, length=40, n_terms=500):
    """Slices of documents, and the topics (slices x topics x terms) that they were drawn from."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(n_terms, 0.05), N_TOPICS)
    aspect = rng.choice(n_terms, 15, replace=False)
    slices, truth = [], []
    for t in range(N_SLICES):
        now = phi.copy()
        if t >= SHIFT:
            now[CHANGED] *= 1 - ASPECT
            now[CHANGED, aspect] += ASPECT / len(aspect)
        there = [k for k in range(N_TOPICS) if not (k == 0 and t in ABSENT)]
        counts = np.zeros((n_docs, n_terms))
        for d in range(n_docs):
            theta = np.zeros(N_TOPICS)
            theta[there] = rng.dirichlet(np.full(len(there), 0.3))
            counts[d] = rng.multinomial(length, theta @ now)
        slices.append(Corpus.from_matrix(counts))
        truth.append(now)
    return slices, np.array(truth)


def hellinger(p, q):
    """Distances between the rows of two matrices."""
    return np.sqrt(np.maximum(1 - np.sqrt(p) @ np.sqrt(q).T, 0))


def identity(model, slices, truth):
    """(share of topics whose nearest of the slice before has the same id, returned topic's distance)."""
    same, before = [], None
    for t, corpus in enumerate(slices):
        model.partial_fit(corpus)
        now = dict(zip(model.topic_ids_.tolist(), model.components_, strict=True))
        if t == 0:
            gap = hellinger(truth[0], model.components_)
            mine = int(model.topic_ids_[gap[0].argmin()])
        else:
            ids = list(before)
            gap = hellinger(np.array(list(now.values())), np.array(list(before.values())))
            same += [ids[row.argmin()] == i for i, row in zip(now, gap, strict=True) if i in before]
        if t == RETURN:
            returned = float(hellinger(truth[t][:1], now[mine][None])[0, 0]) if mine in now else 1.0
        before = now
    return float(np.mean(same)), returned


def prior_gibbs_sweep(z, indptr, terms, alpha, prior, gain, seed, sweep):
    """Exact sampling with a prior for every topic; counts are made anew for every token."""
    n_terms, n_topics = prior.shape
    z = z.copy()
    for d, span in enumerate(lda.spans(indptr)):
        stream = lda.Stream(seed, lda.TOKEN, sweep, d)
        for i in span:
            n_dk, n_vk, n_k = lda.counts(z, indptr, terms, n_topics, n_terms, without=i)
            word = (gain * n_vk[terms[i]] + prior[terms[i]]) / (gain * n_k + prior.sum(axis=0))
            z[i] = lda.pick((n_dk[d] + alpha) * word, stream.next())
    return z


def expected_sweep(z, indptr, terms, alpha, known, seed, sweep, sums):
    """A sweep against the word counts before it; probabilities of every token are added to ``sums``."""
    prior, mass, gain = known
    n_terms, n_topics = prior.shape
    before, z = z, z.copy()
    for d, span in enumerate(lda.spans(indptr)):
        stream = lda.Stream(seed, lda.TOKEN, sweep, d)
        for i in span:
            _, n_vk, n_k = lda.counts(before, indptr, terms, n_topics, n_terms)
            own = np.eye(n_topics)[
                before[i]
            ]  # of the standing counts, the token's own is taken out
            word = (gain * (n_vk[terms[i]] - own) + prior[terms[i]]) / (gain * (n_k - own) + mass)
            n_dk, _, _ = lda.counts(z, indptr, terms, n_topics, n_terms, without=i)
            weight = (n_dk[d] + alpha) * word
            z[i] = lda.pick(weight, float(np.float32(stream.next())))
            sums[0][terms[i]] += weight / weight.sum()
            sums[1][d] += weight / weight.sum()
    return z


def log_joint(z, indptr, terms, alpha, prior, gain):
    """ln p(w, z) with topics integrated out, or held fixed where the gain is 0."""
    n_terms, n_topics = prior.shape
    n_dk, n_vk, n_k = lda.counts(z, indptr, terms, n_topics, n_terms)
    out = (gammaln(alpha.sum()) - gammaln(alpha.sum() + n_dk.sum(axis=1))).sum()
    out += (gammaln(alpha + n_dk) - gammaln(alpha)).sum()
    for k in range(n_topics):
        if gain[k]:
            mass = prior[:, k].sum()
            out += gammaln(mass) - gammaln(mass + n_k[k])
            out += (gammaln(prior[:, k] + n_vk[:, k]) - gammaln(prior[:, k])).sum()
        else:
            out += (n_vk[:, k] * np.log(prior[:, k])).sum()
    return float(out)


def jsd(p, q):
    """Jensen-Shannon divergence in bits."""
    r = (p + q) / 2
    return sum(float((a[a > 0] * np.log2(a[a > 0] / r[a > 0])).sum()) / 2 for a in (p, q))


def repeats(z, indptr, terms, memory):
    """(times, share) of what a document says more than once in a topic, those said once, and lengths."""
    again, once, lengths = [], [], np.zeros((memory.shape[1], len(indptr) - 1), np.int64)
    for d, span in enumerate(lda.spans(indptr)):
        said = Counter((int(terms[i]), int(z[i])) for i in span)
        for (v, k), n in said.items():
            if k < memory.shape[1]:
                lengths[k, d] += n
                share = max(memory[v, k] / memory[:, k].sum(), 1e-12)
                (again if n > 1 else once).append((n, share))
    return sorted(again), once, lengths


def cells(memory, counts):
    """A topic's terms that its memory expects at least once among its tokens, and one cell for the rest."""
    q = memory / memory.sum()
    own = q * counts.sum() >= 1.0
    shares = np.append(q[own], max(q[~own].sum(), 1e-9))
    return shares / shares.sum(), np.append(counts[own], counts[~own].sum())
