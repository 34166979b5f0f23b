"""Max-margin LDA: what it learns, explains and repeats, and what happens at the door."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import bayou
from bayou import Corpus, DataError, MedLDAClassifier, MedLDARegressor, ModelFileError
from bayou.data import FractionalCountsWarning
from bayou.data.errors import MissingTargetsWarning
from bayou.data.synthetic import sample_med_lda
from bayou.inference.margin.setup import member_seed
from bayou.testing.cases import file_bytes

SHORT = {"n_topics": 4, "n_sweeps": 8, "n_kept": 3, "random_state": 0}
CLASSES, _ = sample_med_lda(120, 4, 50, n_classes=3, beta=0.05, seed=1)
PAIR, _ = sample_med_lda(120, 4, 50, n_classes=2, beta=0.05, seed=2)
NUMBERS, _ = sample_med_lda(120, 4, 50, n_classes=0, beta=0.05, seed=3)
KINDS = [
    {},
    {"sampler": "light"},
    {"exact": True},
    {"sampler": "light", "exact": True},
    {"n_chains": 2},
    {"word_residual": 1.0},
    {"refit": False},
    {"loss": "logistic", "cost": 8.0},
    {"loss": "smooth-hinge", "smoothing": 0.4},
]
each_kind = pytest.mark.parametrize("extra", KINDS, ids=str)


def codes(corpus):
    """The class of each document as a number."""
    return corpus.labels.indices.copy()


def lists(corpus):
    """Labels of which documents have none, one, or two."""
    out = [["abc"[c]] for c in codes(corpus)]
    out[::5] = [["a", "b"]] * len(out[::5])
    out[::7] = [[]] * len(out[::7])
    return out


# -- learning ------------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("corpus", [PAIR, CLASSES], ids=["two", "three"])
def test_classes_are_learned(corpus, extra):
    train, test = corpus[:80], corpus[80:]
    most = np.bincount(codes(test)).max() / 40
    model = MedLDAClassifier(**SHORT | {"n_topics": 8, "n_sweeps": 25} | extra).fit(train)
    found = model.score(test)
    print(f"{found:.3f} against {most:.3f}")
    assert found > most + 0.1


@each_kind
def test_numbers_are_learned(extra):
    if "loss" in extra:
        pytest.skip("a loss of classes")
    model = MedLDARegressor(**SHORT | {"n_sweeps": 25} | extra).fit(NUMBERS[:80])
    assert model.score(NUMBERS[80:]) > 0.2


def test_labels_are_learned():
    X, y = CLASSES.counts, lists(CLASSES)
    model = MedLDAClassifier(**SHORT | {"n_topics": 8, "n_sweeps": 25}).fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    found = model.predict(X)
    assert found.shape == (120, 3)
    assert (found.sum(axis=1) >= 1).all()  # the best label where none has a positive score
    assert model.predict_labels(X)[0] == model.classes_[found[0] > 0].tolist()
    wanted = np.array([[name in row for name in "abc"] for row in y])
    most = max(wanted.mean(), 1 - wanted.mean())  # that all have a label, or that none has
    assert (found == wanted).mean() > most + 0.02  # 0.05 to 0.08 more over seeds


def test_an_indicator_is_the_same_as_lists():
    X, y = CLASSES.counts, lists(CLASSES)
    table = np.array([[name in row for name in "abc"] for row in y], int)
    by_list, by_table = MedLDAClassifier(**SHORT).fit(X, y), MedLDAClassifier(**SHORT).fit(X, table)
    np.testing.assert_array_equal(by_list.decision_function(X), by_table.decision_function(X))
    rows = MedLDAClassifier(**SHORT).fit(X, table.tolist())
    np.testing.assert_array_equal(rows.decision_function(X), by_table.decision_function(X))


def test_several_targets_at_once():
    Y = np.column_stack([NUMBERS.targets, -3.0 * np.ravel(NUMBERS.targets) + 7.0])
    for extra in ({}, {"word_residual": 1.0}, {"refit": False}):
        model = MedLDARegressor(**SHORT | {"n_sweeps": 20} | extra).fit(NUMBERS.counts, Y)
        mean, std = model.predict(NUMBERS.counts, return_std=True)
        assert mean.shape == std.shape == Y.shape
        assert (std > 0).all()
        assert model.score(NUMBERS.counts, Y) > 0.3


@pytest.mark.parametrize("loss", ["hinge", "logistic", "smooth-hinge"])
def test_one_against_all_is_a_binary_fit_for_each_class(loss):
    """Each class is a chain of its own under the seed of that member."""
    settings = SHORT | {"loss": loss, "refit": False, "n_kept": 1}
    whole = MedLDAClassifier(multi_class="one-vs-all", **settings).fit(CLASSES)
    scores, X = whole.decision_function(CLASSES), CLASSES.counts
    for i in range(3):
        seed = member_seed(whole.seed_, i)
        alone = MedLDAClassifier(**settings | {"random_state": seed})
        alone._resolve_seed = lambda seed=seed: seed
        alone.fit(X, (codes(CLASSES) == i).astype(int))
        found = (
            alone.decision_function(X) - alone.response_.intercept
        )  # which two classes alone have
        np.testing.assert_allclose(found, scores[:, i], rtol=1e-5, atol=1e-7)


def test_several_chains_are_averaged():
    model = MedLDAClassifier(**SHORT, n_chains=3).fit(CLASSES)
    assert model.weights_.shape == (12, 3)
    assert model.response_.n_members == 3
    np.testing.assert_allclose(model.transform(CLASSES).sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="leave n_chains at 1"):
        MedLDAClassifier(n_chains=2, multi_class="one-vs-all").fit(CLASSES)


def test_cost_and_weight_are_one_factor():
    y = codes(PAIR)
    shared = SHORT | {"refit": False}
    one = MedLDAClassifier(**shared, cost=2.0).fit(PAIR.counts, y)
    other = MedLDAClassifier(**shared).fit(PAIR.counts, y, sample_weight=2.0)
    np.testing.assert_array_equal(one.weights_, other.weights_)


def test_positive_labels_can_weigh_more():
    y = codes(PAIR)
    plain = MedLDAClassifier(**SHORT).fit(PAIR.counts, y)
    same = MedLDAClassifier(**SHORT, positive_cost=1.0).fit(PAIR.counts, y)
    more = MedLDAClassifier(**SHORT, positive_cost=4.0).fit(PAIR.counts, y)
    np.testing.assert_array_equal(plain.weights_, same.weights_)
    assert not np.array_equal(plain.weights_, more.weights_)


def test_explanations_of_sampled_predictions_add_up():
    model = MedLDAClassifier.published(n_topics=6, n_sweeps=10, random_state=0).fit(CLASSES)
    assert model.prediction == "sampled"
    scores = model.decision_function(CLASSES[:20])
    for one, expected in zip(model.explain(CLASSES[:20]), scores, strict=True):
        np.testing.assert_allclose(one.scores, expected, rtol=1e-5, atol=1e-5)
        assert (one.shares >= 0).all()


def test_published_settings():
    for source, sampler in (("gibbs", "gibbs"), ("light", "light"), ("logistic", "gibbs")):
        model = MedLDAClassifier.published(source, n_topics=6, n_sweeps=10, random_state=0)
        assert not model.idf
        assert model.tf == "none"
        assert not model.refit
        assert model.exact
        assert model.fit(PAIR).sampler_ == sampler
        assert model.n_iter_ == 10
    assert MedLDAClassifier.published("logistic").loss == "logistic"
    with pytest.raises(ValueError, match="source must be one of"):
        MedLDAClassifier.published("paper")


def test_ordinary_search_for_settings():
    search = GridSearchCV(MedLDAClassifier(**SHORT), {"margin": [4.0, 16.0]}, cv=2)
    search.fit(PAIR.counts, codes(PAIR))
    assert search.best_params_["margin"] in (4.0, 16.0)


def test_smoothing_changes_the_topics():
    """The default is 1 / 16."""
    fits = [
        MedLDAClassifier(loss="smooth-hinge", smoothing=s, n_topics=4, n_sweeps=3, n_kept=1, random_state=0)
        .fit(CLASSES).components_ for s in (None, 0.0625, 1.0)
    ]  # fmt: skip
    np.testing.assert_array_equal(fits[0], fits[1])
    assert (fits[0] != fits[2]).any()


@pytest.mark.parametrize(("kind", "n_topics"), [("two", 20), ("three", 40), ("labels", 40)])
def test_default_number_of_topics(kind, n_topics):
    y = {"two": codes(PAIR), "three": codes(CLASSES), "labels": lists(CLASSES)}[kind]
    model = MedLDAClassifier(n_sweeps=2, n_kept=1, random_state=0).fit(PAIR.counts, y)
    assert model.components_.shape[0] == n_topics
    np.testing.assert_allclose(model.alpha_, 20 / n_topics)


# -- answers -------------------------------------------------------------------------------------


@each_kind
def test_explanations_add_up_to_scores(extra):
    model = MedLDAClassifier(**SHORT | extra).fit(CLASSES)
    X = CLASSES.counts[:12].toarray()
    X[3] = 0
    scores = model.decision_function(X)
    for d, told in enumerate(model.explain(X)):
        np.testing.assert_allclose(told.scores, scores[d], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(
            told.base + told.parts.sum(axis=0), told.scores, rtol=1e-10, atol=1e-12
        )
        by_topic = told.topic_parts.sum(axis=0) + told.words.sum(axis=0) + told.base
        np.testing.assert_allclose(by_topic, told.scores, rtol=1e-9, atol=1e-9)
        through = [told.term_topic(i).sum() for i in range(3)]
        np.testing.assert_allclose(through, told.topic_parts.sum(axis=0), rtol=1e-9, atol=1e-9)
        assert len(told.terms) == (X[d] > 0).sum()
    if extra.get("word_residual"):
        assert any(told.words.any() for told in model.explain(X))
        assert 0 < model.response_.share < 1


def test_explanations_of_two_classes_and_of_numbers():
    model = MedLDAClassifier(**SHORT, n_chains=2).fit(PAIR)
    found = np.concatenate([told.scores for told in model.explain(PAIR)])
    np.testing.assert_allclose(found, model.decision_function(PAIR), rtol=1e-5, atol=1e-5)
    model = MedLDARegressor(**SHORT, word_residual=0.5).fit(NUMBERS)
    found = np.concatenate([told.scores for told in model.explain(NUMBERS)])
    np.testing.assert_allclose(found, model.predict(NUMBERS), rtol=1e-5, atol=1e-5)


@each_kind
def test_probabilities(extra):
    two = MedLDAClassifier(**SHORT | extra).fit(PAIR)
    p = two.predict_proba(PAIR)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    order = np.argsort(two.decision_function(PAIR))
    assert (np.diff(p[order, 1]) >= 0).all()
    three = MedLDAClassifier(**SHORT | extra).fit(CLASSES)
    p = three.predict_proba(CLASSES)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(three.classes_[p.argmax(axis=1)], three.predict(CLASSES))
    several = MedLDAClassifier(**SHORT | extra).fit(CLASSES.counts, lists(CLASSES))
    p = several.predict_proba(CLASSES)
    assert p.shape == (120, 3)
    assert ((p > 0) & (p < 1)).all()


def test_probabilities_are_roughly_calibrated():
    corpus, _ = sample_med_lda(900, 4, 60, n_classes=2, beta=0.05, noise=0.4, seed=5)
    for extra in ({}, {"word_residual": 1.0}):
        model = MedLDAClassifier(**SHORT | {"n_sweeps": 30, "n_topics": 8} | extra).fit(
            corpus[:500]
        )
        p, truth = model.predict_proba(corpus[500:])[:, 1], codes(corpus[500:])
        gaps = [
            abs(p[use].mean() - truth[use].mean()) * use.mean()
            for use in (np.digitize(p, [0.25, 0.5, 0.75]) == b for b in range(4))
            if use.any()
        ]
        print(f"expected calibration error {sum(gaps):.3f}")
        assert sum(gaps) < 0.12


def test_intervals_hold_what_they_say():
    corpus, _ = sample_med_lda(700, 4, 60, n_classes=0, beta=0.05, noise=0.3, seed=6)
    for extra in ({}, {"word_residual": 1.0}):
        model = MedLDARegressor(**SHORT | {"n_sweeps": 25} | extra).fit(corpus[:400])
        low, high = model.predict_interval(corpus[400:], level=0.8)
        y = np.ravel(corpus[400:].targets)
        inside = ((low < y) & (y < high)).mean()
        print(f"{inside:.3f} of 0.8 inside")
        assert 0.7 < inside < 0.92
    with pytest.raises(ValueError, match="level must be a number"):
        model.predict_interval(corpus, level=1.5)


def test_a_label_that_nobody_has_is_unlikely():
    table = np.column_stack([codes(PAIR), 1 - codes(PAIR), np.zeros(120, int)])
    model = MedLDAClassifier(**SHORT).fit(PAIR.counts, table)
    np.testing.assert_allclose(model.predict_proba(PAIR)[:, 2], 1 / 122)
    assert not model.predict(PAIR)[:, 2].any()


# -- repeats -------------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("one_vs_all", [False, True])
def test_threads_change_nothing(extra, one_vs_all):
    """Three classes: the second stage, too, must not depend on who fits which of them."""
    if one_vs_all:
        if "n_chains" in extra:
            pytest.skip("one-vs-all has its own chains")
        extra = extra | {"multi_class": "one-vs-all"}
    first = file_bytes(MedLDAClassifier(**SHORT | extra, n_threads=1).fit(CLASSES))
    for n_threads in (2, 4, 4):
        again = MedLDAClassifier(**SHORT | extra, n_threads=n_threads).fit(CLASSES)
        assert file_bytes(again.set_params(n_threads=1)) == first


@each_kind
def test_files_give_the_model_back(extra, tmp_path):
    for corpus in (PAIR, CLASSES):
        model = MedLDAClassifier(**SHORT | extra).fit(corpus)
        model.save(tmp_path / "m")
        back = bayou.load(tmp_path / "m")
        assert file_bytes(back) == file_bytes(model)
        for name in ("predict", "predict_proba", "decision_function", "transform"):
            np.testing.assert_array_equal(getattr(back, name)(corpus), getattr(model, name)(corpus))
        assert back.classes_.dtype.kind == model.classes_.dtype.kind


@pytest.mark.parametrize("classes", [[3, 8], [False, True], ["é", "b"], [-1.0, 1.0]], ids=str)
def test_classes_of_any_kind_survive_a_file(classes, tmp_path):
    y = np.array(classes)[codes(PAIR)]
    model = MedLDAClassifier(**SHORT).fit(PAIR.counts, y)
    model.save(tmp_path / "m")
    back = bayou.load(tmp_path / "m")
    assert back.classes_.tolist() == sorted(classes)
    assert back.predict(PAIR).dtype == model.predict(PAIR).dtype == np.unique(y).dtype


@each_kind
def test_training_goes_on_from_a_checkpoint_bit_for_bit(extra, tmp_path):
    path = tmp_path / "checkpoint"
    whole = MedLDAClassifier(**SHORT | extra).fit(CLASSES)
    stopped = MedLDAClassifier(**SHORT | extra, callbacks=lambda info: info.step == 6)
    assert stopped.fit(CLASSES, checkpoint=path, checkpoint_every=4).n_iter_ == 6
    resumed = MedLDAClassifier(**SHORT | extra).fit(CLASSES, checkpoint=path)
    assert file_bytes(resumed) == file_bytes(whole)
    with pytest.raises(ModelFileError, match="written with other data"):
        MedLDAClassifier(**SHORT | extra).fit(CLASSES[::-1], checkpoint=path)
    y = codes(CLASSES)
    y[0] = (y[0] + 1) % 3
    with pytest.raises(ModelFileError, match="written with other data"):
        MedLDAClassifier(**SHORT | extra).fit(CLASSES.counts, y, checkpoint=path)


def test_a_checkpoint_needs_a_seed_and_a_whole_number(tmp_path):
    with pytest.raises(ValueError, match="needs a random_state"):
        MedLDAClassifier(**SHORT | {"random_state": None}).fit(PAIR, checkpoint=tmp_path / "c")
    with pytest.raises(ValueError, match="checkpoint_every must be"):
        MedLDARegressor(**SHORT).fit(NUMBERS, checkpoint=tmp_path / "c", checkpoint_every=0)


def test_a_warm_start_begins_at_the_topics_before():
    shared = SHORT | {"margin": 16.0}  # or labels outweigh the words that are scored here
    model = MedLDAClassifier(**shared | {"n_sweeps": 25}, warm_start=True).fit(PAIR)
    model.set_params(n_sweeps=3, n_kept=1).fit(PAIR)
    cold = MedLDAClassifier(**shared | {"n_sweeps": 3, "n_kept": 1}).fit(PAIR)
    assert model.posterior_.scores[-1] > cold.posterior_.scores[-1] + 0.03
    with pytest.raises(ValueError, match="warm_start needs the terms, topics and chains"):
        model.set_params(n_topics=7).fit(PAIR)
    with pytest.raises(ValueError, match="warm_start needs the terms, topics and chains"):
        model.set_params(n_topics=4).fit(PAIR.counts[:, :20], codes(PAIR))


def test_stopping_early_leaves_a_whole_model():
    for extra in ({"max_time": 1e-9}, {"callbacks": lambda info: info.step == 1}):
        model = MedLDAClassifier(**SHORT, **extra).fit(CLASSES)
        assert model.n_iter_ == 1
        assert np.isfinite(model.decision_function(CLASSES)).all()


# -- the door ------------------------------------------------------------------------------------

BAD = [
    ({"n_topics": 0}, "n_topics must be a whole number"),
    ({"n_topics": 2.5}, "n_topics must be a whole number"),
    ({"alpha": -1.0}, "alpha must be positive"),
    ({"alpha": [1.0, 2.0]}, "one for each of 4 topics"),
    ({"beta": 0.0}, "beta must be a positive number"),
    ({"loss": "squared"}, "loss must be one of 'hinge', 'logistic', 'smooth-hinge'"),
    ({"smoothing": 0.5}, "smoothing is for loss='smooth-hinge'; got loss='hinge'"),
    ({"loss": "smooth-hinge", "smoothing": 0.0}, "smoothing must be"),
    ({"cost": 0.0}, "cost must be a positive number"),
    ({"cost": 1e9}, "cost times sample_weight must be at most 1e"),
    ({"margin": 0.0}, "margin must be a positive number"),
    ({"variance": 1e13}, "variance must be a positive number"),
    ({"positive_cost": -1.0}, "positive_cost must be a positive number"),
    ({"multi_class": "ovr"}, "multi_class must be one of"),
    ({"tf": "raw"}, "tf must be one of 'log', 'none', 'binary'"),
    ({"sampler": "mh"}, "sampler must be one of 'auto', 'gibbs', 'light'"),
    ({"n_sweeps": 0}, "n_sweeps must be a whole number"),
    ({"n_kept": 9}, "n_kept must be at most n_sweeps = 8; got 9"),
    ({"n_chains": 0}, "n_chains must be a whole number"),
    ({"word_residual": -1.0}, "word_residual must be a number"),
    ({"random_state": "x"}, "cannot be used to seed"),
]


@pytest.mark.parametrize(("params", "message"), BAD, ids=lambda x: str(x)[:40])
def test_bad_parameters_are_refused_by_fit(params, message):
    with pytest.raises(ValueError, match=message):
        MedLDAClassifier(**SHORT | params).fit(PAIR)


def test_bad_tubes_are_refused():
    with pytest.raises(ValueError, match="epsilon must be a number"):
        MedLDARegressor(epsilon=-1.0).fit(NUMBERS)


X40 = PAIR.counts[:40]
Y40 = codes(PAIR)[:40]
REFUSED = [
    (np.zeros(40), "one class|all labels are"),
    ([1] + [None] * 39, "one class|all labels are"),
    ([None] * 40, "no document has a label"),
    (np.full(40, np.nan), "no document has a label"),
    ([[]] * 40, "no document has a label"),
    (None, "requires y to be passed"),
    (np.arange(41) % 2, "inconsistent numbers of samples: \\[40, 41\\]"),
    (np.linspace(0, 1, 40), "Unknown label type: continuous"),
    (np.full(40, np.inf), "infinity"),
    (["a", 1] * 20, "labels mix strings and numbers"),
    (np.full((40, 2), 2), "may hold only 0 and 1"),
]


@pytest.mark.parametrize(("y", "message"), REFUSED, ids=lambda x: str(x)[:25])
def test_labels_that_cannot_be_meant_are_refused(y, message):
    with pytest.raises(DataError, match=message):
        MedLDAClassifier(**SHORT).fit(X40, y)


@pytest.mark.parametrize("names", [[0, 1], ["no", "yes"], [False, True], [-1, 1], [4, 9]], ids=str)
def test_two_classes_of_any_name(names):
    model = MedLDAClassifier(**SHORT).fit(X40, np.array(names)[Y40])
    assert model.classes_.tolist() == names
    assert set(model.predict(X40).tolist()) <= set(names)
    plain = MedLDAClassifier(**SHORT).fit(X40, Y40)
    np.testing.assert_array_equal(model.decision_function(X40), plain.decision_function(X40))


@each_kind
def test_few_labels_are_enough(extra):
    """A class with one document; two labelled documents; a class of its own for each document."""
    lonely = Y40.copy()
    lonely[0] = 7
    for y in (lonely, [0, 1] + [None] * 38, np.arange(40)):
        model = MedLDAClassifier(**SHORT | extra).fit(X40, y)
        p = model.predict_proba(X40)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_more_labels_than_documents():
    y = [[f"label {(3 * d + j) % 90}" for j in range(4)] for d in range(40)]
    model = MedLDAClassifier(**SHORT).fit(X40, y)
    assert model.predict(X40).shape == (40, 90)
    assert np.isfinite(model.predict_proba(X40)).all()


def test_scores_of_labels_that_are_new_or_missing():
    model = MedLDAClassifier(**SHORT).fit(X40, Y40)
    assert model.score(X40, np.full(40, 7)) == 0.0
    with pytest.raises(DataError, match="labels mix strings and numbers"):
        model.score(X40, ["new"] * 40)
    right = model.predict(X40).tolist()
    assert model.score(X40, [None] * 20 + right[20:]) == 1.0
    assert model.score(X40, right[:39] + [5]) == 39 / 40
    with pytest.raises(DataError, match="no document has a label"):
        model.score(X40, [None] * 40)
    several = MedLDAClassifier(**SHORT).fit(X40, [["a", "b"] if c else ["b"] for c in Y40])
    assert several.score(X40, [["new"]] * 40) == 0.0


def test_documents_without_words_have_labels_all_the_same():
    X = X40.toarray()
    X[:5] = 0
    for extra in KINDS:
        model = MedLDAClassifier(**SHORT | extra).fit(X, Y40)
        p = model.predict_proba(X)
        assert np.isfinite(p).all()
        assert (p[:5] == p[0]).all()  # all that is known is the prior mean
        nothing = MedLDAClassifier(**SHORT | extra).fit(X * 0, Y40)
        np.testing.assert_allclose(nothing.predict_proba(X * 0), 0.5, atol=0.1)


def test_counts_that_are_no_counts():
    with pytest.raises(ValueError, match="Negative values"):
        MedLDAClassifier(**SHORT).fit(-X40, Y40)
    with pytest.raises(ValueError, match="NaN"):
        MedLDAClassifier(**SHORT).fit(np.full((40, 3), np.nan), Y40)
    with pytest.warns(FractionalCountsWarning):
        MedLDAClassifier(**SHORT, tf="none").fit(X40 * 0.75, Y40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MedLDAClassifier(**SHORT, tf="log").fit(X40 * 0.75, Y40)  # rounded up by the damping
    model = MedLDAClassifier(**SHORT).fit(X40, Y40)
    with pytest.raises(ValueError, match="50 features"):
        model.predict(X40[:, :3])


WEIGHTS = [
    (-1.0, "not negative"),
    (np.nan, "finite"),
    (np.zeros(40), "not zero for all"),
    (np.ones(39), "one number per document, 40 in all; got shape \\(39,\\)"),
    (np.ones((40, 2)), "got shape \\(40, 2\\)"),
    ("heavy", "must be numbers; got 'heavy'"),
    (1e9, "cost times sample_weight must be at most"),
]


@pytest.mark.parametrize(("weight", "message"), WEIGHTS, ids=lambda x: str(x)[:20])
def test_weights_that_cannot_be_meant_are_refused(weight, message):
    for kind in (MedLDAClassifier, MedLDARegressor):
        with pytest.raises(ValueError, match=message):
            kind(**SHORT).fit(X40, Y40, sample_weight=weight)


@pytest.mark.parametrize("how", [{"positive_cost": 20.0}, {}], ids=str)
def test_costs_move_the_border_of_two_classes(how):
    """Probabilities are of documents that weigh so much, and the more probable class is predicted."""
    y = (codes(PAIR) * (np.arange(120) % 6 == 0)).astype(int)  # rare, and not to be told for sure
    weight = None if how else np.where(y > 0, 20.0, 1.0)
    plain = MedLDAClassifier(**SHORT).fit(PAIR.counts, y)
    dear = MedLDAClassifier(**SHORT | how).fit(PAIR.counts, y, sample_weight=weight)
    n_yes = [int(model.predict(PAIR.counts).sum()) for model in (plain, dear)]
    assert n_yes[1] > 2 * n_yes[0] + 5
    for model in (plain, dear):
        yes = model.predict_proba(PAIR.counts)[:, 1]
        np.testing.assert_array_equal(model.predict(PAIR.counts), yes > 0.5)
        np.testing.assert_array_equal(model.decision_function(PAIR.counts) > 0, yes > 0.5)


def test_a_class_without_weight_is_not_learned():
    model = MedLDAClassifier(**SHORT).fit(X40, Y40, sample_weight=Y40)
    assert model.classes_.tolist() == [0, 1]
    assert (model.predict(X40) == 1).all()


@pytest.mark.parametrize("extra", [{}, {"word_residual": 1.0}, {"refit": False}], ids=str)
def test_targets_may_be_missing(extra):
    y = np.ravel(NUMBERS.targets).copy()
    y[::2] = np.nan
    with pytest.warns(MissingTargetsWarning, match="60 of 120"):
        model = MedLDARegressor(**SHORT | extra).fit(NUMBERS.counts, y)
    assert np.isfinite(model.predict(NUMBERS.counts)).all()
    known = ~np.isnan(y)
    wanted = model.score(NUMBERS.counts[known], y[known])
    assert model.score(NUMBERS.counts, y) == pytest.approx(wanted)
    for few in ([1.0, *[np.nan] * 119], np.where(np.arange(120) < 2, y * 0 + 1, np.nan)):
        with pytest.warns(MissingTargetsWarning):
            model = MedLDARegressor(**SHORT | extra).fit(NUMBERS.counts, few)
        mean, std = model.predict(NUMBERS.counts, return_std=True)
        np.testing.assert_allclose(mean, 1.0, atol=0.05)
        assert np.isfinite(std).all()


TARGETS = [
    (np.full(40, np.nan), "no document has a target"),
    (np.full(40, np.inf), "infinity"),
    (["a"] * 40, "must be real numbers"),
    (np.ones(39), "inconsistent numbers of samples"),
    (np.linspace(-1e300, 1e300, 40), "scale them down"),
    (None, "requires y to be passed"),
]


@pytest.mark.parametrize(("y", "message"), TARGETS, ids=lambda x: str(x)[:20])
def test_targets_that_cannot_be_meant_are_refused(y, message):
    with pytest.raises(DataError, match=message):
        MedLDARegressor(**SHORT).fit(X40, y)


def test_targets_that_are_all_the_same():
    model = MedLDARegressor(**SHORT).fit(X40, np.full(40, 3.0))
    np.testing.assert_allclose(model.predict(X40), 3.0)


def test_scores_of_too_many_targets_are_refused():
    model = MedLDARegressor(**SHORT).fit(NUMBERS)
    assert model.score(NUMBERS) == pytest.approx(model.score(NUMBERS.counts, NUMBERS.targets))
    with pytest.raises(DataError, match="predicts 1 targets; y has 2"):
        model.score(NUMBERS.counts, np.ones((120, 2)))


def test_a_corpus_brings_its_labels():
    by_corpus, by_hand = MedLDAClassifier(**SHORT).fit(CLASSES), MedLDAClassifier(**SHORT)
    names = np.array(CLASSES.label_names)[codes(CLASSES)]
    by_hand.fit(Corpus.from_matrix(CLASSES.counts), names)
    assert by_corpus.classes_.tolist() == ["class 0", "class 1", "class 2"]
    np.testing.assert_array_equal(by_corpus.weights_, by_hand.weights_)
    assert by_corpus.score(CLASSES) == by_corpus.score(CLASSES.counts, names)


def test_intervals_cover_new_numbers_where_topics_could_learn_the_old_ones_by_heart():
    """Rare words and few documents: topics fit the numbers that they have seen far better than others."""
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(5000, 0.02), 6)
    theta = rng.dirichlet(np.full(6, 0.3), 900)
    counts = np.array([rng.multinomial(40, 0.4 * (th @ phi) + 0.6 / 5000) for th in theta])
    numbers = theta @ np.linspace(-2.0, 2.0, 6) + rng.normal(0.0, 0.5, 900)
    model = MedLDARegressor(n_topics=20, random_state=0, n_sweeps=20).fit(
        counts[:400], numbers[:400]
    )
    low, high = model.predict_interval(counts[400:], level=0.9)
    assert 0.84 < ((low <= numbers[400:]) & (numbers[400:] <= high)).mean() < 0.97


# -- the second stage by default -----------------------------------------------------------------


def test_the_scale_of_targets_is_the_scale_of_predictions():
    """Targets times 1000 plus 7000: predictions, deviations, weights and draws follow."""
    y = np.ravel(NUMBERS.targets)
    for extra in ({}, {"word_residual": 1.0}, {"refit": False}):
        plain = MedLDARegressor(**SHORT | extra).fit(NUMBERS.counts, y)
        large = MedLDARegressor(**SHORT | extra).fit(NUMBERS.counts, 1000.0 * y + 7000.0)
        mean, std = plain.predict(NUMBERS, return_std=True)
        found, deviation = large.predict(NUMBERS, return_std=True)
        np.testing.assert_allclose(found, 1000.0 * mean + 7000.0, rtol=1e-3, atol=2.0)
        np.testing.assert_allclose(deviation, 1000.0 * std, rtol=1e-2)
        np.testing.assert_allclose(large.weights_, 1000.0 * plain.weights_, rtol=1e-2, atol=2.0)
        pair = large.response_.draws, 1000.0 * plain.response_.draws
        np.testing.assert_allclose(*pair, rtol=1e-2, atol=2.0)


def test_words_take_part_by_default_and_not_without_a_refit():
    assert MedLDAClassifier(**SHORT).fit(CLASSES).response_.words is not None
    for extra in ({"refit": False}, {"word_residual": 0.0}):
        response = MedLDAClassifier(**SHORT | extra).fit(CLASSES).response_
        assert response.words is None
        assert response.share == 1.0
    with pytest.raises(ValueError, match="word_residual must be a number or one of 'auto'"):
        MedLDAClassifier(word_residual="much").fit(CLASSES)


def test_some_labels_are_held_out_from_the_chain():
    """A tenth of more than 200 documents where words take part, a twentieth where not, none without refit."""
    corpus, _ = sample_med_lda(500, 4, 60, n_classes=3, beta=0.05, seed=5)
    for extra, n in (({}, 50), ({"word_residual": 0.0}, 40), ({"refit": False}, 0)):
        model = MedLDAClassifier(**SHORT | extra)
        task = model.algorithm.read(model, corpus, None, np.ones(500), 0)
        assert task.is_held_out.sum() == n
        assert (task.shown[task.is_held_out] == 0).all()
        assert (task.cost > 0).all()
    task = model.algorithm.read(MedLDAClassifier(), corpus[:200], None, np.ones(200), 0)
    assert not task.is_held_out.any()


def test_a_held_out_label_changes_the_weights_and_not_the_topics():
    corpus, _ = sample_med_lda(300, 4, 60, n_classes=3, beta=0.05, seed=5)
    y = codes(corpus)
    model = MedLDAClassifier(**SHORT)
    task = model.algorithm.read(model, corpus, None, np.ones(300), 0)
    other = np.where(task.is_held_out, (y + 1) % 3, y)
    first, second = (MedLDAClassifier(**SHORT).fit(corpus.counts, labels) for labels in (y, other))
    np.testing.assert_array_equal(first.components_, second.components_)
    assert np.abs(first.weights_ - second.weights_).max() > 1e-3


def test_probabilities_of_classes_are_calibrated():
    from bayou.metrics import expected_calibration_error

    corpus, _ = sample_med_lda(1500, 6, 80, n_classes=4, beta=0.05, noise=0.6, seed=5)
    model = MedLDAClassifier(n_topics=8, n_sweeps=20, random_state=0).fit(corpus[:700])
    truth = corpus[700:].labels.toarray() > 0
    found = expected_calibration_error(model.predict_proba(corpus[700:]), truth)
    print(f"expected calibration error {found:.3f}, share {model.response_.share:.2f}")
    assert found < 0.06


def test_files_keep_probabilities_of_classes(tmp_path):
    model = MedLDAClassifier(**SHORT).fit(CLASSES)
    assert model.response_.power is not None
    model.save(tmp_path / "m")
    again = bayou.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(CLASSES), model.predict_proba(CLASSES))
