"""Online MedLDA: streams cut anywhere, classes that come late, files, and what it learns."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from bayou import (
    Corpus,
    DataError,
    ModelFileError,
    OnlineMedLDAClassifier,
    OnlineMedLDARegressor,
    load,
)
from bayou.data import MissingTargetsWarning, container
from bayou.inference.margin import online_refit, online_response, online_state
from bayou.testing.cases import always_threads, file_bytes, reload, same


def planted(n_docs, seed):
    """Documents of three themes with terms of their own, mixed with terms that all of them have."""
    rng = np.random.default_rng(seed)
    theme = rng.integers(0, 3, n_docs)
    rates = np.full((n_docs, 50), 0.25)
    for k in range(3):
        rates[theme == k, 12 * k : 12 * k + 12] = 1.0
    return rng.poisson(rates).astype(np.float32), theme


ROWS, THEME = planted(160, 2)
THREE = np.array(["ant", "bee", "cow"])[THEME]
COUNTS = csr_array(ROWS)
CORPUS = Corpus.from_matrix(COUNTS, labels=[[str(name)] for name in THREE])
TWO = np.where(THREE == "bee", "yes", "no")
SEVERAL = np.column_stack([THREE == "ant", THREE != "cow", THREE == "cow"]).astype(np.int64)
NUMBERS = (THREE == "ant") * 2.0 - (THREE == "cow") + 7.0

SHORT = {"n_topics": 4, "random_state": 0, "n_threads": 1}
CLASSIFIERS = [
    OnlineMedLDAClassifier(**SHORT, batch_size=16),
    OnlineMedLDAClassifier(**SHORT, classifier="averaging"),
    OnlineMedLDAClassifier(**SHORT, weight_floor=None, n_sweeps=3, burn_in=1, batch_size=7),
    OnlineMedLDAClassifier(**SHORT, weight_floor=50.0, n_rounds=2, ghost_factor=2.0, batch_size=9),
    OnlineMedLDAClassifier(**SHORT, classifier="averaging", decay=0.99, tf="none", idf=False),
    OnlineMedLDAClassifier(**SHORT, refit=True, batch_size=16, decay=0.995),
]
REGRESSORS = [
    OnlineMedLDARegressor(**SHORT, batch_size=16),
    OnlineMedLDARegressor(**SHORT, regressor="averaging"),
    OnlineMedLDARegressor(**SHORT, weight_floor=None, n_sweeps=2, decay=0.995, batch_size=11),
    OnlineMedLDARegressor(**SHORT, refit=False, batch_size=16),
]
each_classifier = pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
each_regressor = pytest.mark.parametrize("model", REGRESSORS, ids=repr)
TARGETS = {"two": TWO, "three": THREE, "several": SEVERAL}


def streamed(model, y, cuts, **first):
    """The model after the documents in calls that end at the cuts."""
    model = clone(model)
    for lo, hi in zip([0, *cuts], [*cuts, len(y)], strict=True):
        model.partial_fit(COUNTS[lo:hi], y[lo:hi], **first)
    return model


def test_partial_fit_learns_all_that_it_is_given(monkeypatch):
    """A stream gives its documents once: neither the time nor a callback makes a call leave some out."""
    monkeypatch.setattr("bayou.run.batches.CHUNK", 16)
    whole = OnlineMedLDAClassifier(**SHORT, batch_size=16).partial_fit(COUNTS, THREE)
    short = clone(whole).set_params(max_time=1e-9, callbacks=lambda _: True)
    short.partial_fit(COUNTS, THREE)
    assert (short.state_.n_seen, short.pending_.n_docs) == (160, 0)
    assert file_bytes(short) == file_bytes(whole)


def test_a_callback_that_fails_loses_no_document(monkeypatch):
    """What was not reached waits, and is learned as if nothing had happened."""
    monkeypatch.setattr("bayou.run.batches.CHUNK", 16)

    def fails(_):
        raise RuntimeError("full")

    whole = OnlineMedLDAClassifier(**SHORT, batch_size=16).partial_fit(COUNTS, THREE)
    short = clone(whole).set_params(callbacks=fails)
    with pytest.raises(RuntimeError, match="full"):
        short.partial_fit(COUNTS, THREE)
    assert (short.state_.n_seen, short.pending_.n_docs) == (16, 144)
    np.testing.assert_array_equal(short.predict_proba(COUNTS), whole.predict_proba(COUNTS))
    again = reload(short).set_params(callbacks=None).partial_fit(COUNTS[:1], THREE[:1])
    whole.partial_fit(COUNTS[:1], THREE[:1])
    assert (again.state_.n_seen, again.pending_.n_docs) == (160, 1)
    np.testing.assert_array_equal(again.predict_proba(COUNTS), whole.predict_proba(COUNTS))


@each_classifier
@pytest.mark.parametrize("kind", TARGETS)
def test_streams_may_be_cut_anywhere(model, kind):
    y = TARGETS[kind]
    classes = np.arange(3) if kind == "several" else np.unique(y)
    whole = streamed(model, y, [], classes=classes)
    for cuts in ([1], [5, 37, 90], list(range(1, 40))):
        assert file_bytes(streamed(model, y, cuts, classes=classes)) == file_bytes(whole)


@each_regressor
def test_streams_of_numbers_may_be_cut_anywhere(model):
    whole = streamed(model, NUMBERS, [])
    for cuts in ([1], [5, 37, 90]):
        cut = streamed(model, NUMBERS, cuts)
        assert file_bytes(cut) == file_bytes(whole)
        assert same(cut.predict(COUNTS), whole.predict(COUNTS))


@each_classifier
def test_a_stream_through_a_file_in_the_middle_of_a_batch(model):
    whole, cut = clone(model), clone(model)
    for lo in (0, 45, 103):
        hi = {0: 45, 45: 103, 103: 160}[lo]
        whole.partial_fit(COUNTS[lo:hi], THREE[lo:hi], classes=np.unique(THREE))
        cut.partial_fit(COUNTS[lo:hi], THREE[lo:hi], classes=np.unique(THREE))
        cut = reload(pickle.loads(pickle.dumps(cut)))
        assert file_bytes(cut) == file_bytes(whole)
        assert same(cut.predict_proba(COUNTS), whole.predict_proba(COUNTS))


@each_classifier
def test_threads_are_irrelevant(model):
    with always_threads():
        files = {
            file_bytes(clone(model).set_params(n_threads=n).fit(COUNTS, THREE)) for n in (1, 2, 3)
        }
    assert len(files) == 1


@each_classifier
def test_classes_may_come_late(model):
    """A class that was announced before any document had it is as one announced from the beginning."""
    order = np.argsort(THREE == "cow", kind="stable")  # no cow in the first documents
    n = int((THREE != "cow").sum())
    first, rest = order[:n], order[n:]
    late, early = clone(model), clone(model)
    late.partial_fit(COUNTS[first], THREE[first], classes=["ant", "bee", "dog"])
    late.partial_fit(COUNTS[rest], THREE[rest], classes=["cow"])
    early.partial_fit(COUNTS[order], THREE[order], classes=["ant", "bee", "cow", "dog"])
    assert late.classes_.tolist() == ["ant", "bee", "cow", "dog"]
    assert file_bytes(late) == file_bytes(early)
    assert same(late.decision_function(COUNTS), early.decision_function(COUNTS))


@each_classifier
def test_two_classes_may_become_three(model):
    model = clone(model).partial_fit(COUNTS[:80], TWO[:80], classes=["no", "yes"])
    before = model.decision_function(COUNTS)
    y = np.where(THREE == "cow", "maybe", TWO)
    model.partial_fit(COUNTS[80:96], y[80:96], classes=["maybe"])
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert before.ndim == 1
    assert model.decision_function(COUNTS).shape == (160, 3)
    assert reload(model).predict(COUNTS).tolist() == model.predict(COUNTS).tolist()


@each_classifier
@pytest.mark.parametrize("kind", TARGETS)
def test_it_learns(model, kind):
    y = TARGETS[kind]
    model = clone(model).set_params(n_topics=6, n_passes=3).fit(COUNTS, y)
    base = max(np.unique(y, return_counts=True, axis=0)[1]) / len(y)
    assert model.score(COUNTS, y) > base + 0.1
    proba = model.predict_proba(COUNTS)
    assert ((proba >= 0) & (proba <= 1)).all()
    if kind != "several":
        assert np.allclose(proba.sum(axis=1), 1.0)


@each_regressor
def test_it_learns_numbers(model):
    model = clone(model).set_params(n_topics=6, n_passes=3).fit(COUNTS, NUMBERS)
    assert model.score(COUNTS, NUMBERS) > 0.4
    mean, std = model.predict(COUNTS, return_std=True)
    assert (std > 0).all()
    assert 0.5 < np.mean(np.abs(NUMBERS - mean) < 1.645 * std) <= 1.0


def test_several_targets_and_gaps_in_them():
    y = np.column_stack([NUMBERS, -3.0 * NUMBERS])
    y[:10, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingTargetsWarning)
        model = OnlineMedLDARegressor(**SHORT).fit(COUNTS, y)
    found = model.predict(COUNTS)
    assert found.shape == (160, 2)
    assert np.corrcoef(found.T)[0, 1] < 0
    with pytest.raises(DataError, match="1 targets, 2 came before"):
        model.partial_fit(COUNTS, NUMBERS)


def test_documents_without_labels_teach_topics_alone():
    y = THREE.astype(object)
    y[:80] = None
    model = OnlineMedLDAClassifier(**SHORT).fit(COUNTS, y)
    assert model.state_.topic.sum() == pytest.approx(
        2 * np.ceil(np.log1p(COUNTS.data)).sum(), rel=1e-9
    )
    alone = OnlineMedLDAClassifier(**SHORT).partial_fit(
        COUNTS[:80], y[:80], classes=["ant", "bee", "cow"]
    )
    assert not alone.weights_.any()


def test_the_whole_corpus_as_one_batch():
    model = OnlineMedLDAClassifier(
        **SHORT, classifier="averaging", batch_size=160, n_rounds=20, n_sweeps=1, n_passes=1
    ).fit(COUNTS, THREE)
    assert model.n_iter_ == 1
    assert model.score(COUNTS, THREE) > 0.5


def test_decay_follows_a_stream_that_turns_round():
    turned = np.array(["cow", "ant", "bee"])[np.searchsorted(["ant", "bee", "cow"], THREE)]
    found = {}
    for decay in (1.0, 0.99):
        model = OnlineMedLDAClassifier(**SHORT, decay=decay)
        for y in (THREE, THREE, THREE, turned, turned, turned):
            model.partial_fit(COUNTS, y, classes=np.unique(THREE))
        found[decay] = model.score(COUNTS, turned)
    assert found[0.99] > found[1.0]


def test_published_settings():
    model = OnlineMedLDAClassifier.published(n_topics=5, random_state=0)
    assert (model.alpha, model.beta, model.batch_size, model.n_sweeps) == (0.2, 0.45, 1, 3)
    assert model.fit(COUNTS[:40], THREE[:40]).state_.step == 40
    gibbs = OnlineMedLDAClassifier.published("gibbs", n_topics=5)
    assert gibbs.weight_floor is None
    assert gibbs.fit(COUNTS, THREE).state_.precision.shape == (4, 5, 5)


def test_what_is_scored_was_not_known():
    """Half of the labels are noise: probabilities must not be surer than that."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(160) < 0.5, THREE, rng.permutation(THREE))
    model = OnlineMedLDAClassifier(**SHORT)
    model.partial_fit(COUNTS, y)
    assert model.predict_proba(COUNTS).max(axis=1).mean() < 0.8


