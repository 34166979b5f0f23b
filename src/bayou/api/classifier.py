"""Result mixin of classifiers: predictions, probabilities, scores and explanations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayou.api.estimator import Saved
from bayou.api.scoring import accuracy, label_lists
from bayou.inference.lda.arrays import F32, F64, Each
from bayou.inference.margin import scoring
from bayou.results.explanation import MarginExplanation
from bayou.results.posterior import Posterior
from bayou.results.response import Response
from bayou.run.shards import Workers

if TYPE_CHECKING:
    from bayou.api.estimator import Estimator as Base
else:
    Base = object


class Classifier(ClassifierMixin, Base):
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

    posterior_: Posterior
    response_: Response
    tf: str

    # -- a model may replace these two -----------------------------------------------------------

    def _rule(self) -> Response:
        """The response as far as classes, weights and features need it.

        Default: `response_`. A model that calibrates probabilities when `response_` is read returns it
        without calibration.
        """
        return self.response_

    def _features(self, counts: csr_array, each: Each) -> F32:
        """Average topics of documents (documents x topics).

        Default: computed from `posterior_`. A model whose topics are costly to compute for all terms uses the
        terms of these documents only.
        """
        if getattr(self, "prediction", "mean") == "sampled":
            return scoring.draw_features(
                self.posterior_, self._rule(), counts, self.tf, self.seed_, each
            )
        return scoring.document_features(self.posterior_, self._rule(), counts, self.tf, each)

    # -- what users read -------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True  # on scikit-learn's blobs, which are not counts
        return tags

    @property
    def classes_(self) -> NDArray[Any]:
        """Classes or labels, in the order of columns."""
        check_is_fitted(self)
        return np.asarray(self._rule().classes)

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Weight of every topic in every task."""
        check_is_fitted(self)
        return self._rule().weights

    def _scores(self, X: Any) -> F64:
        """Score of every task for every document."""
        check_is_fitted(self)
        corpus = self._corpus(X, reset=False)
        with Workers(self.n_threads) as workers:
            zbar = self._features(corpus.counts, workers.each)
        return scoring.task_scores(self.response_, zbar, corpus.counts)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of documents; a positive score favours the class.

        Returns
        -------
        float64 array (documents,) for two classes, else (documents, classes)
        """
        found = self._scores(X)
        return found[:, 0] if self._rule().kind == "binary" else found

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each document, or an indicator (documents, labels) for several labels per document.

        A label is assigned if its score is positive. If no score is positive, the best label is assigned.
        """
        found = self._scores(X)
        return np.asarray(self._rule().answers(found))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of classes (rows sum to one), or of labels, each by itself.

        Scores become probabilities by a softmax of fitted slope (several classes) or a fitted sigmoid (two
        classes, labels). The fit uses scores of the training documents under topics without the document
        itself (leave-one-out). With word weights, it also uses weights fitted without the document (three
        folds). `predict` returns the most probable class. For several labels it uses scores.
        """
        found = self._scores(X)
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

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Topic proportions of documents; rows sum to one, over all chains together.

        A row depends on that row alone, and nothing in the model changes. Labels are not used.
        Documents without known terms get the prior mean.
        """
        check_is_fitted(self)
        corpus, post = self._corpus(X, reset=False), self.posterior_
        with Workers(self.n_threads) as workers:
            return scoring.topic_proportions(
                post, self._rule(), corpus.counts, self.tf, workers.each
            )

    def explain(self, X: Any) -> list[MarginExplanation]:
        """What each term adds to the score of each class, through topics and directly.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms)

        Returns
        -------
        list of MarginExplanation
            The parts of each add up to the scores, `decision_function`.
        """
        check_is_fitted(self)
        corpus = self._corpus(X, reset=False)
        names = self.vocabulary_ or [f"x{v}" for v in range(self.n_features_in_)]
        return scoring.explain_scores(
            self.posterior_, self.response_, corpus.counts, self.tf, names
        )


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    return dict(model.response_.arrays())


def _unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    shape = model.posterior_.n_terms, model.posterior_.n_topics
    model.response_ = Response.from_arrays(arrays, shape)


RESPONSE = Saved(_pack, _unpack)  # after POSTERIOR, which gives the shape
