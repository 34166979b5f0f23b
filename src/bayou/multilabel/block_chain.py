"""Classifier chains, in blocks and in ensembles, around any classifier.

    p(y | x) = prod_p p(y_c[p] | x, y of prev(c[p]))

with c an order of the labels and prev(c[p]) the labels that stand before c[p]: all of them (a chain), those
of earlier blocks, or those of its own block (inside-out blocks); see `bayou.multilabel.orders`. Each
factor is a classifier of one label with the labels in prev as further features: the true ones in training,
the predicted ones afterwards.

[Read11] Read, Pfahringer, Holmes, Frank. Classifier chains for multi-label classification. Machine Learning
85, 2011.
[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from bayou.data.checks import number, one_of, whole
from bayou.kernels.rng import BOOTSTRAP, MEMBER, key, with_replacement
from bayou.multilabel.learners import fit_label, in_order, join_features, label_probability
from bayou.multilabel.orders import LabelOrder, draw_order, frequency_order, search
from bayou.multilabel.wrapping import F64, I64, Matrix, Wrapper, seed_clone


@dataclass(eq=False, repr=False)
class BlockClassifierChain(Wrapper):
    """Labels predicted one block after the other, each with the labels before it as features [Read11].

    With blocks of one label it is the classifier chain, with one block of all labels binary relevance: one
    classifier a label. In between, errors have fewer steps to travel and labels of a block are predicted in
    parallel [Burkhardt18b]. A label is given where its probability is above one half; wrap the chain in a
    `ThresholdedClassifier` for better thresholds.

    Parameters
    ----------
    estimator : classifier
        Any classifier of two classes. Its scores are `predict_proba`, or the logistic function of
        `decision_function`, or what it predicts. Seeds that it leaves open (``random_state=None``) are set
        by label.
    block_size : int
        Labels a block [b]; 1 is a chain, the number of labels or more is binary relevance.
    inside_out : bool
        Look at the earlier labels of the own block, and at no other block. Then 1 is binary relevance and the
        number of labels a chain.
    order : {"given", "random", "frequency"} or array of int
        Labels as the columns stand, shuffled by `random_state`, from frequent to rare, or as listed.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Processes, as scikit-learn counts them; results do not depend on it.

    Attributes
    ----------
    classes_ : array
        Names of the labels.
    chain_ : Chain
        The order and its blocks.
    estimators_ : list
        The fitted classifier of each label, in the order of `classes_`; a `Constant` for a label that all
        training documents have, or none.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]] * 5
    >>> Y = [[0, 1, 1], [1, 0, 1], [1, 1, 1], [0, 0, 0]] * 5
    >>> model = BlockClassifierChain(LogisticRegression(C=10), block_size=2).fit(X, Y)
    >>> model.predict([[0, 1], [0, 0]]).tolist()
    [[0, 1, 1], [0, 0, 0]]
    """

    estimator: Any
    _: KW_ONLY
    block_size: int = 1
    inside_out: bool = False
    order: str | ArrayLike = "given"
    random_state: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit one classifier a label, with the true labels before it as features.

        Parameters
        ----------
        X : matrix (documents, features), dense or sparse, or Corpus
        y : indicator (documents, labels), dense or sparse; label lists; a vector of two classes
            Left out where X is a corpus with labels.
        """
        whole("block_size", self.block_size, 1)
        matrix, truth = self._read(X, y)
        self.seed_ = self._resolve_seed()
        columns = truth.indicator.tocsc()
        self.chain_ = LabelOrder(self._order(columns), int(self.block_size), bool(self.inside_out))
        tasks = (
            delayed(fit_label)(
                seed_clone(self.estimator, self.seed_, 0, int(label)),
                matrix,
                csr_array(columns[:, self.chain_.previous(position)]),
                columns[:, [label]].toarray().ravel().astype(np.int64),
            )
            for position, label in enumerate(self.chain_.order)
        )
        fitted = Parallel(n_jobs=self.n_jobs)(tasks)
        self.estimators_ = [fitted[p] for p in np.argsort(self.chain_.order)]
        return self

    def _order(self, columns: Any) -> I64:
        n_labels = columns.shape[1]
        if isinstance(self.order, str):
            one_of("order", self.order, ("given", "random", "frequency"))
            if self.order == "random":
                return draw_order(n_labels, (1,), False, self.seed_, 0).order
            counts = np.diff(columns.indptr).astype(np.int64)
            return frequency_order(counts) if self.order == "frequency" else np.arange(n_labels)
        given = np.asarray(self.order)
        if given.dtype.kind not in "iu" or not np.array_equal(np.sort(given), np.arange(n_labels)):
            raise ValueError(
                f"order must hold each of 0 .. {n_labels - 1} once, or be 'given', 'random' or "
                f"'frequency'; got {self.order!r:.80}"
            )
        return given.astype(np.int64)

    def predict_proba(self, X: Any) -> F64:
        """Probabilities of the labels (documents, labels), given the labels predicted before them.

        For a vector of two classes, of both of them.
        """
        check_is_fitted(self)
        return self._columns(self._probabilities(self._documents(X, reset=False)))

    def _probabilities(self, X: Matrix) -> F64:
        out = np.zeros((X.shape[0], len(self.estimators_)))
        blocks = self.chain_.blocks
        learners = [[self.estimators_[label] for label in block] for block in blocks]
        if self.chain_.inside_out:
            tasks = [(in_order, own, block, X) for own, block in zip(learners, blocks, strict=True)]
            for block, own_votes in zip(blocks, self._run(tasks), strict=True):
                out[:, block] = own_votes
            return out
        start = 0
        for own, block in zip(learners, blocks, strict=True):
            known = self.chain_.previous(start)
            features = join_features(X, (out[:, known] > 0.5).astype(np.int8))
            found = self._run([(label_probability, learner, features) for learner in own])
            out[:, block] = np.column_stack(found)
            start += len(block)
        return out

    def _run(self, tasks: Sequence[tuple[Any, ...]]) -> list[F64]:
        if len(tasks) == 1:
            return [tasks[0][0](*tasks[0][1:])]
        found: list[F64] = Parallel(n_jobs=self.n_jobs)(delayed(f)(*args) for f, *args in tasks)
        return found

    def predict(self, X: Any) -> Any:
        """The labels of each document, in the form that y had: an indicator, or a vector of classes."""
        check_is_fitted(self)
        return self._answers(self._probabilities(self._documents(X, reset=False)) > 0.5)


