"""The methods of an estimator, applied to texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bayou import text_search
from bayou.data import reading
from bayou.data.corpus import Corpus
from bayou.data.passages import WIDTH
from bayou.inference.lda.explain import explain
from bayou.models.lda import LDA

F = TypeVar("F", bound=Callable[..., Any])


def if_estimator_has(name: str) -> Callable[[F], F]:
    """Show a method only if the estimator has it, as scikit-learn expects."""

    def has_method(model: TextEstimator) -> bool:
        return hasattr(getattr(model, "estimator_", model.estimator or LDA), name)

    return available_if(has_method)  # type: ignore[no-any-return]


class TextEstimator:
    """Methods of a fitted `TextModel` that count terms and call its estimator."""

    estimator: Any
    estimator_: Any
    vectorizer_: Any

    def corpus(self, X: Iterable[str] | Corpus) -> Corpus:
        """Counts of the model's terms in texts."""
        return self._read(X)[0]

    def unknown_shares(self, X: Iterable[str] | Corpus) -> NDArray[np.float64]:
        """The fraction of each text's tokens that are not in the vocabulary; 0 without tokens."""
        corpus, lengths = self._read(X)
        unknown = lengths - self.estimator_._align(corpus).doc_lengths()
        return np.asarray(unknown / np.maximum(lengths, 1), np.float64)

    def _read(self, X: Iterable[str] | Corpus) -> tuple[Corpus, NDArray[np.int64]]:
        """Counts of the known terms, and the number of all tokens per document."""
        check_is_fitted(self)
        return reading.read(X, self.vectorizer_)[:2]

    @if_estimator_has("predict")
    def predict(self, X: Iterable[str] | Corpus, **how: Any) -> Any:
        """The estimator's predictions for texts; ``how`` (``return_std=``) is passed to it."""
        return self.estimator_.predict(self.corpus(X), **how)

    @if_estimator_has("predict_labels")
    def predict_labels(self, X: Iterable[str] | Corpus) -> list[list[Any]]:
        """The labels of texts as lists; for classes, lists of one entry."""
        return list(self.estimator_.predict_labels(self.corpus(X)))

    @if_estimator_has("predict_interval")
    def predict_interval(self, X: Iterable[str] | Corpus, **how: Any) -> Any:
        """Prediction intervals of the target values of texts, with probability ``level=``."""
        return self.estimator_.predict_interval(self.corpus(X), **how)

    @if_estimator_has("decision_function")
    def decision_function(self, X: Iterable[str] | Corpus) -> Any:
        """Scores of texts: positive values favour a class."""
        return self.estimator_.decision_function(self.corpus(X))

    @if_estimator_has("predict_proba")
    def predict_proba(self, X: Iterable[str] | Corpus) -> Any:
        """Class probabilities of texts."""
        return self.estimator_.predict_proba(self.corpus(X))

    @if_estimator_has("sample")
    def sample(self, X: Iterable[str] | Corpus, **how: Any) -> Any:
        """Posterior draws of the topic proportions of texts."""
        return self.estimator_.sample(self.corpus(X), **how)

    def score(self, X: Iterable[str] | Corpus, y: Any = None) -> float:
        """The estimator's score of texts; higher is better."""
        return float(self.estimator_.score(self.corpus(X), y))

    @if_estimator_has("log_likelihood")
    def log_likelihood(self, X: Iterable[str] | Corpus) -> float:
        """Log-likelihood per token of held-out texts."""
        return float(self.estimator_.log_likelihood(self.corpus(X)))

    @if_estimator_has("perplexity")
    def perplexity(self, X: Iterable[str] | Corpus) -> float:
        """Perplexity per token of held-out texts; lower is better."""
        return float(self.estimator_.perplexity(self.corpus(X)))

    def explain(self, X: Iterable[str]) -> list[Any]:
        """Contribution of each term to the topics of each text, with the topics held fixed.

        Returns
        -------
        list of Explanation
            For an estimator with predictions, explanations of its scores (`MarginExplanation`).
        """
        check_is_fitted(self)
        if hasattr(self.estimator_, "explain"):
            return list(self.estimator_.explain(self.corpus(X)))
        post, known = self.estimator_.posterior_, self.vectorizer_.vocabulary_
        return [explain(post, known, t) for t in self.vectorizer_.tokens(X)]

    def find(
        self,
        X: Iterable[str],
        *,
        topic: int | None = None,
        label: Any = None,
        like: str | None = None,
        top: int = 20,
        width: int = WIDTH,
    ) -> list[text_search.Found]:
        """The documents that score highest, each with the passage that contributes most to its score.

        Give one of ``topic``, ``label`` and ``like``. Texts without known words are never found.

        Parameters
        ----------
        X : iterable of str
            Texts; read once, and only the best are kept in memory.
        topic : int, optional
            Score: the share of this topic. Trackers and HDP have permanent numbers (`topic_ids_`).
        label : optional
            Score: the probability of this class or label.
        like : str, optional
            Score: likeness of the topic proportions to those of this text, between 0 and 1.
        top : int
            Number of documents.
        width : int
            Length of a passage in characters.

        Returns
        -------
        list of Found
            Best first, with ``position``, ``score`` and ``passage``.

        Examples
        --------
        >>> from bayou import LDA, TextModel
        >>> texts = ["apple pear plum", "pear apple apple", "wolf bear lynx", "lynx wolf wolf"] * 5
        >>> model = TextModel(estimator=LDA(n_topics=2, random_state=0)).fit(texts)
        >>> new = ["good morning", "we saw a lynx and a bear", "plum and pear"]
        >>> [found.position for found in model.find(new, like="wolf", top=1)]
        [1]
        """
        check_is_fitted(self)
        return text_search.find(self, X, topic, label, like, top, width)

    def top_terms(self, n: int = 10) -> list[list[str]]:
        """The most probable terms of each topic."""
        check_is_fitted(self)
        return list(self.estimator_.top_terms(n))

    @property
    def components_(self) -> NDArray[np.float64]:
        """Topics x terms; rows sum to one."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.components_, np.float64)

    @property
    def vocabulary_(self) -> Any:
        """The terms, in the order of the columns of `components_`."""
        check_is_fitted(self)
        return self.vectorizer_.vocabulary_

    @property
    def classes_(self) -> Any:
        """Classes or labels of a classifier, in the order of the columns of `predict_proba`."""
        check_is_fitted(self)
        return self.estimator_.classes_

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the topics."""
        check_is_fitted(self)
        return self.estimator_.get_feature_names_out(input_features)
