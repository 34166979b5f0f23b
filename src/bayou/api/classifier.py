"""Result mixin of classifiers: predictions, probabilities, scores and explanations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayou.api.estimator import Saved
from bayou.api.scoring import accuracy, label_lists
from bayou.api.weighted_topics import WeightedTopics
from bayou.results.response import Response


class Classifier(ClassifierMixin, WeightedTopics):
    """Classes or labels of documents, from the topics `posterior_` and their weights `response_`.

    Comes before `Topics` among the bases of a model, which also declares the parameter `tf`.

    Attributes
    ----------
    response_ : Response
    classes_ : array
        Classes or labels in the order of columns.
    weights_ : float64 array (topics, tasks)
        Binary: one column; positive weights favour ``classes_[1]``. Otherwise one column per class or label.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True  # on scikit-learn's blobs, which are not counts
        return tags

    @property
    def classes_(self) -> NDArray[Any]:
        """Classes or labels, in the order of columns."""
        check_is_fitted(self)
        return np.asarray(self._rule().classes)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of documents; a positive score favours the class.

        Returns
        -------
        float64 array (documents,) for two classes, else (documents, classes)
        """
        _, found = self._scores(X)
        return found[:, 0] if self._rule().kind == "binary" else found

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each document, or an indicator (documents, labels) for several labels per document.

        A label is assigned if its score is positive. If no score is positive, the best label is assigned.
        """
        _, found = self._scores(X)
        return np.asarray(self._rule().answers(found))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of classes (rows sum to one), or of labels, each by itself.

        Scores become probabilities by a softmax of fitted slope (several classes) or a fitted sigmoid (two
        classes, labels). The fit uses scores of the training documents under topics without the document
        itself (leave-one-out). With word weights, it also uses weights fitted without the document (three
        folds). `predict` returns the most probable class. For several labels it uses scores.
        """
        _, found = self._scores(X)
        return self.response_.probabilities(found)

    def predict_labels(self, X: Any) -> list[list[Any]]:
        """The labels of each document as a list; one entry if documents have one class."""
        found, multi = self.predict(X), self._rule().kind == "multi-label"
        return label_lists(found, self.classes_, multi_label=multi)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of documents whose class, or whole set of labels, is right.

        ``y`` may be omitted if X is a corpus with labels. Documents without a label are left out. A label
        that was not seen in training counts as missed.
        """
        found, multi = self.predict(X), self._rule().kind == "multi-label"
        return accuracy(found, y, X, self.classes_, multi_label=multi, sample_weight=sample_weight)


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    return dict(model.response_.arrays())


def _unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    shape = model.posterior_.n_terms, model.posterior_.n_topics
    model.response_ = Response.from_arrays(arrays, shape)


RESPONSE = Saved(_pack, _unpack)  # after POSTERIOR, which gives the shape
