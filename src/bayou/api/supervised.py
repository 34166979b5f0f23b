"""The bases of topic models that predict: what follows from a `Posterior` and a `Response`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from bayou.api.supervised_estimator import SupervisedEstimator, scores, weights_of
from bayou.data.checks import number
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError, MissingTargetsWarning
from bayou.data.supervision import read_labels, read_targets
from bayou.inference.lda.arrays import F64
from bayou.run.shards import Workers

__all__ = ["SupervisedEstimator", "TopicClassifier", "TopicRegressor", "scores", "weights_of"]


class Classifies(ClassifierMixin):
    """What follows from `predict` and from a rule with a kind and classes: lists of labels, and the score."""

    if TYPE_CHECKING:

        def _rule(self) -> Any: ...
        def predict(self, X: Any) -> Any: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True  # on scikit-learn's blobs, which are no counts
        return tags

    @property
    def classes_(self) -> NDArray[Any]:
        """Classes or labels, in the order of columns."""
        check_is_fitted(self)
        return np.asarray(self._rule().classes)

    def predict_labels(self, X: Any) -> list[list[Any]]:
        """The labels of each document as lists; of one entry where documents have one class."""
        found = self.predict(X)
        if self._rule().kind != "multi-label":
            return [[label] for label in found.tolist()]
        return [self.classes_[row > 0].tolist() for row in found]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of documents whose class, or whole set of labels, is right.

        ``y`` may be left out where X is a corpus with labels. Documents without a label are left out; a label
        that was not there in training counts as missed.
        """
        found = self.predict(X)
        corpus = X if isinstance(X, Corpus) else None
        if self._rule().kind == "multi-label":
            right, known = _same_labels(y, found, self.classes_, corpus)
        else:
            right, known = _same_class(y, found, self.classes_, corpus)
        use = np.flatnonzero(known)
        if not len(use):
            raise DataError("no document has a label; give some to measure with")
        weight = None if sample_weight is None else np.asarray(sample_weight)[use]
        return float(accuracy_score(np.ones(len(use), bool), right[use], sample_weight=weight))


@dataclass(kw_only=True, eq=False, repr=False)
class TopicClassifier(Classifies, SupervisedEstimator, abstract=True):
    """A topic model that names the class, or the labels, of documents."""

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of documents: positive speaks for a class.

        Returns
        -------
        float64 array (documents,) for two classes, else (documents, classes)
        """
        found = self._scores(X)
        return found[:, 0] if self._rule().kind == "binary" else found

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each document or, for several labels a document, an indicator (documents, labels).

        A label is given where its score is positive, and the best one where none is.
        """
        found = self._scores(X)
        return np.asarray(self._rule().answers(found))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of classes (rows add up to one) or of labels, each by itself.

        Scores become probabilities by a softmax of fitted slope (classes) or a fitted sigmoid (two classes,
        labels). The fit is to scores of the training documents under topics that have forgotten the document
        (leave one out); where words take part, also by weights fitted without it (three folds). `predict`
        gives the most probable class; of several labels it goes by scores.
        """
        found = self._scores(X)
        return self.response_.probabilities(found)


def _same_class(
    y: Any, found: NDArray[Any], classes: NDArray[Any], corpus: Corpus | None
) -> tuple[Any, Any]:
    """Whether each document was given the right class, and of which that is known."""
    truth = read_labels(
        y, len(found), corpus=corpus, classes=classes, multi_label=False, others=True
    )
    return truth.classes[np.maximum(truth.codes, 0)] == found, truth.known


def _same_labels(
    y: Any, found: NDArray[Any], classes: NDArray[Any], corpus: Corpus | None
) -> tuple[Any, Any]:
    """Whether each document was given exactly the right labels, and of which they are known."""
    truth = read_labels(
        y, len(found), corpus=corpus, classes=classes, multi_label=True, others=True
    )
    place = {name: i for i, name in enumerate(classes.tolist())}
    wanted, strange = np.zeros_like(found), np.zeros(len(found), bool)
    dense = truth.indicator.toarray()
    for j, name in enumerate(truth.classes.tolist()):
        if name in place:
            wanted[:, place[name]] = dense[:, j]
        else:
            strange |= dense[:, j] > 0
    return (wanted == found).all(axis=1) & ~strange, truth.known


@dataclass(kw_only=True, eq=False, repr=False)
class TopicRegressor(RegressorMixin, SupervisedEstimator, abstract=True):
    """A topic model that predicts numbers."""

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The number, or numbers, of each document.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms)
        return_std : bool
            Also give the standard deviation of a new target around the prediction: what the weights do not
            know, and noise.

        Returns
        -------
        float64 array (documents,), or (documents, targets) for several targets; twice with `return_std`
        """
        check_is_fitted(self)
        corpus = self._corpus(X, reset=False)
        with Workers(self.n_threads) as workers:
            zbar = self._features(corpus.counts, workers.each)
        resp = self.response_
        found = scores(resp, zbar, corpus.counts)
        if not return_std:
            return _flat(found)
        spread = np.tile(resp.noise, (len(found), 1))
        if len(resp.covariance):
            z = zbar.astype(np.float64) - resp.centre
            spread += np.einsum("dk,tkj,dj->dt", z, resp.covariance, z)
        return _flat(found), _flat(np.sqrt(spread))

    def predict_interval(self, X: Any, *, level: float = 0.9) -> NDArray[np.float64]:
        """Lower and upper ends between which ``level`` of new targets lie, if noise is normal.

        Returns
        -------
        float64 array (2, documents) or (2, documents, targets)
        """
        number("level", level, 0.0, 1.0)
        mean, std = self.predict(X, return_std=True)
        half = norm.ppf((1.0 + level) / 2.0) * std
        return np.stack([mean - half, mean + half])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Predictive R², the part of the targets' variance that is predicted.

        ``y`` may be left out where X is a corpus with targets. Missing targets (NaN) are left out; of
        several targets the mean is taken.
        """
        found = self.predict(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingTargetsWarning)
            corpus = X if isinstance(X, Corpus) else None
            truth = read_targets(y, len(found), corpus=corpus)
        found = found.reshape(len(found), -1)
        if truth.shape != found.shape:
            raise DataError(f"the model predicts {found.shape[1]} targets; y has {truth.shape[1]}")
        weight = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight)
        each = [
            r2_score(truth[use, t], found[use, t], sample_weight=weight[use])
            for t, use in enumerate(~np.isnan(truth).T)
        ]
        return float(np.mean(each))


def _flat(found: F64) -> F64:
    return found[:, 0] if found.shape[1] == 1 else found
