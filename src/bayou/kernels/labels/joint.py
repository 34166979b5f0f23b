"""Labels and topics of the words of a mini-batch together, under fixed counts of both levels.

For a token of term v in document d, a label y of the document and a topic k:

    lambda_yk ~ phi_vy phi'_yk (n_dk + a_k),      n_dk = sum of lambda_.k over the tokens of d

n_dk is the fixed point of expectation-maximisation on the document. psi_vk = sum_y phi_vy phi'_yk does not
change on the way, so a step costs one product per pair and topic. Entries, ``own``, ``entryptr`` and
``pairs`` are those of `kernels.labels.stream`.
"""

import numpy as np

from bayou.kernels.compile import jit

_NONE = np.float32(0.0)


@jit
def _sum_labels(psi, links, weight, first, labels, begin):
    """``psi[k]`` = sum of phi_vy phi'_yk over the document's labels."""
    n_topics = psi.size
    for k in range(n_topics):
        psi[k] = _NONE
    for i in range(begin[1] - begin[0]):
        y = labels[begin[0] + i]
        for k in range(n_topics):
            psi[k] += weight[first + i] * links[y, k]


@jit
def _share_topics(out, psi, theta, count):
    """Add ``count`` tokens to ``out`` in proportion to psi_k theta_k; gives count / sum."""
    total = _NONE
    for k in range(psi.size):
        total += psi[k] * theta[k]
    level = count / total
    for k in range(psi.size):
        out[k] += level * psi[k] * theta[k]
    return level


@jit
def joint_docs(entry, cross, pairs, lo, hi, weight, own, entryptr, links, alpha, n_steps):
    """Expected tokens of documents lo .. hi: by (term, label) and by (label of the document, topic).

    ``weight`` is phi_vy of every entry, ``links`` phi'_yk (labels, topics), ``alpha`` a_k. ``entry`` and
    ``cross`` (labels of documents, topics) are overwritten.
    """
    indptr, _, counts = pairs
    labelptr, labels = own
    n_topics = alpha.size
    theta, gain = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    for d in range(lo, hi):
        first, last = indptr[d], indptr[d + 1]
        begin = (labelptr[d], labelptr[d + 1])
        cross[begin[0] : begin[1]] = _NONE
        psi = np.empty((last - first, n_topics), np.float32)
        length = _NONE
        for j in range(first, last):
            _sum_labels(psi[j - first], links, weight, entryptr[j], labels, begin)
            length += counts[j]
        for k in range(n_topics):
            theta[k] = length / n_topics + alpha[k]
        for _ in range(n_steps):
            gain[:] = alpha
            for j in range(first, last):
                _share_topics(gain, psi[j - first], theta, counts[j])
            theta[:] = gain
        for j in range(first, last):
            level = _share_topics(gain, psi[j - first], theta, counts[j])
            for i in range(begin[1] - begin[0]):
                y, whole = labels[begin[0] + i], _NONE
                scale = level * weight[entryptr[j] + i]
                for k in range(n_topics):
                    part = scale * links[y, k] * theta[k]
                    cross[begin[0] + i, k] += part
                    whole += part
                entry[entryptr[j] + i] = whole