@dataclass(eq=False, repr=False)
class BlockChainEnsemble(Wrapper):
    """Chains in different orders that vote [Read11], none too like another [Burkhardt18b].

    Orders are drawn at random. One that is more like a chain already there than `max_similarity` is drawn
    again.

    Parameters
    ----------
    estimator : classifier
        As in `BlockClassifierChain`.
    n_chains : int
        Chains that vote [s].
    block_size : int or sequence of int
        Labels a block [b]; of several sizes each chain draws one.
    inside_out : bool
        As in `BlockClassifierChain`.
    max_similarity : float
        The most that two chains may be alike [theta], from 0 to 1. 0.99 rejects repetitions and little
        else; much less makes chains differ at the price of worse ones.
    max_fails : int
        Rejections in a row after which `max_similarity` is raised by 0.05 [m].
    vote : {"mean", "share"}
        Average the chains' probabilities, or take the share of chains that give a label.
    bootstrap : bool
        Fit each chain to as many documents drawn with replacement [Read11]: chains of trees, which differ
        little otherwise, gain most.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Processes, each with a chain at a time; results do not depend on it.

    Attributes
    ----------
    classes_ : array
        Names of the labels.
    estimators_ : list of BlockClassifierChain

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]] * 5
    >>> Y = [["b"], ["a"], ["a", "b"], []] * 5
    >>> model = BlockChainEnsemble(LogisticRegression(C=10), n_chains=3, random_state=0).fit(X, Y)
    >>> model.predict_labels([[0, 1], [0, 0]])
    [['b'], []]
    """

    estimator: Any
    _: KW_ONLY
    n_chains: int = 20
    block_size: int | Sequence[int] = 1
    inside_out: bool = False
    max_similarity: float = 0.99
    max_fails: int = 50
    vote: str = "mean"
    bootstrap: bool = False
    random_state: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the orders and fit the chains; X and y as in `BlockClassifierChain.fit`."""
        whole("n_chains", self.n_chains, 1)
        whole("max_fails", self.max_fails, 0)
        number("max_similarity", self.max_similarity, 0.0, 1.0)
        one_of("vote", self.vote, ("mean", "share"))
        sizes = self._block_sizes()
        matrix, truth = self._read(X, y)
        self.seed_ = self._resolve_seed()
        found = search(
            self.n_chains,
            truth.indicator.shape[1],
            sizes,
            bool(self.inside_out),
            self.max_similarity,
            self.max_fails,
            self.seed_,
        )
        members = [self._member(chain, i) for i, chain in enumerate(found)]
        rows = [self._rows(matrix.shape[0], i) for i in range(len(members))]
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_chain)(member, matrix[at], csr_array(truth.indicator[at]))
            for member, at in zip(members, rows, strict=True)
        )
        return self

    def _rows(self, n_docs: int, i: int) -> I64:
        """The documents of one chain: all of them, or as many drawn with replacement."""
        if not self.bootstrap:
            return np.arange(n_docs)
        drawn: I64 = with_replacement(n_docs, np.uint64(key(self.seed_, BOOTSTRAP, i, 0)))
        return drawn

    def _block_sizes(self) -> list[int]:
        given = self.block_size
        sizes = [given] if isinstance(given, int | np.integer) else list(given)
        if not sizes:
            raise ValueError("block_size must be a whole number or a list of them; got none")
        for size in sizes:
            whole("block_size", size, 1)
        return [int(size) for size in sizes]

    def _member(self, chain: LabelOrder, i: int) -> BlockClassifierChain:
        return BlockClassifierChain(
            self.estimator,
            block_size=chain.block_size,
            inside_out=chain.inside_out,
            order=chain.order,
            random_state=int(key(self.seed_, MEMBER, i, 0)) & 0xFFFFFFFF,
        )

    def predict_proba(self, X: Any) -> F64:
        """Votes of the chains (documents, labels): mean probabilities, or shares of chains."""
        check_is_fitted(self)
        return self._columns(self._votes(self._documents(X, reset=False)))

    def _votes(self, X: Matrix) -> F64:
        share = self.vote == "share"
        total = np.zeros((X.shape[0], self._n_labels()))
        at_once = effective_n_jobs(self.n_jobs)  # no more than those are in memory
        for start in range(0, len(self.estimators_), at_once):
            members = self.estimators_[start : start + at_once]
            tasks = (delayed(_chain_votes)(member, X, share) for member in members)
            # in the order of the chains, so that rounding is the same for any n_jobs
            for votes in Parallel(n_jobs=self.n_jobs)(tasks):
                total += votes
        return total / len(self.estimators_)

    def predict(self, X: Any) -> Any:
        """The labels with more than half of the votes, in the form that y had."""
        check_is_fitted(self)
        return self._answers(self._votes(self._documents(X, reset=False)) > 0.5)


def _fit_chain(
    chain: BlockClassifierChain, X: Matrix, indicator: csr_array
) -> BlockClassifierChain:
    return chain.fit(X, indicator)


def _chain_votes(chain: BlockClassifierChain, X: Matrix, share: bool) -> F64:
    found = chain._probabilities(X)
    return (found > 0.5).astype(np.float64) if share else found
