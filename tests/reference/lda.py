"""Slow, obvious twins of the LDA samplers: every count is made anew for every token.

They use the keys of the kernels, and float32 uniform numbers where the kernels do, so that topics
agree draw for draw.
"""

import itertools
import math

import numpy as np
from tests.reference.draws import mix

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
INIT, TOKEN, WORD_PASS, DOC_PASS = 1, 2, 3, 4


def key(*words):
    """The key of (seed, purpose, sweep, document) in Python integers."""
    k = 0
    for word in words:
        k = mix(((k ^ int(word)) + GOLDEN) & MASK)
    return k


class Stream:
    """The uniform numbers of a key, one after the other."""

    def __init__(self, *words):
        self.at = key(*words)

    def next(self):
        self.at = (self.at + GOLDEN) & MASK
        return (mix(self.at) >> 11) / 2**53


def pick(weights, u):
    """The first topic whose running sum is above u times the whole."""
    sums = np.cumsum(np.asarray(weights, np.float64))
    return int(min(np.searchsorted(sums, u * sums[-1], side="right"), len(sums) - 1))


def spans(indptr):
    """Ranges of the tokens of each document."""
    return [range(int(a), int(b)) for a, b in itertools.pairwise(indptr)]


def counts(z, indptr, terms, n_topics, n_terms, without=None):
    """(n_dk, n_vk, n_k) of all tokens, or of all but one."""
    n_dk = np.zeros((len(indptr) - 1, n_topics))
    n_vk = np.zeros((n_terms, n_topics))
    for d, span in enumerate(spans(indptr)):
        for i in span:
            if i != without:
                n_dk[d, z[i]] += 1
                n_vk[terms[i], z[i]] += 1
    return n_dk, n_vk, n_vk.sum(axis=0)


def log_joint(z, indptr, terms, alpha, beta, n_terms):
    """ln p(w, z) as a product of Dirichlet-multinomials, by lgamma."""
    n_dk, n_vk, n_k = counts(z, indptr, terms, len(alpha), n_terms)
    total = 0.0
    for row in n_dk:
        total += math.lgamma(sum(alpha)) - math.lgamma(sum(alpha) + row.sum())
        total += sum(math.lgamma(a + n) - math.lgamma(a) for a, n in zip(alpha, row, strict=True))
    for k, n in enumerate(n_k):
        total += math.lgamma(n_terms * beta) - math.lgamma(n_terms * beta + n)
        total += sum(math.lgamma(beta + n) - math.lgamma(beta) for n in n_vk[:, k])
    return total


def token_weights(z, i, d, indptr, terms, alpha, beta, n_terms):
    """(n_dk + a_k) (n_vk + beta) / (n_k + V beta) without token i."""
    n_dk, n_vk, n_k = counts(z, indptr, terms, len(alpha), n_terms, without=i)
    return (n_dk[d] + alpha) * (n_vk[terms[i]] + beta) / (n_k + n_terms * beta)


def gibbs_sweep(z, indptr, terms, alpha, beta, n_terms, seed, sweep):
    """Every token in turn from its conditional given all others."""
    z = z.copy()
    for d, span in enumerate(spans(indptr)):
        stream = Stream(seed, TOKEN, sweep, d)
        for i in span:
            weights = token_weights(z, i, d, indptr, terms, alpha, beta, n_terms)
            z[i] = pick(weights, stream.next())
    return z


def walk_document(z, span, alpha, row_of, stream):
    """Every token of a document in turn from (n_dk + a_k) phi_k without itself, in place.

    The number line is laid out in two parts, n_dk phi_k over the document's topics and a_k phi_k over
    all. The topics stand in the order of their first tokens; one that loses its last token gives
    its place to the last of the list.
    """
    listed = list(dict.fromkeys(int(z[i]) for i in span))
    for i in span:
        old = int(z[i])
        n_d = np.bincount([z[j] for j in span if j != i], minlength=len(alpha))
        row = row_of(i)
        line = np.concatenate([(n_d * row)[listed], alpha * row])
        place = pick(line, np.float32(stream.next()))
        z[i] = listed[place] if place < len(listed) else place - len(listed)
        if int(z[i]) not in listed:
            listed.append(int(z[i]))
        if old not in [int(z[j]) for j in span]:
            listed[listed.index(old)] = listed[-1]
            listed.pop()


def snapshot_sweep(z, indptr, terms, alpha, beta, n_terms, seed, sweep):
    """Tokens see their document as it is and the terms as they were before the sweep."""
    before, z = z, z.copy()

    def row_of(i):
        _, n_vk, n_k = counts(before, indptr, terms, len(alpha), n_terms, without=i)
        return (n_vk[terms[i]] + beta) / (n_k + n_terms * beta)

    for d, span in enumerate(spans(indptr)):
        walk_document(z, span, alpha, row_of, Stream(seed, TOKEN, sweep, d))
    return z


def fixed_sweep(z, indptr, terms, ids, rows, alpha, seed, purpose, sweep):
    """Every token from (n_dk + a_k) phi_vk without itself."""
    z = z.copy()
    for d, span in enumerate(spans(indptr)):
        stream = Stream(seed, purpose, sweep, ids[d])
        walk_document(z, span, alpha, lambda i: rows[terms[i]], stream)
    return z


def start_docs(indptr, terms, ids, rows, alpha, seed, purpose, sweep):
    """Every token from (n_dk + a_k) phi_vk given the tokens before it."""
    z = np.zeros(len(terms), np.int64)
    for d, span in enumerate(spans(indptr)):
        stream = Stream(seed, purpose, sweep, ids[d])
        for i in span:
            n_d = np.bincount(z[span.start : i], minlength=len(alpha))
            z[i] = pick((n_d + alpha) * rows[terms[i]], np.float32(stream.next()))
    return z


