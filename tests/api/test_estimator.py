"""What all estimators share: the door, names, files, and life among scikit-learn's tools."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from tests.reference.blocks import block_corpus

import bayou
from bayou import LDA, Corpus, DataError, OnlineLDA, Vectorizer
from bayou.inference.lda.prior import resolve_alpha
from bayou.testing.cases import file_bytes

CORPUS, _ = block_corpus(n_docs=60)
FRAME = pd.DataFrame(CORPUS.counts.toarray(), columns=list(CORPUS.vocabulary))
MODELS = [
    LDA(n_topics=3, random_state=0),
    OnlineLDA(n_topics=3, random_state=0, n_passes=8, batch_size=10),
]
TEXTS = ["cats and dogs and birds", "a dog barks at cats", "stocks rose and bonds fell"] * 8

each_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


def fitted(model, X=CORPUS):
    return clone(model).fit(X)


# -- among scikit-learn's tools ------------------------------------------------------------------


@each_model
def test_pipelines(model):
    y = np.arange(24) % 3 == 2
    pipe = make_pipeline(Vectorizer(), clone(model), LogisticRegression()).fit(TEXTS, y)
    assert pipe.score(TEXTS, y) > 0.6
    by_hand = clone(model).fit(Vectorizer().fit_transform(TEXTS))
    np.testing.assert_array_equal(
        pipe[:-1].transform(TEXTS), by_hand.transform(Vectorizer().fit_transform(TEXTS))
    )
    other = make_pipeline(CountVectorizer(), clone(model)).fit(TEXTS)
    assert other.transform(TEXTS).shape == (24, 3)


@each_model
def test_grid_search(model):
    search = GridSearchCV(clone(model), {"n_topics": [1, 3], "alpha": [0.1, 1.0]}, cv=2)
    search.fit(CORPUS.counts)
    assert search.best_params_["n_topics"] == 3
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@each_model
def test_output_as_frames(model):
    names = [f"{type(model).__name__.lower()}{k}" for k in range(3)]
    plain = fitted(model).transform(CORPUS)
    for kind, frame in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        out = fitted(model).set_output(transform=kind).transform(CORPUS)
        assert isinstance(out, frame)
        assert list(out.columns) == names
        np.testing.assert_array_equal(out.to_numpy(), plain)
    assert list(fitted(model).get_feature_names_out()) == names


@each_model
def test_frames_keep_their_index(model):
    indexed = FRAME.set_index(np.arange(60) * 10)
    out = clone(model).set_output(transform="pandas").fit(indexed).transform(indexed)
    assert list(out.index) == list(indexed.index)


# -- names ---------------------------------------------------------------------------------------


@each_model
def test_frames_name_the_terms(model):
    by_frame = fitted(model, FRAME)
    assert list(by_frame.vocabulary_) == list(FRAME.columns)
    np.testing.assert_array_equal(by_frame.components_, fitted(model).components_)
    np.testing.assert_array_equal(
        by_frame.transform(FRAME), fitted(model, pl.from_pandas(FRAME)).transform(FRAME)
    )


@each_model
def test_a_frame_is_matched_by_name_by_a_model_of_named_terms(model):
    mixed = FRAME[FRAME.columns[::-1]].assign(extra=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = fitted(model).transform(mixed)
    np.testing.assert_array_equal(got, fitted(model).transform(CORPUS))


@each_model
def test_a_model_of_a_frame_remembers_its_columns_through_a_file(model, tmp_path):
    first = fitted(model, FRAME)
    first.save(tmp_path / "m")
    back = bayou.load(tmp_path / "m")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(back.transform(FRAME), first.transform(FRAME))
    for fit_model in (first, back):
        with pytest.raises(ValueError, match="feature names should match"):
            fit_model.transform(FRAME[FRAME.columns[::-1]])
    assert list(back.feature_names_in_) == list(FRAME.columns)
    assert file_bytes(back) == file_bytes(first)


@each_model
def test_a_corpus_after_a_frame_forgets_the_frame(model):
    refitted = fitted(model, FRAME).fit(CORPUS)
    assert not hasattr(refitted, "feature_names_in_")
    assert file_bytes(refitted) == file_bytes(fitted(model))


@each_model
def test_no_terms_in_common_is_no_terms(model):
    fit_model = fitted(model)
    other = Corpus.from_tokens([["quite"], ["different"]])
    prior = fit_model.alpha_ / fit_model.alpha_.sum()
    np.testing.assert_allclose(fit_model.transform(other), [prior, prior])
    none = Corpus.from_matrix(np.zeros((2, 0)), vocabulary=[])
    np.testing.assert_allclose(fit_model.transform(none), [prior, prior])


@each_model
def test_top_terms(model):
    fit_model = fitted(model)
    tops = fit_model.top_terms(4)
    assert [len(t) for t in tops] == [4, 4, 4]
    for k, terms in enumerate(tops):
        places = [CORPUS.vocabulary.index(t) for t in terms]
        assert places[0] == np.argmax(fit_model.components_[k])
        assert (np.diff(fit_model.components_[k][places]) <= 0).all()
    assert fit_model.top_terms(0) == [[], [], []]
    assert len(fit_model.top_terms(10**6)[0]) == CORPUS.n_terms
    assert fitted(model, CORPUS.counts).top_terms(1)[0][0].startswith("x")
    with pytest.raises(ValueError, match="n must be a whole number"):
        fit_model.top_terms(-1)


@each_model
def test_terms_of_equal_probability_come_in_the_order_of_the_columns(model):
    fit_model = fitted(model, np.ones((12, 7)))
    for terms, topic in zip(fit_model.top_terms(7), fit_model.components_, strict=True):
        order = np.argsort(-topic, kind="stable")
        assert terms == [f"x{v}" for v in order]


@each_model
def test_before_a_fit_there_is_nothing_to_read(model):
    fresh = clone(model)
    for name in ("alpha_", "beta_", "components_", "vocabulary_", "scores_"):
        with pytest.raises(NotFittedError, match=f"{type(model).__name__} instance is not fitted"):
            getattr(fresh, name)
        assert not hasattr(fresh, name)
    for call in (fresh.transform, fresh.score, fresh.sample, fresh.interval, fresh.perplexity):
        with pytest.raises(NotFittedError):
            call(CORPUS)


@each_model
def test_what_goes_beside_the_counts_survives_alignment(model):
    fit_model = fitted(model)
    names = list(CORPUS.vocabulary)
    n_docs = CORPUS.n_docs
    other = Corpus.from_matrix(
        CORPUS.counts[:, ::-1],
        vocabulary=names[::-1],
        labels=[["a", "b"], ["a"], []] * (n_docs // 3),
        targets=np.arange(n_docs),
        times=[2000] * n_docs,
        ids=map(str, range(n_docs)),
    )
    got = fit_model._corpus(other, reset=False)
    np.testing.assert_array_equal(got.counts.toarray(), CORPUS.counts.toarray())
    np.testing.assert_array_equal(got.labels.toarray(), other.labels.toarray())
    np.testing.assert_array_equal(got.targets, other.targets)
    np.testing.assert_array_equal(got.times, other.times)
    assert (got.label_names, got.ids) == (other.label_names, other.ids)


# -- predictions ---------------------------------------------------------------------------------


@each_model
def test_perplexity_is_exp_of_minus_the_log_likelihood(model):
    fit_model = fitted(model)
    value = fit_model.log_likelihood(CORPUS)
    assert fit_model.perplexity(CORPUS) == pytest.approx(np.exp(-value))
    assert fit_model.score(CORPUS) == value
    assert 1 < fit_model.perplexity(CORPUS) < CORPUS.n_terms
    assert np.isnan(fit_model.score(np.zeros((3, CORPUS.n_terms))))


@each_model
def test_draws_scatter_around_the_proportions(model):
    fit_model = fitted(model)
    draws = fit_model.sample(CORPUS, n_samples=200, burn_in=20)
    assert draws.shape == (200, 60, 3)
    assert draws.std(axis=0).max() > 0
    gap = np.abs(draws.mean(axis=0) - fit_model.transform(CORPUS))
    assert gap.max() < 0.05
    for bad in ({"n_samples": 0}, {"n_samples": 1.5}, {"burn_in": -1}, {"burn_in": None}):
        with pytest.raises(ValueError, match="must be a whole number"):
            fit_model.sample(CORPUS, **bad)


@each_model
def test_no_documents_are_refused(model):
    with pytest.raises(DataError, match="no documents"):
        fitted(model).transform(CORPUS[:0])
    with pytest.raises(ValueError):
        fitted(model).transform(np.zeros((0, CORPUS.n_terms)))


# -- seeds ---------------------------------------------------------------------------------------


@each_model
def test_random_states(model):
    by_state = [
        fitted(clone(model).set_params(random_state=np.random.RandomState(3))) for _ in range(2)
    ]
    assert file_bytes(by_state[0]) == file_bytes(by_state[1])
    seed = by_state[0].seed_
    by_seed = fitted(clone(model).set_params(random_state=seed))
    np.testing.assert_array_equal(by_seed.components_, by_state[0].components_)
    unseeded = [fitted(clone(model).set_params(random_state=None)) for _ in range(2)]
    assert unseeded[0].seed_ != unseeded[1].seed_
    assert fitted(clone(model).set_params(random_state=np.int32(7))).seed_ == 7
    assert fitted(clone(model).set_params(random_state=-1)).seed_ == 2**32 - 1


def test_alpha():
    np.testing.assert_array_equal(resolve_alpha(None, 3), [0.1] * 3)
    np.testing.assert_array_equal(resolve_alpha(2, 2), [2.0, 2.0])
    given = np.array([1.0, 2.0])
    out = resolve_alpha(given, 2)
    out[0] = 9.0
    assert given[0] == 1.0
