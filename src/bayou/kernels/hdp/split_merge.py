"""Folds of two topics into one, and scatters of one into two, as Metropolis-Hastings moves on (z, g).

Two topics with the same words are folded whatever their division of tokens is. The reverse move divides the
tokens of each document by an urn that ignores terms. The target is

    p(z, g, w) ~ b0^K g_u^(b0 - 1) prod_k [ DM_k / g_k  prod_j Gamma(b1 g_k + n_jk) / Gamma(b1 g_k) ]

which is the joint of words, topics and tables with the tables summed out and the root drawn.
"""

import math

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.hdp.divide import gather, log_words
from bayou.kernels.hdp.franchise import LIVE, NEXT
from bayou.kernels.rng import SPLIT, below, key, uniform

FOLD = 0.875  # how often a fold is tried; otherwise a scatter


@fast_jit
def _add_products(out, term_topic, v, mine):
    for k in range(out.size):
        out[k] += term_topic[v, k] * mine


@jit
def likeness(term_topic, topic, first):
    """sum_v phi_va phi_vb of a slot with every slot, times V: 1 for two uniform topics."""
    out = np.zeros(topic.size)
    n_terms = term_topic.shape[0]
    for v in range(n_terms):
        if term_topic[v, first] > 0:
            _add_products(out, term_topic, v, term_topic[v, first])
    for k in range(topic.size):
        if topic[k] > 0:
            out[k] *= n_terms / (topic[k] * topic[first])
    return out


@jit
def choose_pair(term_topic, topic, first, stream, given):
    """A topic to merge with ``first``, chosen by similarity, and the log-probability of that choice.

    The weight is the likeness plus one hundredth. ``given`` >= 0 is the choice itself.
    """
    weight, total = likeness(term_topic, topic, first), 0.0
    for k in range(topic.size):
        weight[k] = weight[k] + 0.01 if topic[k] > 0 and k != first else 0.0
        total += weight[k]
    chosen = given
    if given < 0:
        target = uniform(stream) * total
        for k in range(topic.size):
            if weight[k] > 0.0:
                chosen = k
                target -= weight[k]
                if target < 0.0:
                    break
    return chosen, math.log(weight[chosen] / total)


@jit
def _random_topic(topic, n_live, stream):
    left = below(stream, n_live)
    for k in range(topic.size):
        if topic[k] > 0:
            if left == 0:
                return k
            left -= 1
    return -1


@jit
def _stands(z, counts, root, k, free, share, log_a, stream):
    """Whether a division of slot k is accepted; otherwise it is undone.

    ``log_a`` lacks the choices of the topic here and of the pair on the way back.
    """
    term_topic, topic, _, ids, sizes = counts
    n_live = sizes[LIVE]
    _, log_pair = choose_pair(term_topic, topic, k, stream, free)
    log_a += log_pair + math.log(n_live) - math.log(n_live + 1.0)
    root[free] = (1.0 - share) * root[k]
    root[k] *= share
    ids[free] = sizes[NEXT]
    sizes[LIVE] += 1
    if not math.log1p(-uniform(stream)) < log_a:
        unite(z, counts, root, k, free)
        return False
    sizes[NEXT] += 1
    return True


@jit
def _log_pair_words(term_topic, k, other, beta):
    """Log of the Dirichlet-multinomials of two slots over that of both together."""
    both = np.empty((2, term_topic.shape[0]))
    for v in range(term_topic.shape[0]):
        both[0, v], both[1, v] = term_topic[v, k], term_topic[v, other]
    return log_words(both, 0, beta) + log_words(both, 1, beta) - log_words(both, -1, beta)


