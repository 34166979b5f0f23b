"""LDA: topics found, degenerate cases, the door, interruptions."""

import time
import warnings

import numpy as np
import pytest
from tests.reference.blocks import block_corpus, matched_hellinger

import bayou
from bayou import LDA, Corpus, DataError, ModelFileError
from bayou.data import FractionalCountsWarning, container
from bayou.inference.lda import fast
from bayou.testing.cases import file_bytes

CORPUS, TOPICS = block_corpus()
INFERENCES = ["fast", "gibbs", "snapshot", "mh"]


@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("inference", INFERENCES)
def test_blocks_are_found(inference, learn):
    model = LDA(
        n_topics=3, inference=inference, learn_alpha=learn, learn_beta=learn, random_state=1
    ).fit(CORPUS)
    assert matched_hellinger(model.components_, TOPICS) < 0.15
    if learn:
        assert 0.02 < model.alpha_.mean() < 0.3  # the documents were drawn with 0.1
        assert model.beta_ != 0.01


@pytest.mark.parametrize("inference", INFERENCES)
def test_one_topic_is_the_smoothed_distribution_of_terms(inference):
    n_sweeps = None if inference == "fast" else 6
    model = LDA(n_topics=1, inference=inference, n_sweeps=n_sweeps, beta=0.5, random_state=0)
    model.fit(CORPUS)
    counts = CORPUS.term_counts() + 0.5
    # the fast inference answers with the pass that predicted the kept-out documents best
    rtol = 0.12 if inference == "fast" else 2e-5
    np.testing.assert_allclose(model.components_[0], counts / counts.sum(), rtol=rtol)
    assert (model.transform(CORPUS) == 1.0).all()


def test_samplers_agree_with_the_point_estimate():
    scores = {
        i: LDA(n_topics=3, inference=i, random_state=0).fit(CORPUS).score(CORPUS)
        for i in INFERENCES
    }
    assert max(scores.values()) - min(scores.values()) < 0.02, scores


def test_a_start_from_the_point_estimate_begins_where_a_random_one_ends():
    shared = {"n_topics": 3, "inference": "gibbs", "n_sweeps": 10, "random_state": 0}
    warm = LDA(start="fast", **shared).fit(CORPUS)
    cold = LDA(start="random", **shared | {"n_sweeps": 60}).fit(CORPUS)
    assert warm.scores_[0] > cold.scores_[-1] - 0.02
    assert warm.n_iter_ == 10


def test_asymmetric_alpha_is_used():
    alpha = [5.0, 0.1, 0.1]
    model = LDA(n_topics=3, alpha=alpha, random_state=0).fit(CORPUS)
    np.testing.assert_array_equal(model.alpha_, alpha)
    np.testing.assert_allclose(model.transform(np.zeros((1, 30)))[0], np.array(alpha) / 5.2)


# -- stopping ------------------------------------------------------------------------------------


@pytest.mark.parametrize("inference", INFERENCES)
def test_a_callback_stops_training(inference):
    seen = []

    def stop_at_three(info):
        seen.append(info)
        return info.step == 3

    model = LDA(n_topics=3, inference=inference, callbacks=stop_at_three, random_state=0)
    assert model.fit(CORPUS).n_iter_ == 3
    assert [info.step for info in seen] == [1, 2, 3]
    assert all(info.n_steps >= info.step and info.seconds >= 0 for info in seen)
    assert np.isfinite(model.components_).all()


def test_callbacks_that_return_nothing_change_nothing():
    seen = []
    told = LDA(n_topics=3, callbacks=[seen.append, lambda info: None], random_state=0).fit(CORPUS)
    assert file_bytes(told) == file_bytes(LDA(n_topics=3, random_state=0).fit(CORPUS))
    assert len(seen) == told.n_iter_
    scores = [info.score for info in seen if not np.isnan(info.score)]
    np.testing.assert_array_equal(scores, told.scores_)


