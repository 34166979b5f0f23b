"""The author-topic model: every token has a topic and, among the labels of its document, an author.

    p(z = t, x = y | rest) = (n_vt + beta) / (n_t + V beta) (n_yt + b) / (n_y + T b)

with the token removed from all counts. The authors of a document are equally likely.
"""

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.rng import AUTHORS, GOLDEN, INIT, key, unit
from bayou.kernels.token import pick, sum_of


@jit
def start_authors(z, author, token_ptr, label_ptr, n_topics, seed):
    """Topics and authors at random; an author is a place among the labels of the document."""
    for d in range(token_ptr.size - 1):
        m = label_ptr[d + 1] - label_ptr[d]
        at = key(seed, INIT, 58, d)
        for i in range(token_ptr[d], token_ptr[d + 1]):
            at += GOLDEN
            z[i] = np.int64(unit(at) * n_topics)
            at += GOLDEN
            author[i] = np.int64(unit(at) * m)


@jit
def count_authors(term_topic, label_topic, z, author, docs):
    """Add the tokens to ``term_topic`` and ``label_topic``; ``docs`` as in `author_sweep`."""
    token_ptr, terms, label_ptr, label_ids = docs
    for d in range(token_ptr.size - 1):
        for i in range(token_ptr[d], token_ptr[d + 1]):
            term_topic[terms[i], z[i]] += 1
            label_topic[label_ids[label_ptr[d] + author[i]], z[i]] += 1


@fast_jit
def _weigh_author(weight, start, term_topic, v, topic, label_topic, y, scale, priors):
    """Weights of all topics with author y, from ``start`` on; returns their sum."""
    beta, vbeta, b = priors
    for t in range(topic.size):
        w = (term_topic[v, t] + beta) / (topic[t] + vbeta) * (label_topic[y, t] + b) * scale
        weight[start + t] = w
    return sum_of(weight, start, start + topic.size)


@jit
def author_sweep(z, author, docs, term_topic, topic, label_topic, label, priors, seed, sweep):
    """Draw topic and author of every token together, given all others; counts are kept up to date.

    ``docs`` = (token_ptr, terms, label_ptr, label_ids); n_vt, n_t, n_yt and n_y;
    ``priors`` = (beta, V beta, b).
    """
    token_ptr, terms, label_ptr, label_ids = docs
    n_topics = topic.size
    mass = priors[2] * n_topics
    most = 1
    for d in range(token_ptr.size - 1):
        most = max(most, label_ptr[d + 1] - label_ptr[d])
    weight = np.zeros(most * n_topics)
    for d in range(token_ptr.size - 1):
        begin = label_ptr[d]
        m = label_ptr[d + 1] - begin
        at = key(seed, AUTHORS, sweep, d)
        for i in range(token_ptr[d], token_ptr[d + 1]):
            v, y = terms[i], label_ids[begin + author[i]]
            term_topic[v, z[i]] -= 1
            topic[z[i]] -= 1
            label_topic[y, z[i]] -= 1
            label[y] -= 1
            total = 0.0
            for n in range(m):
                y = label_ids[begin + n]
                scale = 1.0 / (label[y] + mass)
                total += _weigh_author(
                    weight, n * n_topics, term_topic, v, topic, label_topic, y, scale, priors
                )
            at += GOLDEN
            found = pick(weight[: m * n_topics], unit(at) * total)
            z[i] = found % n_topics
            author[i] = found // n_topics
            y = label_ids[begin + author[i]]
            term_topic[v, z[i]] += 1
            topic[z[i]] += 1
            label_topic[y, z[i]] += 1
            label[y] += 1


@fast_jit
def author_docs(out, pairs, lo, hi, rows, label_topics, alpha, n_steps):
    """``out[d]`` = share of each label in documents lo .. hi with topics and labels' topics fixed.

    Expectation-maximisation of p(t, y) = phi_vt phi'_yt (n_dy + alpha_y). Topics are summed out with
    u_t = sum_y (n_dy + alpha_y) phi'_yt, so a step costs labels x topics and tokens x topics.
    """
    indptr, terms, counts = pairs
    n_labels, n_topics = label_topics.shape
    weight, topic_mass, acc = np.empty(n_labels), np.empty(n_topics), np.empty(n_topics)
    mass = 0.0
    for y in range(n_labels):
        mass += alpha[y]
    for d in range(lo, hi):
        length = 0.0
        for j in range(indptr[d], indptr[d + 1]):
            length += counts[j]
        for y in range(n_labels):
            out[d, y] = alpha[y] / mass
            weight[y] = alpha[y]
        for _ in range(n_steps if length > 0.0 else 0):
            for t in range(n_topics):
                topic_mass[t] = 0.0
                acc[t] = 0.0
            for y in range(n_labels):
                for t in range(n_topics):
                    topic_mass[t] += weight[y] * label_topics[y, t]
            for j in range(indptr[d], indptr[d + 1]):
                v = terms[j]
                total = 0.0
                for t in range(n_topics):
                    total += topic_mass[t] * rows[v, t]
                r = counts[j] / total
                for t in range(n_topics):
                    acc[t] += r * rows[v, t]
            for y in range(n_labels):
                found = 0.0
                for t in range(n_topics):
                    found += acc[t] * label_topics[y, t]
                out[d, y] = weight[y] * found / length
                weight[y] = alpha[y] + out[d, y] * length