def test_labels_are_given_above_the_threshold_of_the_stream():
    model = OnlineMedLDAClassifier(**SHORT).fit(COUNTS, SEVERAL)
    level = online_refit.threshold(model.state_.curve)
    proba, found = model.predict_proba(COUNTS), model.predict(COUNTS)
    bare = (proba < level).all(axis=1)
    assert (found[~bare] == (proba > level)[~bare]).all()
    assert (found[bare].sum(axis=1) == 1).all()
    plain = OnlineMedLDAClassifier(**SHORT, refit=False).fit(COUNTS, SEVERAL)
    assert (plain.state_.raw == model.state_.raw).all()
    assert not len(plain.state_.refitted)
    with pytest.raises(ValueError, match="refit"):
        plain.set_params(refit=True).partial_fit(COUNTS, SEVERAL)


def test_labels_of_several_may_come_late():
    order = np.argsort(SEVERAL[:, 2], kind="stable")
    n = int((SEVERAL[:, 2] == 0).sum())
    late, early = (OnlineMedLDAClassifier(**SHORT, batch_size=16) for _ in range(2))
    late.partial_fit(COUNTS[order[:n]], SEVERAL[order[:n], :2], classes=["a", "b"])
    late.partial_fit(COUNTS[order[n:]], SEVERAL[order[n:]], classes=["a", "b", "c"])
    early.partial_fit(COUNTS[order], SEVERAL[order], classes=["a", "b", "c"])
    assert file_bytes(late) == file_bytes(early)