@pytest.mark.parametrize("inference", ["fast", "mh"])
def test_max_time_leaves_one_pass(inference):
    model = LDA(n_topics=3, inference=inference, max_time=1e-9).fit(CORPUS)
    assert model.n_iter_ == 1
    assert np.isfinite(model.components_).all()


@pytest.mark.parametrize("inference", ["fast", "snapshot"])
def test_training_rests_on_a_plateau(inference):
    model = LDA(n_topics=3, inference=inference, tol=10.0, n_sweeps=150, random_state=0).fit(CORPUS)
    assert model.n_iter_ < 150


@pytest.mark.parametrize("n_sweeps", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("inference", INFERENCES)
def test_no_more_passes_than_asked_for(inference, n_sweeps):
    for n_topics in (3, 450):
        model = LDA(n_topics=n_topics, inference=inference, n_sweeps=n_sweeps, tol=0.0)
        assert model.fit(CORPUS[:40]).n_iter_ <= n_sweeps


@pytest.mark.parametrize("n_sweeps", [4, 20, 60])
def test_a_rescue_keeps_to_the_passes_asked_for(n_sweeps):
    phases = []
    model = LDA(n_topics=20, n_sweeps=n_sweeps, tol=0.0, random_state=0)
    model.set_params(callbacks=lambda info: phases.append((info.phase, info.n_steps)))
    assert model.fit(_noise()).n_iter_ == len(phases) <= n_sweeps
    assert all(most == n_sweeps for _, most in phases)
    if n_sweeps == 60:
        assert phases[-1][0] == "rescue"


@pytest.mark.parametrize("n_docs", [9, 10])
def test_a_guard_needs_ten_documents(n_docs):
    model = LDA(n_topics=3, n_sweeps=6, tol=0.0, random_state=0).fit(CORPUS[:n_docs])
    assert np.isfinite(model.scores_).all() == (n_docs == 10)
    assert model.n_iter_ <= 6


def test_fractional_counts_are_not_rescued():
    phases = []
    model = LDA(n_topics=20, random_state=0, callbacks=lambda info: phases.append(info.phase))
    model.fit(Corpus.from_matrix(_noise().counts * 0.75))
    assert set(phases) == {"online", "cvb0"}


@pytest.mark.parametrize("n_sweeps", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("inference", INFERENCES)
def test_priors_are_learned_however_few_the_passes(inference, n_sweeps):
    shared = {"n_topics": 3, "inference": inference, "n_sweeps": n_sweeps, "random_state": 0}
    model = LDA(learn_alpha=True, learn_beta=True, **shared).fit(CORPUS)
    assert len(set(model.alpha_)) == 3
    assert (model.alpha_ != 0.1).all()
    assert model.beta_ != 0.01


@pytest.mark.parametrize("inference", ["gibbs", "mh"])
def test_the_start_counts_against_the_time(inference, monkeypatch):
    """One pass of the fast inference, one sweep of the sampler, and the time is up."""
    passes, advance = [], fast.advance
    monkeypatch.setattr(fast, "advance", lambda *args: passes.append(1) or advance(*args))
    shared = {"n_topics": 3, "inference": inference, "start": "fast", "random_state": 0}
    model = LDA(max_time=1e-9, **shared).fit(CORPUS)
    assert (len(passes), model.n_iter_) == (1, 1)
    assert np.isfinite(model.components_).all()
    begun = time.monotonic()
    model = LDA(max_time=0.5, n_sweeps=1_000_000, burn_in=999_999, **shared).fit(CORPUS)
    assert 0.3 < time.monotonic() - begun < 60  # a million sweeps would take much longer
    assert model.n_iter_ >= 1


def test_burn_in_ends_at_a_plateau_and_sampling_goes_on():
    shared = {"n_topics": 3, "inference": "snapshot", "random_state": 0, "n_sweeps": 300}
    easy = LDA(tol=10.0, **shared).fit(CORPUS)
    assert easy.n_iter_ == 60 + 60  # six scores show five gains; then as many sweeps again
    asked = LDA(tol=10.0, burn_in=0, **shared | {"n_sweeps": 30}).fit(CORPUS)
    assert asked.n_iter_ == 30
    never = LDA(tol=0.0, **shared | {"n_sweeps": 40}).fit(CORPUS)
    assert never.n_iter_ == 40


def test_samplers_make_all_sweeps_with_no_tolerance():
    model = LDA(n_topics=2, inference="mh", n_sweeps=30, tol=0.0, random_state=0).fit(CORPUS)
    assert model.n_iter_ <= 30
    assert model.scores_.shape == (model.n_iter_ // 10,)


def test_kept_sweeps_are_averaged():
    shared = {
        "n_topics": 3,
        "inference": "gibbs",
        "random_state": 0,
        "n_sweeps": 41,
        "beta": 1e-6,
        "tol": 0.0,
    }
    last = LDA(burn_in=40, **shared).fit(CORPUS).posterior_.topic_tokens
    mean = LDA(burn_in=0, **shared).fit(CORPUS).posterior_.topic_tokens
    np.testing.assert_array_equal(last, np.rint(last))  # one sweep: whole tokens
    assert mean.sum() == pytest.approx(CORPUS.n_tokens, rel=1e-6)
    assert last.sum() == CORPUS.n_tokens
    assert not np.array_equal(mean, last)


def test_progress_goes_to_standard_error(capfd):
    quiet = LDA(n_topics=2, n_sweeps=3, random_state=0).fit(CORPUS)
    assert capfd.readouterr() == ("", "")
    shown = LDA(n_topics=2, n_sweeps=3, random_state=0, progress=True).fit(CORPUS)
    assert capfd.readouterr().out == ""
    assert file_bytes(shown) == file_bytes(quiet)


# -- the door ------------------------------------------------------------------------------------

BAD = [
    ({"n_topics": 0}, "n_topics must be a whole number of at least 1; got 0"),
    ({"n_topics": 2.0}, "n_topics must be a whole number"),
    ({"n_topics": True}, "n_topics must be a whole number"),
    ({"n_topics": None}, "n_topics must be a whole number"),
    ({"n_topics": 65_536}, "n_topics must be at most 65535"),
    ({"n_sweeps": 0}, "n_sweeps must be a whole number"),
    ({"alpha": 0.0}, "alpha must be positive"),
    ({"alpha": np.inf}, "alpha must be positive"),
    ({"alpha": "auto"}, "alpha must be a number"),
    ({"alpha": [1.0, 2.0]}, "one for each of 3 topics; got shape \\(2,\\)"),
    ({"beta": 0.0}, "beta must be a positive number"),
    ({"beta": None}, "beta must be a positive number"),
    ({"beta": "small"}, "beta must be a positive number"),
    ({"beta": 1e-40}, "beta must be a positive number, from 1e-30"),
    ({"inference": "exact"}, "inference must be one of 'fast', 'gibbs', 'snapshot', 'mh'"),
    ({"inference": "mh", "start": "best"}, "start must be one of 'random', 'fast'"),
    ({"start": "fast"}, "belong to the samplers"),
    ({"burn_in": 5}, "belong to the samplers"),
    ({"inference": "mh", "burn_in": -1}, "burn_in must be a whole number of at least 0"),
    ({"inference": "mh", "burn_in": 2.5}, "burn_in must be a whole number of at least 0"),
    ({"inference": "mh", "burn_in": 200}, "burn_in must be under n_sweeps = 200; got 200"),
    ({"inference": "mh", "burn_in": 5, "n_sweeps": 5}, "burn_in must be under n_sweeps = 5; got 5"),
    ({"tol": -1e-9}, "tol must be a number, from 0"),
    ({"tol": np.inf}, "tol must be a number"),
    ({"max_time": 0}, "max_time must be a positive number"),
    ({"n_threads": 0}, "n_threads must be a whole number of at least 1"),
    ({"n_threads": 1.5}, "n_threads must be a whole number of at least 1"),
    ({"callbacks": 3}, "callbacks must be functions"),
    ({"callbacks": ["print"]}, "callbacks must be functions"),
    ({"random_state": "x"}, "cannot be used to seed"),
]


@pytest.mark.parametrize(("params", "message"), BAD, ids=lambda x: str(x)[:40])
def test_bad_parameters_are_refused_by_fit(params, message):
    model = LDA(**{"n_topics": 3} | params)
    with pytest.raises(ValueError, match=message):
        model.fit(CORPUS)
    assert not hasattr(model, "posterior_")


def test_bad_documents_are_refused():
    with pytest.raises(DataError, match="no documents"):
        LDA().fit(CORPUS[:0])
    with pytest.raises(DataError, match="no terms"):
        LDA().fit(Corpus.from_matrix(np.zeros((3, 0))))
    with pytest.raises(DataError, match="scale them down"):
        LDA().fit(CORPUS.counts * 1e25)
    with pytest.raises(ValueError, match="checkpoint_every must be a whole number"):
        LDA().fit(CORPUS, checkpoint_every=0)


@pytest.mark.parametrize("n_topics", [1, 50, 400])
@pytest.mark.parametrize("inference", INFERENCES)
def test_more_topics_than_data(inference, n_topics):
    n_sweeps = 6 if inference != "fast" else None
    corpus = Corpus.from_matrix([[1, 0, 0], [0, 0, 0], [0, 2, 0]])
    model = LDA(n_topics=n_topics, inference=inference, n_sweeps=n_sweeps).fit(corpus)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    assert np.isfinite(model.transform(corpus)).all()


def test_fractional_counts_are_weights_for_fast():
    half = Corpus.from_matrix(CORPUS.counts * 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LDA(n_topics=3, random_state=0).fit(half)
    assert model.posterior_.topic_tokens.sum() == pytest.approx(half.n_tokens, rel=1e-4)
    assert matched_hellinger(model.components_, TOPICS) < 0.15


@pytest.mark.parametrize("start", ["random", "fast"])
@pytest.mark.parametrize("inference", ["gibbs", "snapshot", "mh"])
def test_samplers_warn_once_of_fractional_counts(inference, start):
    model = LDA(n_topics=3, inference=inference, start=start, n_sweeps=5, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(CORPUS.counts * 0.75)
    assert [w.category for w in caught] == [FractionalCountsWarning]
    rounded = np.rint(CORPUS.counts.data * 0.75).sum()
    assert model.posterior_.topic_tokens.sum() == pytest.approx(rounded, rel=1e-5)


# -- checkpoints ---------------------------------------------------------------------------------


def _noise():
    """Short documents without topics, which any point estimate overfits."""
    rng = np.random.default_rng(1)
    return Corpus.from_matrix(rng.multinomial(12, np.ones(60) / 60, 150))


def test_an_overfit_is_rescued_by_the_sampler_and_can_be_resumed_there(tmp_path):
    phases = []
    shared = {"n_topics": 20, "random_state": 0, "tol": 0.0}
    whole = LDA(callbacks=lambda info: phases.append(info.phase), **shared).fit(_noise())
    assert phases[0] == "online"
    assert "rescue" in phases
    stop = phases.index("rescue") + 7
    path = tmp_path / "checkpoint"
    LDA(callbacks=lambda i: i.step >= stop, **shared).fit(
        _noise(), checkpoint=path, checkpoint_every=3
    )
    resumed = LDA(**shared).fit(_noise(), checkpoint=path, checkpoint_every=3)
    assert file_bytes(resumed) == file_bytes(whole)


def test_checkpoints_are_written_as_often_as_asked(tmp_path):
    path, seen = tmp_path / "checkpoint", []
    LDA(
        n_topics=2,
        n_sweeps=7,
        tol=0.0,
        random_state=0,
        callbacks=lambda i: seen.append(path.exists()),
    ).fit(CORPUS, checkpoint=path, checkpoint_every=4)
    assert seen[:5] == [False, False, False, True, True]


def test_a_finished_checkpoint_gives_the_model_again(tmp_path):
    shared = {"n_topics": 3, "inference": "mh", "n_sweeps": 20, "random_state": 0}
    path = tmp_path / "checkpoint"
    first = LDA(**shared).fit(CORPUS, checkpoint=path)
    assert file_bytes(LDA(**shared).fit(CORPUS, checkpoint=path)) == file_bytes(first)


@pytest.mark.parametrize("inference", ["fast", "mh"])
def test_checkpoints_of_something_else_are_refused(inference, tmp_path):
    shared = {"n_topics": 3, "inference": inference, "n_sweeps": 4, "random_state": 0}
    path = tmp_path / "checkpoint"
    LDA(**shared).fit(CORPUS, checkpoint=path, checkpoint_every=1)
    before = path.read_bytes()
    for other, what in (({"n_topics": 5}, "parameters"), ({"random_state": 1}, "parameters, seed")):
        with pytest.raises(ModelFileError, match=f"written with other {what}; give the same"):
            LDA(**shared | other).fit(CORPUS, checkpoint=path)
    for data in (CORPUS[1:], CORPUS[::-1], Corpus.from_matrix(CORPUS.counts * 2)):
        with pytest.raises(ModelFileError, match="written with other data; give the same"):
            LDA(**shared).fit(data, checkpoint=path)
    model = LDA(**shared).fit(CORPUS)
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="holds 'model', not a checkpoint"):
        LDA(**shared).fit(CORPUS, checkpoint=tmp_path / "model")
    with pytest.raises(ModelFileError, match="'checkpoint', not a model; a checkpoint is given to"):
        bayou.load(path)
    assert path.read_bytes() == before
    running = LDA(**shared, n_threads=2, callbacks=[print], max_time=1e9)
    assert file_bytes(running.fit(CORPUS, checkpoint=path)) == file_bytes(model)


@pytest.mark.parametrize("inference", ["gibbs", "mh", "fast"])
def test_a_checkpoint_with_impossible_numbers_is_refused(inference, tmp_path):
    """Kernels would write outside their arrays: what a state says is looked at before it is used."""
    shared = {"n_topics": 3, "inference": inference, "n_sweeps": 8, "random_state": 0}
    path = tmp_path / "checkpoint"
    LDA(**shared).fit(CORPUS, checkpoint=path, checkpoint_every=1)
    arrays, manifest = container.load(path)
    forged = [{"state.term_topic": arrays["state.term_topic"][:, :2]}]
    forged.append({"state.term_topic": arrays["state.term_topic"][:-1]})
    forged.append({"state.alpha": arrays["state.alpha"][:2]})
    if inference != "fast":
        topics = arrays["state.tokens"].copy()
        topics[5, 0] = 3
        forged.append({"state.tokens": topics})
        forged.append({"state.tokens": arrays["state.tokens"][:-1]})
    else:
        forged.append({"state.doc_topic": arrays["state.doc_topic"][:-1]})
    for other in forged:
        container.save(path, arrays | other, manifest)
        with pytest.raises(ModelFileError, match="cannot be used"):
            LDA(**shared).fit(CORPUS, checkpoint=path)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    path = tmp_path / "checkpoint"
    LDA(n_topics=2, n_sweeps=2, random_state=0).fit(CORPUS, checkpoint=path, checkpoint_every=1)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ModelFileError):
        LDA(n_topics=2, n_sweeps=2, random_state=0).fit(CORPUS, checkpoint=path)


def test_a_checkpoint_without_a_seed_is_refused(tmp_path):
    with pytest.raises(ValueError, match="random_state"):
        LDA(n_topics=2).fit(CORPUS, checkpoint=tmp_path / "checkpoint")
