import sys
import types
import unicodedata

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from bayou.data import ENGLISH_STOP_WORDS, Corpus, DataError, Vectorizer, Vocabulary, tokenize

# every code point, lone surrogates and NUL among them
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("Hello, World!", ["hello", "world"]),
        ("a I x", []),
        ("don't snake_case x-ray", ["don", "snake", "case", "ray"]),
        ("cafe\u0301 caf\u00e9", ["café", "café"]),
        ("naïve Straße ЖУК", ["naïve", "straße", "жук"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("שָׁלוֹם عَرَبِيّ", [unicodedata.normalize("NFC", "שָׁלוֹם"), "عَرَبِيّ"]),
        ("bad\ud800end nul\x00byte", ["bad", "end", "nul", "byte"]),
        ("🐊🐊 crocodile👩‍👩‍👧", ["crocodile"]),
        ("covid19 2020", ["covid19", "2020"]),
    ],
)
def test_words_of_many_scripts(text, tokens):
    assert tokenize(text) == tokens


def test_parameters():
    assert tokenize("The Cat", lowercase=False) == ["The", "Cat"]
    assert tokenize("a bb ccc", min_length=1) == ["a", "bb", "ccc"]
    assert tokenize("a bb ccc", min_length=3) == ["ccc"]
    assert tokenize("aa bb cc", ngrams=(2, 3)) == ["aa bb", "bb cc", "aa bb cc"]
    assert tokenize("the cat the dog", stop_words=frozenset({"the"}), ngrams=(2, 2)) == ["cat dog"]
    assert tokenize("x1 y2", token_pattern=r"[a-z](\d)") == ["x1", "y2"]
    assert tokenize("ab", token_pattern=r"x*") == []


@pytest.mark.parametrize("ngrams", [(0, 1), (2, 1), (1,), 1, "12", (1.0, 2)])
def test_bad_ngrams(ngrams):
    with pytest.raises(DataError, match="ngrams"):
        tokenize("a", ngrams=ngrams)


def test_other_refusals():
    with pytest.raises(DataError, match="regular expression"):
        tokenize("a", token_pattern="(")
    with pytest.raises(DataError, match="min_length"):
        tokenize("a", min_length="2")
    with pytest.raises(DataError, match="expected text, got bytes"):
        tokenize(b"a")
    with pytest.raises(DataError, match='"english"'):
        Vectorizer(stop_words="klingon").fit(["a"])
    with pytest.raises(DataError, match="stop words must be strings"):
        Vectorizer(stop_words=[1]).fit(["a"])


@given(ANY_TEXT)
def test_any_text_gives_clean_tokens(text):
    for token in tokenize(text, ngrams=(1, 1)):
        assert len(token) >= 2
        token.encode("utf-8")
        assert "\x00" not in token
        assert not any(c.isspace() for c in token)
    assert tokenize(unicodedata.normalize("NFD", text), lowercase=False) == tokenize(
        unicodedata.normalize("NFC", text), lowercase=False
    )


@given(st.lists(ANY_TEXT, max_size=6))
def test_any_texts_make_a_corpus(texts):
    corpus = Corpus.from_text(texts, ngrams=(1, 2), min_length=1)
    assert corpus.n_docs == len(texts)
    expected = [len(tokenize(t, ngrams=(1, 2), min_length=1)) for t in texts]
    assert corpus.doc_lengths().tolist() == expected


def test_stop_words_are_function_words():
    assert 150 <= len(ENGLISH_STOP_WORDS) <= 220
    assert {"the", "and", "of", "is", "not", "you"} <= ENGLISH_STOP_WORDS
    assert all(word == word.lower() and word.isalpha() for word in ENGLISH_STOP_WORDS)


TEXTS = ["the cat sat", "the dog sat", "the bird", ""]


def test_vectorizer():
    vectorizer = Vectorizer()
    counts = vectorizer.fit_transform(TEXTS)
    assert isinstance(counts, sp.csr_array)
    assert counts.dtype == np.float32
    assert vectorizer.get_feature_names_out().tolist() == ["bird", "cat", "dog", "sat", "the"]
    np.testing.assert_array_equal(counts.toarray(), vectorizer.transform(TEXTS).toarray())
    np.testing.assert_array_equal(
        vectorizer.transform(["cat cat unseen", ""]).toarray(), [[0, 2, 0, 0, 0], [0] * 5]
    )


