"""Words and labels that come and go while a model learns."""

import random

import numpy as np
import pytest

import bayou
from bayou import (
    LDA,
    BayesPAClassifier,
    Corpus,
    DataError,
    Growth,
    OnlineDependencyLDA,
    OnlineHDP,
    OnlineLabeledHDP,
    OnlineLabeledLDA,
    OnlineLDA,
    OnlineMedHDPClassifier,
    OnlineMedLDAClassifier,
    OnlineMedLDARegressor,
    SpectralLDA,
    SpectralLeader,
    StepwiseEM,
    TextModel,
    Vocabulary,
)
from bayou.api.streaming import check_vocabulary_grows
from bayou.testing.cases import file_bytes

FRUIT, BEAST, SPACE = (
    ["apple", "pear", "plum", "cherry"],
    ["wolf", "bear", "lynx", "otter"],
    ["rocket", "moon", "mars", "orbit"],
)
GROWTH = Growth(max_terms=40, min_docs=3, memory=16, every=16)


def texts(words, n, seed):
    draw = random.Random(seed)
    return [" ".join(draw.choices(words, k=8)) for _ in range(n)]


FIRST = [t for both in zip(texts(FRUIT, 40, 0), texts(BEAST, 40, 1), strict=True) for t in both]
LATER = [t for both in zip(texts(FRUIT, 80, 2), texts(SPACE, 80, 3), strict=True) for t in both]
KINDS = ["fruit", "beast"] * 40
MORE_KINDS = ["fruit", "space"] * 80


def estimators():
    yield OnlineLDA(n_topics=3, batch_size=16, random_state=0)
    yield OnlineLDA(n_topics=3, batch_size=16, random_state=0, inference="hybrid")
    yield OnlineMedLDAClassifier(n_topics=4, batch_size=10, random_state=0)
    yield OnlineHDP(n_topics=8, batch_size=16, random_state=0)
    yield OnlineHDP(n_topics=8, batch_size=16, random_state=0, inference="truncation-free")
    yield StepwiseEM(n_topics=3, batch_size=16, random_state=0)
    yield OnlineMedHDPClassifier(n_topics=4, batch_size=10, random_state=0)
    yield from label_models()
    yield OnlineMedLDARegressor(n_topics=4, batch_size=10, random_state=0)
    yield BayesPAClassifier(batch_size=7, random_state=0)


def label_models():
    yield OnlineLabeledLDA(batch_size=10, random_state=0, rule="cardinality")
    yield OnlineDependencyLDA(n_topics=2, n_chains=2, batch_size=10, random_state=0)
    yield OnlineLabeledHDP(batch_size=10, random_state=0)


def answers(estimator, kinds):
    if isinstance(estimator, OnlineLDA | OnlineHDP | StepwiseEM):
        return None
    if isinstance(estimator, OnlineMedLDARegressor):
        return [float(kind == "fruit") for kind in kinds]
    if isinstance(estimator, OnlineLabeledLDA | OnlineDependencyLDA):
        return [[kind, "any"] for kind in kinds]
    return kinds


def grown(estimator, cuts=(), growth=GROWTH):
    model = TextModel(estimator=estimator, growth=growth)
    model.partial_fit(FIRST, answers(estimator, KINDS))
    y, ends = answers(estimator, MORE_KINDS), [*cuts, len(LATER)]
    for lo, hi in zip([0, *cuts], ends, strict=True):
        model.partial_fit(LATER[lo:hi], None if y is None else y[lo:hi])
    return model


@pytest.mark.parametrize("estimator", list(estimators()), ids=lambda e: repr(e)[:40])
def test_new_words_get_columns_and_dead_words_lose_theirs(estimator, tmp_path):
    model = grown(estimator)
    known = set(model.vocabulary_)
    assert known >= {*FRUIT, *SPACE}
    assert not known & set(BEAST)
    report = model.vocabulary_report()
    assert (report.n_terms, report.n_added, report.n_dropped) == (8, 4, 4)
    assert report.unknown_share < 0.25
    assert model.estimator_.n_features_in_ == 8
    assert model.unknown_shares(["moon mars", "wolf"]).tolist() == [0.0, 1.0]
    model.save(tmp_path / "m.bayou")
    again = bayou.load(tmp_path / "m.bayou")
    assert again.vocabulary_report() == report
    y = answers(estimator, MORE_KINDS)
    assert file_bytes(again.partial_fit(LATER, y)) == file_bytes(model.partial_fit(LATER, y))


