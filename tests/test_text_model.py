"""Raw strings in, topics out, one file in between."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import bayou
from bayou import LDA, Corpus, DataError, ModelFileError, OnlineLDA, TextModel, Vectorizer
from bayou.data import container

FRUIT = ["apple pear plum pear", "plum apple cherry", "pear cherry apple apple", ""]
BEAST = ["wolf bear lynx", "lynx wolf otter wolf", "bear otter lynx", "the wolf and the bear"]
TEXTS = (FRUIT + BEAST) * 6


def text_model(**how):
    return TextModel(
        estimator=LDA(n_topics=2, random_state=0, **how),
        vectorizer=Vectorizer(stop_words="english"),
    )


@pytest.fixture(scope="module")
def model():
    return text_model().fit(TEXTS)


def test_topics_of_raw_strings(model):
    shares = model.transform(["a pear, a plum", "The WOLF!", ""])
    assert shares.shape == (3, 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert shares[0].argmax() != shares[1].argmax()
    beasts = model.top_terms(4)[int(shares[1].argmax())]
    assert set(beasts) == {"wolf", "bear", "lynx", "otter"}
    assert model.score(TEXTS) == pytest.approx(-np.log(model.perplexity(TEXTS)))
    assert model.components_.shape == (2, len(model.vocabulary_))
    assert list(model.get_feature_names_out()) == ["lda0", "lda1"]


def test_it_is_the_estimator_on_the_vectorisers_counts(model):
    vectorizer = Vectorizer(stop_words="english")
    counts = vectorizer.fit_transform(TEXTS)
    alone = LDA(n_topics=2, random_state=0).fit(
        Corpus.from_matrix(counts, vocabulary=vectorizer.vocabulary_)
    )
    np.testing.assert_array_equal(alone.components_, model.components_)
    np.testing.assert_array_equal(alone.transform(counts), model.transform(TEXTS))


def test_texts_may_come_from_a_generator_and_are_read_once(model):
    shares = text_model().fit_transform(text for text in TEXTS)
    np.testing.assert_array_equal(shares, model.transform(text for text in TEXTS))


def test_a_corpus_will_do_where_its_terms_have_names(model):
    corpus = Corpus.from_text(TEXTS, stop_words="english")
    other = text_model().fit(corpus)
    np.testing.assert_array_equal(other.components_, model.components_)
    np.testing.assert_array_equal(other.transform(corpus), other.transform(TEXTS))
    with pytest.raises(DataError, match="no names"):
        text_model().fit(Corpus.from_matrix([[1, 2]]))


def test_parameters_in_the_manner_of_scikit_learn():
    model = text_model()
    params = model.get_params()
    assert params["estimator__n_topics"] == 2
    assert params["vectorizer__stop_words"] == "english"
    twin = clone(model).set_params(estimator__n_topics=3, vectorizer__min_df=2)
    assert (twin.estimator.n_topics, model.estimator.n_topics) == (3, 2)
    assert twin.estimator is not model.estimator
    model.fit(TEXTS)
    assert not hasattr(model.estimator, "posterior_")  # fit works on a copy
    with pytest.raises(NotFittedError):
        TextModel().transform(["text"])


def test_search_and_pipeline():
    search = GridSearchCV(text_model(), {"estimator__n_topics": [1, 2]}, cv=2).fit(TEXTS)
    assert search.best_params_ == {"estimator__n_topics": 2}
    assert make_pipeline(text_model()).fit(TEXTS).transform(TEXTS[:1]).shape == (1, 2)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.transform(TEXTS), search.best_estimator_.transform(TEXTS))


def test_methods_are_those_of_the_estimator():
    batch, online = TextModel(estimator=LDA()), TextModel(estimator=OnlineLDA())
    assert not hasattr(batch, "partial_fit")
    assert hasattr(online, "partial_fit")
    assert not hasattr(batch, "predict")
    assert hasattr(TextModel(), "sample")


def test_a_stream_keeps_its_first_vocabulary_and_counts_what_it_does_not_know():
    model = TextModel(estimator=OnlineLDA(n_topics=2, random_state=0))
    model.partial_fit(TEXTS)
    assert (model.n_known_, model.n_unknown_) == (0, 0)
    terms = model.vocabulary_
    model.partial_fit(["wolf badger", "badger stoat wolf pear"])
    assert (model.n_known_, model.n_unknown_) == (3, 3)
    assert model.vocabulary_ == terms
    assert model.estimator_.n_seen_ == len(TEXTS) + 2
    shares = [0.5, 0, 0]
    np.testing.assert_allclose(model.unknown_shares(["wolf badger", "", "pear"]), shares)
    corpus = Corpus.from_text(["wolf badger", "", "pear"])
    np.testing.assert_allclose(model.unknown_shares(corpus), shares)
    model.partial_fit(corpus)
    assert (model.n_known_, model.n_unknown_) == (5, 4)


def test_callbacks_are_those_that_were_given():
    class Tell:
        n = 0

        def __call__(self, info):
            self.n += 1

        def __deepcopy__(self, memo):
            raise AssertionError("a copy would tell nobody")

    tell = Tell()
    text_model(callbacks=[tell]).fit(TEXTS)
    assert tell.n > 0


def test_explanations_add_up(model):
    text = "A wolf, a wolf and a pear! Zebra."
    for explained, shares in zip(
        model.explain([text, "", "zebra"]), model.transform([text, "", "zebra"]), strict=True
    ):
        np.testing.assert_array_equal(explained.proportions, shares)
        total = explained.base + explained.parts.sum(axis=0)
        np.testing.assert_allclose(total, shares, rtol=1e-5)
    first = model.explain([text])[0]
    assert first.terms == ("wolf", "pear")
    assert first.counts.tolist() == [2, 1]
    assert first.unknown == ("zebra",)
    np.testing.assert_allclose(first.topics.sum(axis=1), 1.0)
    assert first.topics[0].argmax() != first.topics[1].argmax()


def test_explanations_add_up_for_long_documents():
    texts = [f"{a} {b} {c}" for a in "uvwxyz" for b in "abcdef" for c in "klmnop"]
    vectorizer = Vectorizer(min_length=1)
    model = TextModel(estimator=LDA(n_topics=7, random_state=3), vectorizer=vectorizer).fit(texts)
    long = " ".join(texts)
    explained = model.explain([long])[0]
    total = explained.base + explained.parts.sum(axis=0)
    np.testing.assert_allclose(total, model.transform([long])[0], rtol=1e-5)


def test_explanations_add_up_with_very_many_topics():
    texts = [f"{a}{b} {b}{c} {c}{a}" for a in "uvwxyz" for b in "abcdef" for c in "klmnop"]
    estimator = OnlineLDA(n_topics=600, n_passes=1, random_state=3)  # unused topics are dropped
    model = TextModel(estimator=estimator).fit(texts)
    explained = model.explain([" ".join(texts[:9]), texts[0]])
    for one, shares in zip(
        explained, model.transform([" ".join(texts[:9]), texts[0]]), strict=True
    ):
        np.testing.assert_allclose(one.base + one.parts.sum(axis=0), shares, atol=1e-5)


@pytest.mark.parametrize("kind", [LDA, OnlineLDA])
def test_one_file_and_back(kind, tmp_path):
    vectorizer = Vectorizer(stop_words={"the", "and"}, ngrams=(1, 2), min_df=2, max_df=0.9)
    model = TextModel(estimator=kind(n_topics=3, random_state=1), vectorizer=vectorizer)
    model.fit(TEXTS)
    model.save(tmp_path / "a.bayou")
    again = bayou.load(tmp_path / "a.bayou")
    assert isinstance(again, TextModel)
    np.testing.assert_array_equal(again.transform(TEXTS), model.transform(TEXTS))
    assert again.vectorizer.ngrams == (1, 2)
    assert again.estimator.n_topics == 3
    assert again.vectorizer_.stop_words_ == {"the", "and"}
    again.save(tmp_path / "b.bayou")
    assert (tmp_path / "a.bayou").read_bytes() == (tmp_path / "b.bayou").read_bytes()
    assert container.peek(tmp_path / "a.bayou")["kind"] == "text-model"
    if kind is OnlineLDA:
        more = model.partial_fit(TEXTS[:5]).transform(TEXTS)
        np.testing.assert_array_equal(again.partial_fit(TEXTS[:5]).transform(TEXTS), more)
        again.save(tmp_path / "c.bayou")
        assert bayou.load(tmp_path / "c.bayou").n_known_ == model.n_known_ > 0


def test_threads_do_not_change_a_byte(tmp_path):
    for n in (1, 2, 3):
        text_model(n_threads=n).fit(TEXTS).save(tmp_path / f"{n}.bayou")
    files = {(tmp_path / f"{n}.bayou").read_bytes() for n in (1, 2, 3)}
    assert len(files) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vectorizer": None}, "vectoriser"),
        ({"vectorizer": {"colour": 1}}, "vectoriser"),
        ({"vectorizer": {"token_pattern": "("}}, "not a valid regular expression"),
        ({"vectorizer": {"ngrams": [2, 1]}}, "ngrams"),
        ({"vectorizer": {"ngrams": 2}}, "cannot be used"),
        ({"vectorizer": {"min_df": "x"}}, "min_df"),
        ({"estimator": None}, "incomplete"),
        ({"estimator": {"estimator": "Nope"}}, "Nope"),
        ({"met": {"known": "x"}}, "token counts"),
    ],
)
def test_files_that_cannot_be_meant_are_refused(model, tmp_path, change, message):
    path = tmp_path / "m.bayou"
    model.save(path)
    arrays, manifest = container.load(path)
    container.save(path, arrays, manifest | change)
    with pytest.raises(ModelFileError, match=message):
        bayou.load(path)


def test_wrong_parts_are_refused_at_the_door():
    with pytest.raises(DataError, match="must be a bayou estimator"):
        TextModel(estimator="lda").fit(TEXTS)
    with pytest.raises(DataError, match=r"must be a bayou\.Vectorizer"):
        TextModel(vectorizer="words").fit(TEXTS)
    with pytest.raises(DataError, match="list of texts"):
        TextModel().fit("one text")
    with pytest.raises(DataError, match="no terms"):
        TextModel().fit(["", ""])


KINDS = ["fruit"] * 4 + ["beast"] * 4
LABELS = [["fruit", "sweet"]] * 3 + [["fruit"]] + [["beast", "wild"]] * 3 + [["beast"]]
NUMBERS = [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 1.0]
SUPERVISED = {
    "class": (bayou.MedLDAClassifier, KINDS * 6),
    "labels": (bayou.MedLDAClassifier, LABELS * 6),
    "number": (bayou.MedLDARegressor, NUMBERS * 6),
}


@pytest.fixture(scope="module", params=list(SUPERVISED))
def supervised(request):
    kind, y = SUPERVISED[request.param]
    estimator = kind(n_topics=4, n_sweeps=8, n_kept=3, random_state=0)
    vectorizer = Vectorizer(stop_words="english")
    return request.param, TextModel(estimator=estimator, vectorizer=vectorizer).fit(TEXTS, y), y


def test_answers_for_raw_strings(supervised):
    kind, model, y = supervised
    new = ["a pear, a plum", "The WOLF!", "nobody knows this", ""]
    said = model.predict(new)
    score = model.estimator_.predict if kind == "number" else model.estimator_.decision_function
    scores = score(model.corpus(new)).reshape(len(new), -1)
    explained = model.explain(new)
    np.testing.assert_allclose([one.scores for one in explained], scores, atol=1e-5)
    assert explained[2].terms == explained[3].terms == ()
    if kind == "number":
        assert said[1] > said[0]
        mean, std = model.predict(new, return_std=True)
        np.testing.assert_array_equal(mean, said)
        low, high = model.predict_interval(new, level=0.8)
        assert (std > 0).all()
        assert ((low < mean) & (mean < high)).all()
        assert not hasattr(model, "predict_proba")
        assert not hasattr(model, "decision_function")
        assert model.score(TEXTS, y) > 0.3
        return
    chances = model.predict_proba(new)
    assert chances.shape == (4, len(model.classes_))
    assert not hasattr(model, "predict_interval")
    labels = model.predict_labels(new)
    assert (labels[0][0], labels[1][0]) == ("fruit", "beast")
    assert model.score(TEXTS, y) > 0.7
    if kind == "class":
        assert said[:2].tolist() == ["fruit", "beast"]
        np.testing.assert_array_equal(model.decision_function(new) > 0, said == model.classes_[1])
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    else:
        assert said.shape == (4, 4)


def test_a_supervised_text_model_in_one_file(supervised, tmp_path):
    _, model, _ = supervised
    model.save(tmp_path / "m.bayou")
    again = bayou.load(tmp_path / "m.bayou")
    np.testing.assert_array_equal(again.predict(TEXTS), model.predict(TEXTS))
    np.testing.assert_array_equal(again.transform(TEXTS), model.transform(TEXTS))
    again.save(tmp_path / "n.bayou")
    assert (tmp_path / "n.bayou").read_bytes() == (tmp_path / "m.bayou").read_bytes()


def test_scikit_learn_sees_what_is_inside(supervised):
    kind, model, _ = supervised
    assert is_classifier(model) == (kind != "number")
    assert is_regressor(model) == (kind == "number")
    assert not is_classifier(TextModel())
    with pytest.raises(DataError, match="requires y"):
        clone(model).fit(TEXTS)


def test_cross_validation_of_texts_with_classes():
    estimator = bayou.MedLDAClassifier(n_topics=4, n_sweeps=5, n_kept=2, random_state=0)
    found = cross_val_score(TextModel(estimator=estimator), TEXTS, KINDS * 6, cv=2)
    assert found.mean() > 0.7


def test_a_frame_with_one_column_of_texts_is_read_row_by_row():
    frame = pd.DataFrame(
        {"id": range(4), "text": ["apple pear", "pear plum", "wolf bear", "lynx wolf"]}
    )
    model = TextModel(estimator=LDA(n_topics=2, n_sweeps=5, random_state=0)).fit(frame[["text"]])
    assert len(model.vocabulary_) == 6
    assert model.transform(frame[["text"]]).shape == (4, 2)
    with pytest.raises(DataError, match="a table of 2 columns"):
        model.transform(frame)
