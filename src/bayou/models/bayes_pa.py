"""Online Bayesian passive-aggressive learning: linear classifiers and regressors on a stream.

    q_{t+1}(w) = argmin KL(q || q_t) + 2 c sum_d loss_d(q)      q_0 = N(0, sigma^2 I)      one w a task

No latent variables: documents are rows x_d of any numbers. Two losses of a posterior:

``averaging``  (margin - y E[w]'x)_+ : the classical soft-margin algorithm PA-I [Crammer06], with C = 2c at
               sigma^2 = 1; the variance stays as it was and only the mean moves
``gibbs``      E(margin - y w'x)_+ : the posterior stays Gaussian by mean field and its precision grows, so
               that predictions know how sure they are

For numbers the loss is what lies outside a tube, (|y - w'x| - epsilon)_+. Two classes are one task; more of
them, or several labels a document, one task each.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
[Crammer06] Crammer, Dekel, Keshet, Shalev-Shwartz, Singer. Online passive-aggressive algorithms.
JMLR 7, 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bayou.api.linear_estimator import LinearEstimator
from bayou.data.checks import number
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError, ModelFileError
from bayou.data.label_forms import pack_classes, unpack_classes
from bayou.data.supervision import growth, merge_classes, read_labels, responses
from bayou.inference.lda.arrays import F64
from bayou.inference.margin import passive_aggressive as pa

_LARGEST_TARGET = 1e30  # squares of larger ones would not be finite


def _gibbs(model: Any) -> bool:
    return bool(model.classifier == "gibbs")


@dataclass(kw_only=True, eq=False, repr=False)
class BayesPAClassifier(ClassifierMixin, LinearEstimator):
    """Linear classifier of a stream, passive where a document is right and aggressive where not.

    Parameters
    ----------
    classifier : {"averaging", "gibbs"}
        Whether the weights are a mean that moves (PA-I), or a Gaussian that also becomes surer.
    cost : float
        What a loss costs against moving the weights [c].
    margin : float
        How far on its side a document has to be [ℓ].
    variance : float
        Variance of the weights before the first document [σ²].
    precision : {"diagonal", "full"} or None
        What "gibbs" keeps of the posterior: a number for each weight, or a matrix for each task, for up
        to some hundred features. None is "diagonal"; "averaging" has no use for it.
    batch_size : int
        Documents in a mini-batch, which are learned together. Wherever a stream is cut into calls of
        `partial_fit`, mini-batches are the same.
    n_passes : int
        Passes of `fit` over its documents, each in its own keyed order.
    fit_intercept : bool
        Whether there is a constant feature; its weight is learned like the others.
    average : bool
        Whether to predict with the mean of the weights over all mini-batches, not with the last ones.
    n_rounds, tol : int, float
        The most rounds over a mini-batch, and the relative change below which no further one is made.
    max_time : float or None
        Seconds after which `fit` begins no further thousand documents.
    random_state, n_threads, progress, callbacks
        As in `LDA`. The order of passes is the only thing drawn; threads share out the classes.

    Attributes
    ----------
    classes_ : array
        Sorted classes; of several labels a document, their names in the order of the columns.
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

    classifier: str = "averaging"
    margin: float = 1.0

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from documents in `n_passes` passes; what was learned before is forgotten.

        The result depends neither on the order of the documents nor on whether one of weight two is
        given, or the same one twice.

        Parameters
        ----------
        X : Corpus or matrix (documents, features)
            Sparse or dense, of any finite numbers.
        y : classes, label lists or indicator matrix; None for the labels of a corpus
            None, NaN or a row of NaN is a document without labels, from which nothing is learned.
        sample_weight : array (documents,), optional
            By how much the cost of each document is multiplied.
        """
        p = self._checked_parameters()
        rows, corpus = self._rows(X, reset=True)
        labels = read_labels(y, rows.shape[0], corpus=corpus)
        self.seed_ = self._resolve_seed()
        self._set_classes(labels.classes, labels.kind == "multi-label")
        examples = pa.make_examples(
            rows, responses(labels), self._costs(sample_weight, rows.shape[0])
        )
        if not examples.n_docs:
            raise DataError("sample_weight is zero for every document that has labels")
        if not self.multi_label_ and (examples.y == examples.y[0]).all():
            raise DataError("sample_weight is zero for all classes but one; a classifier needs two")
        begin = self._begin(p, examples.y.shape[1], rows.shape[1])
        self._learn_all(p, examples, begin)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more documents, in the order given.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. The first call settles whether documents have one class or several labels; a
            corpus whose first documents have at most one label each has classes.
        classes : array-like, optional
            All classes, at the first call; left out, they are those in ``y``. Later, classes to add: the
            model is then as if they had been given at the first call.
        """
        p = self._checked_parameters()
        first = not hasattr(self, "state_")
        rows, corpus = self._rows(X, reset=first)
        if first:
            labels = read_labels(y, rows.shape[0], corpus=corpus, classes=classes)
            self.seed_ = self._resolve_seed()
            self._set_classes(labels.classes, labels.kind == "multi-label")
            y = responses(labels)
            begin = self._begin(p, y.shape[1], rows.shape[1])
            self.pending_ = pa.no_examples(y)
        else:
            self._check_stream(p)
            every = merge_classes(self.classes_, classes, in_order=self.multi_label_)
            labels = read_labels(
                y, rows.shape[0], corpus=corpus, classes=every, multi_label=self.multi_label_
            )
            y, begin = responses(labels), self._grown(every)
        costs = self._costs(sample_weight, rows.shape[0])
        self._learn_more(p, pa.make_examples(rows, y, costs), begin)
        return self

    def _set_classes(self, classes: NDArray[Any], several: bool) -> None:
        self.classes_, self.multi_label_ = classes, several

    def _grown(self, every: NDArray[Any]) -> pa.Weights:
        """The weights with a task for every class, and so the documents that wait."""
        if len(every) == len(self.classes_):
            return self.state_
        source, sign = growth(self.classes_, every, self._is_binary())
        y = np.ascontiguousarray(self.pending_.y[:, source] * sign.astype(np.int8))
        self.pending_ = self.pending_._replace(y=y)
        self._set_classes(every, self.multi_label_)
        return pa.regroup(self.state_, source, sign)

    def _is_binary(self) -> bool:
        return not self.multi_label_ and len(self.classes_) == 2

    def _n_tasks(self) -> int:
        return len(self.state_.mean) - 1

    def _posterior_kind(self) -> tuple[str, str]:
        return "classifier", self.classifier

    def _loss(self) -> tuple[float, bool]:
        return float(self.margin), False

    def _checked_parameters(self) -> SimpleNamespace:
        number("margin", self.margin, 1e-30)
        return super()._checked_parameters()

    def decision_function(self, X: Any) -> F64:
        """How far each document is on the side of a class or label; 0 is the border.

        With "gibbs" the mean is moderated by how little is known, w'x / sqrt(1 + var(w'x) / margin²), so
        that what is not known well does not win.

        Returns
        -------
        float64 array (documents,) for two classes, else (documents, classes)
        """
        check_is_fitted(self)
        rows, _ = self._rows(X, reset=False)
        far = self._means(rows)
        if _gibbs(self):
            far /= np.sqrt(1.0 + self._variances(rows) / self.margin**2)
        return far[:, 0] if self._is_binary() else far

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each document; of several labels an indicator matrix, documents x labels."""
        far = self.decision_function(X)
        if self.multi_label_:
            return (far > 0).astype(np.int64)
        best = (far > 0).astype(np.intp) if self._is_binary() else far.argmax(axis=1)
        return np.asarray(self.classes_[best])

    @available_if(_gibbs)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> F64:
        """How probable each class or label is; with "gibbs" only.

        The integral of a probit whose scale is the margin, Φ(w'x / margin), over the posterior of w,
        scaled to sum to one over more than two classes. It reads the margin as the noise of a label and is
        not calibrated on data.

        Returns
        -------
        float64 array (documents, classes)
            Rows sum to one, except for several labels a document.
        """
        yes = ndtr(self.decision_function(X) / self.margin)
        if self._is_binary():
            return np.column_stack([1.0 - yes, yes])
        if self.multi_label_:
            return np.asarray(yes, np.float64)
        yes += np.finfo(np.float64).tiny  # all may be impossible alike
        return np.asarray(yes / yes.sum(axis=1, keepdims=True), np.float64)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of the documents whose class, or whose labels all, are right.

        ``y`` as in `fit`; a class that the model does not know is a mistake, and documents without labels
        do not count.
        """
        check_is_fitted(self)
        n_docs = (
            X.n_docs if isinstance(X, Corpus) else len(X) if isinstance(X, list) else X.shape[0]
        )
        corpus = X if isinstance(X, Corpus) else None
        several = self.multi_label_
        labels = read_labels(
            y, n_docs, corpus=corpus, classes=self.classes_, multi_label=several, others=True
        )
        found = self.predict(X)
        if several:  # labels that the model does not know are behind those that it does
            never = np.zeros((n_docs, len(labels.classes) - len(self.classes_)), np.int64)
            right = (labels.indicator.toarray() == np.hstack([found, never])).all(axis=1)
        else:
            right = labels.classes[labels.codes] == found
        weight = np.ones(n_docs) if sample_weight is None else np.asarray(sample_weight, np.float64)
        return float(np.average(right[labels.known], weights=weight[labels.known]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _payload(self) -> dict[str, NDArray[Any]]:
        return super()._payload() | pack_classes(self.classes_, self.multi_label_)

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._set_classes(*unpack_classes(arrays))
        super()._restore(arrays)
        if self._n_tasks() != (1 if self._is_binary() else len(self.classes_)):
            raise ModelFileError("the model file's classes and weights disagree; save it again")
