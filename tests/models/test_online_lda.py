"""OnlineLDA: what a stream keeps, and how it relates to the batch model."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from tests.reference.blocks import block_corpus, matched_hellinger

from bayou import LDA, Corpus, DataError, ModelFileError, OnlineLDA, load
from bayou.data import FractionalCountsWarning, container
from bayou.run import batches
from bayou.testing.cases import file_bytes, reload

CORPUS, TOPICS = block_corpus()
INFERENCES = ["scvb0", "hybrid"]


def learn_in(n_calls, model, corpus=CORPUS):
    """`partial_fit` in this number of calls of about equal size."""
    ends = np.linspace(0, corpus.n_docs, n_calls + 1).astype(int)
    for lo, hi in pairwise(ends):
        model.partial_fit(corpus[lo:hi])
    return model


def mass(model):
    """Sum of n_vk in double precision."""
    return model.state_.scale * model.state_.raw.sum(dtype=np.float64)


@pytest.mark.parametrize("inference", INFERENCES)
def test_blocks_are_found(inference):
    model = OnlineLDA(n_topics=3, inference=inference, n_passes=20, batch_size=40, random_state=1)
    assert matched_hellinger(model.fit(CORPUS).components_, TOPICS) < 0.15


@pytest.mark.parametrize("n_docs", [None, 1000])
@pytest.mark.parametrize("inference", INFERENCES)
def test_the_mass_is_blended(inference, n_docs):
    model = OnlineLDA(n_topics=3, inference=inference, n_docs=n_docs, batch_size=30, random_state=0)
    model.partial_fit(CORPUS[:30])
    for lo in range(30, 240, 30):
        batch, before = CORPUS[lo : lo + 30], mass(model)
        model.partial_fit(batch)
        rho = (10.0 + model.state_.step) ** -0.6
        gain = (n_docs or lo + 30) / 30
        expected = (1 - rho) * before + rho * gain * batch.n_tokens
        assert mass(model) == pytest.approx(expected, rel=1e-5)
        assert model.state_.topic.sum() == pytest.approx(mass(model), rel=1e-4)
        by_topic = model.state_.scale * model.state_.raw.sum(axis=0)
        np.testing.assert_allclose(model.state_.topic, by_topic, rtol=1e-4)
        np.testing.assert_allclose(model.posterior_.rows.sum(axis=0), 1.0, rtol=1e-5)
    assert model.state_.n_seen == 240
    assert model.n_iter_ == model.state_.step == 8


def test_long_streams_keep_their_scale():
    model = OnlineLDA(n_topics=2, tau=0.001, kappa=0.51, batch_size=60, random_state=0)
    for _ in range(40):
        for lo in range(0, 240, 60):
            model.partial_fit(CORPUS[lo : lo + 60])
    assert model.state_.step == 160
    assert 1e-7 < model.state_.scale <= 1.0
    assert mass(model) == pytest.approx(model.state_.topic.sum(), rel=1e-4)


@pytest.mark.parametrize("inference", INFERENCES)
def test_one_batch_of_everything_comes_near_the_batch_model(inference):
    online = OnlineLDA(
        n_topics=3, inference=inference, batch_size=240, n_passes=60, tau=1.0, random_state=4
    ).fit(CORPUS)
    batch = LDA(n_topics=3, random_state=4).fit(CORPUS)
    assert online.score(CORPUS) == pytest.approx(batch.score(CORPUS), abs=0.02)
    assert matched_hellinger(online.components_, batch.components_) < 0.1
    assert mass(online) == pytest.approx(CORPUS.n_tokens, rel=1e-3)


def test_one_topic_tends_to_the_distribution_of_terms():
    model = OnlineLDA(n_topics=1, n_passes=400, batch_size=240, tau=0.001, beta=0.5, random_state=0)
    counts = CORPUS.term_counts() + 0.5
    np.testing.assert_allclose(model.fit(CORPUS).components_[0], counts / counts.sum(), rtol=1e-3)


@pytest.mark.parametrize("inference", INFERENCES)
def test_fit_is_passes_in_keyed_orders(inference):
    """`fit` streams its documents, each pass in an order that the seed and the pass decide."""
    shared = {
        "n_topics": 3,
        "inference": inference,
        "batch_size": 48,
        "n_docs": 240,
        "random_state": 5,
    }
    whole = OnlineLDA(n_passes=2, **shared).fit(CORPUS)
    orders = [batches.order(whole.seed_, 240, n) for n in range(2)]
    assert all(sorted(order) == list(range(240)) for order in orders)
    assert not np.array_equal(*orders)
    parts = OnlineLDA(n_passes=2, **shared)
    for order in orders:
        parts.partial_fit(CORPUS[order])
    for name in ("raw", "topic", "scale", "step"):
        np.testing.assert_array_equal(getattr(parts.state_, name), getattr(whole.state_, name))
    assert whole.state_.n_seen == 240  # each document once, however often it was read
    assert parts.state_.n_seen == 480
    assert not np.array_equal(batches.order(6, 240, 0), orders[0])
    # a pass of `fit` ends with a short mini-batch, and nothing waits
    uneven = OnlineLDA(n_passes=2, **shared | {"batch_size": 50}).fit(CORPUS)
    assert (uneven.state_.step, uneven.pending_.n_docs) == (10, 0)


@pytest.mark.parametrize("batch_size", [50, 100, 1000])
@pytest.mark.parametrize("start", ["noise", "spectral"])
@pytest.mark.parametrize("inference", INFERENCES)
def test_the_cut_of_a_stream_changes_nothing(inference, start, batch_size):
    """In 1, 4, 10 or 240 calls: the same file, the same predictions, the same number of steps."""
    shared = {"n_topics": 3, "batch_size": batch_size, "random_state": 0, "learn_alpha": True}
    made = [
        learn_in(n, OnlineLDA(**shared, inference=inference, start=start)) for n in (1, 4, 10, 240)
    ]
    assert len({file_bytes(model) for model in made}) == 1
    assert len({model.transform(CORPUS[:20]).tobytes() for model in made}) == 1
    assert len({model.components_.tobytes() for model in made}) == 1
    for model in made:
        assert model.n_iter_ == 240 // batch_size
        assert model.pending_.n_docs == 240 % batch_size
        assert (model.state_ is None) == (batch_size > 240)


def test_partial_fit_cuts_what_it_is_given_into_batches():
    shared = {"n_topics": 3, "batch_size": 100, "random_state": 0, "n_docs": 240}
    at_once = OnlineLDA(**shared).partial_fit(CORPUS)
    piecewise = OnlineLDA(**shared)
    for lo in (0, 100, 200):
        piecewise.partial_fit(CORPUS[lo : lo + 100])
    assert file_bytes(at_once) == file_bytes(piecewise)
    assert (at_once.state_.step, at_once.state_.n_seen) == (2, 200)
    np.testing.assert_array_equal(at_once.pending_.indptr, CORPUS[200:].counts.indptr)
    np.testing.assert_array_equal(at_once.pending_.counts, CORPUS[200:].counts.data)


@pytest.mark.parametrize("inference", INFERENCES)
def test_predictions_include_documents_that_wait(inference):
    """As if the unfinished mini-batch had ended with them; the next call does not start from there."""
    shared = {"n_topics": 3, "inference": inference, "random_state": 0, "n_docs": 240}
    waiting = OnlineLDA(batch_size=100, **shared).partial_fit(CORPUS[:130])
    assert waiting.pending_.n_docs == 30
    ended = OnlineLDA(batch_size=100, **shared).partial_fit(CORPUS[:100])
    before = ended.components_
    ended.set_params(batch_size=30).partial_fit(CORPUS[100:130])
    np.testing.assert_array_equal(waiting.components_, ended.components_)
    np.testing.assert_array_equal(waiting.transform(CORPUS), ended.transform(CORPUS))
    assert not np.array_equal(waiting.components_, before)
    file = file_bytes(waiting)
    waiting.perplexity(CORPUS)
    assert file_bytes(waiting) == file == file_bytes(reload(waiting))
    at_once = OnlineLDA(batch_size=100, **shared).partial_fit(CORPUS)
    assert file_bytes(waiting.partial_fit(CORPUS[130:])) == file_bytes(at_once)


def test_a_spectral_start_uses_the_first_mini_batch():
    shared = {"n_topics": 3, "start": "spectral", "batch_size": 100, "random_state": 0}
    states = [
        OnlineLDA(**shared).partial_fit(CORPUS[:n]).state_.raw.tobytes() for n in (100, 130, 199)
    ]
    assert len(set(states)) == 1


def test_partial_fit_goes_on_after_fit_and_fit_begins_again():
    model = OnlineLDA(n_topics=3, batch_size=40, random_state=0, n_passes=1).fit(CORPUS)
    once = file_bytes(model)
    model.partial_fit(CORPUS[:50])
    assert (model.state_.n_seen, model.pending_.n_docs) == (280, 10)
    assert file_bytes(model) != once
    assert file_bytes(model.fit(CORPUS)) == once


def test_memory_does_not_grow():
    model = OnlineLDA(n_topics=3, batch_size=96, random_state=0).partial_fit(CORPUS)
    size = len(file_bytes(model.partial_fit(CORPUS)))
    for n in range(3, 7):
        model.partial_fit(CORPUS)
        assert model.pending_.n_docs == n * 240 % 96  # less than a mini-batch waits
    assert abs(len(file_bytes(model)) - size) < 200  # numbers in the manifest get longer


def test_alpha_is_learned_along_the_way():
    model = OnlineLDA(n_topics=3, learn_alpha=True, alpha=1.0, n_passes=10, batch_size=60)
    model.fit(CORPUS)
    assert model.alpha_.mean() < 0.5  # the documents were drawn with 0.1
    assert (OnlineLDA(n_topics=3, alpha=1.0).fit(CORPUS).alpha_ == 1.0).all()


def test_callbacks_and_time_stop_fit_between_batches():
    seen = []

    def stop(info):
        seen.append(info)
        return info.step == 3

    model = OnlineLDA(n_topics=2, batch_size=40, callbacks=stop).fit(CORPUS)
    assert model.n_iter_ == 3
    assert seen[-1].n_steps == 18
    assert OnlineLDA(n_topics=2, batch_size=40, max_time=1e-9).fit(CORPUS).n_iter_ == 1
    given = OnlineLDA(n_topics=2, batch_size=40, max_time=1e-9, callbacks=stop).partial_fit(CORPUS)
    assert given.state_.n_seen == CORPUS.n_docs  # a stream gives its documents once


@pytest.mark.parametrize("inference", INFERENCES)
def test_an_error_leaves_a_stream_whole(inference):
    """Counts change in place: after an error they and their totals must still be of one moment."""

    def fail(info):
        if info.step == 5:
            raise RuntimeError("stop here")

    shared = {
        "n_topics": 3,
        "inference": inference,
        "batch_size": 40,
        "random_state": 0,
        "n_docs": 240,
    }
    model = OnlineLDA(**shared).partial_fit(CORPUS[:130])
    with pytest.raises(RuntimeError, match="stop here"):
        model.set_params(callbacks=fail).partial_fit(CORPUS[130:230])
    assert (model.state_.step, model.state_.n_seen) == (5, 200)
    assert model.pending_.n_docs == 30  # what was not learned waits
    same = OnlineLDA(**shared).partial_fit(CORPUS[:230])
    assert file_bytes(model) == file_bytes(same)
    model.set_params(callbacks=None).partial_fit(CORPUS[230:])
    assert file_bytes(model) == file_bytes(OnlineLDA(**shared).partial_fit(CORPUS))
    np.testing.assert_array_equal(
        model.components_, OnlineLDA(**shared).partial_fit(CORPUS).components_
    )


def test_an_error_in_the_first_mini_batch_leaves_the_documents_waiting():
    def fail(info):
        raise RuntimeError("stop here")

    shared = {"n_topics": 3, "batch_size": 40, "random_state": 0}
    model = OnlineLDA(**shared, callbacks=fail)
    with pytest.raises(RuntimeError, match="stop here"):
        model.partial_fit(CORPUS[:100])
    assert (model.state_.step, model.pending_.n_docs) == (1, 60)
    model.set_params(callbacks=None).partial_fit(CORPUS[100:])
    assert file_bytes(model) == file_bytes(OnlineLDA(**shared).partial_fit(CORPUS))


def test_other_terms_are_matched_by_name_or_dropped():
    shared = {"n_topics": 3, "batch_size": 40, "random_state": 0}
    model = OnlineLDA(**shared).partial_fit(CORPUS[:100])
    twin = OnlineLDA(**shared).partial_fit(CORPUS[:100])
    moved = np.hstack([CORPUS.counts.toarray()[100:, ::-1], np.ones((140, 1))])
    names = [*list(CORPUS.vocabulary)[::-1], "new"]
    model.partial_fit(Corpus.from_matrix(moved, vocabulary=names))
    assert file_bytes(model) == file_bytes(twin.partial_fit(CORPUS[100:]))
    with pytest.raises(DataError, match="has 5 terms, OnlineLDA was fitted on 30"):
        model.partial_fit(Corpus.from_matrix(np.ones((2, 5))))


def test_a_loaded_stream_does_not_share_the_file(tmp_path):
    model = OnlineLDA(n_topics=3, batch_size=100, random_state=0).partial_fit(CORPUS)
    model.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    load(tmp_path / "m").partial_fit(CORPUS)
    assert (tmp_path / "m").read_bytes() == before == file_bytes(model)


def test_fractional_counts():
    half = CORPUS.counts * 0.75
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OnlineLDA(n_topics=2).fit(half)
    model = OnlineLDA(n_topics=2, inference="hybrid", batch_size=40, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(half)
    assert [w.category for w in caught] == [FractionalCountsWarning]
    rounded = half.copy()
    rounded.data = np.rint(rounded.data)
    again = OnlineLDA(n_topics=2, inference="hybrid", batch_size=40, random_state=0).fit(rounded)
    np.testing.assert_array_equal(again.components_, model.components_)


BAD = [
    ({"n_topics": 0}, "n_topics must be a whole number"),
    ({"n_topics": None}, "n_topics must be a whole number"),
    ({"n_passes": 0}, "n_passes must be a whole number"),
    ({"batch_size": 0}, "batch_size must be a whole number"),
    ({"batch_size": 1.5}, "batch_size must be a whole number"),
    ({"n_samples": 0}, "n_samples must be a whole number"),
    ({"n_docs": 0}, "n_docs must be a whole number"),
    ({"burn_in": -1}, "burn_in must be a whole number of at least 0"),
    ({"burn_in": "3"}, "burn_in must be a whole number of at least 0"),
    ({"tau": 0}, "tau must be a positive number, from 0.001"),
    ({"tau": "x"}, "tau must be a positive number"),
    ({"kappa": 0.5}, "kappa must be above 0.5"),
    ({"kappa": 1.1}, "kappa must be a positive number, from 0.5 to 1"),
    ({"kappa": None}, "kappa must be a positive number"),
    ({"alpha": -1.0}, "alpha must be positive"),
    ({"beta": 0}, "beta must be a positive number"),
    ({"inference": "fast"}, "inference must be one of 'scvb0', 'hybrid'"),
    ({"max_time": -1.0}, "max_time must be a positive number"),
    ({"n_threads": -3}, "n_threads must be a whole number"),
    ({"callbacks": 3}, "callbacks must be functions"),
]


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("params", "message"), BAD, ids=lambda x: str(x)[:40])
def test_bad_parameters_are_refused(params, message, method):
    model = OnlineLDA(**{"n_topics": 3} | params)
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(CORPUS)
    assert not hasattr(model, "state_")
    assert not hasattr(model, "posterior_")


def test_another_number_of_topics_needs_another_model():
    model = OnlineLDA(n_topics=2, batch_size=100, random_state=0).partial_fit(CORPUS)
    with pytest.raises(ValueError, match="n_topics is 3 but this stream has 2; start another"):
        model.set_params(n_topics=3).partial_fit(CORPUS)
    assert model.set_params(n_topics=2).partial_fit(CORPUS).state_.n_seen == 400


def test_a_file_without_documents_is_refused(tmp_path):
    model = OnlineLDA(n_topics=2, batch_size=100, random_state=0).partial_fit(CORPUS)
    arrays = {k: v for k, v in model._payload().items() if k.startswith("vocabulary")}
    container.save(tmp_path / "m", arrays, model._manifest("model"))
    with pytest.raises(ModelFileError, match=r"lacks the array state.step"):
        load(tmp_path / "m")


DAMAGE = [
    ("pending.terms", lambda a: a + 30, "impossible numbers"),
    ("pending.terms", lambda a: -a - 1, "impossible numbers"),
    ("pending.terms", lambda a: a.astype(np.int64), "does not fit"),
    ("pending.indptr", lambda a: a[::-1].copy(), "impossible numbers"),
    ("pending.counts", lambda a: a * np.nan, "impossible numbers"),
    ("pending.counts", lambda a: a[:-1], "does not fit"),
    ("state.raw", lambda a: a[:, :1], "does not fit"),
    ("state.raw", lambda a: -a, "impossible numbers"),
    ("state.scale", lambda a: a * 0.0, "'scale' is impossible"),
]


@pytest.mark.parametrize(("name", "change", "message"), DAMAGE)
def test_damaged_files_are_refused(name, change, message, tmp_path):
    model = OnlineLDA(n_topics=2, batch_size=100, random_state=0).partial_fit(CORPUS)
    arrays = model._payload()
    container.save(tmp_path / "m", arrays | {name: change(arrays[name])}, model._manifest("model"))
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "m")


def test_counts_too_large_for_tokens_are_refused_at_once():
    rows = np.zeros((3, 4))
    rows[1, 2] = 1e12
    model = OnlineLDA(n_topics=2, inference="hybrid", batch_size=10)
    with pytest.raises(DataError, match="tokens of one term are supported"):
        model.partial_fit(rows)
    assert not hasattr(model, "pending_")
