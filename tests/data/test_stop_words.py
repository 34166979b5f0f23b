"""Stop words by name, by file and combined; what a model file holds of them."""

import pytest

import bayou
from bayou.data import (
    ENGLISH_LONG_STOP_WORDS,
    ENGLISH_STOP_WORDS,
    DataError,
    ModelFileError,
    Vectorizer,
)
from bayou.data.text import as_stop_words
from bayou.data.vectorizer_file import parameters, restore_vectorizer


@pytest.fixture
def own(tmp_path):
    """A file of stop words with comments, capitals, two words per line and a word of two tokens."""
    path = tmp_path / "own.txt"
    path.write_text("# of speeches\nApplause laughter\n\nl'homme  # two tokens\n", encoding="utf-8")
    return str(path)


def test_the_long_list_has_no_words_that_name_subjects():
    extra = ENGLISH_LONG_STOP_WORDS - ENGLISH_STOP_WORDS
    assert {"mr", "say", "said", "like", "two", "let", "take"} <= extra
    assert not extra & {
        "war",
        "trade",
        "nuclear",
        "people",
        "new",
        "state",
        "second",
        "world",
        "use",
    }
    assert ENGLISH_STOP_WORDS < ENGLISH_LONG_STOP_WORDS
    assert all(word == word.lower() and word.isalpha() for word in extra)


def test_a_file_of_own_words(own):
    words = as_stop_words(own)
    assert words == {"applause", "Applause", "laughter", "l", "homme"}
    texts = ["The applause of war, Laughter"]
    assert Vectorizer(stop_words=own).fit(texts).vocabulary_.terms == ("of", "the", "war")
    kept = Vectorizer(stop_words=own, lowercase=False).fit(["Applause laughter War"])
    assert kept.vocabulary_.terms == ("War",)


def test_names_are_combined(own):
    assert as_stop_words(f"english+{own}") == ENGLISH_STOP_WORDS | as_stop_words(own)
    assert as_stop_words("English + english-long") == ENGLISH_LONG_STOP_WORDS


def test_a_file_with_a_plus_in_its_name(tmp_path):
    path = tmp_path / "c++.txt"
    path.write_text("pointer")
    assert as_stop_words(str(path)) == {"pointer"}


def test_a_byte_order_mark_is_not_part_of_a_word(tmp_path):
    path = tmp_path / "w.txt"
    path.write_bytes(b"\xef\xbb\xbfwolf")
    assert as_stop_words(str(path)) == {"wolf"}


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read"), (b"# nothing", "contains no stop words"), (b"caf\xe9", "not UTF-8")],
)
def test_files_that_cannot_be_used(tmp_path, content, message):
    path = tmp_path / "bad.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        as_stop_words(f"english+{path}")


def test_names_that_cannot_be_used():
    with pytest.raises(DataError, match="empty name"):
        as_stop_words("english+")
    with pytest.raises(DataError, match="a file has a dot or a slash"):
        as_stop_words("english+mywords")


def test_a_model_holds_the_words_and_not_the_name_of_the_file(own, tmp_path):
    texts = ["war applause peace", "peace and trade laughter"] * 5
    model = bayou.TextModel(
        estimator=bayou.LDA(n_topics=2, n_sweeps=2, random_state=0),
        vectorizer=Vectorizer(stop_words=f"english+{own}"),
    ).fit(texts)
    model.save(tmp_path / "m.bayou")
    assert b"own.txt" not in (tmp_path / "m.bayou").read_bytes()
    again = bayou.load(tmp_path / "m.bayou")
    assert again.vectorizer_.stop_words_ == model.vectorizer_.stop_words_
    again.fit(texts)  # needs no file
    assert again.vocabulary_.terms == ("peace", "trade", "war")


def test_a_model_file_cannot_name_a_file(own):
    given = parameters(Vectorizer(stop_words="english")) | {"stop_words": f"english+{own}"}
    with pytest.raises(ModelFileError, match="must not name a file"):
        restore_vectorizer(given)
