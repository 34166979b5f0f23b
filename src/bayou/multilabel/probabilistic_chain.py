"""Probabilistic classifier chains: the joint probability of label sets, around any classifier.

    p(y | x) = prod_p p(y_c[p] | x, y_c[0 .. p))

A classifier chain decides one label after the other and never corrects an early mistake. A probabilistic
chain looks for the set of labels with the largest p(y | x), by beam search, or for the labels whose
probability under p(y | x) is above one half, from all sets (few labels) or from sets drawn along the chain.

[Dembczynski10] Dembczynski, Cheng, Huellermeier. Bayes optimal multilabel classification via probabilistic
classifier chains. ICML 2010.
[Kumar13] Kumar, Vembu, Menon, Elkan. Beam search algorithms for multilabel learning. Machine Learning 92,
2013.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from bayou.data.checks import one_of, whole
from bayou.kernels.rng import MEMBER, key, unit
from bayou.multilabel.block_chain import BlockClassifierChain
from bayou.multilabel.learners import join_features, label_probability
from bayou.multilabel.wrapping import F64, Matrix, Wrapper

LOSSES = ("subset", "hamming")
_ROWS = 20_000  # documents x sets that are looked at together
_LEAST = 1e-12  # a probability is at least this and at most 1 - this


@dataclass(eq=False, repr=False)
class ProbabilisticChain(Wrapper):
    """A classifier chain that predicts by the joint probability of label sets [Dembczynski10].

    Parameters
    ----------
    estimator : classifier
        As in `BlockClassifierChain`. Its probabilities should be calibrated, as those of logistic regression.
    order : {"given", "random", "frequency"} or array of int
        As in `BlockClassifierChain`.
    loss : {"subset", "hamming"}
        What `predict` is best for: the most probable set of labels, or every label whose probability is above
        one half.
    n_beams : int
        Sets that the search for the most probable one follows [Kumar13]. One is the greedy chain. If it is at
        least 2 to the number of labels, the search is exact.
    n_samples : int
        Sets that are drawn for the probabilities of labels. If there are not more sets than this, all sets
        are looked at and the probabilities are exact.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Processes of `fit`, as in scikit-learn; results do not depend on it.

    Attributes
    ----------
    classes_ : array
        Names of the labels.
    chain_ : BlockClassifierChain
        The fitted chain.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]] * 5
    >>> Y = [[0, 1, 1], [1, 0, 1], [1, 1, 1], [0, 0, 0]] * 5
    >>> model = ProbabilisticChain(LogisticRegression(C=10), random_state=0).fit(X, Y)
    >>> model.predict([[0, 1], [0, 0]]).tolist()
    [[0, 1, 1], [0, 0, 0]]
    """

    estimator: Any
    _: KW_ONLY
    order: str | ArrayLike = "given"
    loss: str = "subset"
    n_beams: int = 8
    n_samples: int = 100
    random_state: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the chain; X and y as in `BlockClassifierChain.fit`."""
        one_of("loss", self.loss, LOSSES)
        whole("n_beams", self.n_beams, 1)
        whole("n_samples", self.n_samples, 1)
        matrix, truth = self._read(X, y)
        self.seed_ = self._resolve_seed()
        chain = BlockClassifierChain(
            self.estimator, order=self.order, random_state=self.seed_, n_jobs=self.n_jobs
        )
        self.chain_ = chain.fit(matrix, csr_array(truth.indicator))
        return self

    def predict_proba(self, X: Any) -> F64:
        """Probabilities of the labels (documents, labels) under the joint probability of sets.

        For a vector of two classes: of both classes. A row depends on that row alone.
        """
        check_is_fitted(self)
        return self._columns(self._marginals(self._documents(X, reset=False)))

    def predict(self, X: Any) -> Any:
        """The most probable set, or the probable labels (`loss`), in the form that y had."""
        check_is_fitted(self)
        matrix = self._documents(X, reset=False)
        if self.loss == "hamming":
            return self._answers(self._marginals(matrix) > 0.5)
        return self._answers(self.most_probable_sets(matrix)[0])

    def most_probable_sets(self, X: Any) -> tuple[NDArray[np.int8], F64]:
        """The most probable set of each document as an indicator (documents, labels), and its ln p(y | x)."""
        check_is_fitted(self)
        matrix = self._documents(X, reset=False)
        parts = [self._search(part, int(self.n_beams)) for part in _parts(matrix, self.n_beams)]
        sets = np.concatenate([sets[:, 0] for sets, _ in parts])
        return sets, np.concatenate([log_p[:, 0] for _, log_p in parts])

    def _search(self, X: Matrix, width: int) -> tuple[NDArray[np.int8], F64]:
        """The ``width`` best sets (documents, sets, labels) that beam search finds, best first; ln p(y|x)."""
        n_docs, order = X.shape[0], self.chain_.chain_.order
        sets, log_p = np.zeros((n_docs, 1, len(order)), np.int8), np.zeros((n_docs, 1))
        for position, label in enumerate(order):
            p = self._conditional(X, sets, position)
            both = np.concatenate([log_p + np.log(p), log_p + np.log1p(-p)], axis=1)
            best = np.argsort(-both, axis=1, kind="stable")[:, :width]
            log_p = np.take_along_axis(both, best, axis=1)
            n_before = sets.shape[1]
            sets = np.take_along_axis(sets, (best % n_before)[:, :, None], axis=1)
            sets[:, :, label] = best < n_before
        return sets, log_p

    def _conditional(self, X: Matrix, sets: NDArray[np.int8], position: int) -> F64:
        """p(y = 1 | x, labels before) of the label at a position, for each document and set."""
        chain = self.chain_.chain_
        n_docs, n_sets, n_labels = sets.shape
        rows = X if n_sets == 1 else X[np.repeat(np.arange(n_docs), n_sets)]
        before = sets.reshape(-1, n_labels)[:, chain.previous(position)]
        learner = self.chain_.estimators_[chain.order[position]]
        found = label_probability(learner, join_features(rows, before))
        return np.clip(found, _LEAST, 1.0 - _LEAST).reshape(n_docs, n_sets)

    def _marginals(self, X: Matrix) -> F64:
        n_labels = len(self.chain_.estimators_)
        if n_labels < 40 and 2**n_labels <= self.n_samples:
            out = []
            for part in _parts(X, 2**n_labels):
                sets, log_p = self._search(part, 2**n_labels)
                out.append(np.einsum("dsl,ds->dl", sets, np.exp(log_p)))
            return np.concatenate(out)
        return np.concatenate([self._sample(part) for part in _parts(X, self.n_samples)])

    def _sample(self, X: Matrix) -> F64:
        """Mean conditional probability of each label over sets drawn along the chain.

        All documents use the same random numbers, so a document's probabilities depend on itself alone.
        """
        order = self.chain_.chain_.order
        sets = np.zeros((X.shape[0], int(self.n_samples), len(order)), np.int8)
        out = np.empty((X.shape[0], len(order)))
        for position, label in enumerate(order):
            p = self._conditional(X, sets, position)
            out[:, label] = p.mean(axis=1)
            draws = [
                unit(np.uint64(key(self.seed_, MEMBER, s, position))) for s in range(sets.shape[1])
            ]
            sets[:, :, label] = np.array(draws) < p
        return out


def _parts(X: Matrix, n_sets: int) -> Iterator[Matrix]:
    """Chunks of documents whose size depends on the number of label sets."""
    step = max(1, _ROWS // n_sets)
    for start in range(0, X.shape[0], step):
        yield X[start : start + step]
