"""Classifier chains, in blocks, around any classifier.

    p(y | x) = prod_p p(y_c[p] | x, y of prev(c[p]))

with c an order of the labels and prev(c[p]) the labels before c[p]: all of them (a chain), those of earlier
blocks, or those of its own block (inside-out blocks); see `bayou.multilabel.orders`. Each factor is a
classifier of one label with the labels in prev as further features: the true ones in training, the predicted
ones afterwards.

[Read11] Read, Pfahringer, Holmes, Frank. Classifier chains for multi-label classification. Machine Learning
85, 2011.
[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from bayou.data.checks import one_of, whole
from bayou.multilabel.learners import (
    block_probabilities,
    fit_label,
    join_features,
    label_probability,
)
from bayou.multilabel.orders import LabelOrder, draw_order, frequency_order
from bayou.multilabel.wrapping import F64, I64, Matrix, Wrapper, seed_clone


@dataclass(eq=False, repr=False)
class BlockClassifierChain(Wrapper):
    """Labels predicted one block after the other, each with the labels before it as features [Read11].

    Blocks of one label are the classifier chain. One block of all labels is binary relevance: one classifier
    per label. In between, errors propagate over fewer steps, and labels of a block are predicted in parallel
    [Burkhardt18b]. A label is given if its probability is above one half; wrap the chain in a
    `ThresholdedClassifier` for better thresholds.

    Parameters
    ----------
    estimator : classifier
        Any classifier of two classes. Its scores are `predict_proba`, or the logistic function of
        `decision_function`, or `predict`. Each label sets the seeds that are None (``random_state=None``).
    block_size : int
        Labels per block [b]; 1 is a chain, the number of labels or more is binary relevance.
    inside_out : bool
        Use the earlier labels of the same block, and of no other block. Then 1 is binary relevance, and the
        number of labels is a chain.
    order : {"given", "random", "frequency"} or array of int
        The order of columns, shuffled by `random_state`, from frequent to rare, or the given order.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Processes, as in scikit-learn; results do not depend on it.

    Attributes
    ----------
    classes_ : array
        Names of the labels.
    chain_ : LabelOrder
        The order and its blocks.
    estimators_ : list
        The fitted classifier of each label, in the order of `classes_`; a `Constant` for a label that all
        training documents have, or that none has.

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
        """Fit one classifier per label, with the true labels before it as features.

        Parameters
        ----------
        X : matrix (documents, features), dense or sparse, or Corpus
        y : indicator (documents, labels), dense or sparse; label lists; a vector of two classes
            Not needed if X is a corpus with labels.
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

        For a vector of two classes: of both classes.
        """
        check_is_fitted(self)
        return self._columns(self._probabilities(self._documents(X, reset=False)))

    def _probabilities(self, X: Matrix) -> F64:
        out = np.zeros((X.shape[0], len(self.estimators_)))
        blocks = self.chain_.blocks
        learners = [[self.estimators_[label] for label in block] for block in blocks]
        if self.chain_.inside_out:
            tasks = [
                (block_probabilities, own, block, X)
                for own, block in zip(learners, blocks, strict=True)
            ]
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