@pytest.mark.parametrize("estimator", list(estimators())[:-2], ids=lambda e: repr(e)[:40])
def test_the_calls_do_not_matter_where_they_are_whole_mini_batches(estimator):
    whole, cut = grown(estimator), grown(estimator, (16, 48, 96, 112))
    assert whole.vocabulary_ == cut.vocabulary_
    assert file_bytes(whole) == file_bytes(cut)


@pytest.mark.parametrize("estimator", list(label_models()), ids=lambda e: repr(e)[:40])
def test_labels_of_a_stream_may_be_cut_anywhere(estimator):
    assert file_bytes(grown(estimator)) == file_bytes(grown(estimator, (1, 2, 33, 34, 100, 159)))


def test_labels_that_come_with_new_words_are_told_by_them():
    model = grown(OnlineLabeledLDA(batch_size=10))
    assert model.predict_labels(["moon orbit mars"])[0][0] == "space"
    one = grown(OnlineLabeledHDP(batch_size=10, random_state=0))
    assert one.predict(["moon orbit mars", "plum pear"]).tolist() == ["space", "fruit"]


def test_the_vocabulary_does_not_depend_on_the_calls_at_all():
    one = grown(OnlineLDA(n_topics=3, batch_size=16, random_state=0))
    other = grown(OnlineLDA(n_topics=3, batch_size=16, random_state=0), (1, 2, 33, 34, 100, 159))
    assert one.vocabulary_ == other.vocabulary_
    assert one.account_.figures()["n_docs"] == other.account_.figures()["n_docs"] == 160


def test_labels_come_when_they_come():
    model = grown(OnlineMedLDAClassifier(n_topics=4, random_state=0, batch_size=10))
    assert sorted(model.classes_) == ["beast", "fruit", "space"]
    for words, kind in ((FRUIT, "fruit"), (SPACE, "space")):
        assert np.mean(model.predict(texts(words, 50, 9)) == kind) > 0.9
    lists = TextModel(estimator=OnlineMedLDAClassifier(n_topics=4, random_state=0), growth=GROWTH)
    lists.partial_fit(FIRST, [[kind] for kind in KINDS])
    lists.partial_fit(LATER, [[kind, "new"] for kind in MORE_KINDS])
    assert set(lists.classes_) == {"beast", "fruit", "space", "new"}


def test_a_new_term_has_the_prior_only_and_totals_are_those_of_the_terms_left():
    corpus = Corpus.from_text(FIRST)
    model = OnlineLDA(n_topics=3, batch_size=corpus.n_docs, random_state=0).partial_fit(corpus)
    before, state = model.components_, model.state_
    names = [term for term in corpus.vocabulary if term not in BEAST]
    keep = np.array([corpus.vocabulary.index(term) for term in names])
    gone = model._change_terms(keep, Vocabulary([*names, "moon"]))
    assert model.components_.shape == (3, 5)
    counts = state.scale * state.raw.astype(float)
    np.testing.assert_allclose(gone, counts.sum() - counts[keep].sum(), rtol=1e-6)
    np.testing.assert_allclose(model.state_.topic, counts[keep].sum(axis=0), rtol=1e-3, atol=1e-3)
    moon = model.components_[:, 4]
    np.testing.assert_allclose(moon, 0.01 / (model.posterior_.topic_tokens + 0.05), rtol=1e-5)
    kept = model.components_[:, :4] / model.components_[:, :4].sum(axis=1, keepdims=True)
    old = before[:, keep] / before[:, keep].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(kept, old, rtol=1e-3)


def without_beasts(corpus):
    names = [term for term in corpus.vocabulary if term not in BEAST][::-1]
    return np.array([corpus.vocabulary.index(term) for term in names]), names