def test_predicting_between_calls_changes_nothing():
    quiet, asked = (OnlineMedLDAClassifier(**SHORT) for _ in range(2))
    for lo in range(0, 160, 10):
        for model in (quiet, asked):
            model.partial_fit(COUNTS[lo : lo + 10], THREE[lo : lo + 10], classes=np.unique(THREE))
        asked.predict_proba(COUNTS[:3])
    assert file_bytes(quiet) == file_bytes(asked)


def test_explanations_add_up():
    model = OnlineMedLDAClassifier(**SHORT).fit(CORPUS)
    scores = model.decision_function(CORPUS[:5])
    for one, row in zip(model.explain(CORPUS[:5]), scores, strict=True):
        assert np.allclose(one.scores, row, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"classifier": "mean"}, "classifier must be one of"),
        ({"n_topics": 0}, "n_topics must be a whole number"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"burn_in": 2}, "burn_in must be below n_sweeps = 2"),
        ({"decay": 0.0}, "decay must be"),
        ({"decay": 1.5}, "decay must be"),
        ({"ghost_factor": -1.0}, "ghost_factor must be"),
        ({"margin": 0.0}, "margin must be"),
        ({"cost": -1.0}, "cost must be"),
        ({"weight_floor": "none"}, "weight_floor must be a number or one of 'auto'"),
        ({"weight_floor": -2.0}, "weight_floor must be"),
        ({"classifier": "averaging", "weight_floor": 10.0}, "belongs to classifier='gibbs'"),
        ({"positive_cost": 0.0}, "positive_cost must be"),
        ({"tf": "sqrt"}, "tf must be one of"),
        ({"alpha": [1.0, 2.0], "n_topics": 3}, "alpha must be one number or one for each of 3"),
    ],
)
def test_parameters_that_cannot_be_meant(settings, message):
    with pytest.raises(ValueError, match=message):
        OnlineMedLDAClassifier(**settings).fit(COUNTS, THREE)


