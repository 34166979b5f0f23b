"""Chains, blocks and ensembles: twins, scikit-learn's chain, and the degenerate cases."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.reference import chains as twin

from bayou import BlockChainEnsemble, BlockClassifierChain, Corpus
from bayou.data import DataError
from bayou.multilabel.learners import Constant

LOGISTIC = LogisticRegression()
TREE = DecisionTreeClassifier(max_depth=3)


@parametrize_with_checks(
    [
        BlockClassifierChain(LogisticRegression(), block_size=2, order="random"),
        BlockChainEnsemble(LogisticRegression(), n_chains=2, inside_out=True, block_size=(2, 3)),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    Y = (X @ rng.normal(size=(5, 6)) + rng.normal(size=(60, 6)) > 0.5).astype(int)
    Y[:, 3] &= Y[:, 0]
    return X, Y


@pytest.mark.parametrize("inside_out", [False, True])
@pytest.mark.parametrize("size", [1, 2, 4, 6, 9])
def test_a_chain_equals_its_twin(data, size, inside_out):
    X, Y = data
    order = [4, 0, 5, 2, 1, 3]
    model = BlockClassifierChain(LOGISTIC, block_size=size, inside_out=inside_out, order=order)
    found = model.fit(X[:40], Y[:40]).predict_proba(X[40:])
    expected = twin.probabilities(LOGISTIC, X[:40], Y[:40], X[40:], order, size, inside_out)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model.predict(X[40:]), expected > 0.5)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_blocks_of_one_are_scikit_learns_chain(data, form):
    X, Y = data
    theirs = ClassifierChain(LOGISTIC).fit(form(X), Y)
    for model in (
        BlockClassifierChain(LOGISTIC),
        BlockClassifierChain(LOGISTIC, block_size=6, inside_out=True),
    ):
        model.fit(form(X), Y)
        np.testing.assert_array_equal(model.predict_proba(form(X)), theirs.predict_proba(form(X)))
        np.testing.assert_array_equal(model.predict(form(X)), theirs.predict(form(X)))


def test_one_block_is_binary_relevance(data):
    X, Y = data
    theirs = np.column_stack(
        [p[:, 1] for p in MultiOutputClassifier(LOGISTIC).fit(X, Y).predict_proba(X)]
    )
    for model in (
        BlockClassifierChain(LOGISTIC, block_size=6, order="random", random_state=1),
        BlockClassifierChain(LOGISTIC, block_size=100),
        BlockClassifierChain(LOGISTIC, inside_out=True, order="frequency"),
    ):
        np.testing.assert_array_equal(model.fit(X, Y).predict_proba(X), theirs)


def test_order_inside_a_block_does_not_matter(data):
    X, Y = data
    one = BlockClassifierChain(TREE, block_size=3, order=[0, 1, 2, 3, 4, 5], random_state=0)
    two = clone(one).set_params(order=[2, 0, 1, 5, 4, 3])
    np.testing.assert_array_equal(one.fit(X, Y).predict_proba(X), two.fit(X, Y).predict_proba(X))
    other = clone(one).set_params(order=[3, 4, 5, 0, 1, 2])
    assert (other.fit(X, Y).predict_proba(X) != one.predict_proba(X)).any()


@pytest.mark.parametrize(
    "model",
    [
        BlockClassifierChain(TREE, block_size=2, order="random", random_state=3),
        BlockClassifierChain(TREE, block_size=3, inside_out=True, random_state=3),
        BlockChainEnsemble(TREE, n_chains=3, block_size=(1, 2), random_state=3),
    ],
)
def test_results_do_not_depend_on_processes_or_repetition(data, model):
    X, Y = data
    one = clone(model).fit(X, Y).predict_proba(X)
    two = clone(model).set_params(n_jobs=2).fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(one, two)
    other = clone(model).set_params(random_state=4).fit(X, Y)
    assert other.seed_ == 4


def test_orders(data):
    X, Y = data
    counts = Y.sum(axis=0)
    model = BlockClassifierChain(LOGISTIC, order="frequency").fit(X, Y)
    assert (np.diff(counts[model.chain_.order]) <= 0).all()
    first = BlockClassifierChain(LOGISTIC, order="random", random_state=0).fit(X, Y).chain_.order
    again = BlockClassifierChain(LOGISTIC, order="random", random_state=0).fit(X, Y).chain_.order
    other = BlockClassifierChain(LOGISTIC, order="random", random_state=1).fit(X, Y).chain_.order
    assert first.tolist() == again.tolist() != other.tolist()
    for bad in ([0, 1, 2], [0, 1, 2, 3, 4, 4], [0.0, 1, 2, 3, 4, 5], "rare"):
        with pytest.raises(ValueError, match="order must"):
            BlockClassifierChain(LOGISTIC, order=bad).fit(X, Y)
    for bad in (0, 1.5, None):
        with pytest.raises(ValueError, match="block_size must"):
            BlockClassifierChain(LOGISTIC, block_size=bad).fit(X, Y)


def test_sparse_dense_lists_and_corpora_agree(data):
    X, Y = data
    X = (X > 0).astype(float)
    Y[0] = 1  # a corpus cannot say that a document has no label
    Y[:, 0] = 1
    Y[3, 0] = 0
    model = BlockClassifierChain(BernoulliNB(), block_size=2)
    dense = clone(model).fit(X, Y)
    thin = clone(model).fit(sparse.csr_matrix(X), sparse.csc_array(Y))
    names = np.array(list("abcdef"))
    lists = clone(model).fit(X, [names[row > 0].tolist() for row in Y])
    kept = Y.any(axis=1)
    corpus = Corpus.from_matrix(sparse.csr_array(X), labels=sparse.csr_array(Y))
    read = clone(model).fit(corpus)
    assert sparse.issparse(thin.predict(X))
    np.testing.assert_array_equal(dense.predict(X), thin.predict(sparse.csr_array(X)).toarray())
    np.testing.assert_array_equal(dense.predict(X), lists.predict(X))
    np.testing.assert_array_equal(
        clone(model).fit(X[kept], Y[kept]).predict_proba(X), read.predict_proba(corpus)
    )
    assert lists.classes_.tolist() == list("abcdef")
    labels = lists.predict_labels(X)
    assert labels == [names[row > 0].tolist() for row in dense.predict(X)]
    right = (dense.predict(X) == Y).all(axis=1)
    assert dense.score(X, Y) == pytest.approx(right.mean())
    assert thin.score(X, sparse.csr_array(Y)) == pytest.approx(right.mean())
    assert lists.score(X, [names[row > 0].tolist() for row in Y]) == pytest.approx(right.mean())
    extra = [[*names[row > 0].tolist(), "new"] for row in Y[:5]]
    assert lists.score(X[:5], extra) == 0.0
    assert read.score(corpus) == pytest.approx(right[kept].mean())


def test_documents_of_which_nothing_is_known_are_left_out(data):
    X, Y = data
    lists = [np.flatnonzero(row).tolist() for row in Y]
    lists[5] = lists[9] = None
    use = [i for i in range(60) if i not in (5, 9)]
    found = BlockClassifierChain(LOGISTIC).fit(X, lists).predict_proba(X)
    expected = BlockClassifierChain(LOGISTIC).fit(X[use], Y[use]).predict_proba(X)
    np.testing.assert_array_equal(found, expected)


def test_labels_with_no_documents_or_all(data):
    X, Y = data
    Y[:, 2], Y[:, 4] = 0, 1
    for model in (BlockClassifierChain(LOGISTIC), BlockChainEnsemble(LOGISTIC, n_chains=2)):
        found = model.fit(X, Y).predict_proba(X)
        np.testing.assert_allclose(found[:, 2], 1 / 62)
        np.testing.assert_allclose(found[:, 4], 61 / 62)
        assert (model.predict(X)[:, [2, 4]] == [0, 1]).all()
    assert BlockClassifierChain(LOGISTIC).fit(X, Y).estimators_[2] == Constant(1 / 62)


@pytest.mark.parametrize("kind", [BlockClassifierChain, BlockChainEnsemble])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_single_label(data, kind, form):
    X, Y = data
    model = kind(LOGISTIC).fit(X, form(Y[:, :1]))
    plain = LogisticRegression().fit(X, Y[:, 0])
    assert model.predict_proba(X).shape == (60, 1)
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], plain.predict_proba(X)[:, 1])
    found = model.predict(X)
    assert found.shape == (60, 1)
    assert model.score(X, form(Y[:, :1])) == pytest.approx(plain.score(X, Y[:, 0]))
    empty = kind(LOGISTIC).fit(X, form(np.zeros((60, 1), int)))
    assert empty.predict(X).sum() == 0


def test_two_classes_as_a_vector(data):
    X, Y = data
    names = np.array(["no", "yes"])[Y[:, 0]]
    model = BlockClassifierChain(LOGISTIC).fit(X, names)
    plain = LogisticRegression().fit(X, names)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X))
    assert model.predict_labels(X[:1]) == [[plain.predict(X[:1])[0]]]
    with pytest.raises(DataError, match="multiclass"):
        BlockClassifierChain(LOGISTIC).fit(X, np.arange(60) % 3)


def test_learners_without_probabilities(data):
    X, Y = data
    model = BlockClassifierChain(LinearSVC(), block_size=6, random_state=0).fit(X, Y)
    margins = model.estimators_[1].decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-margins)))
    ridge = BlockClassifierChain(RidgeClassifier()).fit(X, Y)
    np.testing.assert_array_equal(
        ridge.predict(X), ClassifierChain(RidgeClassifier()).fit(X, Y).predict(X)
    )


def test_an_ensemble_is_the_mean_of_its_chains(data):
    X, Y = data
    model = BlockChainEnsemble(TREE, n_chains=4, block_size=2, random_state=0).fit(X, Y)
    each = np.array([member.predict_proba(X) for member in model.estimators_])
    np.testing.assert_allclose(model.predict_proba(X), each.mean(axis=0))
    np.testing.assert_array_equal(model.predict(X), each.mean(axis=0) > 0.5)
    share = BlockChainEnsemble(TREE, n_chains=4, block_size=2, vote="share", random_state=0)
    np.testing.assert_allclose(share.fit(X, Y).predict_proba(X), (each > 0.5).mean(axis=0))
    orders = {tuple(member.chain_.order.tolist()) for member in model.estimators_}
    assert len(orders) == 4


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_chains", 0),
        ("block_size", []),
        ("block_size", (2, 0)),
        ("max_similarity", 1.5),
        ("max_fails", -1),
        ("vote", "veto"),
    ],
)
def test_bad_parameters_are_named(data, name, value):
    with pytest.raises(ValueError, match=f"{name} must"):
        BlockChainEnsemble(LOGISTIC, **{name: value}).fit(*data)


def test_chains_make_no_files():
    assert not hasattr(BlockClassifierChain(LOGISTIC), "save")
    assert not hasattr(BlockChainEnsemble(LOGISTIC), "save")


def test_bootstrap_gives_every_chain_documents_of_its_own():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), rng.integers(0, 2, (40, 2))
    tree = DecisionTreeClassifier(random_state=0)
    how = {"n_chains": 4, "block_size": 2, "random_state": 0, "max_similarity": 1.0}
    plain = BlockChainEnsemble(tree, **how).fit(X, Y)
    drawn = BlockChainEnsemble(tree, bootstrap=True, **how).fit(X, Y)
    again = BlockChainEnsemble(tree, bootstrap=True, n_jobs=2, **how).fit(X, Y)
    np.testing.assert_array_equal(drawn.predict_proba(X), again.predict_proba(X))
    assert set(np.unique(plain.predict_proba(X))) <= {0.0, 1.0}  # the same tree four times
    assert len(np.unique(drawn.predict_proba(X))) > 2
