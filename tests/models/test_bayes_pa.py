"""BayesPA: the classical algorithm inside, streams cut anywhere, classes that come late, files."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.reference import passive_aggressive as twin

from bayou import BayesPAClassifier, BayesPARegressor, Corpus, DataError, ModelFileError, load
from bayou.data import MissingTargetsWarning, container
from bayou.testing.cases import always_threads, file_bytes, reload, same

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 6)) * (RNG.random((120, 6)) < 0.6)
SCORES = X @ RNG.normal(size=(6, 3))
THREE = np.array(["ant", "bee", "cow"])[SCORES.argmax(axis=1)]
TWO = np.where(SCORES[:, 0] > 0, "yes", "no")
SEVERAL = (SCORES > 0.3).astype(np.int64)
NUMBERS = SCORES[:, 0] + 0.05 * RNG.normal(size=120)

CLASSIFIERS = [
    BayesPAClassifier(random_state=0),
    BayesPAClassifier(random_state=0, batch_size=7, average=True),
    BayesPAClassifier(random_state=0, classifier="gibbs", batch_size=5),
    BayesPAClassifier(random_state=0, classifier="gibbs", precision="full", fit_intercept=False),
]
REGRESSORS = [
    BayesPARegressor(random_state=0),
    BayesPARegressor(random_state=0, regressor="gibbs", batch_size=7, average=True),
    BayesPARegressor(random_state=0, regressor="gibbs", precision="full", batch_size=4),
]
each_classifier = pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
each_regressor = pytest.mark.parametrize("model", REGRESSORS, ids=repr)
TARGETS = {"two": TWO, "three": THREE, "several": SEVERAL}


def streamed(model, y, cuts, **first):
    """The model after the documents in calls that end at the cuts."""
    model = clone(model)
    for lo, hi in zip([0, *cuts], [*cuts, len(X)], strict=True):
        model.partial_fit(X[lo:hi], y[lo:hi], **first)
    return model


def same_weights(one, other):
    return same(one.coef_, other.coef_) and same(one.intercept_, other.intercept_)


@parametrize_with_checks(
    [
        *CLASSIFIERS,
        BayesPAClassifier(),
        BayesPAClassifier(classifier="gibbs"),
        *REGRESSORS,
        BayesPARegressor(),
    ]
)
def test_sklearn(estimator, check):
    check(estimator)


# -- the classical algorithm ---------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_averaging_is_pa_one_step_by_step(fit_intercept):
    model = BayesPAClassifier(cost=0.3, variance=0.7, margin=1.4, fit_intercept=fit_intercept)
    Z = np.column_stack([X, np.ones(120)]) if fit_intercept else X
    w = np.zeros(Z.shape[1])
    for d in range(120):
        if not Z[d].any():
            continue
        model.partial_fit(X[d : d + 1], TWO[d : d + 1], classes=["no", "yes"])
        w = twin.pa_one(w, Z[d], 1.0 if TWO[d] == "yes" else -1.0, 2 * 0.3 * 0.7, 1.4)
        np.testing.assert_allclose(model.coef_[0], w[:6], rtol=1e-10, atol=1e-13)
        assert model.intercept_[0] == pytest.approx(w[6] if fit_intercept else 0.0, abs=1e-12)


def test_regression_is_pa_one_step_by_step():
    model = BayesPARegressor(cost=0.3, variance=0.7, epsilon=0.2)
    w = np.zeros(7)
    for d in range(120):
        model.partial_fit(X[d : d + 1], NUMBERS[d : d + 1])
        w = twin.pa_one_regression(w, np.append(X[d], 1.0), NUMBERS[d], 2 * 0.3 * 0.7, 0.2)
        np.testing.assert_allclose(model.coef_[0], w[:6], rtol=1e-10, atol=1e-13)


def test_every_class_is_a_task_of_its_own():
    model = streamed(BayesPAClassifier(), THREE, [50], classes=np.unique(THREE))
    for i, name in enumerate(model.classes_):
        alone = streamed(BayesPAClassifier(), name == THREE, [10], classes=[False, True])
        np.testing.assert_array_equal(alone.coef_[0], model.coef_[i])


def test_the_average_over_time():
    model, plain = BayesPAClassifier(average=True), BayesPAClassifier()
    seen = []
    for d in range(120):
        for each in (model, plain):
            each.partial_fit(X[d : d + 1], TWO[d : d + 1], classes=["no", "yes"])
        seen.append(plain.coef_)
    np.testing.assert_allclose(model.coef_, np.mean(seen, axis=0), rtol=1e-10, atol=1e-12)


# -- streams -------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
@each_classifier
def test_a_stream_may_be_cut_anywhere(model, y):
    classes = np.arange(3) if y.ndim == 2 else np.unique(y)
    whole = streamed(model, y, [], classes=classes)
    for cuts in ([1, 2, 3], [60], list(range(1, 120)), [7, 14, 50]):
        part = streamed(model, y, cuts, classes=classes)
        assert same_weights(part, whole)
        assert file_bytes(part) == file_bytes(whole)
        np.testing.assert_array_equal(part.predict(X), whole.predict(X))


@each_regressor
def test_a_stream_of_numbers_may_be_cut_anywhere(model):
    whole = streamed(model, NUMBERS, [])
    for cuts in ([1, 2, 3], [60], list(range(1, 120))):
        assert file_bytes(streamed(model, NUMBERS, cuts)) == file_bytes(whole)


def test_documents_of_an_unfinished_batch_count_already():
    one = BayesPAClassifier(batch_size=50).partial_fit(X[:20], TWO[:20])
    small = BayesPAClassifier(batch_size=20).partial_fit(X[:20], TWO[:20])
    assert same_weights(one, small)
    assert one.pending_.n_docs == 20
    assert one.state_.step == 0
    assert small.pending_.n_docs == 0


@pytest.mark.parametrize("several", [False, True])
@each_classifier
def test_classes_that_come_late_are_as_if_announced(model, several):
    early = clone(model).partial_fit(X[:30], TWO[:30] if not several else [[t] for t in TWO[:30]],
                                     classes=["no", "yes", "maybe"])  # fmt: skip
    late = clone(model)
    for lo, hi, classes in ((0, 17, ["no", "yes"]), (17, 30, None)):
        y = [[t] for t in TWO[lo:hi]] if several else TWO[lo:hi]
        late.partial_fit(X[lo:hi], y, classes=classes)
    more = np.where(np.arange(90) % 3 == 0, "maybe", TWO[30:])
    more = [[t] for t in more] if several else more
    early.partial_fit(X[30:], more)
    late.partial_fit(X[30:], more, classes=["maybe", "no"])
    assert early.classes_.tolist() == late.classes_.tolist()
    assert same_weights(early, late)
    assert file_bytes(early) == file_bytes(late)
    assert set(np.unique(late.classes_)) == {"no", "yes", "maybe"}


def test_classes_that_nobody_announced_are_refused():
    model = BayesPAClassifier().partial_fit(X[:50], TWO[:50])
    before = file_bytes(model)
    with pytest.raises(DataError, match="'other', which is not among"):
        model.partial_fit(X[:1], ["other"])
    with pytest.raises(DataError, match="strings and numbers"):
        model.partial_fit(X[:1], ["yes"], classes=[1, 2])
    with pytest.raises(DataError, match="one class"):
        model.partial_fit(X[:1], [["yes"]])
    assert file_bytes(model) == before


@each_classifier
def test_a_stream_survives_files(model):
    whole, cut = clone(model), clone(model)
    for lo in range(0, 120, 11):
        part = X[lo : lo + 11], THREE[lo : lo + 11]
        whole.partial_fit(*part, classes=np.unique(THREE))
        path = pickle.loads(pickle.dumps(cut.partial_fit(*part, classes=np.unique(THREE))))
        cut = reload(path)
        assert file_bytes(cut) == file_bytes(whole)
        assert same_weights(cut, whole)
    assert cut.classes_.dtype == whole.classes_.dtype


@each_regressor
def test_a_stream_of_numbers_survives_files(model):
    whole, cut = clone(model), clone(model)
    for lo in range(0, 120, 11):
        whole.partial_fit(X[lo : lo + 11], NUMBERS[lo : lo + 11])
        cut = reload(cut.partial_fit(X[lo : lo + 11], NUMBERS[lo : lo + 11]))
        assert file_bytes(cut) == file_bytes(whole)
    np.testing.assert_array_equal(cut.predict(X), whole.predict(X))


# -- fit -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
@each_classifier
def test_fit_learns_and_forgets(model, y):
    fitted = clone(model).fit(X, y)
    assert fitted.score(X, y) > 0.75
    again = clone(model).fit(X[::2], TWO[::2]).fit(X, y)
    assert file_bytes(again) == file_bytes(fitted)


@each_regressor
def test_regression_learns(model):
    assert clone(model).set_params(cost=2.0).fit(X, NUMBERS).score(X, NUMBERS) > 0.95
    both = clone(model).fit(X, SCORES[:, :2])
    assert both.predict(X).shape == (120, 2)
    assert both.score(X, SCORES[:, :2]) > 0.9
    alone = {"n_passes": 1, "batch_size": 200, "n_rounds": 50_000, "tol": 1e-12}
    one = clone(model).set_params(**alone).fit(X, SCORES[:, 0])
    np.testing.assert_allclose(clone(one).fit(X, SCORES[:, :2]).coef_[0], one.coef_[0], rtol=1e-6)


@each_classifier
def test_the_order_of_the_documents_is_irrelevant(model):
    order = np.random.default_rng(1).permutation(120)
    assert file_bytes(clone(model).fit(X[order], THREE[order])) == file_bytes(
        clone(model).fit(X, THREE)
    )


@each_classifier
def test_weights_are_repetitions(model):
    times = np.arange(120) % 3
    weighted = clone(model).fit(X, THREE, sample_weight=times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(THREE, times))
    assert same_weights(weighted, repeated)
    assert not same_weights(weighted, clone(model).fit(X, THREE))
    stream = clone(model).partial_fit(X, THREE, sample_weight=times > 0)
    assert same_weights(stream, clone(model).partial_fit(X[times > 0], THREE[times > 0]))


def test_passes_differ_and_the_seed_decides_their_order():
    fits = [BayesPAClassifier(random_state=s, n_passes=n).fit(X, THREE) for s, n in
            ((0, 1), (0, 2), (1, 1), (0, 1))]  # fmt: skip
    assert same_weights(fits[0], fits[3])
    assert not same_weights(fits[0], fits[1])
    assert not same_weights(fits[0], fits[2])
    assert [f.n_iter_ for f in fits[:2]] == [120, 240]


@each_classifier
def test_threads_are_irrelevant(model):
    with always_threads():
        models = [clone(model).set_params(n_threads=n).fit(X, THREE) for n in (1, 2, 4)]
        answers = [m.decision_function(X) for m in models]
    assert len({file_bytes(m) for m in models}) == 1
    assert all(same(a, answers[0]) for a in answers)


@each_classifier
def test_forms_are_equal(model):
    forms = [X, csr_array(X), csr_array(X).tocsc(), pd.DataFrame(X, columns=list("abcdef"))]
    answers = [clone(model).fit(form, THREE).decision_function(form) for form in forms]
    assert all(same(a, answers[0]) for a in answers)
    counts = np.abs(X).round(3).astype(np.float32)
    one = clone(model).fit(Corpus.from_matrix(counts), THREE)
    assert same_weights(one, clone(model).fit(counts.astype(np.float64), THREE))


def test_zeros_and_duplicates_of_a_sparse_matrix_are_nothing():
    twice = csr_array(
        (np.array([0.5, 0.5, 0.0]), np.array([0, 0, 2]), np.array([0, 2, 3])), shape=(2, 3)
    )
    before = twice.data.copy()
    model = BayesPAClassifier(random_state=0).fit(twice, [0, 1])
    assert same_weights(
        model, BayesPAClassifier(random_state=0).fit([[1.0, 0, 0], [0, 0, 0]], [0, 1])
    )
    np.testing.assert_array_equal(twice.data, before)


# -- corpora -------------------------------------------------------------------------------------


def corpus(**beside):
    return Corpus.from_matrix(np.abs(X).round(3), vocabulary=list("abcdef"), **beside)


def test_a_corpus_brings_its_labels():
    named = corpus(labels=THREE)
    model = BayesPAClassifier(random_state=0).fit(named)
    assert same_weights(model, BayesPAClassifier(random_state=0).fit(named, THREE))
    assert model.score(named) == model.score(named, THREE)
    lists = [["x"] * a + ["y"] * b for a, b in SEVERAL[:, :2]]
    several = BayesPAClassifier(random_state=0).fit(corpus(labels=lists))
    assert several.predict(named).shape == (120, 2)
    assert several.multi_label_
    numbers = BayesPARegressor(random_state=0).fit(corpus(targets=NUMBERS))
    assert numbers.score(corpus(targets=NUMBERS)) == numbers.score(corpus(), NUMBERS)


def test_terms_are_matched_by_name():
    model = reload(BayesPAClassifier(random_state=0).fit(corpus(), TWO))
    moved = Corpus.from_matrix(np.abs(X).round(3)[:, ::-1], vocabulary=list("fedcba"))
    np.testing.assert_array_equal(model.predict(moved), model.predict(corpus()))
    frame = pd.DataFrame(np.abs(X).round(3)[:, ::-1], columns=list("fedcba"))
    np.testing.assert_array_equal(model.predict(frame), model.predict(corpus()))
    framed = reload(BayesPAClassifier(random_state=0).fit(frame, TWO))
    assert framed.feature_names_in_.tolist() == list("fedcba")
    np.testing.assert_array_equal(framed.predict(corpus()), framed.predict(frame))


# -- what is missing -----------------------------------------------------------------------------


@each_classifier
def test_documents_without_labels_teach_nothing(model):
    holes = [None if d % 4 == 0 else t for d, t in enumerate(THREE)]
    keep = np.arange(120) % 4 != 0
    assert same_weights(clone(model).fit(X, holes), clone(model).fit(X[keep], THREE[keep]))
    some = clone(model).fit(X, holes)
    assert some.score(X, holes) == some.score(X[keep], THREE[keep])
    lists = [None if d % 4 == 0 else row.tolist() for d, row in enumerate(SEVERAL)]
    assert same_weights(clone(model).fit(X, lists), clone(model).fit(X[keep], SEVERAL[keep]))
    stream = clone(model).partial_fit(X[:5], [None] * 5, classes=["a", "b"])
    assert not stream.coef_.any()
    assert set(stream.predict(X)) <= {"a", "b"}


@each_regressor
def test_missing_targets_are_passed_over(model):
    y = SCORES[:, :2].copy()
    y[::3, 0] = np.nan
    model = clone(model).set_params(batch_size=1, n_passes=1)
    with pytest.warns(MissingTargetsWarning, match="40 of 120"):
        both = clone(model).partial_fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = clone(model).partial_fit(X[~np.isnan(y[:, 0])], y[~np.isnan(y[:, 0]), 0])
        second = clone(model).partial_fit(X, y[:, 1])
    if not model.average:  # the other target's batches pass too
        np.testing.assert_allclose(
            both.coef_, np.vstack([first.coef_, second.coef_]), rtol=1e-10, atol=1e-12
        )


def test_scores_of_labels_that_the_model_does_not_know():
    model = BayesPAClassifier(random_state=0).fit(X, TWO)
    other = np.array(["maybe"] * 30)
    assert model.score(X[:30], other) == 0.0
    both = model.score(X[:60], np.concatenate([other, TWO[30:60]]))
    assert both == pytest.approx(model.score(X[30:60], TWO[30:60]) / 2)
    several = BayesPAClassifier(random_state=0).fit(X, [[t] for t in TWO])
    assert several.score(X[:2], [["no", "maybe"], ["maybe"]]) == 0.0
    named = corpus(labels=np.where(np.arange(120) < 60, "maybe", TWO))
    assert 0 < BayesPAClassifier(random_state=0).fit(corpus(), TWO).score(named) <= 0.5


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e-8, 1e8, 1e25])
def test_extremes_stay_finite(scale):
    for model in (*CLASSIFIERS, *REGRESSORS):
        for cost, variance in ((1e30, 1.0), (1e-30, 1e30), (1.0, 1e-30), (1e30, 1e30)):
            extreme = clone(model).set_params(cost=cost, variance=variance, n_passes=1)
            y = NUMBERS if hasattr(model, "regressor") else TWO
            assert np.isfinite(extreme.fit(X * scale, y).coef_).all()


def test_an_error_in_a_callback_leaves_a_model():
    def fails(info):
        raise RuntimeError(info.step)

    model = BayesPAClassifier(batch_size=50).partial_fit(X[:60], TWO[:60])
    with pytest.raises(RuntimeError, match="2"):
        model.set_params(callbacks=fails).partial_fit(X[60:], TWO[60:])
    assert model.pending_.n_docs == 20
    assert same_weights(model, BayesPAClassifier(batch_size=50).partial_fit(X, TWO))


def test_partial_fit_learns_all_that_it_is_given(monkeypatch):
    """A stream gives its documents once: neither the time nor a callback makes a call leave some out."""
    monkeypatch.setattr("bayou.run.batches.CHUNK", 20)
    whole = BayesPAClassifier(batch_size=10).partial_fit(X, TWO)
    told = []
    short = BayesPAClassifier(batch_size=10, max_time=1e-9, callbacks=[told.append, lambda _: True])
    short.partial_fit(X, TWO)
    assert [info.step for info in told] == [2, 4, 6, 8, 10, 12]
    assert (short.n_iter_, short.pending_.n_docs) == (12, 0)
    assert same_weights(short, whole)


def test_a_callback_that_fails_loses_no_document(monkeypatch):
    monkeypatch.setattr("bayou.run.batches.CHUNK", 20)

    def fails(info):
        raise RuntimeError(info.step)

    model = BayesPAClassifier(batch_size=10, callbacks=fails)
    with pytest.raises(RuntimeError, match="2"):
        model.partial_fit(X[:-3], TWO[:-3])
    assert (model.n_iter_, model.pending_.n_docs) == (12, 97)
    whole = BayesPAClassifier(batch_size=10).partial_fit(X, TWO)
    assert same_weights(
        reload(model).set_params(callbacks=None).partial_fit(X[-3:], TWO[-3:]), whole
    )


def test_empty_documents_are_legal():
    for model in CLASSIFIERS:
        fitted = clone(model).fit(np.vstack([X, np.zeros((3, 6))]), [*THREE, "ant", "bee", "cow"])
        out = fitted.decision_function(np.zeros((2, 6)))
        assert np.isfinite(out).all()
        np.testing.assert_array_equal(out[0], out[1])


# -- predictions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["diagonal", "full"])
def test_probabilities(precision):
    model = BayesPAClassifier(classifier="gibbs", precision=precision, random_state=0, margin=0.7)
    two = clone(model).fit(X, TWO).predict_proba(X)
    np.testing.assert_allclose(two.sum(axis=1), 1.0)
    three = clone(model).fit(X, THREE)
    np.testing.assert_allclose(three.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(
        three.predict_proba(X).argmax(1), three.decision_function(X).argmax(1)
    )
    several = clone(model).fit(X, SEVERAL)
    np.testing.assert_array_equal(several.predict_proba(X) > 0.5, several.predict(X) == 1)
    assert not hasattr(BayesPAClassifier(), "predict_proba")


@pytest.mark.parametrize("precision", ["diagonal", "full"])
def test_probabilities_are_the_integral_over_the_weights(precision):
    model = BayesPAClassifier(
        classifier="gibbs", precision=precision, random_state=0, margin=0.7, fit_intercept=False
    ).fit(X, TWO)
    spread = model.state_.spread[0]
    P = np.diag(spread) if precision == "diagonal" else spread.T @ spread
    drawn = np.random.default_rng(0).multivariate_normal(model.coef_[0], np.linalg.inv(P), 200_000)
    expected = norm.cdf(X[:5] @ drawn.T / 0.7).mean(axis=1)
    np.testing.assert_allclose(model.predict_proba(X[:5])[:, 1], expected, atol=4e-3)


def test_standard_deviations():
    model = BayesPARegressor(regressor="gibbs", precision="full", random_state=0).fit(X, NUMBERS)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X))
    Z = np.column_stack([X, np.ones(120)])
    P = model.state_.spread[0].T @ model.state_.spread[0]
    np.testing.assert_allclose(std**2, np.einsum("dj,jk,dk->d", Z, np.linalg.inv(P), Z), rtol=1e-9)
    with pytest.raises(ValueError, match="regressor='gibbs'"):
        BayesPARegressor().fit(X, NUMBERS).predict(X, return_std=True)


def test_more_documents_make_it_surer():
    few, many = (
        BayesPARegressor(regressor="gibbs").partial_fit(X[:n], NUMBERS[:n]) for n in (10, 120)
    )
    assert (many.predict(X, return_std=True)[1] < few.predict(X, return_std=True)[1]).all()


# -- the door ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"classifier": "svm"}, "classifier must be one of"),
        ({"precision": "full"}, "precision belongs to classifier='gibbs'"),
        ({"classifier": "gibbs", "precision": "none"}, "precision must be one of"),
        ({"cost": 0}, "cost must be"),
        ({"margin": -1.0}, "margin must be"),
        ({"variance": "1"}, "variance must be"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"n_passes": 1.5}, "n_passes must be"),
        ({"n_rounds": 0}, "n_rounds must be"),
        ({"tol": -1}, "tol must be"),
        ({"n_threads": 0}, "n_threads must be"),
        ({"max_time": 0}, "max_time must be"),
    ],
)
def test_parameters_are_judged_by_fit(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        BayesPAClassifier(**settings).fit(X, TWO)


@pytest.mark.parametrize(
    ("weights", "complaint"),
    [
        (np.ones(3), r"one number per document, 120 in all; got shape \(3,\)"),
        (-np.ones(120), "not negative"),
        (np.full(120, np.nan), "finite"),
        (np.zeros(120), "zero for every document"),
        ((TWO == "yes").astype(float), "two"),
    ],
)
def test_weights_that_cannot_be_meant(weights, complaint):
    with pytest.raises(ValueError, match=complaint):
        BayesPAClassifier().fit(X, TWO, sample_weight=weights)


def test_numbers_too_large_are_refused():
    with pytest.raises(DataError, match="scale X down"):
        BayesPAClassifier().fit(X * 1e200, TWO)
    with pytest.raises(DataError, match="scale it down"):
        BayesPARegressor().fit(X, NUMBERS * 1e40)
    with pytest.raises(DataError, match="use 'diagonal'"):
        BayesPAClassifier(classifier="gibbs", precision="full").fit(csr_array((120, 10_000)), TWO)


@pytest.mark.parametrize(
    "change", [{"classifier": "gibbs"}, {"average": True}, {"fit_intercept": False}]
)
def test_a_stream_keeps_its_posterior(change):
    model = BayesPAClassifier().partial_fit(X, TWO)
    with pytest.raises(ValueError, match="begin another model"):
        model.set_params(**change).partial_fit(X, TWO)


def test_a_stream_keeps_its_targets():
    model = BayesPARegressor().partial_fit(X, NUMBERS)
    with pytest.raises(DataError, match="2 targets, 1 came before"):
        model.partial_fit(X, SCORES[:, :2])


def test_callbacks_and_time_end_training():
    long = np.tile(X, (30, 1)) + 0.01 * np.random.default_rng(0).normal(size=(3600, 6))
    told = []
    model = BayesPAClassifier(callbacks=lambda info: told.append(info) or len(told) == 2)
    model.fit(long, np.tile(TWO, 30))
    assert [info.step for info in told] == [1024, 2048]
    assert told[0].n_steps == 5 * 3600
    assert model.n_iter_ == 2048
    assert BayesPAClassifier(max_time=1e-9).fit(long, np.tile(TWO, 30)).n_iter_ == 1024


# -- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y",
    [
        TWO,
        TWO == "yes",
        np.where(TWO == "yes", 3, -5),
        np.where(TWO == "yes", 3.0, 1.0),
        THREE,
        SEVERAL,
    ],
    ids=["text", "truth", "whole", "float", "three", "several"],
)
def test_classes_keep_their_type_in_files(y):
    model = BayesPAClassifier(random_state=0).fit(X, y)
    back = reload(model)
    assert same(back.classes_, model.classes_)
    assert same(back.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("state.mean", np.zeros((2, 7), np.float32)),
        ("state.mean", np.zeros((5, 7))),
        ("state.mean", np.full((2, 7), np.nan)),
        ("state.spread", np.zeros((2, 7))),
        ("state.drift", np.zeros((2, 7))),
        ("state.step", np.array(-1)),
        ("state.step", np.array([1])),
        ("pending.indices", np.array([99, 0, 0, 0])),
        ("pending.indptr", np.array([0, 10**9])),
        ("pending.indptr", np.array([0.0, 4.0])),
        ("pending.y", np.zeros((1, 5))),
        ("pending.costs", np.array([-1.0])),
        ("classes", np.array([1, 1])),
        ("classes.kind", np.array([True, False])),
        ("classes.kind", np.zeros(0)),
    ],
)
def test_files_that_lie_are_refused(tmp_path, name, value):
    model = BayesPAClassifier(batch_size=2, classifier="gibbs").partial_fit(X[:7], TWO[:7] == "yes")
    model.save(tmp_path / "model")
    arrays, manifest = container.load(tmp_path / "model")
    arrays[name] = value
    container.save(tmp_path / "bad", arrays, manifest)
    with pytest.raises(ModelFileError):
        load(tmp_path / "bad")
    del arrays[name]
    container.save(tmp_path / "bad", arrays, manifest)
    with pytest.raises(ModelFileError):
        load(tmp_path / "bad")
