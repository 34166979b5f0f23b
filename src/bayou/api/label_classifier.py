"""Result mixins of label models: everything that follows from `labels_` and `response_`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bayou.api.bases import TopicsBase
from bayou.api.estimator import Saved
from bayou.api.scoring import accuracy, label_lists
from bayou.data.checks import whole
from bayou.data.errors import ModelFileError
from bayou.data.label_forms import MULTI_LABEL
from bayou.inference.labels import scores
from bayou.inference.labels.scores import LabelScores
from bayou.inference.lda import features, fold_in
from bayou.inference.lda.arrays import F64
from bayou.inference.lda.documents import Pairs
from bayou.results.explanation import LabelExplanation
from bayou.results.label_posterior import LabelPosterior
from bayou.results.label_response import LabelResponse
from bayou.results.posterior import Posterior, proportions
from bayou.run.shards import Workers


class LabelClassifier(ClassifierMixin, TopicsBase):
    """Label shares, label sets, probabilities and explanations of documents.

    Attributes
    ----------
    labels_ : LabelPosterior
        Terms of labels, sparse, and topics over labels.
    response_ : LabelResponse
        How label shares become label sets and probabilities.
    classes_ : array
    posterior_ : Posterior
        Topics over labels as topics over terms, of the first chain. Without topics over labels: the labels.
    """

    tf: str
    labels_: LabelPosterior
    response_: LabelResponse

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The topics in the form that all topic models have."""
        check_is_fitted(self)
        return self.labels_.dense()

    @property
    def classes_(self) -> NDArray[Any]:
        """Classes or labels, in the order of columns."""
        check_is_fitted(self)
        return np.asarray(self.response_.classes)

    @property
    def vocabulary_(self) -> Any:
        """The terms by name, or None."""
        check_is_fitted(self)
        return self._names if hasattr(self, "_names") else self.labels_.vocabulary

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return self.labels_.n_topics or self.labels_.n_columns

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_") and hasattr(self, "response_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = True  # on scikit-learn's blobs, which are not counts
        tags.target_tags.required = True
        return tags

    def label_terms(self, n: int = 10) -> list[list[str]]:
        """The most probable terms of each label, in the order of `classes_`.

        A label that occurred with fewer than ``n`` terms has a shorter list.
        """
        check_is_fitted(self)
        whole("n", n, 0)
        names = self._term_names()
        found = self.labels_.top_terms(n)[: self.labels_.n_labels]
        return [[names[v] for v in terms] for terms, _ in found]

    # -- answers -------------------------------------------------------------------------------

    def _read_counts(self, X: Any) -> csr_array:
        """Counts of documents, damped as in training."""
        check_is_fitted(self)
        return features.damp_counts(self._corpus(X, reset=False).counts, self.tf)

    def _labels_for(self, counts: csr_array) -> LabelPosterior:
        """The posterior to score these documents with."""
        return self.labels_

    def _infer(self, counts: csr_array) -> tuple[LabelPosterior, Pairs, LabelScores]:
        """The posterior, the documents as pairs of known terms, and their scores."""
        post = self._labels_for(counts)
        pairs = scores.pairs_with_labels(counts, post)
        with Workers(self.n_threads) as workers:
            return post, pairs, scores.infer(post, pairs, workers.each)

    def _shares(self, X: Any) -> tuple[csr_array, F64]:
        """Documents as counts, and shares of their labels; rows sum to one."""
        counts = self._read_counts(X)
        post, _, found = self._infer(counts)
        return counts, scores.label_shares(post, found)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Share of each label in the documents; rows sum to one, so documents are comparable.

        For two classes: the log-odds of the second, one number per document.
        """
        shares = self._shares(X)[1]
        return self.response_.decisions(shares)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of classes (rows sum to one) or of labels, each by itself.

        The probability of a label is a sigmoid of the logarithm of `decision_function`, the same for all
        labels, fitted to training documents that were held out.
        """
        shares = self._shares(X)[1]
        return self.response_.probabilities(shares)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each document or, for several labels per document, an indicator (documents, labels).

        `rule` decides the number of labels per document, which is at least one.
        """
        counts, shares = self._shares(X)
        return self.response_.answers(shares, counts)

    def predict_labels(self, X: Any) -> list[list[Any]]:
        """The labels of each document as lists; with one entry if documents have one class."""
        found, multi = self.predict(X), self.response_.kind == MULTI_LABEL
        return label_lists(found, self.classes_, multi_label=multi)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of documents whose class, or whole set of labels, is right.

        ``y`` may be left out if X is a corpus with labels. Documents without a label are left out. A label
        that did not occur in training counts as missed.
        """
        found, multi = self.predict(X), self.response_.kind == MULTI_LABEL
        return accuracy(found, y, X, self.classes_, multi_label=multi, sample_weight=sample_weight)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Proportions of topics over labels, of the first chain; without them, of labels and free topics.

        Rows sum to one; a row depends on that row alone. Documents without known terms get the prior.
        """
        counts = self._read_counts(X)
        post = self._labels_for(counts)
        pairs = scores.pairs_with_labels(counts, post)
        with Workers(self.n_threads) as workers:
            if not post.n_topics:
                return scores.infer(post, pairs, workers.each).scores
            return proportions(scores.member_topics(post, 0, pairs, workers.each), post.link_alpha)

    def explain(self, X: Any) -> list[LabelExplanation]:
        """Contribution of each term, and of topics over labels, to the share of each label.

        Returns
        -------
        list of LabelExplanation
            Their parts add up to the shares, `decision_function`.
        """
        counts = self._read_counts(X)
        post, pairs, found = self._infer(counts)
        shares = scores.label_shares(post, found)
        n_given = np.ones(len(shares), int)
        if self.response_.kind == MULTI_LABEL:
            n_given = self.response_.answers(shares, counts).sum(axis=1)
        names = self._term_names()
        by_topic = np.zeros((len(pairs.terms), 0))
        if post.topics:
            by_topic = fold_in.pair_topics(post.topics[0], post.link_alpha, pairs)
        out = []
        for d in range(len(shares)):
            at = slice(pairs.indptr[d], pairs.indptr[d + 1])
            votes = scores.token_votes(post, pairs, d, found)
            length = max(float(pairs.counts[at].sum()), 1.0)
            one = LabelExplanation(
                classes=self.classes_, terms=tuple(names[v] for v in pairs.terms[at]),
                counts=pairs.counts[at].astype(np.float64), votes=votes,
                base=shares[d] - votes.sum(axis=0),
                shares=by_topic[at] * pairs.counts[at][:, None] / length,
                links=post.member_links(0)[:, : post.n_labels], n_given=int(n_given[d]),
                prior=post.link_alpha / max(float(post.link_alpha.sum() + length), 1e-300),
            )  # fmt: skip
            out.append(one)
        return out


class TopicsOverLabels(TopicsBase):
    """Topics over labels, from `labels_` and `classes_`."""

    labels_: Any
    classes_: Any

    @property
    def links_(self) -> NDArray[np.float64]:
        """Topics over labels of the first chain (topics, labels); rows sum to one [phi']."""
        check_is_fitted(self)
        return np.asarray(self.labels_.member_links(0))

    def top_labels(self, n: int = 10) -> list[list[Any]]:
        """The most probable labels of each topic over labels of the first chain."""
        whole("n", n, 0)
        best = np.argsort(-self.links_, axis=1, kind="stable")[:, :n]
        return [self.classes_[row].tolist() for row in best]


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    return {**model.labels_.arrays(), **model.response_.arrays()}


def _unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    model.labels_ = post = LabelPosterior.from_arrays(arrays)
    model.response_ = LabelResponse.from_arrays(arrays, post.n_labels, post.n_terms)
    if post.n_terms != model.n_features_in_:
        raise ModelFileError("the model file's arrays and manifest disagree on the number of terms")


LABELS = Saved(_pack, _unpack)
