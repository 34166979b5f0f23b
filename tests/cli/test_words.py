"""Options for words, which `fit` and `track` share."""

import json

import pytest

import bayou
from bayou.cli.options import WordOptions, flags_of
from bayou.cli.verbs.fit import Words
from bayou.cli.verbs.track import NewTracker

TEXTS = [
    "Mr wolf said the bear applause",
    "two bears said pear plum applause",
    "wolf bear plum pear",
]


@pytest.fixture
def speeches(tmp_path):
    """Thirty dated texts, and a file of own stop words beside them."""
    rows = [{"text": TEXTS[i % 3], "date": f"2024-{i // 10 + 1:02}-05"} for i in range(30)]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "own.txt").write_text("applause\n")
    return "s.jsonl"


VERBS = (
    ("fit", "-k", "2", "--max-df", "1.0"),
    ("track", "-k", "2", "--min-df", "2", "--time", "date"),
)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_own_stop_words_by_file(invoke, speeches, tmp_path, verb):
    invoke(verb[0], speeches, *verb[1:], "--stop-words", "english-long+own.txt", "-o", "m.bayou")
    (tmp_path / "own.txt").unlink()
    model = bayou.load(tmp_path / "m.bayou")
    assert sorted(model.vocabulary_.terms) == ["bear", "bears", "pear", "plum", "wolf"]
    assert {"applause", "mr", "the"} <= model.vectorizer_.stop_words_


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_runs_of_words(invoke, speeches, tmp_path, verb):
    invoke(verb[0], speeches, *verb[1:], "--ngrams", "2", "-o", "m.bayou")
    model = bayou.load(tmp_path / "m.bayou")
    assert "wolf bear" in model.vocabulary_.terms
    assert model.vectorizer_.ngrams == (1, 2)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_a_missing_file_of_stop_words(invoke, speeches, verb):
    done = invoke(verb[0], speeches, *verb[1:], "--stop-words", "english+none.txt", code=1)
    assert "none.txt: the file of stop words cannot be read" in done.stderr


def test_both_verbs_have_the_shared_options():
    shared = flags_of(WordOptions).items()
    assert shared <= flags_of(Words).items()
    assert shared <= flags_of(NewTracker).items()


def test_fit_prints_the_common_words_that_it_drops(invoke, tmp_path):
    # wolf: 7 of 10 documents, in bursts; bear: 7 of 10 documents, once each
    texts = ["wolf wolf wolf wolf bear pear"] * 7 + ["plum pear"] * 3
    (tmp_path / "t.csv").write_text("text\n" + "\n".join(texts))
    done = invoke("fit", "t.csv", "-k", "2", "-o", "m.bayou")
    told = "Dropped 3 words in more than 50% of the documents: wolf, "
    assert told in done.stderr
    assert "--max-df 1.0 keeps them" in done.stderr
    kept = invoke("fit", "t.csv", "-k", "2", "--max-df", "1.0", "-o", "n.bayou")
    assert "Dropped" not in kept.stderr


def test_a_streaming_model_prints_them_too(invoke, tmp_path):
    texts = ["wolf wolf wolf wolf bear pear"] * 7 + ["plum pear"] * 3
    lines = "\n".join(json.dumps({"text": text}) for text in texts)
    done = invoke("fit", "-", "-m", "online-lda", "-k", "2", "-o", "m.bayou", input=lines)
    assert "Dropped 3 words in more than 50% of the documents: wolf, " in done.stderr