@pytest.mark.parametrize("estimator", list(label_models()), ids=lambda e: repr(e)[:40])
def test_counts_of_labels_stay_with_the_terms_that_are_left(estimator):
    corpus = Corpus.from_text(FIRST)
    model = estimator.partial_fit(corpus, answers(estimator, KINDS))
    keep, names = without_beasts(corpus)
    before, docs = model.labels_.term_label.toarray(), model.labels_.label_docs
    gone = model._change_terms(keep, Vocabulary([*names, "moon"]))
    after = model.labels_.term_label.toarray()
    np.testing.assert_allclose(gone, before.sum() - before[keep].sum(), rtol=1e-5)
    np.testing.assert_allclose(after[:4], before[keep], rtol=1e-5)
    assert not after[4].any()
    np.testing.assert_allclose(model.labels_.tokens, after.sum(axis=0), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(model.labels_.label_docs, docs)


def test_labels_are_as_if_a_term_that_is_let_go_had_never_been():
    names = Vocabulary(sorted(FRUIT + SPACE))
    never = OnlineLabeledLDA(batch_size=10).partial_fit(
        Corpus.from_text(FIRST, vocabulary=names), KINDS
    )
    model = OnlineLabeledLDA(batch_size=10).partial_fit(Corpus.from_text(FIRST), KINDS)
    keep, fruit = without_beasts(Corpus.from_text(FIRST))
    model._change_terms(keep, Vocabulary([*fruit, *SPACE]))
    order = [list(model.vocabulary_).index(term) for term in names]
    later = Corpus.from_text(LATER, vocabulary=names)
    for _ in range(2):
        np.testing.assert_allclose(
            model.labels_.term_label.toarray()[order], never.labels_.term_label.toarray(), rtol=1e-5
        )
        for name in ("doubt", "lengths", "shares"):
            np.testing.assert_allclose(
                getattr(model.state_, name), getattr(never.state_, name), rtol=1e-5
            )
        for one in (model, never):
            one.partial_fit(later, MORE_KINDS)


@pytest.mark.parametrize("estimator", list(label_models()), ids=lambda e: repr(e)[:40])
def test_documents_that_wait_lose_the_terms_that_are_let_go(estimator):
    corpus = Corpus.from_text(FIRST[:77])
    model = estimator.partial_fit(corpus, answers(estimator, KINDS[:77]))
    n, keep = corpus.n_terms, np.arange(corpus.n_terms)
    shown = model.labels_.term_label.toarray()
    assert model._change_terms(keep, corpus.vocabulary) == 0.0
    np.testing.assert_array_equal(model.labels_.term_label.toarray(), shown)
    waiting = model.pending_.matrix(n).toarray()
    keep, names = without_beasts(corpus)
    model._change_terms(keep, Vocabulary(names))
    np.testing.assert_array_equal(model.pending_.matrix(4).toarray(), waiting[:, keep])
    assert model.pending_.n_docs == 7
    assert model.labels_.term_label.shape[0] == 4


def test_all_terms_may_be_new():
    corpus = Corpus.from_text(FIRST)
    later = Corpus.from_text(texts(SPACE, 40, 5))
    for estimator in list(estimators())[:-2]:
        model = estimator.partial_fit(corpus, *given(estimator, KINDS))
        gone = model._change_terms(np.zeros(0, np.int64), later.vocabulary)
        assert gone > 0.0
        model.partial_fit(later, *given(estimator, ["fruit", "beast"] * 20))
        assert np.isfinite(model.transform(later)).all()
        assert file_bytes(model)


def given(estimator, kinds):
    y = answers(estimator, kinds)
    return () if y is None else (y,)


def test_topics_that_lose_their_words_lose_their_tables():
    corpus = Corpus.from_text(FIRST)
    keep, names = without_beasts(corpus)
    for model in (
        OnlineHDP(n_topics=8, batch_size=16, random_state=0, inference="truncation-free"),
        OnlineMedHDPClassifier(n_topics=4, batch_size=10, random_state=0),
    ):
        model.partial_fit(corpus, *given(model, KINDS))
        before = model.state_
        model._change_terms(keep, Vocabulary(names))
        after = model.state_
        same = after.topic == before.topic
        np.testing.assert_array_equal(after.tables[same], before.tables[same])
        assert not same.all()
        assert (after.tables[~same] <= after.topic[~same]).all()


def test_a_mixture_keeps_distributions_over_the_terms_left():
    corpus = Corpus.from_text(FIRST)
    model = StepwiseEM(n_topics=3, batch_size=16, random_state=0, smoothing=0.0).partial_fit(corpus)
    before, weights = model.components_, model.weights_
    keep, names = without_beasts(corpus)
    gone = model._change_terms(keep, Vocabulary([*names, "moon"]))
    assert gone == corpus.n_tokens / 2 == model.state_.totals[3]
    old = before[:, keep] / before[:, keep].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.components_[:, :4], old, rtol=1e-5)
    assert (model.components_[:, 4] < 1e-20).all()
    np.testing.assert_array_equal(model.weights_, weights)


def test_nothing_moves_where_nothing_is_let_go():
    corpus = Corpus.from_text(FIRST[:77])
    model = OnlineMedLDAClassifier(n_topics=4, random_state=0).partial_fit(corpus, KINDS[:77])
    assert model.pending_.n_docs
    scores, order = model.decision_function(corpus), np.arange(corpus.n_terms)
    assert model._change_terms(order, corpus.vocabulary) == 0.0
    np.testing.assert_array_equal(model.decision_function(corpus), scores)
    model._change_terms(order, Vocabulary([*corpus.vocabulary, "moon"]))
    assert model.decision_function(corpus).shape == scores.shape


