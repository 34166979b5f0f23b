"""A vocabulary that follows a stream: what gets a column, what loses it, and what it depends on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayou.data import DataError, Growth, ModelFileError, Vocabulary
from bayou.data.vocabulary_growth import VocabularyAccount, revise_vocabulary


def follow(growth, terms, documents, cuts=()):
    """Documents as sets of words, in pieces that end at the cuts; gives the terms and the account."""
    names, account = (
        Vocabulary(terms),
        VocabularyAccount(growth, np.full(len(terms), growth.min_docs, np.int64), 0),
    )
    at, ends = 0, sorted({*cuts, len(documents)})
    while at < len(documents):
        n = min(account.n_until_revision, next(end for end in ends if end > at) - at)
        some = documents[at : at + n]
        known = [names.index(w) for doc in some for w in doc if w in names]
        strange = [w for doc in some for w in doc if w not in names]
        account.add_documents(n, np.array(known, np.int64), strange)
        revision = account.revise(names, 0.5)
        if revision is not None:
            names = revise_vocabulary(names, revision)
            assert len(account.evidence) == len(names) <= growth.max_terms
        at += n
    return names, account


def state(account):
    return (
        account.evidence.tolist(),
        dict(sorted(account.unknown_words.items())),
        {k: v for k, v in account.figures().items() if k != "growth"},
    )


def test_a_word_waits_for_its_evidence():
    growth = Growth(min_docs=3, every=4, memory=1000)
    names, account = follow(growth, ["old"], [{"old"}, {"new"}, {"new"}, {"old"}])
    assert names.terms == ("old",)
    assert account.candidates(5) == [("new", 2)]
    names, account = follow(growth, ["old"], [{"old"}, {"new"}, {"new"}, {"old"}] * 2)
    assert names.terms == ("old", "new")
    assert (account.n_added, account.n_dropped, account.unknown_words) == (1, 0, {})
    assert account.evidence.tolist() == [7, 4]


def test_a_word_of_too_many_documents_stays_out():
    growth = Growth(min_docs=2, every=8, memory=1000)
    documents = [{"the", "old"}, {"the", "rare"}, {"the", "rare"}, {"the"}] * 2
    names, account = follow(growth, ["old"], documents)
    assert names.terms == ("old", "rare")
    assert account.unknown_words == {"the": 8}


def test_dead_words_lose_their_columns_after_as_long_as_it_takes_to_halve_them_away():
    growth = Growth(min_docs=2, every=4, memory=8)
    documents = [{"a"}] * 6 + [{"b", "c"}, {"b"}] * 9
    names, account = follow(growth, ["a", "never"], documents)
    # "never" began with 2: 1 after eight documents, 0 after sixteen
    assert "never" not in names
    assert "a" in names
    assert account.n_dropped == 1
    names, _ = follow(growth, ["a", "never"], documents + [{"b"}, set()] * 12)
    assert "a" not in names


def test_at_the_cap_a_column_goes_to_twice_the_evidence_and_its_owner_is_remembered():
    growth = Growth(max_terms=2, min_docs=2, every=4, memory=1000)
    weak = [{"a"}, {"b"}, {"c"}, {"c"}]
    names, account = follow(growth, ["a", "b"], weak)
    assert names.terms == ("a", "b")
    names, account = follow(growth, ["a", "b"], weak + [{"b"}, {"c"}, {"c"}, set()] * 3)
    assert names.terms == ("b", "c")
    assert account.unknown_words == {"a": 3}
    assert (account.n_added, account.n_dropped) == (1, 1)


def test_a_stream_of_ever_new_words_takes_no_more_memory_than_it_may():
    growth = Growth(max_terms=20, min_docs=2, every=10, memory=40)
    documents = [{f"w{i}", f"w{i // 2}", f"w{i // 7}", "steady"} for i in range(1000)]
    names, account = follow(growth, ["steady"], documents)
    assert len(names) <= 20
    assert len(account.unknown_words) <= 40
    assert account.n_added > 100
    assert account.n_dropped == account.n_added + 1 - len(names)


def test_one_column_is_always_left():
    growth = Growth(min_docs=3, every=2, memory=2)
    names, _ = follow(growth, ["gone", "too"], [set()] * 20)
    assert names.terms == ("gone",)


@settings(max_examples=60)
@given(
    documents=st.lists(st.sets(st.sampled_from("abcdefgh"), max_size=4), min_size=1, max_size=60),
    cuts=st.lists(st.integers(1, 60), max_size=8),
    most=st.integers(2, 6),
)
def test_what_it_becomes_depends_on_the_documents_alone(documents, cuts, most):
    growth = Growth(max_terms=most, min_docs=2, every=4, memory=8)
    names, account = follow(growth, ["a", "b"], documents)
    others, other = follow(growth, ["a", "b"], documents, cuts)
    assert names == others
    assert state(account) == state(other)


def test_it_is_kept():
    growth = Growth(min_docs=2, every=4, memory=8)
    names, account = follow(growth, ["a"], [{"a", "b"}, {"b"}, {"c"}, {"é"}] * 5)
    arrays, figures = account.arrays(), account.figures()
    again = VocabularyAccount.from_arrays(arrays, figures, len(names))
    assert state(again) == state(account)
    assert again.growth == growth
    with pytest.raises(ModelFileError, match="does not match"):
        VocabularyAccount.from_arrays(arrays, figures, len(names) + 1)
    for name in figures:
        with pytest.raises(ModelFileError):
            VocabularyAccount.from_arrays(arrays, {**figures, name: "x"}, len(names))
    for name in arrays:
        with pytest.raises(ModelFileError):
            VocabularyAccount.from_arrays(
                {**arrays, name: -np.ones(9, np.int64)}, figures, len(names)
            )


@pytest.mark.parametrize(
    "wrong", [{"max_terms": 0}, {"min_docs": 1.5}, {"every": True}, {"memory": 5}, {"memory": None}]
)
def test_settings_that_cannot_be_meant(wrong):
    with pytest.raises(DataError, match=next(iter(wrong))):
        Growth(**wrong)


def test_a_first_vocabulary_over_the_cap():
    with pytest.raises(DataError, match="3 terms, more than max_terms = 2"):
        VocabularyAccount(Growth(max_terms=2), np.ones(3, np.int64), 0)
