"""Labels on a stream: the step is its twin, masses stay, and corners are what they should be."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import label_stream as twin

from bayou.inference.labels import cells as label_cells
from bayou.inference.labels import open_set, stream
from bayou.inference.labels import state as label_state
from bayou.inference.labels.cells import SharingSettings
from bayou.inference.labels.documents import LabelDocuments
from bayou.inference.labels.state import LABELS, WORDS, LabelStreamSettings
from bayou.models import online_dependency_lda, online_labeled_hdp, online_labeled_lda
from bayou.run.shards import Workers

EACH = Workers(1).each
BETA = 0.3
V, L = 12, 5
HOW = LabelStreamSettings(
    batch_size=20, rate=(10.0, 1000.0, 0.9), n_docs=100.0, beta=BETA,
    sharing=SharingSettings(False, 2, 3), n_rounds=1, alpha=np.full(3, 0.4), link_beta=0.1,
)  # fmt: skip


def learn(state, batch, p, seed, each):
    """All steps of a mini-batch, in the order in which `update` of the models makes them."""
    if not len(batch.labels):
        return state
    rho = stream.step_size(state.step + 1, p.rate)
    after = stream.blend_totals(state, batch, rho)
    if batch.pairs.n_tokens:
        prior = np.full(0 if p.greedy else state.n_labels, p.new_alpha or 1.0)
        words = stream.share_words(state, after, batch, prior, p, seed, each)
        after = stream.blend_words(state, after, words, rho, each)
    if state.topics.shape[2]:
        after = after._replace(topics=stream.blend_topics(state, after, batch, p, seed, each))
    return after


def documents(n, seed=0, most=3):
    """Counts, the labels of each document, and both as a batch takes them."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.8, (n, V)).astype(np.float32)
    own = [np.sort(rng.choice(L, rng.integers(1, most + 1), replace=False)) for _ in range(n)]
    labels = np.zeros((n, L), np.int8)
    for d, mine in enumerate(own):
        labels[d, mine] = 1
    return counts, own, label_cells.make_batch(csr_array(counts), csr_array(labels), whole=False)


def fresh(n_topics=3, n_chains=1, n_labels=L):
    p = HOW._replace(alpha=np.full(n_topics, 0.4), n_chains=n_chains)
    state = label_state.start(V, p)
    return open_set.arrange_labels(state, np.full(n_labels, -1))


def counts_of(state, how=HOW, which=WORDS):
    """N: shares times what they stand for."""
    factor = label_state.factors(state, which, how.n_docs)
    dense = csr_array((state.raw, state.cell_labels, state.cell_ptr), shape=(V, state.n_labels))
    return dense.toarray().astype(float) * state.scale * factor


@pytest.mark.parametrize("n_rounds", [1, 3])
def test_steps_are_those_of_the_twin(n_rounds):
    how, state, N = HOW._replace(n_rounds=n_rounds), fresh(0), np.zeros((V, L))
    for t in range(1, 6):
        counts, own, batch = documents(9, seed=t)
        before = label_state.totals(state, how.n_docs)[WORDS]
        state = learn(state, batch, how, 1, EACH)
        total = label_state.totals(state, how.n_docs)[WORDS]
        rho = stream.step_size(t, how.rate)
        # what is known is rescaled to what it now stands for; the first round sees it as it was
        old = N * (total / before if before else 1.0)
        rows = twin.phi(N, BETA)
        for _ in range(n_rounds):
            found = twin.shares(counts, own, rows)
            new = (1 - rho) * old + rho * total / counts.sum() * found
            rows = twin.phi(new, BETA)
        N = new
        np.testing.assert_allclose(counts_of(state, how), N, rtol=2e-4, atol=1e-5)


def test_masses_are_the_totals_of_each_layer():
    state = fresh(3, 2)
    for t in range(1, 60):
        _, _, batch = documents(4, seed=t)
        state = learn(state, batch, HOW, 1, EACH)
        c_w, c_l, _ = label_state.totals(state, HOW.n_docs)
        assert counts_of(state).sum() == pytest.approx(c_w, rel=1e-5)
        links = label_state.factors(state, LABELS, HOW.n_docs)[:, None] * state.topics
        assert links.sum(axis=(1, 2)) == pytest.approx([c_l, c_l], rel=1e-5)
        np.testing.assert_allclose(state.topics.sum(axis=2), [state.shares] * 2, rtol=1e-4)


