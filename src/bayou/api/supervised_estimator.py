"""The base of topic models that predict: features, scores and explanations from topics and a `Response`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from bayou.api.topic_estimator import TopicEstimator
from bayou.inference.lda import documents, fold_in
from bayou.inference.lda import features as lda_features
from bayou.inference.lda.arrays import F32, F64, Each
from bayou.inference.margin import features
from bayou.results.explanation import MarginExplanation
from bayou.results.posterior import proportions
from bayou.results.response import Response
from bayou.run.shards import Workers


@dataclass(kw_only=True, eq=False, repr=False)
class SupervisedEstimator(TopicEstimator, abstract=True):
    """A topic model with weights for tasks. Topics of several chains stand side by side.

    Attributes
    ----------
    response_ : Response
    weights_ : float64 array (topics, tasks)
        What a topic speaks for, and against.
    """

    tf: str = "log"

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Weight of every topic in every task."""
        check_is_fitted(self)
        return self._rule().weights

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_") and hasattr(self, "response_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _rule(self) -> Response:
        """The response without what scores have shown of probabilities, where a model has to compute that."""
        return self.response_

    # -- inference under fixed topics ----------------------------------------------------------

    def _members(self) -> list[tuple[F32, F64]]:
        """Topics (terms x topics) and prior of each chain."""
        post, n = self.posterior_, self._rule().n_members
        if n == 1:
            return [(post.rows, post.alpha)]
        size = post.n_topics // n
        cuts = [slice(i * size, (i + 1) * size) for i in range(n)]
        return [(np.ascontiguousarray(post.rows[:, c]), post.alpha[c]) for c in cuts]

    def _features(self, counts: csr_array, each: Each) -> F32:
        """Average topics of documents under every chain (documents, topics)."""
        pairs = documents.pairs_of(lda_features.damp_counts(counts, self.tf))
        weight = self._rule().term_weight
        found = [features.zbar(rows, alpha, weight, pairs, each) for rows, alpha in self._members()]
        return found[0] if len(found) == 1 else np.hstack(found)

    def _scores(self, X: Any) -> F64:
        """Score of every task for every document."""
        check_is_fitted(self)
        corpus = self._corpus(X, reset=False)
        with Workers(self.n_threads) as workers:
            zbar = self._features(corpus.counts, workers.each)
        return scores(self.response_, zbar, corpus.counts)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Topic proportions of documents; rows sum to one, over all chains together.

        A row depends on that row alone, and nothing in the model changes. Labels are not used.
        Documents without known terms get the prior mean.
        """
        check_is_fitted(self)
        corpus = self._corpus(X, reset=False)
        pairs = documents.pairs_of(lda_features.damp_counts(corpus.counts, self.tf))
        with Workers(self.n_threads) as workers:
            found = [
                proportions(fold_in.expected_counts(rows, alpha, pairs, workers.each), alpha)
                for rows, alpha in self._members()
            ]
        return np.hstack(found) / len(found)

    def explain(self, X: Any) -> list[MarginExplanation]:
        """Where the scores of documents come from: term by term, through topics, for every task.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms)

        Returns
        -------
        list of MarginExplanation
            Their parts add up to the scores, `decision_function` or `predict`.
        """
        check_is_fitted(self)
        corpus = self._corpus(X, reset=False)
        resp, counts = self.response_, corpus.counts
        pairs = documents.pairs_of(lda_features.damp_counts(counts, self.tf))
        shares = np.hstack(
            [features.term_shares(rows, a, resp.term_weight, pairs) for rows, a in self._members()]
        )
        names = self.vocabulary_ or [f"x{v}" for v in range(self.n_features_in_)]
        empty = np.concatenate([a / a.sum() for _, a in self._members()]) @ resp.weights
        words = None
        if resp.words is not None and resp.word_weight is not None:
            words = lda_features.unit_words(counts, resp.word_weight)
        out = []
        for d in range(corpus.n_docs):
            at = slice(counts.indptr[d], counts.indptr[d + 1])
            terms = counts.indices[at]
            beside = np.zeros((len(terms), resp.n_tasks))
            if words is not None and resp.words is not None:
                beside = words.data[at][:, None] * resp.words[terms].astype(np.float64)
            out.append(
                MarginExplanation(
                    classes=resp.classes,
                    terms=tuple(names[v] for v in terms),
                    counts=counts.data[at].astype(np.float64),
                    shares=shares[at].astype(np.float64),
                    weights=resp.weights,
                    words=beside,
                    base=resp.intercept + (empty if len(terms) == 0 else 0.0),
                )
            )
        return out

    # -- files ---------------------------------------------------------------------------------

    def _payload(self) -> dict[str, NDArray[Any]]:
        return {**super()._payload(), **self.response_.arrays()}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(arrays)
        shape = self.posterior_.n_terms, self.posterior_.n_topics
        self.response_ = Response.from_arrays(arrays, shape)


def weights_of(sample_weight: Any, n_docs: int, *, some: bool = True) -> F64:
    """A factor for each document, one where none was given; ``some`` must be above zero."""
    if sample_weight is None:
        return np.ones(n_docs)
    try:
        given = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must be numbers; got {sample_weight!r:.80}") from None
    if given.shape == ():
        given = np.full(n_docs, float(given))
    if given.shape != (n_docs,):
        raise ValueError(
            f"sample_weight must be one number a document, {n_docs} in all; got shape {given.shape}"
        )
    if not (np.isfinite(given) & (given >= 0)).all() or (some and not given.any()):
        raise ValueError(
            "sample_weight must be finite, not negative, and not zero for all documents"
        )
    return given


def scores(resp: Response, zbar: F32, counts: csr_array) -> F64:
    """Scores (documents, tasks) from average topics, and from words where they take part."""
    # Row by row, so that a document's score does not depend on the documents around it.
    out = np.einsum("dk,kt->dt", zbar.astype(np.float64), resp.weights) + resp.intercept
    if resp.words is not None and resp.word_weight is not None:
        out += lda_features.unit_words(counts, resp.word_weight) @ resp.words.astype(np.float64)
    return np.asarray(out, np.float64)