def test_bad_input():
    model = OnlineMedLDAClassifier(**SHORT)
    with pytest.raises(DataError, match="one class only"):
        model.partial_fit(COUNTS[:1], THREE[:1])
    with pytest.raises(DataError, match="requires y"):
        model.partial_fit(COUNTS)
    with pytest.raises(ValueError, match="Negative"):
        model.fit(-COUNTS.toarray(), THREE)
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(COUNTS, THREE, sample_weight=np.ones(3))
    model.fit(COUNTS, THREE)
    with pytest.raises(DataError, match="'emu', which is not among"):
        model.partial_fit(COUNTS[:1], ["emu"])
    with pytest.raises(DataError, match="one class"):
        model.partial_fit(COUNTS[:2], [["ant"], ["bee", "cow"]])
    with pytest.raises(ValueError, match="cannot change within a stream"):
        model.set_params(classifier="averaging").partial_fit(COUNTS, THREE)
    with pytest.raises(DataError, match="scale it down"):
        OnlineMedLDARegressor().fit(COUNTS, NUMBERS * 1e40)


def test_an_error_leaves_the_stream_as_it_was():
    model = OnlineMedLDAClassifier(**SHORT).partial_fit(
        COUNTS[:70], THREE[:70], classes=np.unique(THREE)
    )
    before = file_bytes(model)
    for y in (["emu"] * 10, THREE[:9]):
        with pytest.raises(ValueError):
            model.partial_fit(COUNTS[:10], y)
    assert file_bytes(model) == before


