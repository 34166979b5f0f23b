"""Topic proportions of documents when the topics are held fixed.

Maximum a posteriori under Dir(alpha + 1) by expectation-maximisation on distinct terms:
n_k <- theta_k sum_v (c_v / theta . phi_v) phi_vk, theta_k = n_k + alpha_k. Each document is on its own.
"""

import numpy as np

from bayou.kernels.compile import fast_jit


@fast_jit
def em_rows(out, n_steps, pairs, lo, hi, topics, alpha, max_iter, tol):
    """``out[d] = n_d`` (expected tokens per topic) for documents lo .. hi; ``topics`` is term-major.

    Starts from tokens spread evenly and stops when the counts moved by less than ``tol`` of the
    document's length. ``n_steps[d]`` says how many steps it took.
    """
    indptr, terms, counts = pairs
    n_topics = alpha.size
    theta = np.empty(n_topics, np.float32)
    acc = np.empty(n_topics, np.float32)
    for d in range(lo, hi):
        n_d = out[d]
        length = np.float32(0.0)
        for j in range(indptr[d], indptr[d + 1]):
            length += counts[j]
        share = length / np.float32(n_topics)
        for k in range(n_topics):
            n_d[k] = share
        step = 0
        while step < max_iter and length > 0:
            step += 1
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
            moved = np.float32(0.0)
            for k in range(n_topics):
                n = theta[k] * acc[k]
                moved += abs(n - n_d[k])
                n_d[k] = n
            if moved < tol * length:
                break
        n_steps[d] = step


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
