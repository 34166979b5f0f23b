"""Topic proportions of documents when the topics are held fixed.

Maximum a posteriori under Dir(alpha + 1) by expectation-maximisation on distinct terms:
n_k <- theta_k sum_v (c_v / theta . phi_v) phi_vk, theta_k = n_k + alpha_k. Each document is on its own.
"""

import numpy as np

from bayou.kernels.compile import fast_jit, jit

MANY = 500  # topics from which it pays to drop those a document does not use
USED = 0.01  # tokens


@fast_jit
def _step_all(n_d, theta, acc, pairs, d, topics, alpha):
    """One step over all topics; gives how much the counts moved."""
    indptr, terms, counts = pairs
    n_topics = alpha.size
    for k in range(n_topics):
        theta[k] = n_d[k] + alpha[k]
        acc[k] = np.float32(0.0)
    for j in range(indptr[d], indptr[d + 1]):
        v = terms[j]
        t = np.float32(0.0)
        for k in range(n_topics):
            t += theta[k] * topics[v, k]
        r = counts[j] / t
        for k in range(n_topics):
            acc[k] += r * topics[v, k]
    for k in range(n_topics):
        acc[k] = theta[k] * acc[k]
    moved = np.float32(0.0)
    for k in range(n_topics):
        moved += abs(acc[k] - n_d[k])
    for k in range(n_topics):
        n_d[k] = acc[k]
    return moved


@jit
def _pack(packed, n_active, active, pairs, d, topics):
    """Rows of the document's terms with the topics on the list only, one after the other."""
    indptr, terms, _ = pairs
    at = 0
    for j in range(indptr[d], indptr[d + 1]):
        v = terms[j]
        for i in range(n_active):
            packed[at + i] = topics[v, active[i]]
        at += n_active


@fast_jit
def _step_few(n_d, theta, acc, active, n_active, packed, pairs, d, alpha):
    """One step over the topics on the list, their rows packed; the others keep no counts."""
    indptr, _, counts = pairs
    for i in range(n_active):
        theta[i] = n_d[active[i]] + alpha[active[i]]
        acc[i] = np.float32(0.0)
    at = 0
    for j in range(indptr[d], indptr[d + 1]):
        t = np.float32(0.0)
        for i in range(n_active):
            t += theta[i] * packed[at + i]
        r = counts[j] / t
        for i in range(n_active):
            acc[i] += r * packed[at + i]
        at += n_active
    for i in range(n_active):
        acc[i] = theta[i] * acc[i]
    moved = np.float32(0.0)
    for i in range(n_active):
        moved += abs(acc[i] - n_d[active[i]])
    for i in range(n_active):
        n_d[active[i]] = acc[i]
    return moved


@jit
def _list_used(active, n_d):
    """Topics with more than `USED` tokens; the others are set to none. Gives their number."""
    n = 0
    for k in range(n_d.size):
        if n_d[k] > USED:
            active[n] = k
            n += 1
        else:
            n_d[k] = np.float32(0.0)
    return n


@jit
def em_rows(out, pairs, lo, hi, topics, alpha, max_iter, tol):
    """``out[d] = n_d`` (expected tokens per topic) for documents lo .. hi; ``topics`` is term-major.

    Starts from counts spread evenly over the topics and stops when the counts moved by less than ``tol``
    of the document's length. With `MANY` topics or more, those that have found next to nothing after
    three steps are dropped.
    """
    indptr, _, counts = pairs
    n_topics = alpha.size
    theta = np.empty(n_topics, np.float32)
    acc = np.empty(n_topics, np.float32)
    active = np.empty(n_topics, np.int32)
    longest = 0
    for d in range(lo, hi):
        longest = max(longest, indptr[d + 1] - indptr[d])
    packed = np.empty(longest * n_topics if n_topics >= MANY else 0, np.float32)
    for d in range(lo, hi):
        length = np.float32(0.0)
        for j in range(indptr[d], indptr[d + 1]):
            length += counts[j]
        for k in range(n_topics):
            out[d, k] = length / np.float32(n_topics)
        n_active = 0
        for step in range(max_iter if length > 0 else 0):
            if step == 3 and n_topics >= MANY:
                n_active = _list_used(active, out[d])
                _pack(packed, n_active, active, pairs, d, topics)
            if n_active > 0:
                moved = _step_few(out[d], theta, acc, active, n_active, packed, pairs, d, alpha)
            else:
                moved = _step_all(out[d], theta, acc, pairs, d, topics, alpha)
            if moved < tol * length:
                break


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
