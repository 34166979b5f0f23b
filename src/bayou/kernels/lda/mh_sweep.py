"""Metropolis-Hastings sampling of LDA in O(1) per token, by alternating term and document passes [Chen16].

The target of a token is (n_dk + alpha_k) (n_vk + beta) / (n_k + V beta). Each pass accepts or refuses the
proposals that the pass before it left, then leaves its own:

    term pass:      refuses by (n_vk + beta) / (n_k + V beta), proposes k with weight n_vk + beta
    document pass:  refuses by (n_dk + alpha_k) / (n_k + V beta), proposes k with weight n_dk + alpha_k

so the factor a pass cannot see is the one its proposals were drawn from, and cancels. The other side's
counts and n_k stand still during a pass; the own side's are live with the token removed. Documents (and
terms) do not see each other within a pass, hence any order and any number of threads give the same
draws. A proposal with weight n + prior is a topic of a random token, or with the prior's share of the mass a
draw from the prior.

``state`` is (tokens x (1 + M)) uint16: a token's topic, then its M proposals.

[Chen16] Chen, Li, Zhu, Chen. WarpLDA: a cache efficient O(1) algorithm for LDA. PVLDB 9, 2016.
"""

import numpy as np

from bayou.kernels.alias import pick_alias
from bayou.kernels.compile import jit
from bayou.kernels.rng import DOC_PASS, GOLDEN, WORD_PASS, key, unit


@jit
def _settle_all(state, n, prior, inv_topic, at):
    """Accept or reject the proposals of each token of one document or term; returns the stream's position.

    ``n`` holds the counts of these tokens and is left all zero.
    """
    for i in range(state.shape[0]):
        n[state[i, 0]] += 1
    for i in range(state.shape[0]):
        s = state[i, 0]
        n[s] -= 1
        weight = (n[s] + prior[s]) * inv_topic[s]
        for m in range(1, state.shape[1]):
            t = state[i, m]
            at += GOLDEN
            if t != s:
                w = (n[t] + prior[t]) * inv_topic[t]
                if unit(at) * weight < w:
                    s, weight = t, w
        n[s] += 1
        state[i, 0] = s
    for i in range(state.shape[0]):
        n[state[i, 0]] = 0
    return at


@jit
def _propose_all(state, mass, table, at):
    """Store M proposals per token: the topic of a random token, or a draw from the prior."""
    size = state.shape[0]
    for i in range(size):
        for m in range(1, state.shape[1]):
            at += GOLDEN
            x = unit(at) * (size + mass)
            if x < size:
                state[i, m] = state[np.int64(x), 0]
            else:
                state[i, m] = pick_alias((x - size) / mass, table[0], table[1])
    return at


@jit
def term_pass(state, by_term, lo, hi, beta, table, inv_topic, seed, sweep):
    """Accept or reject document proposals and store term proposals, for the tokens of terms lo .. hi of
    ``by_term`` = (terms, termptr, at).

    ``beta`` and its alias ``table`` = (prob, alias) have one entry a topic. A term's tokens are
    gathered into one place first: they lie all over the corpus and are looked at many times.
    """
    terms, termptr, at_token = by_term
    n = np.zeros(inv_topic.size, np.int32)
    mass = 0.0
    for k in range(beta.size):
        mass += beta[k]
    longest = 0
    for i in range(lo, hi):
        longest = max(longest, termptr[i + 1] - termptr[i])
    near = np.empty((longest, state.shape[1]), np.uint16)
    for i in range(lo, hi):
        first, size = termptr[i], termptr[i + 1] - termptr[i]
        mine = near[:size]
        for j in range(size):
            for m in range(state.shape[1]):
                mine[j, m] = state[at_token[first + j], m]
        at = _settle_all(mine, n, beta, inv_topic, key(seed, WORD_PASS, sweep, terms[i]))
        _propose_all(mine, mass, table, at)
        for j in range(size):
            for m in range(state.shape[1]):
                state[at_token[first + j], m] = mine[j, m]


@jit
def doc_pass(state, indptr, lo, hi, alpha, table, inv_topic, seed, sweep):
    """Accept or reject term proposals and store document proposals, for the tokens of documents lo .. hi."""
    n = np.zeros(inv_topic.size, np.int32)
    mass = 0.0
    for k in range(alpha.size):
        mass += alpha[k]
    for d in range(lo, hi):
        mine = state[indptr[d] : indptr[d + 1]]
        at = _settle_all(mine, n, alpha, inv_topic, key(seed, DOC_PASS, sweep, d))
        _propose_all(mine, mass, table, at)


@jit
def propose_first(state, indptr, lo, hi, table, seed):
    """Before the first sweep every token proposes as after a document pass with no prior mass."""
    for d in range(lo, hi):
        at = key(seed, DOC_PASS, np.uint64(0xFFFFFFFFFFFFFFFF), d)
        _propose_all(state[indptr[d] : indptr[d + 1]], 0.0, table, at)
