import pickle

import pytest

from bayou.data import DataError, Vocabulary


def test_terms_and_numbers():
    vocabulary = Vocabulary(iter(["b", "a", "c"]))
    assert list(vocabulary) == ["b", "a", "c"]
    assert len(vocabulary) == 3
    assert vocabulary[1] == vocabulary[-2] == "a"
    assert vocabulary[:2] == ("b", "a")
    assert vocabulary.index("c") == 2
    assert vocabulary.get("c") == 2
    assert vocabulary.get("x") is None
    assert vocabulary.get("x", -1) == -1
    assert "a" in vocabulary
    assert 0 not in vocabulary
    assert vocabulary.terms == ("b", "a", "c")


def test_equality_hash_pickle_and_repr():
    one, two = Vocabulary("ab"[i] for i in range(2)), Vocabulary(["a", "b"])
    assert one == two
    assert hash(one) == hash(two)
    assert one != Vocabulary(["b", "a"])
    assert one != ("a", "b")
    assert pickle.loads(pickle.dumps(one)) == one
    assert repr(one) == "Vocabulary(2 terms: 'a', 'b')"
    assert repr(Vocabulary([])) == "Vocabulary(0 terms)"
    assert repr(Vocabulary("abcde"[i] for i in range(5))).endswith("...)")


def test_it_cannot_be_changed():
    vocabulary = Vocabulary(["a"])
    with pytest.raises(TypeError):
        vocabulary[0] = "b"
    with pytest.raises(AttributeError):
        vocabulary.more = 1


@pytest.mark.parametrize(
    ("terms", "why"),
    [
        (["a", "b", "a"], "'a' is term 0 and term 2"),
        (["a", 1], "term 1 must be a string, got int: 1"),
        (["a", None], "term 1 must be a string"),
        ("abc", "a list of terms, got 'abc'"),
        (7, "a list of terms, got 7"),
    ],
)
def test_refusals(terms, why):
    with pytest.raises(DataError, match=why):
        Vocabulary(terms)


def test_an_unknown_term():
    with pytest.raises(DataError, match="'x' is not among the 1 terms"):
        Vocabulary(["a"]).index("x")


def test_a_revision_is_the_vocabulary_of_those_terms():
    old = Vocabulary(["ape", "bee", "cat"])
    made = old.revised([2, 0], ["dog"])
    assert made == Vocabulary(["cat", "ape", "dog"])
    assert [made.index(term) for term in made] == [0, 1, 2]
    assert made.numbers == {"cat": 0, "ape": 1, "dog": 2}
    assert made.missing(["bee", "dog", "bee"]) == {"bee"}
    assert old.terms == ("ape", "bee", "cat")
