"""Models solved for from moments: they find what was planted, and say when they cannot."""

import numpy as np
import pytest

import bayou
from bayou import (
    LDA,
    Corpus,
    IncrementalEM,
    OnlineLDA,
    SpectralLDA,
    SpectralLeader,
    StepwiseEM,
    TopicTracker,
)
from bayou.data import DoubtWarning, ModelFileError, container
from bayou.data.synthetic import sample_lda, sample_mixture
from bayou.metrics import matched_l1
from bayou.testing.cases import file_bytes

WEIGHTS = [0.5, 0.3, 0.2]
CORPUS, TRUTH = sample_mixture(3000, 3, 60, doc_length=30, weights=WEIGHTS, seed=4)
PURE = {"n_topics": 3, "n_polish": 0, "smoothing": 0.0, "max_share": None, "random_state": 0}


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        ({}, 0.06),
        ({"decomposition": "deflation"}, 0.06),
        ({"decomposition": "jacobi"}, 0.06),
        ({"decomposition": "jennrich"}, 0.08),
        ({"mode": "history"}, 0.06),
        ({"mode": "reservoir", "reservoir": 1500}, 0.1),
        ({"half_life": 1000}, 0.15),
        ({"n_polish": 5}, 0.06),
        ({"weighting": "documents"}, 0.08),
    ],
)
def test_planted_topics_are_found(settings, most):
    model = SpectralLeader(**PURE | settings).fit(CORPUS)
    assert matched_l1(TRUTH.topics, model.components_) < most
    np.testing.assert_allclose(model.weights_, WEIGHTS, atol=0.04)
    assert model.doubts_ == []
    assert model.diagnosis_.rank == 3
    assert model.diagnosis_.gap > 5


def test_documents_get_the_topic_they_were_drawn_from():
    model = SpectralLeader(n_topics=3, random_state=0).fit(CORPUS)
    match = [int(np.abs(model.components_ - row).sum(axis=1).argmin()) for row in TRUTH.topics]
    drawn = np.array(match)[TRUTH.doc_topics.argmax(axis=1)]
    assert (model.predict(CORPUS) == drawn).mean() > 0.99
    np.testing.assert_array_equal(model.predict_proba(CORPUS), model.transform(CORPUS))
    loglik = model.score_samples(CORPUS)
    shares = CORPUS.counts.toarray()[0] @ np.log(model.posterior_.rows.astype(np.float64))
    assert loglik[0] == pytest.approx(np.logaddexp.reduce(np.log(model.weights_) + shares))


@pytest.mark.parametrize("mode", ["basis", "history", "reservoir"])
@pytest.mark.parametrize("half_life", [None, 40])
def test_a_stream_may_be_cut_anywhere(mode, half_life):
    if half_life and mode == "reservoir":
        return
    settings = {"mode": mode, "half_life": half_life, "burn_in": 50, "reservoir": 70}
    corpus = CORPUS[:300]
    whole = SpectralLeader(n_topics=3, random_state=0, **settings).partial_fit(corpus)
    for size in (1, 37):
        cut = SpectralLeader(n_topics=3, random_state=0, **settings)
        for lo in range(0, 300, size):
            cut.partial_fit(corpus[lo : lo + size])
        assert file_bytes(cut) == file_bytes(whole)
    assert whole.state_.n_seen == 300


def in_pieces(model, corpus, size):
    for lo in range(0, corpus.n_docs, size):
        model.partial_fit(corpus[lo : lo + size])
    return model


@pytest.mark.parametrize("size", [1, 7, 64, 256, 299])
@pytest.mark.parametrize(
    "make",
    [
        lambda: SpectralLDA(n_topics=3, burn_in=50, reservoir=70, random_state=0),
        lambda: SpectralLDA(n_topics=3, burn_in=20, half_life=40, random_state=0),
        lambda: StepwiseEM(n_topics=3, batch_size=32, random_state=0),
        lambda: StepwiseEM(n_topics=3, batch_size=500, random_state=0),
    ],
    ids=["lda", "fading lda", "em", "em before its first mini-batch"],
)
def test_other_streams_may_be_cut_anywhere_too(make, size):
    corpus = CORPUS[:300]
    whole, cut = make().partial_fit(corpus), in_pieces(make(), corpus, size)
    assert file_bytes(cut) == file_bytes(whole)
    np.testing.assert_array_equal(cut.components_, whole.components_)