@pytest.mark.parametrize(
    ("limits", "terms"),
    [
        ({"min_df": 2}, ["sat", "the"]),
        ({"min_df": 0.5}, ["sat", "the"]),
        ({"max_df": 2}, ["bird", "cat", "dog", "sat"]),
        ({"max_df": 0.5}, ["bird", "cat", "dog", "sat"]),
        ({"max_df": 1}, ["bird", "cat", "dog"]),
        ({"min_df": 1.0}, []),
        ({"max_features": 2}, ["sat", "the"]),
        ({"max_features": 3}, ["bird", "sat", "the"]),
        ({"stop_words": "english"}, ["bird", "cat", "dog", "sat"]),
        ({"stop_words": ["sat"], "min_df": 2}, ["the"]),
        ({"vocabulary": ["sat", "cat"]}, ["sat", "cat"]),
    ],
)
def test_choice_of_terms(limits, terms):
    assert Vectorizer(**limits).fit(TEXTS).get_feature_names_out().tolist() == terms


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"min_df": -1}, "min_df"),
        ({"min_df": 1.5}, "min_df"),
        ({"max_df": "all"}, "max_df"),
        ({"max_df": True}, "max_df"),
        ({"max_features": 0}, "max_features"),
        ({"vocabulary": ["a"], "min_df": 2}, "leave them out"),
        ({"vocabulary": ["a"], "max_df": 1}, "leave them out"),
        ({"vocabulary": ["a"], "min_df": 1.0}, "leave them out"),
    ],
)
def test_refused_limits(params, why):
    with pytest.raises(DataError, match=why):
        Vectorizer(**params).fit(TEXTS)


@pytest.mark.parametrize("texts", ["one text", b"bytes", 3, ["a", None], [b"a"], [["a"]]])
def test_refused_texts(texts):
    with pytest.raises(DataError, match="expected"):
        Vectorizer().fit(texts)


def test_scikit_learn_conventions():
    vectorizer = Vectorizer(min_df=2, ngrams=(1, 2))
    assert vectorizer.get_params()["ngrams"] == (1, 2)
    assert clone(vectorizer).get_params() == vectorizer.get_params()
    assert repr(vectorizer) == "Vectorizer(min_df=2, ngrams=(1, 2))"
    with pytest.raises(NotFittedError):
        vectorizer.transform(TEXTS)
    pipeline = make_pipeline(Vectorizer(), MaxAbsScaler()).fit(TEXTS)
    assert pipeline.transform(TEXTS).shape == (4, 5)
    assert pipeline[:1].get_feature_names_out().tolist()[0] == "bird"
    assert Vectorizer().fit(t for t in TEXTS).vocabulary_ == Vocabulary(
        ["bird", "cat", "dog", "sat", "the"]
    )


def test_stop_words_of_a_language_come_from_the_extra(monkeypatch):
    lists = types.SimpleNamespace(
        has_lang=lambda code: code in ("de", "fr"),
        stopwords=lambda code: {"de": {"der", "Die"}, "fr": {"aujourd'hui", "le"}}[code],
    )
    monkeypatch.setitem(sys.modules, "stopwordsiso", lists)
    for name in ("german", "de", "German"):
        vectorizer = Vectorizer(stop_words=name).fit(["Der Hund, die Katze"])
        assert vectorizer.vocabulary_.terms == ("hund", "katze")
    assert Vectorizer(stop_words="fr").fit(["aujourd'hui le chat"]).vocabulary_.terms == ("chat",)
    monkeypatch.setitem(sys.modules, "stopwordsiso", None)  # as if it were not installed
    assert vectorizer.transform(["der Hund"]).toarray().tolist() == [[1.0, 0.0]]
    with pytest.raises(DataError, match=r"pip install 'bayou\[languages\]'"):
        Vectorizer(stop_words="german").fit(["der Hund"])
    monkeypatch.setitem(sys.modules, "stopwordsiso", lists)
    with pytest.raises(DataError, match="no list for 'thai'"):
        Vectorizer(stop_words="thai").fit(["x"])


def test_english_stop_words_need_no_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "stopwordsiso", None)
    assert Vectorizer(stop_words="en").fit(["the cat"]).vocabulary_.terms == ("cat",)
    with pytest.raises(DataError, match="did you mean 'english'"):
        Vectorizer(stop_words="englsh").fit(["the cat"])


def test_the_real_lists():
    pytest.importorskip("stopwordsiso")
    vectorizer = Vectorizer(stop_words="german").fit(["der Hund und die Katze"])
    assert vectorizer.vocabulary_.terms == ("hund", "katze")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_table_of_one_column_is_that_column(frame):
    texts = ["the cat sat", "a dog", "the dog sat"]
    expected = Vectorizer().fit_transform(texts).toarray()
    for table in (
        frame({"text": texts}),
        np.array(texts, object)[:, None],
        frame({"t": texts})["t"],
    ):
        np.testing.assert_array_equal(Vectorizer().fit_transform(table).toarray(), expected)
        assert Corpus.from_text(table).n_docs == 3


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (pd.DataFrame({"id": [1], "text": ["a cat"]}), r"2 columns \('id', 'text'\); give the column"),
        (pl.DataFrame({"id": [1], "text": ["a cat"]}), r"2 columns \('id', 'text'\); give the column"),
        (pd.DataFrame(), "0 columns"),
        (np.array([["a", "b"]]), r"array of shape \(1, 2\)"),
        (np.array("a text"), r"array of shape \(\)"),
        ({"a": "a cat"}, "got a dict; pass its values"),
        ({"a cat", "a dog"}, "got a set, which has no order"),
        ("a cat", "got str; put a single text in a list"),
        (7, "got int"),
    ],
)  # fmt: skip
def test_what_holds_no_list_of_texts_is_refused(held, said):
    for read in (Vectorizer().fit_transform, Corpus.from_text):
        with pytest.raises(DataError, match=said):
            read(held)