def start_uniform(indptr, n_topics, seed):
    """Every token from all topics alike."""
    z = np.zeros(int(indptr[-1]), np.int64)
    for d, span in enumerate(spans(indptr)):
        stream = Stream(seed, INIT, 2, d)
        for i in span:
            z[i] = int(stream.next() * n_topics)
    return z


def start_expected(indptr, terms, rows, doc_topic, alpha, seed):
    """Every token from (n_dk + a_k) phi_vk with expected n_dk."""
    z = np.zeros(len(terms), np.int64)
    for d, span in enumerate(spans(indptr)):
        stream = Stream(seed, INIT, 3, d)
        for i in span:
            z[i] = pick((doc_topic[d] + alpha) * rows[terms[i]], np.float32(stream.next()))
    return z


def content_ids(pairs):
    """A hash of each document's (term, count) pairs."""
    out = []
    for span in spans(pairs[0]):
        h = 0
        for j in span:
            h = mix(((h ^ int(pairs[1][j])) + GOLDEN) & MASK)
            h = mix(((h ^ int(pairs[2][j] * 1024)) + GOLDEN) & MASK)
        out.append(h)
    return np.array(out, np.uint64)


def ratio_of_targets(n, prior, inv_topic, old, new):
    """Chance of a proposal, if below one: the target without the factor it came from."""
    return ((n[new] + prior[new]) * inv_topic[new]) / ((n[old] + prior[old]) * inv_topic[old])


def pass_over(state, groups, prior, table, inv_topic, words):
    """Settle old proposals and leave new ones, for groups (name, places) of tokens."""
    state = state.copy()
    n_topics, mass = len(prior), float(np.sum(prior))
    for name, places in groups:
        stream = Stream(*words, name)
        for i in places:
            s = int(state[i, 0])
            for t in state[i, 1:].astype(int):
                u = stream.next()
                n = np.bincount([int(state[j, 0]) for j in places if j != i], minlength=n_topics)
                if t != s and u < ratio_of_targets(n, prior, inv_topic, s, t):
                    s = int(t)
            state[i, 0] = s
        propose(state, places, mass, table, stream)
    return state


def propose(state, places, mass, table, stream):
    """The topic of a random token of the group, or with the prior's share a draw from the prior."""
    for i in places:
        for m in range(1, state.shape[1]):
            x = stream.next() * (len(places) + mass)
            if x < len(places):
                state[i, m] = state[places[int(x)], 0]
            else:
                cell = (x - len(places)) / mass * len(table[0])
                k = int(cell)
                state[i, m] = k if cell - k < table[0][k] else table[1][k]


def settle_matrix(prior, inv_topic, proposals, n_topics):
    """Transition matrix of one scan over a group's topics with independent fixed proposals.

    ``proposals[i]`` is the law of the one proposal of token i. States are all assignments, in the
    order of itertools.product.
    """
    states = list(itertools.product(range(n_topics), repeat=len(proposals)))
    place = {s: j for j, s in enumerate(states)}
    scan = np.eye(len(states))
    for i, law in enumerate(proposals):
        move = np.zeros((len(states), len(states)))
        for s in states:
            n = np.bincount(s[:i] + s[i + 1 :], minlength=n_topics)
            for t in range(n_topics):
                accept = min(1.0, ratio_of_targets(n, prior, inv_topic, s[i], t))
                move[place[s], place[(*s[:i], t, *s[i + 1 :])]] += law[t] * accept
                move[place[s], place[s]] += law[t] * (1 - accept)
        scan = scan @ move
    return states, scan


def polya(states, prior, factors):
    """Exact law over assignments of one group: Polya prior times a factor for each token."""
    mass = []
    for s in states:
        p, n = 1.0, np.zeros(len(prior))
        for i, k in enumerate(s):
            p *= (n[k] + prior[k]) * factors[i][k]
            n[k] += 1
        mass.append(p)
    return np.array(mass) / np.sum(mass)


def posterior(indptr, terms, alpha, beta, n_terms):
    """Exact p(z | w) over all assignments, in the order of itertools.product."""
    states = list(itertools.product(range(len(alpha)), repeat=len(terms)))
    logs = np.array([log_joint(s, indptr, terms, alpha, beta, n_terms) for s in states])
    mass = np.exp(logs - logs.max())
    return states, mass / mass.sum()


def place_of(z, n_topics):
    """The place of each row of topics in the order of itertools.product."""
    return np.asarray(z) @ (n_topics ** np.arange(np.shape(z)[-1])[::-1])


def distance(places, law):
    """Total variation between visited places and a law."""
    seen = np.bincount(places, minlength=len(law)) / len(places)
    return 0.5 * np.abs(seen - law).sum()


def draw_prior(rng, lengths, alpha, beta, n_terms):
    """z and w from the generative story; gives (indptr, terms, z, theta, phi)."""
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    phi = rng.dirichlet(np.full(n_terms, beta), len(alpha))
    theta = rng.dirichlet(alpha, len(lengths))
    z = np.concatenate(
        [rng.choice(len(alpha), n, p=t) for n, t in zip(lengths, theta, strict=True)]
    ).astype(np.uint16)
    edges = np.cumsum(phi, axis=1)
    terms = (rng.random(len(z))[:, None] >= edges[z, :-1]).sum(axis=1).astype(np.uint32)
    return indptr, terms, z, theta, phi