def test_linear_weights_of_a_term_stay_with_it():
    model = BayesPAClassifier(random_state=0, classifier="gibbs", average=True)
    corpus = Corpus.from_text(FIRST)
    model.partial_fit(corpus, KINDS)
    weights, constant = model.coef_, model.intercept_
    keep = np.arange(corpus.n_terms)[::-1][:5].copy()
    names = [corpus.vocabulary[v] for v in keep] + ["moon", "mars"]
    model._change_terms(keep, Vocabulary(names))
    np.testing.assert_array_equal(model.coef_[:, :5], weights[:, keep])
    assert not model.coef_[:, 5:].any()
    np.testing.assert_array_equal(model.intercept_, constant)
    full = BayesPAClassifier(classifier="gibbs", precision="full").partial_fit(corpus, KINDS)
    with pytest.raises(DataError, match="fixed number of columns"):
        full._change_terms(keep, Vocabulary(names))


def test_a_corpus_brings_its_own_words():
    model = TextModel(estimator=OnlineLDA(n_topics=3, batch_size=16, random_state=0), growth=GROWTH)
    model.partial_fit(Corpus.from_text(FIRST)).partial_fit(Corpus.from_text(LATER))
    same = grown(OnlineLDA(n_topics=3, batch_size=16, random_state=0))
    assert model.vocabulary_ == same.vocabulary_
    assert model.vocabulary_report() == same.vocabulary_report()


def test_a_closed_world_is_as_it_was():
    model = grown(OnlineLDA(n_topics=3, random_state=0), growth=None)
    assert set(model.vocabulary_) == {*FRUIT, *BEAST}
    assert model.account_ is None
    report = model.vocabulary_report()
    assert (report.n_terms, report.n_added, report.candidates) == (8, 0, [])
    assert report.unknown_share == pytest.approx(0.5)


def test_growth_may_begin_with_a_model_that_was_fitted(tmp_path):
    model = TextModel(estimator=OnlineLDA(n_topics=3, batch_size=16, random_state=0)).fit(FIRST)
    model.save(tmp_path / "m.bayou")
    again = bayou.load(tmp_path / "m.bayou").set_params(growth=GROWTH)
    again.partial_fit(LATER)
    assert set(again.vocabulary_) >= set(SPACE)


def test_sample_weights_are_cut_with_the_documents():
    model = TextModel(
        estimator=OnlineMedLDAClassifier(n_topics=4, random_state=0, batch_size=10), growth=GROWTH
    )
    model.partial_fit(FIRST, KINDS, sample_weight=np.ones(80))
    model.partial_fit(LATER, MORE_KINDS, sample_weight=np.ones(160))
    other = grown(OnlineMedLDAClassifier(n_topics=4, random_state=0, batch_size=10))
    np.testing.assert_array_equal(
        model.decision_function(LATER[:9]), other.decision_function(LATER[:9])
    )


def test_what_cannot_grow_says_so():
    with pytest.raises(DataError, match="LDA learns from a whole corpus at once"):
        TextModel(estimator=LDA(n_topics=2), growth=GROWTH).fit(FIRST)
    model = LDA(n_topics=2, n_sweeps=2).fit(Corpus.from_text(FIRST))
    for fixed, instead in (SpectralLeader(n_topics=2), "StepwiseEM"), (SpectralLDA(), "OnlineLDA"):
        with pytest.raises(DataError, match=f"vocabulary of .* cannot grow.*or use {instead}"):
            TextModel(estimator=fixed, growth=GROWTH).partial_fit(FIRST)
    closed = TextModel(estimator=SpectralLeader(n_topics=2)).partial_fit(FIRST)
    with pytest.raises(DataError, match="cannot grow"):
        closed.set_params(growth=GROWTH).partial_fit(LATER)
    with pytest.raises(DataError, match="vocabulary of LDA cannot grow"):
        check_vocabulary_grows(model)
    with pytest.raises(DataError, match=r"growth must be a bayou\.data\.Growth"):
        TextModel(estimator=OnlineLDA(n_topics=2), growth=5).partial_fit(FIRST)


def test_label_lists_of_different_lengths_follow_a_stream():
    model = TextModel(
        estimator=OnlineLabeledLDA(batch_size=16, random_state=0), growth=GROWTH
    ).partial_fit(FIRST, [["fruit", "food"], ["beast"]] * 40)
    model.partial_fit(LATER, [["fruit"], ["space", "far", "dark"]] * 80)
    assert set(model.classes_) == {"fruit", "food", "beast", "space", "far", "dark"}