def test_documents_that_wait_count_in_answers_and_survive_a_file(tmp_path):
    model = StepwiseEM(n_topics=3, batch_size=64, random_state=0).partial_fit(CORPUS[:100])
    assert (model.state_.n_seen, model.pending_.n_docs) == (64, 36)
    full = StepwiseEM(n_topics=3, batch_size=64, random_state=0).partial_fit(CORPUS[:64])
    assert not np.array_equal(model.components_, full.components_)
    model.save(tmp_path / "model.bayou")
    back = bayou.load(tmp_path / "model.bayou")
    np.testing.assert_array_equal(back.components_, model.components_)
    assert file_bytes(back.partial_fit(CORPUS[100:200])) == file_bytes(
        model.partial_fit(CORPUS[100:200])
    )
    assert not any(name.startswith("pending") for name in full._payload()), "as older files"


@pytest.mark.parametrize(
    ("make", "name", "bad"),
    [
        (SpectralLeader, "now.sums.seen", lambda a: a[:, 1:]),
        (SpectralLeader, "now.sums.cube", lambda a: a[1:]),
        (SpectralLeader, "now.sums.weight", lambda a: np.array(-1.0)),
        (SpectralLeader, "pool.terms", lambda a: a + 60),
        (SpectralLeader, "pool.indptr", lambda a: a[::-1].copy()),
        (SpectralLDA, "alpha", lambda a: 0.0 * a),
        (SpectralLDA, "rows", lambda a: a[:-1]),
        (SpectralLDA, "diagnosis.eigenvalues", lambda a: np.nan * a),
        (StepwiseEM, "state.totals", lambda a: np.append(0.0, a[1:])),
        (StepwiseEM, "state.length", lambda a: a - 1e9),
        (StepwiseEM, "state.known", lambda a: a[1:]),
    ],
)
def test_arrays_of_a_file_that_cannot_be_are_refused(make, name, bad, tmp_path):
    path = tmp_path / "model.bayou"
    make(n_topics=3, random_state=0).fit(CORPUS[:200]).save(path)
    arrays, manifest = container.load(path)
    container.save(path, {**arrays, name: bad(arrays[name])}, manifest)
    with pytest.raises(ModelFileError):
        bayou.load(path)


def test_what_a_stream_keeps_does_not_grow():
    model = SpectralLeader(n_topics=3, burn_in=100, reservoir=100, random_state=0)
    sizes = []
    for lo in range(0, 3000, 500):
        model.partial_fit(CORPUS[lo : lo + 500])
        sizes.append(sum(a.nbytes for a in model._payload().values()))
    assert sizes[-1] < 1.1 * sizes[1]


@pytest.mark.parametrize("more", [{}, {"n_polish": 5}, {"n_polish": 5, "mode": "history"}])
def test_forgetting_follows_topics_that_are_replaced(more):
    other, later = sample_mixture(3000, 3, 60, doc_length=30, weights=WEIGHTS, seed=9)
    errors = {}
    for name, settings in {"all": {}, "fading": {"half_life": 300, "burn_in": 200} | more}.items():
        model = SpectralLeader(**PURE | settings).partial_fit(CORPUS).partial_fit(other)
        errors[name] = matched_l1(later.topics, model.components_)
    assert errors["fading"] < 0.3 < errors["all"]


def test_weights_of_a_fading_stream_are_powers_of_two():
    p = SpectralLeader(n_topics=3, half_life=10, burn_in=20, n_polish=0, random_state=0)
    model = p.partial_fit(CORPUS[:2000])
    stream = model.state_.now
    weights = CORPUS.doc_lengths()[:2000]
    times = np.arange(2000) - stream.origin
    first = stream.since
    expected = (weights * np.exp2(times / 10.0))[first:].sum()
    assert stream.sums.weight == pytest.approx(expected, rel=1e-9)


def test_more_topics_than_the_documents_support_are_not_made_up():
    with pytest.warns(DoubtWarning, match="support"):
        model = SpectralLeader(n_topics=12, random_state=0).fit(CORPUS)
    assert model.diagnosis_.rank < 12
    assert "support" in model.doubts_[0]
    assert model.components_.shape == (12, 60)
    assert model.weights_[model.diagnosis_.rank :].max() < 0.01


def test_short_and_bursty_documents_are_counted():
    rows = np.zeros((5, 60))
    rows[0, 0], rows[1, 1], rows[2, :2], rows[3, 5] = 1, 2, 1, 50
    both = np.vstack([CORPUS.counts.toarray()[:500], rows])
    diagnosis = SpectralLeader(n_topics=3, random_state=0).fit(Corpus.from_matrix(both)).diagnosis_
    known = CORPUS.counts.toarray()[:500]
    long = (known.sum(axis=1) >= 30) & (known.max(axis=1) > 0.4 * known.sum(axis=1))
    assert diagnosis.n_short == 4 + (known.sum(axis=1) < 3).sum()
    assert diagnosis.n_bursty == 1 + long.sum()