@pytest.mark.parametrize(
    "name", ["state.raw", "state.mean", "state.precision", "pending.indices", "classes"]
)
def test_damaged_files(name, tmp_path):
    model = OnlineMedLDAClassifier(**SHORT).partial_fit(
        COUNTS[:70], THREE[:70], classes=np.unique(THREE)
    )
    path = tmp_path / "model.bayou"
    model.save(path)
    arrays, manifest = container.load(path)
    arrays = dict(arrays)
    arrays[name] = arrays[name][:-1]
    container.save(path, arrays, manifest)
    with pytest.raises(ModelFileError):
        load(path)


def test_callbacks_and_time_stop_it():
    seen = []
    model = OnlineMedLDAClassifier(
        **SHORT, batch_size=1, callbacks=lambda info: seen.append(info) or True
    )
    model.fit(COUNTS, THREE)
    assert len(seen) == 1
    assert model.n_iter_ == 160
    assert OnlineMedLDAClassifier(**SHORT, max_time=1e-9).fit(COUNTS, THREE).n_iter_ == 3


def test_memory_is_that_of_the_state():
    """Nothing of what went by is kept but counts and the ring of scores."""
    model = OnlineMedLDAClassifier(**SHORT, batch_size=16)
    sizes = set()
    for _ in range(4):
        model.partial_fit(COUNTS, THREE, classes=np.unique(THREE))
        sizes.add(sum(np.asarray(x).nbytes for x in model.state_))
    assert len(sizes) == 1
    assert model.state_.scores.shape == (online_state.N_SCORED, 4)
    assert not model.pending_.n_docs


def test_names_align_and_frames():
    names = [f"t{v}" for v in range(50)]
    corpus = Corpus.from_matrix(COUNTS, vocabulary=names)
    model = OnlineMedLDAClassifier(**SHORT).fit(corpus, THREE)
    moved = Corpus.from_matrix(COUNTS[:, ::-1], vocabulary=names[::-1])
    assert same(model.decision_function(moved), model.decision_function(corpus))
    assert len(model.top_terms(3)[0]) == 3


@pytest.mark.parametrize("weighted", [False, True])
def test_costs_move_the_border_of_two_classes(weighted):
    """A rare class that costs more is given more often, and what is given is the more probable one."""
    y = (TWO == "yes") & (np.arange(160) % 4 == 0)  # rare, and not to be told for sure
    weight = np.where(y, 30.0, 1.0) if weighted else None
    plain = OnlineMedLDAClassifier(**SHORT, batch_size=16).fit(COUNTS, y)
    how = {} if weighted else {"positive_cost": 30.0}
    dear = OnlineMedLDAClassifier(**SHORT, **how, batch_size=16).fit(
        COUNTS, y, sample_weight=weight
    )
    assert dear.predict(COUNTS).sum() > plain.predict(COUNTS).sum() + 5
    for model in (plain, dear):
        yes = model.predict_proba(COUNTS)[:, 1] > 0.5
        np.testing.assert_array_equal(model.predict(COUNTS), yes)
        np.testing.assert_array_equal(model.decision_function(COUNTS) > 0, yes)


def test_probabilities_follow_the_last_quarter_of_a_stream():
    model = OnlineMedLDAClassifier(**SHORT, batch_size=16)
    state = model.partial_fit(COUNTS, TWO).state_
    n = state.n_scored
    assert n == 160
    scores, truth = online_response.latest_scores(state, 1)
    np.testing.assert_array_equal(scores, state.scores[n - 40 : n, :1])
    np.testing.assert_array_equal(truth[:, 0] > 0, TWO[-40:] == "yes")
    turned = state._replace(n_scored=online_state.N_SCORED + 5)
    scores, _ = online_response.latest_scores(turned, 1)
    np.testing.assert_array_equal(scores[-5:], state.scores[:5, :1])


@pytest.mark.parametrize("beta", [1e-4, 1e-8, 1e-30])
def test_a_tiny_prior_of_terms_gives_numbers(beta):
    model = OnlineMedLDAClassifier(**SHORT | {"beta": beta}).fit(COUNTS, THREE)
    assert np.isfinite(model.predict_proba(COUNTS)).all()


def test_enormous_weights_are_one_clear_error():
    with pytest.raises(ValueError, match=r"cost times sample_weight must be at most 1e\+08"):
        OnlineMedLDAClassifier(**SHORT).fit(COUNTS, THREE, sample_weight=np.full(len(THREE), 1e20))