def test_plain_averages_stand_for_all_that_came():
    state, how = fresh(0), HOW._replace(rate=(1e-9, 0.0, 1.0), n_docs=None)
    n_words = n_labels = 0.0
    for t in range(1, 8):
        _, _, batch = documents(6, seed=t)
        batch = batch._replace(pairs=batch.pairs._replace(counts=np.ones_like(batch.pairs.counts)))
        n_words, n_labels = n_words + batch.pairs.n_tokens, n_labels + len(batch.labels)
        state = learn(state, batch, how, 1, EACH)
    # batches of unequal size weigh alike, so the mean is worth a little less than all tokens
    assert 0.9 * n_words < label_state.totals(state, None)[WORDS] <= n_words
    assert 0.9 * n_labels < label_state.totals(state, None)[LABELS] <= n_labels


def test_one_batch_of_everything_is_expectation_maximisation():
    counts, own, batch = documents(20)
    how = HOW._replace(n_rounds=400, n_docs=None)
    state = learn(fresh(0), batch, how, 1, EACH)
    N = counts_of(state, how)
    again = twin.shares(counts, own, twin.phi(N, BETA))  # MAP-EM under Dir(beta + 1)
    np.testing.assert_allclose(N, again, rtol=1e-3, atol=1e-3)
    assert N.sum() == pytest.approx(counts.sum(), rel=1e-6)


def _local(batch, rows, prior, **more):
    lay = label_cells.lay_out(batch, V, L)
    weight = np.concatenate(
        [rows[v, own] for d, v in _pairs(batch) for own in [_own(batch, d)]]
    ).astype(np.float32)
    how = SharingSettings(False)._replace(**more)
    prior = prior.astype(np.float32)
    entry, held = label_cells.share_tokens(weight, lay, prior, how, (3, 5), EACH)
    return lay, entry, held


def _pairs(batch):
    p = batch.pairs
    return [(d, p.terms[j]) for d in range(p.n_docs) for j in range(p.indptr[d], p.indptr[d + 1])]


def _own(batch, d):
    return batch.labels[batch.label_ptr[d] : batch.label_ptr[d + 1]]


def _by_document(batch, lay, entry):
    """Tokens of labels in each document."""
    doc = np.array([d for d, _ in _pairs(batch)])
    at = np.repeat(doc, np.diff(lay.entryptr))
    out = np.zeros((batch.n_docs, L))
    np.add.at(out, (at, lay.entry_labels), entry)
    return out


def test_passes_come_near_the_fixed_point_of_a_document():
    counts, own, batch = documents(6, seed=2)
    rows = np.random.default_rng(4).dirichlet(np.full(V, 0.3), L).T
    lay, entry, _ = _local(batch, rows, np.full(L, 0.7), n_samples=3000)
    found = _by_document(batch, lay, entry)
    for d, n_d in enumerate(twin.smooth_fixed_point(counts, own, rows, 0.7)):
        np.testing.assert_allclose(found[d, own[d]], n_d, atol=0.05)


