"""Labelled LDA: what it contains, and what it does with odd labels."""

import numpy as np
import pytest
from sklearn.naive_bayes import MultinomialNB

import bayou
from bayou import DataError, LabeledLDA
from bayou.data.synthetic_labels import sample_dependency_lda
from bayou.metrics.multilabel import macro_auc, micro_auc


@pytest.fixture(scope="module")
def corpus():
    return sample_dependency_lda(150, 3, 8, 60, seed=4)[0]


def one_label_each():
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (30, 7))
    return X, rng.integers(0, 3, 30)


@pytest.mark.parametrize("inference", ["cvb0", "gibbs"])
@pytest.mark.parametrize("greedy", [True, False])
def test_documents_of_one_label_are_naive_bayes(inference, greedy):
    X, y = one_label_each()
    model = LabeledLDA(inference=inference, greedy=greedy, beta=0.5, random_state=0).fit(X, y)
    wanted = np.exp(MultinomialNB(alpha=0.5).fit(X, y).feature_log_prob_)
    np.testing.assert_allclose(model.components_, wanted, rtol=1e-6)
    lists = [[int(label)] for label in y] + [[0, 1]]
    again = LabeledLDA(beta=0.5).fit(np.vstack([X, np.zeros(7)]), lists)
    np.testing.assert_allclose(again.components_, wanted, rtol=1e-6)


def test_gibbs_and_cvb0_find_the_same_terms(corpus):
    soft = LabeledLDA(random_state=0).fit(corpus)
    drawn = LabeledLDA(inference="gibbs", n_chains=2, random_state=0).fit(corpus)
    a, b = (np.asarray(m.labels_.term_label.toarray()) for m in (soft, drawn))
    assert abs(a - b).sum() / a.sum() < 0.05
    assert a.sum() == pytest.approx(corpus.n_tokens, rel=1e-4)  # no token is lost
    assert b.sum() == pytest.approx(corpus.n_tokens, rel=1e-4)


def test_shares_rank_labels_and_sets_are_useful(corpus):
    model = LabeledLDA(random_state=0).fit(corpus[:110])
    shares = model.decision_function(corpus[110:])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert micro_auc(corpus[110:].labels, shares) > 0.9
    assert macro_auc(corpus[110:].labels, shares).value > 0.9
    p = model.predict_proba(corpus[110:])
    assert ((p > 0) & (p < 1)).all()
    truth = corpus[110:].labels.toarray()
    assert abs(p.sum() - truth.sum()) < 0.35 * truth.sum()  # probabilities are about right
    order = np.argsort(shares.ravel(), kind="stable")
    assert (np.diff(p.ravel()[order]) >= 0).all()  # and change no ranking
    found = model.predict(corpus[110:])
    assert (found.sum(axis=1) >= 1).all()
    hit = (found * truth).sum()
    assert 2 * hit / (found.sum() + truth.sum()) > 0.6


def test_explanations_add_up_to_shares(corpus):
    for model in (LabeledLDA(random_state=0), LabeledLDA(n_free_topics=1, random_state=0)):
        model.fit(corpus[:100])
        for d, found in enumerate(model.explain(corpus[100:104])):
            np.testing.assert_allclose(
                found.scores, model.decision_function(corpus[100 + d : 101 + d])[0]
            )
            assert found.votes.shape == (len(found.terms), len(model.classes_))
            assert found.votes.min() >= 0
            assert found.n_given == model.predict(corpus[100 + d : 101 + d]).sum()
            assert abs(found.base).max() < 1e-6  # all of it comes from terms


def test_frequency_prior_is_alpha_and_shares_of_labels(corpus):
    flat = LabeledLDA(prior="flat", alpha=0.5).fit(corpus)
    assert flat.labels_.alpha.tolist() == [0.5] * 8
    model = LabeledLDA(prior="frequency", alpha=0.5, eta=10.0).fit(corpus)
    n = np.bincount(corpus.labels.indices, minlength=8)
    np.testing.assert_allclose(model.labels_.alpha, 0.5 + 10.0 * n / n.sum())


def test_free_topics_let_unlabelled_documents_take_part(corpus):
    lists = [
        [corpus.label_names[j] for j in corpus.labels[[d]].indices] for d in range(corpus.n_docs)
    ]
    lists[100:] = [None] * 50
    without = LabeledLDA(random_state=0).fit(corpus, lists)
    only = LabeledLDA(random_state=0).fit(corpus[:100], lists[:100])
    np.testing.assert_array_equal(
        without.labels_.term_label.toarray(), only.labels_.term_label.toarray()
    )
    for inference in ("cvb0", "gibbs"):
        free = LabeledLDA(n_free_topics=2, inference=inference, random_state=0).fit(corpus, lists)
        n = len(free.classes_)
        assert free.components_.shape == (n + 2, 60)
        assert free.decision_function(corpus).shape == (150, n)
        total = float(free.labels_.term_label.sum())
        assert total == pytest.approx(corpus.n_tokens, rel=1e-4)
        a, b = free.components_[n:]
        assert abs(a - b).max() > 1e-3  # free topics are not alike


