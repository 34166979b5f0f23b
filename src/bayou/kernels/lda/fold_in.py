"""Topic proportions of documents under fixed topics.

Maximum a posteriori under Dir(alpha + 1) by expectation-maximisation on distinct terms:
n_k <- theta_k sum_v (c_v / theta . phi_v) phi_vk, theta_k = n_k + alpha_k. Each document is on its own.
"""

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.lda.em import longest
from bayou.kernels.token import LANES

MANY = 500  # topics from which it pays to drop those a document does not use
USED = 0.01  # tokens


@fast_jit
def _step(n_d, theta, acc, width, packed, pairs, d, alpha):
    """One step over rows of ``width`` topics, contiguous; returns how much changed."""
    indptr, _, counts = pairs
    for k in range(width):
        theta[k] = n_d[k] + alpha[k]
        acc[k] = np.float32(0.0)
    at = 0
    for j in range(indptr[d], indptr[d + 1]):
        t = np.float32(0.0)
        for k in range(width):
            t += theta[k] * packed[at + k]
        r = counts[j] / t
        for k in range(width):
            acc[k] += r * packed[at + k]
        at += width
    for k in range(width):
        acc[k] = theta[k] * acc[k]
    moved = np.float32(0.0)
    for k in range(width):
        moved += abs(acc[k] - n_d[k])
    for k in range(width):
        n_d[k] = acc[k]
    return moved


@jit
def _list_topics(active, n_d, n_topics):
    """Topics with more than `USED` tokens, or all if none has; returns their number."""
    n = 0
    for k in range(n_topics):
        if n_d[k] > USED:
            active[n] = k
            n += 1
    if n == 0:
        for k in range(n_topics):
            active[k] = k
        n = n_topics
    return n


@jit
def _settle_few(active, n_d, prior, theta, acc, packed, few, pairs, d, limits):
    """Further steps with only the topics that a document uses; the others have no counts."""
    n_rows = pairs[0][d + 1] - pairs[0][d]
    n_topics, n_steps, least = limits
    n_active, wide = _list_topics(active, n_d, n_topics), n_d.size
    width = (n_active + LANES - 1) // LANES * LANES
    for j in range(n_rows):
        for i in range(n_active):
            few[j * width + i] = packed[j * wide + active[i]]
        for i in range(n_active, width):
            few[j * width + i] = np.float32(0.0)
    for i in range(n_active):
        n_d[i], prior[i] = n_d[active[i]], prior[active[i]]
    for i in range(n_active, wide):
        n_d[i], prior[i] = np.float32(0.0), np.float32(0.0)
    for _ in range(n_steps):
        if _step(n_d, theta, acc, width, few, pairs, d, prior) < least:
            break
    for i in range(n_active - 1, -1, -1):  # each to its place, which is no earlier
        count, n_d[i] = n_d[i], np.float32(0.0)
        n_d[active[i]] = count


@jit
def em_rows(out, pairs, lo, hi, topics, alpha, max_iter, tol):
    """``out[d] = n_d`` (expected tokens per topic) for documents lo .. hi; ``topics`` is term-major.

    Starts from counts spread evenly over the topics and stops when the counts moved by less than ``tol``
    of the document's length. With `MANY` topics or more, those that have found next to nothing after
    three steps are dropped. Every step reads a document's rows again, so they are laid out once, with topics
    that have nothing up to whole vector instructions.
    """
    indptr, terms, counts = pairs
    n_topics = alpha.size
    width = (n_topics + LANES - 1) // LANES * LANES
    n_d, prior = np.zeros(width, np.float32), np.zeros(width, np.float32)
    theta, acc = np.zeros(width, np.float32), np.zeros(width, np.float32)
    active, room = np.empty(n_topics, np.int32), longest(indptr, lo, hi) * width
    packed = np.zeros(room, np.float32)
    few = np.empty(room if n_topics >= MANY else 0, np.float32)
    for d in range(lo, hi):
        length, at = np.float32(0.0), 0
        for j in range(indptr[d], indptr[d + 1]):
            length += counts[j]
            v = terms[j]
            for k in range(n_topics):
                packed[at + k] = topics[v, k]
            at += width
        for k in range(n_topics):
            n_d[k], prior[k] = length / np.float32(n_topics), alpha[k]
        left = max_iter if length > 0 else 0
        for _ in range(left if n_topics < MANY else min(left, 3)):
            left -= 1
            if _step(n_d, theta, acc, width, packed, pairs, d, prior) < tol * length:
                left = 0
                break
        if left > 0 and n_topics >= MANY:
            limits = n_topics, left, tol * length
            _settle_few(active, n_d, prior, theta, acc, packed, few, pairs, d, limits)
        for k in range(n_topics):
            out[d, k] = n_d[k]


@fast_jit
def log_lik_rows(out, theta, pairs, lo, hi, topics):
    """``out[d]`` = sum_v c_dv ln(theta_d . phi_v) for documents lo .. hi; theta rows sum to one."""
    indptr, terms, counts = pairs
    for d in range(lo, hi):
        total = 0.0
        for j in range(indptr[d], indptr[d + 1]):
            v = terms[j]
            p = np.float32(0.0)
            for k in range(topics.shape[1]):
                p += theta[d, k] * topics[v, k]
            total += counts[j] * np.log(p)
        out[d] = total
