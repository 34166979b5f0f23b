"""Rank calibration of the samplers of labels: the truth is one more draw from the posterior."""

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array
from tests.kernels.labels.test_label_sweep import laid_out, prior_of

from bayou.inference.labels import assignments as part
from bayou.inference.labels import cells
from bayou.kernels.labels import links as label_links
from bayou.run.shards import Workers

pytestmark = pytest.mark.slow
N_DRAWS, THIN, BURN = 15, 12, 60
OWN = [[0, 1], [0, 2], [1, 2], [0, 1, 2], [2], [0, 1]]
N_TERMS, N_LABELS, N_TOPICS, LENGTH = 4, 3, 2, 6
BETA, BETA_Y = 0.5, 0.6
ALPHA, LINK_ALPHA = np.array([0.3, 1.1, 0.7]), np.array([0.8, 0.5])


def drawn(rng, kind):
    """Documents from the model's own story, and the labels of their tokens in the order of the layout."""
    phi = rng.dirichlet(np.full(N_TERMS, BETA), N_LABELS)
    links = rng.dirichlet(np.full(N_LABELS, BETA_Y), N_TOPICS)
    docs, truth = [], []
    for own in OWN if kind in ("standard", "greedy") else [list(range(N_LABELS))] * len(OWN):
        theta = rng.dirichlet(ALPHA[own])
        if kind == "greedy":
            theta = np.full(len(own), 1 / len(own))
        z = rng.choice(own, LENGTH, p=theta)
        if kind in ("block", "alternating"):
            k = rng.choice(N_TOPICS, LENGTH, p=rng.dirichlet(LINK_ALPHA))
            z = np.array([rng.choice(N_LABELS, p=links[t]) for t in k])
        terms = np.array([rng.choice(N_TERMS, p=phi[y]) for y in z])
        order = np.argsort(terms, kind="stable")
        docs.append((terms[order].tolist(), own))
        truth += z[order].tolist()
    return docs, np.array(truth)


def statistic(data, z):
    """Tokens of the first label, and pairs of neighbours with equal labels."""
    docs = np.repeat(np.arange(len(data.docs)), np.diff(data.token_ptr))
    labels = data.label_ids[data.label_ptr[docs] + z]
    return float((labels == 0).sum() + 0.5 * (labels[1:] == labels[:-1]).sum())


def place_of(data, labels):
    docs = np.repeat(np.arange(len(data.docs)), np.diff(data.token_ptr))
    mine = [data.label_ids[data.label_ptr[d] : data.label_ptr[d + 1]].tolist() for d in docs]
    return np.array([own.index(y) for own, y in zip(mine, labels, strict=True)], np.int32)


def rank(rng, kind, seed):
    docs, truth = drawn(rng, kind)
    data = laid_out(docs, N_TERMS, N_LABELS)
    prior = prior_of(greedy=kind == "greedy", alpha=ALPHA, beta=BETA)
    true = statistic(data, place_of(data, truth))
    z = part.start_chain(data, seed)
    chain = part.chain_counts(z, np.zeros(0, np.float32), data, prior)
    k = np.zeros(len(z), np.uint16)
    label_links.start_links(k, data.token_ptr, N_TOPICS, seed)
    n_yk, n_k = np.zeros((N_LABELS, N_TOPICS), np.float32), np.zeros(N_TOPICS)
    labels = np.zeros(len(z), np.uint32)
    label_links.labels_of(labels, z, data.token_ptr, data.label_ptr, data.label_ids)
    label_links.count_links(n_yk, n_k, labels, k)
    found = []
    for sweep in range(BURN + N_DRAWS * THIN):
        if kind in ("block", "alternating"):
            label_links.block_sweep(
                z, k, data.whole, chain.cells, chain.totals, (prior.beta, prior.vbeta),
                (n_yk, n_k, LINK_ALPHA, BETA_Y), chain.kept, kind == "block", seed, sweep,
            )  # fmt: skip
        else:
            part.draw(chain, data, prior, seed, sweep, False)
        if sweep >= BURN and sweep % THIN == 0:
            found.append(statistic(data, z))
    ties = rng.random(len(found) + 1)
    below = [(x, u) < (true, ties[-1]) for x, u in zip(found, ties, strict=False)]
    return sum(below)


@pytest.mark.parametrize("kind", ["standard", "greedy", "block", "alternating"])
def test_ranks_of_the_truth_are_uniform(kind):
    rng = np.random.default_rng(12)
    ranks = [rank(rng, kind, seed) for seed in range(400)]
    counts = np.bincount(ranks, minlength=N_DRAWS + 1)
    assert stats.chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("greedy", [False, True], ids=["standard", "greedy"])
def test_documents_of_a_stream_are_drawn_from_their_posterior(greedy):
    """The sampled form of online labels: under fixed terms of labels every document is a test of its own."""
    rng = np.random.default_rng(13)
    phi = rng.dirichlet(np.full(N_TERMS, BETA), N_LABELS)
    n_docs, own = 4000, [OWN[d % len(OWN)] for d in range(4000)]
    counts, truth = np.zeros((n_docs, N_TERMS)), np.zeros(n_docs)
    for d, mine in enumerate(own):
        theta = np.full(len(mine), 1 / len(mine)) if greedy else rng.dirichlet(ALPHA[mine])
        z = rng.choice(mine, LENGTH, p=theta)
        truth[d] = (z == mine[0]).sum()
        for y in z:
            counts[d, rng.choice(N_TERMS, p=phi[y])] += 1
    labels = csr_array(
        (np.ones(sum(map(len, own))), np.concatenate(own), _ends(own)), shape=(n_docs, 3)
    )
    batch = cells.make_batch(csr_array(counts), labels, whole=True)
    lay = cells.lay_out(batch, N_TERMS, N_LABELS)
    terms = np.repeat(batch.pairs.terms, np.diff(lay.entryptr))
    prior = np.zeros(0) if greedy else ALPHA
    how, prior = cells.SharingSettings(True, BURN, N_DRAWS * THIN), prior.astype(np.float32)
    weight = phi[lay.entry_labels, terms].astype(np.float32)
    _, held = cells.share_tokens(weight, lay, prior, how, (5, 3), Workers(1).each)
    drawn = held[THIN - 1 :: THIN, batch.label_ptr[:-1]]
    several = np.diff(batch.label_ptr) > 1  # one label alone is no question
    ties = rng.random((len(drawn) + 1, n_docs))
    below = (drawn < truth) | ((drawn == truth) & (ties[:-1] < ties[-1]))
    ranks = np.bincount(below.sum(axis=0)[several], minlength=N_DRAWS + 1)
    assert stats.chisquare(ranks).pvalue > 0.001


def _ends(own):
    return np.concatenate([[0], np.cumsum([len(mine) for mine in own])])
