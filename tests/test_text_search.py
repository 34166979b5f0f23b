"""Documents of a topic, of a label and like a text."""

import numpy as np
import pytest
from tests.cli.samples import BEAST, FRUIT, texts

import bayou
from bayou.data.errors import DataError
from bayou.text_search import _score_parts, make_query, score_texts

LABELS = ["beast", "fruit"] * 60


def fit(estimator, y=None):
    return bayou.TextModel(estimator=estimator).fit(list(texts()), y)


@pytest.fixture(scope="module")
def lda():
    return fit(bayou.LDA(n_topics=3, random_state=0))


@pytest.fixture(scope="module")
def supervised():
    return {
        "binary": fit(
            bayou.MedLDAClassifier(n_topics=3, n_sweeps=6, n_kept=3, random_state=0), LABELS
        ),
        "labels": fit(
            bayou.LabeledLDA(n_sweeps=6, n_kept=3, random_state=0), [[y] for y in LABELS]
        ),
        "topics over labels": fit(
            bayou.FastDependencyLDA(n_topics=2, n_sweeps=6, n_kept=3, random_state=0),
            [[y] for y in LABELS],
        ),
    }


def test_best_first_by_the_share_of_the_topic(lda):
    corpus = list(texts(2500, seed=1))  # more than are scored at once
    found = lda.find(corpus, topic=1, top=7)
    shares = lda.transform(corpus)[:, 1]
    assert [one.position for one in found] == (-shares).argsort(kind="stable")[:7].tolist()
    np.testing.assert_allclose([one.score for one in found], np.sort(shares)[::-1][:7])


def test_likeness_is_one_for_the_text_itself(lda):
    corpus = list(texts(50, seed=2))
    found = lda.find(corpus, like=corpus[17], top=1)[0]
    assert found.score == pytest.approx(1.0)
    assert lda.find(corpus, like="wolf bear lynx", top=1)[0].position % 2 == 0


@pytest.mark.parametrize("asked", [{"topic": 2}, {"like": "wolf apple apple"}])
def test_contributions_add_up_to_the_score(lda, asked):
    text = next(iter(texts(1, seed=3)))
    query = make_query(lda, asked.get("topic"), None, asked.get("like"))
    (found,) = lda.explain([text])
    prior = found.base[2] if query.like is None else 0.0
    if query.like is not None:
        prior = (found.base * np.sqrt(query.like / found.proportions)).sum()
    total = prior + _score_parts(found, query).sum()
    assert total == pytest.approx(score_texts(lda, [text], query)[0], abs=2e-3)


@pytest.mark.parametrize("kind", ["binary", "labels", "topics over labels"])
@pytest.mark.parametrize(
    ("label", "words", "others"), [("beast", BEAST, FRUIT), ("fruit", FRUIT, BEAST)]
)
def test_labels(supervised, kind, label, words, others):
    model, corpus = supervised[kind], list(texts(60, seed=4))
    long = " ".join(others * 3) + " filler words here " * 10 + " ".join(words * 6)
    found = model.find([*corpus, long], label=label, top=61, width=60)
    scores = model.predict_proba([*corpus, long])[:, list(model.classes_).index(label)]
    assert [one.score for one in found] == sorted(scores.tolist(), reverse=True)
    passage = next(one.passage.text for one in found if one.position == 60)
    assert set(passage.split()) <= set(words) | {"here", "words", "filler"}
    assert set(passage.split()) & set(words)


@pytest.mark.parametrize("kind", ["binary", "labels", "topics over labels"])
def test_topics_of_supervised_models(supervised, kind):
    model, corpus = supervised[kind], list(texts(40, seed=5))
    found = model.find(corpus, topic=0, top=3)
    assert [one.position for one in found] == (-model.transform(corpus)[:, 0]).argsort(
        kind="stable"
    )[:3].tolist()
    assert all(one.passage.text for one in found)


def test_texts_without_known_words_are_not_found(lda):
    assert [one.position for one in lda.find(["zebra", "", "wolf"], topic=0)] == [2]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "give one of topic, label and like"),
        ({"topic": 1, "like": "wolf"}, "got topic and like"),
        ({"topic": 3}, "has no topic 3; its topics are 0 to 2"),
        ({"label": "beast"}, "LDA predicts no labels"),
        ({"like": "zebra"}, "no word of 'zebra'"),
        ({"topic": 1, "top": 0}, "top must be a whole number"),
    ],
)
def test_errors_say_what_to_do(lda, asked, message):
    with pytest.raises(DataError, match=message):
        lda.find(["wolf"], **asked)


def test_an_unknown_label_is_named_with_the_known_ones(supervised):
    with pytest.raises(DataError, match="no label 'zebra'; its labels are beast, fruit"):
        supervised["binary"].find(["wolf"], label="zebra")