def test_greedy_is_a_prior_at_infinity():
    _, _, batch = documents(6, seed=2)
    rows = np.random.default_rng(4).dirichlet(np.full(V, 0.3), L).T
    _, wide, _ = _local(batch, rows, np.full(L, 1e7), n_samples=5)
    _, greedy, _ = _local(batch, rows, np.zeros(0))
    np.testing.assert_allclose(wide, greedy, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("alpha", [None, 0.6])
def test_sampled_labels_are_those_of_the_twin(alpha):
    counts, own, batch = documents(5, seed=7)
    rows = np.random.default_rng(4).dirichlet(np.ones(V), L).T.astype(np.float32)
    prior = np.zeros(0) if alpha is None else np.full(L, alpha)
    lay, entry, held = _local(batch, rows, prior, sampled=True, burn_in=2, n_samples=3)
    wanted = twin.sampled(counts, own, rows, None if alpha is None else prior, 2, 3, 3, 5)
    found = _by_document(batch, lay, entry)
    np.testing.assert_allclose(found, wanted.sum(axis=1), atol=1e-5)
    assert held.sum(axis=1) == pytest.approx([counts.sum()] * 3)


def test_sampled_labels_have_their_posterior():
    """Four tokens, two labels: all sixteen assignments by hand, against many copies of the document."""
    rows = np.array([[0.6, 0.1], [0.1, 0.5], [0.3, 0.4]])
    alpha, words = np.array([0.5, 1.5]), [0, 1, 1, 2]
    weights = {}
    for z in itertools.product(range(2), repeat=4):
        p = np.exp(twin.log_dm(np.bincount(z, minlength=2), alpha))
        weights[z] = p * np.prod([rows[v, k] for v, k in zip(words, z, strict=True)])
    total = sum(weights.values())
    wanted = sum(w * np.bincount(z, minlength=2) for z, w in weights.items()) / total
    n = 3000
    counts = csr_array(np.tile([1.0, 2.0, 1.0], (n, 1)))
    batch = label_cells.make_batch(counts, csr_array(np.ones((n, 2), np.int8)), whole=True)
    lay = label_cells.lay_out(batch, 3, 2)
    weight = np.tile(rows.astype(np.float32).ravel(), n)
    how, prior = SharingSettings(True, 8, 4), alpha.astype(np.float32)
    entry, _ = label_cells.share_tokens(weight, lay, prior, how, (0, 0), EACH)
    found = np.bincount(lay.entry_labels, entry) / n
    np.testing.assert_allclose(found, wanted, atol=0.02)


def test_kept_sweeps_add_probabilities_and_not_draws():
    """Labels alike: a sweep adds exactly the expected tokens, whatever was drawn."""
    _, _, batch = documents(6, seed=2)
    rows = np.random.default_rng(4).dirichlet(np.full(V, 0.3), L).T
    _, expected, _ = _local(batch, rows, np.zeros(0))
    _, sampled, _ = _local(batch, rows, np.zeros(0), sampled=True, burn_in=0, n_samples=1)
    np.testing.assert_allclose(sampled, expected, rtol=1e-5, atol=1e-6)
    _, several, _ = _local(batch, rows, np.full(L, 0.5), sampled=True, burn_in=1, n_samples=2)
    drawn = 2 * several
    assert np.abs(drawn - np.rint(drawn)).max() > 0.1  # draws would be whole tokens


def test_probabilities_vary_less_than_draws():
    """The probability of a label has the mean of its draws, and a smaller variance (Rao-Blackwell)."""
    n, rows = 2000, np.array([[0.6, 0.1], [0.1, 0.5], [0.3, 0.4]])
    counts = csr_array(np.tile([1.0, 2.0, 1.0], (n, 1)))
    batch = label_cells.make_batch(counts, csr_array(np.ones((n, 2), np.int8)), whole=True)
    lay = label_cells.lay_out(batch, 3, 2)
    weight = np.tile(rows.astype(np.float32).ravel(), n)
    prior = np.array([0.5, 1.5], np.float32)
    entry, held = label_cells.share_tokens(
        weight, lay, prior, SharingSettings(True, 8, 1), (0, 0), EACH
    )
    expected, drawn = entry.reshape(n, 3, 2).sum(axis=1)[:, 0], held.reshape(n, 2)[:, 0]
    assert expected.mean() == pytest.approx(drawn.mean(), abs=0.08)
    assert expected.var() < 0.7 * drawn.var()


def test_the_order_of_documents_in_a_batch_does_not_matter():
    counts, own, batch = documents(15)
    labels = np.zeros((15, L), np.int8)
    for d, mine in enumerate(own):
        labels[d, mine] = 1
    back = label_cells.make_batch(csr_array(counts[::-1]), csr_array(labels[::-1]), whole=False)
    one, two = (learn(fresh(3), b, HOW, 1, EACH) for b in (batch, back))
    np.testing.assert_allclose(counts_of(one), counts_of(two), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(one.topics, two.topics, rtol=1e-4, atol=1e-7)


def test_merged_cells_are_sums():
    rng = np.random.default_rng(0)
    cells = label_cells.no_cells(V)
    dense = np.zeros((V, L))
    for t in range(4):
        _, _, batch = documents(5, seed=t)
        lay = label_cells.lay_out(batch, V, L)
        entry = rng.random(lay.entryptr[-1]).astype(np.float32)
        term = np.repeat([v for _, v in _pairs(batch)], np.diff(lay.entryptr))
        np.add.at(dense, (term, lay.entry_labels), 0.5 * entry)
        cells = label_cells.merge_entries(cells, entry, lay, 0.5, EACH)
        found = csr_array((cells.raw, cells.labels, cells.ptr), shape=(V, L))
        assert found.has_sorted_indices
        np.testing.assert_allclose(found.toarray(), dense, rtol=1e-5)
        np.testing.assert_allclose(
            label_cells.column_totals(cells, L), dense.sum(axis=0), rtol=1e-5
        )


def test_a_small_scale_is_multiplied_into_the_cells():
    """The cells keep a common factor; multiplying it in changes nothing but the factor."""
    state = learn(fresh(0), documents(9)[2], HOW, 1, EACH)
    for rho in (0.3, 0.999_999_9):  # above and below the limit
        cells, scale = stream._decay_cells(state, rho)
        assert (scale == 1.0) == (rho > 0.5)
        np.testing.assert_allclose(
            cells.raw * scale, state.raw * state.scale * (1 - rho), rtol=1e-6
        )
    cells, scale = stream._decay_cells(state, 1.0)
    assert (len(cells.raw), scale) == (0, 1.0)


def test_long_streams_fold_the_scale_and_keep_their_masses():
    state, how = (
        fresh(0),
        HOW._replace(rate=(1.0, 0.0, 0.5)),
    )  # steps so large that the scale underflows
    scales = []
    for t in range(1, 60):
        state = learn(state, documents(4, seed=t)[2], how, 1, EACH)
        scales.append(state.scale)
        assert counts_of(state).sum() == pytest.approx(
            label_state.totals(state, how.n_docs)[WORDS], rel=1e-5
        )
    assert min(scales) >= stream._FOLD
    assert (np.diff(scales) > 0).any()  # it was folded


def test_threads_do_not_matter():
    _, _, batch = documents(40)
    how = HOW._replace(sharing=SharingSettings(True, 1, 2), greedy=False, new_alpha=0.5, n_rounds=2)
    with Workers(3) as workers:
        one = learn(fresh(3, 2), batch, how, 1, EACH)
        two = learn(fresh(3, 2), batch, how, 1, workers.each)
    for name, value in one._asdict().items():
        np.testing.assert_array_equal(value, getattr(two, name), err_msg=name)


def test_documents_without_labels_or_words_teach_what_they_can():
    state = fresh(3)
    counts = csr_array(np.ones((2, V)))
    none = label_cells.make_batch(counts, csr_array((2, L), dtype=np.int8), whole=False)
    assert learn(state, none, HOW, 1, EACH) is state
    labels = csr_array(np.eye(2, L, dtype=np.int8))
    mute = label_cells.make_batch(csr_array((2, V)), labels, whole=False)
    after = learn(state, mute, HOW, 1, EACH)
    assert after.shares.tolist() == [0.5, 0.5, 0, 0, 0]
    assert len(after.raw) == 0
    assert after.left[:, 0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("model", [online_labeled_lda, online_dependency_lda, online_labeled_hdp])
def test_updates_without_labels_count_documents_only(model):
    p = HOW if model is online_dependency_lda else HOW._replace(alpha=np.zeros(0))
    state = open_set.add_labels(label_state.start(V, p), np.arange(2))
    given = LabelDocuments.make(csr_array(np.ones((3, V))), csr_array((3, 2)), np.arange(2))
    after = model.update(state, given, p, 1, EACH)
    assert after.n_seen == 3
    for name, value in state._replace(n_seen=3)._asdict().items():
        np.testing.assert_array_equal(value, getattr(after, name), err_msg=name)


@pytest.mark.parametrize(
    ("model", "own"),
    [
        (online_labeled_lda, {"alpha": np.zeros(0)}),
        (online_labeled_lda, {"alpha": np.zeros(0), "greedy": False, "new_alpha": 0.5}),
        (online_dependency_lda, {}),
    ],
)
def test_update_makes_these_steps(model, own):
    p = HOW._replace(**own, validation_share=0.0)
    counts, mine, batch = documents(9)
    given = LabelDocuments.make(
        csr_array(counts),
        csr_array(np.array([np.isin(np.arange(L), y) for y in mine])),
        np.arange(L),
    )
    start = label_state.start(V, p)
    after = model.update(start, given, p, 1, EACH)
    same = learn(open_set.add_labels(start, np.arange(L)), batch, p, 1, EACH)
    for name, value in same._replace(n_seen=9)._asdict().items():
        np.testing.assert_array_equal(value, getattr(after, name), err_msg=name)


def test_scales_are_folded_before_they_vanish():
    state, how = fresh(0), HOW._replace(rate=(0.9, 0.0, 1e-9))
    for t in range(1, 12):
        _, _, batch = documents(4, seed=t)
        state = learn(state, batch, how, 1, EACH)
        total = label_state.totals(state, how.n_docs)[WORDS]
        assert counts_of(state, how).sum() == pytest.approx(total, rel=1e-4)
        assert state.scale > 1e-7
