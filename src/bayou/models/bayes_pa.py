"""Online Bayesian passive-aggressive learning: linear classifiers and regressors on a stream.

    q_{t+1}(w) = argmin KL(q || q_t) + 2 c sum_d loss_d(q)      q_0 = N(0, sigma^2 I)      one w per task

There are no latent variables. Documents are rows x_d of any numbers. Two losses of a posterior:

``averaging``  (margin - y E[w]'x)_+ : the classical soft-margin algorithm PA-I [Crammer06], with C = 2c at
               sigma^2 = 1. The variance stays sigma^2 and only the mean moves.
``gibbs``      E(margin - y w'x)_+ : the posterior stays Gaussian by mean field and its precision grows, so
               predictions have a variance.

Two classes are one task. More classes, or several labels per document, are one task each.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
[Crammer06] Crammer, Dekel, Keshet, Shalev-Shwartz, Singer. Online passive-aggressive algorithms.
JMLR 7, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bayou.api import stream_classes
from bayou.api.estimator import Estimator, Saved
from bayou.api.linear import Linear
from bayou.api.params import param
from bayou.api.scoring import accuracy
from bayou.api.stream_classes import CLASSES, check_on_load
from bayou.api.streaming import STREAM, Stream, Streaming
from bayou.data.errors import DataError
from bayou.inference.lda.arrays import F64, Each
from bayou.inference.margin import examples
from bayou.inference.margin import passive_aggressive as pa
from bayou.inference.margin.examples import Examples
from bayou.inference.margin.loss import HINGE
from bayou.inference.margin.passive_aggressive import LinearSettings, LinearState


def update(
    state: LinearState, chunk: Examples, p: LinearSettings, seed: int, each: Each
) -> LinearState:
    """q_{t+1}(w) = argmin KL(q || q_t) + 2c sum_d loss_d(q), for the mini-batches of a chunk in turn."""
    if p.phase == "gibbs":
        # E loss(y, w'x), mean field q(w) q(lambda): [Shi17] eq. 28
        return pa.infer(state, chunk, p, each)
    # loss(y, E[w]'x), by its dual, 0 <= tau_d <= 2c: [Shi17] eq. 10; one document: PA-I of [Crammer06]
    return pa.average(state, chunk, p, each)


def _is_gibbs(model: Any) -> bool:
    return bool(model.classifier == "gibbs")


@dataclass(kw_only=True, eq=False, repr=False)
class BayesPAClassifier(Linear, ClassifierMixin, Streaming, Estimator):
    """Linear classifier of a stream: documents with a loss move the weights, the others do not.

    Parameters
    ----------
    classifier : {"averaging", "gibbs"}
        Posterior of the weights: a mean only (PA-I), or a Gaussian whose precision grows.
    cost : float
        Weight of the loss against changes of the weights [c].
    margin : float
        Least score of a document on its own side without a loss [ℓ].
    variance : float
        Prior variance of a weight [σ²].
    precision : {"diagonal", "full"} or None
        Precision that "gibbs" keeps: one number per weight, or one matrix per task for up to some hundred
        features. Default: "diagonal". "averaging" requires None.
    batch_size : int
        Documents in a mini-batch, which are learned together. Mini-batches do not depend on how a stream is
        cut into calls of `partial_fit`.
    n_passes : int
        Passes of `fit` over its documents, each in its own keyed order.
    fit_intercept : bool
        Whether there is a constant feature. Its weight is learned like the others.
    average : bool
        Whether to predict with the mean of the weights over all mini-batches instead of the last weights.
    n_rounds, tol : int, float
        Maximal rounds over a mini-batch, and the relative change below which the rounds end.
    max_time : float or None
        Seconds after which `fit` starts no further block of about a thousand documents.
    random_state, n_threads, progress, callbacks
        As in `LDA`. Only the order of passes is random. Threads share the classes.

    Attributes
    ----------
    classes_ : array
        Sorted classes. For several labels per document, their names in the order of the columns.
    coef_ : float64 array (tasks, features)
    intercept_ : float64 array (tasks,)

    Examples
    --------
    >>> from bayou import BayesPAClassifier
    >>> X, y = [[0.0, 2.0], [2.0, 0.1], [0.2, 1.0], [1.0, 0.0]], ["calm", "wild", "calm", "wild"]
    >>> model = BayesPAClassifier(classifier="gibbs", random_state=0).fit(X, y)
    >>> model.predict([[0.1, 3.0], [2.0, 0.5]]).tolist()
    ['calm', 'wild']
    """

    classifier: str = param("averaging", choices=("averaging", "gibbs"))
    margin: float = param(1.0, gt=0.0)
    cost: float = param(0.5, gt=0.0)
    variance: float = param(1.0, gt=0.0)
    precision: str | None = param(None, choices=pa.PRECISIONS)
    batch_size: int = param(1, ge=1)
    n_passes: int = param(5, ge=1)
    fit_intercept: bool = True
    average: bool = False
    n_rounds: int = param(100, ge=1)
    tol: float = param(1e-4, ge=0.0)

    algorithm: ClassVar[Stream] = Stream(LinearState, Examples, update, chunked=True)
    saved: ClassVar[tuple[Saved, ...]] = (STREAM, CLASSES, check_on_load(pa.check_arrays))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from documents in `n_passes` passes; everything learned before is discarded.

        The result does not depend on the order of the documents. A document of weight two is the same as the
        document twice.

        Parameters
        ----------
        X : Corpus or matrix (documents, features)
            Sparse or dense, of any finite numbers.
        y : classes, label lists or indicator matrix; None for the labels of a corpus
            None, NaN or a row of NaN is a document without labels, from which nothing is learned.
        sample_weight : array (documents,), optional
            Factors on the cost of documents.
        """
        self.check_params()
        rows, corpus = self._rows(X, reset=True)
        costs = self._costs(sample_weight, rows.shape[0])
        signs = stream_classes.read_first(self, y, rows.shape[0], corpus)
        given = examples.select_informative(examples.examples_of(rows, signs, costs))
        if not given.n_docs:
            raise DataError("sample_weight is zero for every document that has labels")
        if not self.multi_label_ and (given.y == given.y[0]).all():
            raise DataError("sample_weight is zero for all classes but one; a classifier needs two")
        p = self._start(signs.shape[1], rows.shape[1])
        self._learn_all(given, p, self.n_passes)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more documents, in the order given.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. The first call decides whether documents have one class or several labels. A
            corpus whose first documents have at most one label each has classes.
        classes : array-like, optional
            All classes, at the first call. Default: the classes in ``y``. Later, classes to add: the
            model is then as if they had been given at the first call.
        """
        first = not hasattr(self, "state_")
        p = self.resolve()
        rows, corpus = self._rows(X, reset=first)
        n_docs = rows.shape[0]
        costs = self._costs(sample_weight, n_docs)
        if first:
            signs = stream_classes.read_first(self, y, n_docs, corpus, classes)
            self.pending_ = examples.no_examples(signs)
            p = self._start(signs.shape[1], rows.shape[1])
        else:
            signs, every = stream_classes.read_more(self, y, n_docs, corpus, classes)
            stream_classes.grow_classes(self, every, pa.regroup)
        given = examples.select_informative(examples.examples_of(rows, signs, costs))
        self._learn_more(given, p)
        return self

    def resolve(self) -> LinearSettings:
        """The parameters of one run, checked against what was learned."""
        self.check_params()
        return self._settings(self.classifier, HINGE, self.margin)

    def _n_tasks(self) -> int:
        return len(self.state_.mean) - 1  # the last task is that of a class to come

    def _is_binary(self) -> bool:
        return stream_classes.kind_of(self) == "binary"

    @property
    def classes_(self) -> NDArray[Any]:
        """Classes or labels, in the order of columns."""
        check_is_fitted(self)
        return np.asarray(self._classes)

    def decision_function(self, X: Any) -> F64:
        """Scores of documents; a positive score favours the class or label.

        With "gibbs" the mean is divided by sqrt(1 + var(w'x) / margin²), so that uncertain scores are small.

        Returns
        -------
        float64 array (documents,) for two classes, else (documents, classes)
        """
        check_is_fitted(self)
        rows, _ = self._rows(X, reset=False)
        far = self._means(rows)
        if _is_gibbs(self):
            far /= np.sqrt(1.0 + self._variances(rows) / self.margin**2)
        return far[:, 0] if self._is_binary() else far

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each document, or an indicator (documents, labels) for several labels per document."""
        far = self.decision_function(X)
        if self.multi_label_:
            return (far > 0).astype(np.int64)
        best = (far > 0).astype(np.intp) if self._is_binary() else far.argmax(axis=1)
        return np.asarray(self.classes_[best])

    @available_if(_is_gibbs)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> F64:
        """Probabilities of classes or labels; with "gibbs" only.

        The integral of the probit Φ(w'x / margin) over the posterior of w, normalised over more than two
        classes. It takes the margin as the noise of a label and is not calibrated on data.

        Returns
        -------
        float64 array (documents, classes)
            Rows sum to one, except for several labels per document.
        """
        yes = ndtr(self.decision_function(X) / self.margin)
        if self._is_binary():
            return np.column_stack([1.0 - yes, yes])
        if self.multi_label_:
            return np.asarray(yes, np.float64)
        yes += np.finfo(np.float64).tiny  # all may underflow to zero
        return np.asarray(yes / yes.sum(axis=1, keepdims=True), np.float64)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of documents whose class, or whole set of labels, is right.

        ``y`` as in `fit`. Documents without labels are left out. An unknown class counts as missed.
        """
        multi = bool(getattr(self, "multi_label_", False))
        found = self.predict(X)
        return accuracy(found, y, X, self.classes_, multi_label=multi, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
