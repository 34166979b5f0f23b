"""The author-topic sampler: draw for draw its twin, conditionals from the joint."""

import itertools

import numpy as np
from tests.kernels.labels.test_label_sweep import DOCS, N_LABELS, N_TERMS
from tests.reference.labels import log_dm
from tests.reference.lda import Stream, pick

from bayou.kernels.labels import author_sweep

AUTHORS, N_TOPICS = 58, 3
BETA, BETA_Y = 0.3, 0.7


def log_joint(z, x):
    """ln p(w, z, x): authors equally likely, topics' terms and labels' topics integrated out."""
    n_vt, n_yt = np.zeros((N_TERMS, N_TOPICS)), np.zeros((N_LABELS, N_TOPICS))
    i = 0
    for terms, _ in DOCS:
        for v in terms:
            n_vt[v, z[i]] += 1
            n_yt[x[i], z[i]] += 1
            i += 1
    out = sum(log_dm(n_vt[:, t], [BETA] * N_TERMS) for t in range(N_TOPICS))
    return out + sum(log_dm(row, [BETA_Y] * N_TOPICS) for row in n_yt)


def twin(z, x, seed, sweep):
    z, x, i = list(z), list(x), 0
    for d, (terms, own) in enumerate(DOCS):
        stream = Stream(seed, AUTHORS, sweep, d)
        for _ in terms:
            pairs = list(itertools.product(own, range(N_TOPICS)))
            logs = []
            for x[i], z[i] in pairs:
                logs.append(log_joint(z, x))
            p = np.exp(np.array(logs) - max(logs))
            x[i], z[i] = pairs[pick(p, stream.next())]
            i += 1
    return z, x


def test_sweeps_are_their_twins_draw_for_draw():
    docs = (
        np.concatenate([[0], np.cumsum([len(t) for t, _ in DOCS])]).astype(np.int64),
        np.array([v for t, _ in DOCS for v in t], np.uint32),
        np.concatenate([[0], np.cumsum([len(y) for _, y in DOCS])]).astype(np.int64),
        np.array([y for _, own in DOCS for y in own], np.int32),
    )
    n = int(docs[0][-1])
    z, author = np.zeros(n, np.uint16), np.zeros(n, np.int32)
    author_sweep.start_authors(z, author, docs[0], docs[2], N_TOPICS, 4)
    n_vt, n_yt = (np.zeros((size, N_TOPICS), np.float32) for size in (N_TERMS, N_LABELS))
    author_sweep.count_authors(n_vt, n_yt, z, author, docs)
    n_t, n_y = n_vt.sum(axis=0, dtype=float), n_yt.sum(axis=1, dtype=float)

    def labels():
        at = np.repeat(np.arange(len(DOCS)), np.diff(docs[0]))
        return docs[3][docs[2][at] + author].tolist()

    slow_z, slow_x = z.tolist(), labels()
    for sweep in range(3):
        priors = (BETA, BETA * N_TERMS, BETA_Y)
        author_sweep.author_sweep(z, author, docs, n_vt, n_t, n_yt, n_y, priors, 4, sweep)
        slow_z, slow_x = twin(slow_z, slow_x, 4, sweep)
        assert z.tolist() == slow_z
        assert labels() == slow_x
    assert n_vt.sum() == n_yt.sum() == n_t.sum() == n_y.sum() == n


def test_shares_of_labels_are_those_of_the_model_with_topics_summed_out():
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(4), 3).T.astype(np.float32)
    own, alpha = rng.dirichlet(np.ones(3), 5), rng.gamma(1.0, 1.0, 5)
    pairs = (np.array([0, 3, 3]), np.array([0, 2, 3], np.int32), np.array([2, 1, 4], np.float32))
    out = np.empty((2, 5))
    author_sweep.author_docs(out, pairs, 0, 2, rows, own, alpha, 4)
    psi, weight = rows.astype(float) @ own.T, alpha.copy()
    for _ in range(4):
        votes = psi[pairs[1]] * weight
        found = (pairs[2][:, None] * votes / votes.sum(axis=1, keepdims=True)).sum(axis=0)
        weight = alpha + found
    np.testing.assert_allclose(out[0], found / 7.0, rtol=1e-5)
    np.testing.assert_allclose(out[1], alpha / alpha.sum())
