"""The author-topic model: what labels speak of is found, and files keep it."""

import numpy as np
import pytest

import bayou
from bayou import AuthorTopicModel


def written_by_two():
    """Ann writes of the first ten terms, bob of the others, and some documents are by both."""
    rng = np.random.default_rng(0)
    ann, bob = np.r_[np.ones(10), np.zeros(10)] / 10, np.r_[np.zeros(10), np.ones(10)] / 10
    X, y = [], []
    for d in range(90):
        own = [["ann"], ["bob"], ["ann", "bob"]][d % 3]
        mix = sum({"ann": ann, "bob": bob}[name] for name in own) / len(own)
        X.append(rng.multinomial(30, mix))
        y.append(own)
    return np.array(X), y


def test_labels_speak_of_their_topics(tmp_path):
    X, y = written_by_two()
    model = AuthorTopicModel(n_topics=2, n_sweeps=60, n_kept=20, random_state=1).fit(X, y)
    assert model.label_topics_.max(axis=1).min() > 0.95
    ann = model.label_topics_[0].argmax()
    assert model.components_[ann, :10].sum() > 0.95
    assert model.top_labels(1)[ann] == ["ann"]
    shares = model.label_shares(X[:3])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert shares[0, 0] > 0.9
    assert shares[1, 1] > 0.9
    assert 0.2 < shares[2, 0] < 0.8
    model.save(tmp_path / "m.bayou")
    other = bayou.load(tmp_path / "m.bayou")
    np.testing.assert_array_equal(other.label_shares(X), model.label_shares(X))
    np.testing.assert_array_equal(other.transform(X), model.transform(X))
    assert other.classes_.tolist() == ["ann", "bob"]


def test_documents_without_labels_are_left_out():
    X, y = written_by_two()
    how = {"n_topics": 2, "n_sweeps": 5, "n_kept": 2, "random_state": 0}
    some = AuthorTopicModel(**how).fit(X, [*y[:60], *([None] * 30)])
    only = AuthorTopicModel(**how).fit(X[:60], y[:60])
    np.testing.assert_array_equal(some.components_, only.components_)


def test_parameters_that_cannot_be_meant():
    for wrong in ({"n_topics": 0}, {"beta_labels": 0.0}, {"alpha": -1.0}, {"n_kept": 900}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            AuthorTopicModel(**wrong).fit([[1, 2]], [["a", "b"]])