@jit
def unite(z, counts, root, k, other):
    """Merge two topics, in the slot of the first."""
    term_topic, topic, _, ids, sizes = counts
    for i in range(z.size):
        if z[i] == other:
            z[i] = k
    for v in range(term_topic.shape[0]):
        term_topic[v, k] += term_topic[v, other]
        term_topic[v, other] = 0.0
    topic[k] += topic[other]
    topic[other] = 0.0
    root[k] += root[other]
    root[other] = 0.0
    ids[other] = -1
    sizes[LIVE] -= 1


@jit
def fold(z, counts, root, prior, stream):
    """Propose a merge of two topics with the same words, however their tokens are divided.

    The move back is `scatter`, which divides the tokens of each document by an urn that knows no terms:
    its probability is that of the seats, so that terms and root alone decide.
    """
    _, b0, _, beta = prior
    term_topic, topic, _, _, sizes = counts
    n_live = sizes[LIVE]
    if n_live < 2:
        return False
    k = _random_topic(topic, n_live, stream)
    other, log_pair = choose_pair(term_topic, topic, k, stream, -1)
    share = root[k] / (root[k] + root[other])
    log_a = math.log(share) + math.log1p(-share) - math.log(b0)
    log_a -= _log_pair_words(term_topic, k, other, beta)
    log_a += math.log((1.0 - FOLD) / FOLD) - math.log(n_live - 1.0) + math.log(n_live) - log_pair
    if not math.log1p(-uniform(stream)) < log_a:
        return False
    unite(z, counts, root, k, other)
    return True


@jit
def _urn_sides(starts, mass0, mass1, stream):
    """Divide the tokens of each document by a Polya urn of two colours."""
    side = np.zeros(starts[-1], np.int64)
    for d in range(starts.size - 1):
        own = 0.0
        for s in range(starts[d], starts[d + 1]):
            seen = s - starts[d]
            if uniform(stream) * (seen + mass0 + mass1) < own + mass1:
                side[s] = 1
                own += 1.0
    return side


@jit
def _free_slot(topic):
    for k in range(topic.size):
        if topic[k] == 0:
            return k
    return -1


@jit
def _divide(z, tokens, counts, k, free, at, side):
    """Move the tokens of side 1 from slot k to a free slot, in the counts as well."""
    term_topic, topic, _, _, _ = counts
    terms = tokens[1]
    for s in range(at.size):
        if side[s] == 1:
            z[at[s]] = free
            term_topic[terms[at[s]], k] -= 1
            term_topic[terms[at[s]], free] += 1
            topic[k] -= 1
            topic[free] += 1


@jit
def scatter(z, tokens, counts, root, prior, stream):
    """Propose a division of a topic by urns that ignore terms: the reverse of `fold`."""
    b1, b0, _, beta = prior
    term_topic, topic, _, _, sizes = counts
    k, free, share = _random_topic(topic, sizes[LIVE], stream), _free_slot(topic), uniform(stream)
    if free < 0 or share <= 0.0:
        return False
    at, starts = gather(z, tokens[0], k, k)
    mass = b1 * root[k]
    side = _urn_sides(starts, share * mass, (1.0 - share) * mass, stream)
    n1 = side.sum()
    if n1 in (0, at.size):
        return False
    _divide(z, tokens, counts, k, free, at, side)
    log_a = math.log(b0) - math.log(share) - math.log1p(-share)
    log_a += _log_pair_words(term_topic, k, free, beta)
    log_a += math.log(FOLD / (1.0 - FOLD))
    return _stands(z, counts, root, k, free, share, log_a, stream)


@jit
def split_merge(z, tokens, counts, root, prior, n_moves, seed, sweep):
    """Folds and scatters; ``root`` is g of every slot. Returns the numbers of accepted ones."""
    stream = np.empty(1, np.uint64)
    done = np.zeros(2, np.int64)
    for move in range(n_moves):
        stream[0] = key(seed, SPLIT, sweep, move)
        if uniform(stream) < FOLD:
            done[0] += fold(z, counts, root, prior, stream)
        else:
            done[1] += scatter(z, tokens, counts, root, prior, stream)
    return done