def test_given_terms_are_kept(corpus):
    wanted = np.r_[np.full(30, 1 / 30), np.zeros(30)]
    model = LabeledLDA().fit(corpus, given_terms={"label 3": 7.0 * wanted})
    np.testing.assert_allclose(model.components_[3], wanted, atol=1e-7)
    shares = model.decision_function([[0] * 30 + [1] * 30])[0]
    assert shares[3] == 0.0


@pytest.mark.parametrize("n_free_topics", [0, 2])
def test_given_terms_are_kept_by_the_sampler(corpus, n_free_topics):
    """The terms of the label stay, and tokens outside them go to other labels of their documents."""
    wanted = np.r_[np.full(30, 1 / 30), np.zeros(30)]
    how = {"inference": "gibbs", "n_free_topics": n_free_topics, "random_state": 0}
    model = LabeledLDA(**how).fit(corpus, given_terms={"label 3": 7.0 * wanted})
    np.testing.assert_allclose(model.components_[3], wanted, atol=1e-7)
    free = LabeledLDA(**how).fit(corpus)
    assert np.abs(free.components_[3] - wanted).max() > 0.01
    others = np.delete(np.arange(len(model.components_)), 3)
    assert np.abs(free.components_[others] - model.components_[others]).max() > 1e-4
    assert model.decision_function([[0] * 30 + [1] * 30])[0, 3] == 0.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1], "must map labels"),
        ({"nobody": np.ones(60)}, "no document has"),
        ({"label 1": np.ones(3)}, "60 numbers"),
        ({"label 1": np.zeros(60)}, "not all zero"),
    ],
)
def test_given_terms_that_cannot_be_meant(corpus, given, message):
    with pytest.raises(DataError, match=message):
        LabeledLDA().fit(corpus, given_terms=given)


def test_a_label_without_documents_is_never_scored():
    X = np.array([[3, 0, 1], [0, 2, 1], [1, 2, 0]])
    Y = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0]])
    model = LabeledLDA().fit(X, Y)
    assert model.decision_function([[0, 0, 5], [1, 1, 1]])[:, 2].tolist() == [0.0, 0.0]
    assert np.isfinite(model.components_).all()
    empty = model.decision_function([[0, 0, 0]])[0]
    np.testing.assert_allclose(empty, model.labels_.alpha / model.labels_.alpha.sum())


def test_documents_without_labels_at_all():
    with pytest.raises(DataError, match="no document has a label"):
        LabeledLDA().fit([[1, 2], [3, 4]], [None, None])
    model = LabeledLDA().fit([[1, 2], [3, 4], [0, 5]], [["a", "b"], [], None])
    assert model.predict_labels([[1, 1]])[0] in (["a"], ["b"])


@pytest.mark.parametrize("rule", ["cardinality", "scut"])
def test_file_keeps_answers(corpus, rule, tmp_path):
    model = LabeledLDA(rule=rule, random_state=0).fit(corpus)
    model.save(tmp_path / "m.bayou")
    other = bayou.load(tmp_path / "m.bayou")
    np.testing.assert_array_equal(other.predict(corpus), model.predict(corpus))
    np.testing.assert_array_equal(other.predict_proba(corpus), model.predict_proba(corpus))
    assert other.classes_.tolist() == model.classes_.tolist()


def test_memory_follows_the_data():
    rng = np.random.default_rng(0)
    n_docs, n_terms, n_labels = 300, 50_000, 4_000
    from scipy.sparse import csr_array

    terms = rng.integers(0, n_terms, n_docs * 20)
    X = csr_array((np.ones(len(terms)), terms, np.arange(0, len(terms) + 1, 20)), (n_docs, n_terms))
    own = np.sort(rng.integers(0, n_labels, (n_docs, 3)), axis=1)
    own[:, 1:] += np.arange(1, 3)  # distinct
    Y = csr_array(
        (np.ones(own.size, int), own.ravel() % n_labels, np.arange(0, own.size + 1, 3)),
        (n_docs, n_labels),
    )
    model = LabeledLDA(n_sweeps=3, validation_share=0.0, rule="scut").fit(X, Y)
    assert model.labels_.term_label.nnz <= X.nnz * 3
    shares = model.decision_function(X[:2])
    assert shares.shape == (2, n_labels)


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0.0}, {"beta": -1.0}, {"prior": "none"}, {"inference": "em"}, {"n_free_topics": -1},
        {"n_sweeps": 0}, {"inference": "gibbs", "n_kept": 99}, {"rule": "oracle"}, {"tf": "x"},
        {"validation_share": 0.9}, {"eta": -2.0}, {"n_chains": 0},
    ],
    ids=str,
)  # fmt: skip
def test_parameters_that_cannot_be_meant(wrong):
    with pytest.raises(ValueError, match=next(reversed(wrong))):
        LabeledLDA(**wrong).fit([[1, 2], [3, 4]], [["a"], ["b", "a"]])