def test_nothing_but_short_documents():
    counts = np.eye(6)[np.arange(40) % 3]
    with pytest.warns(DoubtWarning, match="three tokens"):
        model = SpectralLeader(n_topics=2, random_state=0).fit(counts)
    np.testing.assert_allclose(model.components_[0, :3], 1 / 3, atol=0.05)
    stream = SpectralLeader(n_topics=2, burn_in=10, random_state=0).partial_fit(counts)
    assert stream.partial_fit(CORPUS.counts[:50, :6]).state_.n_seen == 90
    assert stream.diagnosis_.n_short >= 40


def test_two_topics_that_are_the_same_are_one():
    topic = TRUTH.topics[0]
    counts = np.random.default_rng(0).multinomial(30, topic, 2000)
    model = SpectralLeader(n_topics=2, max_share=None, random_state=0).fit(counts)
    assert any("fewer topics" in doubt for doubt in model.doubts_)


def test_lda_is_found_with_its_alpha():
    corpus, truth = sample_lda(6000, 3, 60, doc_length=40, alpha=[0.2, 0.3, 0.5], beta=0.1, seed=3)
    settings = {"n_topics": 3, "smoothing": 0.0, "max_share": None, "random_state": 0}
    model = SpectralLDA(**settings).fit(corpus)
    assert matched_l1(truth.topics, model.components_) < 0.12
    np.testing.assert_allclose(model.alpha_, [0.5, 0.3, 0.2], atol=0.06)
    stream = SpectralLDA(**settings)
    for lo in range(0, 6000, 1500):
        stream.partial_fit(corpus[lo : lo + 1500])
    assert matched_l1(model.components_, stream.components_) < 0.05
    assert model.score(corpus) > SpectralLeader(n_topics=3, random_state=0).fit(corpus).score(
        corpus
    )


@pytest.mark.parametrize("model", [LDA, OnlineLDA])
def test_lda_starts_from_the_spectral_answer(model):
    corpus, truth = sample_lda(600, 4, 60, doc_length=40, seed=3)
    found = model(n_topics=4, start="spectral", random_state=0).fit(corpus)
    assert matched_l1(truth.topics, found.components_) < 0.35
    few = corpus[:3]
    assert np.isfinite(
        model(n_topics=4, start="spectral", random_state=0).fit(few).components_
    ).all()
    with pytest.raises(ValueError, match="start"):
        model(start="somewhere").fit(corpus)


def test_a_sampler_starts_from_the_spectral_answer():
    corpus, _ = sample_lda(600, 4, 60, doc_length=40, seed=3)
    scores = {
        start: LDA(n_topics=4, inference="snapshot", start=start, n_sweeps=2, random_state=0)
        .fit(corpus)
        .score(corpus)
        for start in ("random", "spectral")
    }
    assert scores["spectral"] > scores["random"] + 0.1


@pytest.mark.parametrize("model", [StepwiseEM(batch_size=20), IncrementalEM()])
def test_em_finds_planted_topics(model):
    model.set_params(n_topics=3, random_state=0).fit(CORPUS)
    assert matched_l1(TRUTH.topics, model.components_) < 0.2
    np.testing.assert_allclose(np.sort(model.weights_), np.sort(WEIGHTS), atol=0.05)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "all"}, "mode"),
        ({"weighting": "none"}, "weighting"),
        ({"decomposition": "als"}, "decomposition"),
        ({"half_life": 10, "mode": "reservoir"}, "uniform sample"),
        ({"generation": 10}, "half_life"),
        ({"half_life": 10, "generation": 20, "burn_in": 30}, "at least burn_in"),
        ({"n_polish": -1}, "n_polish"),
        ({"smoothing": -1.0}, "smoothing"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        SpectralLeader(n_topics=3, **settings).fit(CORPUS[:10])


def test_a_stream_keeps_its_number_of_topics():
    model = StepwiseEM(n_topics=3, batch_size=10, random_state=0).partial_fit(CORPUS[:10])
    with pytest.raises(ValueError, match="another number of topics"):
        model.set_params(n_topics=4).partial_fit(CORPUS[:10])
    with pytest.raises(ValueError, match="exponent"):
        StepwiseEM(exponent=0.4).fit(CORPUS[:10])
    with pytest.raises(ValueError, match="alpha0"):
        SpectralLDA(alpha0=0.0).fit(CORPUS[:10])


def test_a_tracker_starts_from_the_spectral_answer():
    corpus, truth = sample_lda(400, 4, 60, doc_length=40, seed=3)
    settings = {"n_topics": 4, "n_sweeps": 4, "n_starts": 1, "random_state": 0}
    settings |= {"inference": "snapshot"}
    error = {
        start: matched_l1(
            truth.topics, TopicTracker(start=start, **settings).fit(corpus).components_
        )
        for start in ("random", "spectral")
    }
    assert error["spectral"] < error["random"]
