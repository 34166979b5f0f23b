"""The base of topic models whose topics answer to labels: what follows from a `LabelPosterior`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from bayou.api.classifier import Classifies
from bayou.api.label_fitting import Run, Task
from bayou.api.topic_estimator import TopicEstimator
from bayou.data.checks import number, one_of, whole
from bayou.data.corpus import Corpus
from bayou.data.label_forms import MULTI_LABEL
from bayou.data.supervision import read_labels
from bayou.inference.labels import scores
from bayou.inference.lda import features, fold_in
from bayou.inference.lda.arrays import F64
from bayou.results.explanation import LabelExplanation
from bayou.results.label_posterior import LabelPosterior
from bayou.results.label_response import RULES, LabelResponse
from bayou.results.posterior import Posterior, proportions
from bayou.run import checkpoint as checkpoints
from bayou.run import loop
from bayou.run.shards import Workers


@dataclass(kw_only=True, eq=False, repr=False)
class LabelEstimator(Classifies, TopicEstimator, abstract=True):
    """A model of labels: `labels_` says how it scores, `response_` how scores become answers.

    Attributes
    ----------
    labels_ : LabelPosterior
        Terms of labels, sparse, and topics over labels.
    response_ : LabelResponse
    classes_ : array
    posterior_ : Posterior
        Topics over labels as topics over terms, of the first chain; without any, the labels themselves.
    """

    tf: str = "none"
    rule: str = "cardinality"
    validation_share: float = 0.1

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The topics in the form that all topic models have."""
        check_is_fitted(self)
        return self.labels_.dense()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_") and hasattr(self, "response_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def vocabulary_(self) -> Any:
        """The terms by name, or None."""
        check_is_fitted(self)
        return self._names if hasattr(self, "_names") else self.labels_.vocabulary

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return self.labels_.n_topics or self.labels_.n_columns

    def _rule(self) -> LabelResponse:
        return self.response_

    def _check_labels(self, p: Any, rules: tuple[str, ...] = RULES) -> None:
        """The parameters that all models of labels have."""
        one_of("tf", p.tf, features.DAMPINGS)
        one_of("rule", p.rule, rules)
        number("validation_share", p.validation_share, 0.0, 0.5)

    def label_terms(self, n: int = 10) -> list[list[str]]:
        """The most probable terms of each label, in the order of `classes_`; fewer where it has met fewer."""
        check_is_fitted(self)
        whole("n", n, 0)
        names = self.vocabulary_ or [f"x{v}" for v in range(self.n_features_in_)]
        found = self.labels_.top_terms(n)[: self.labels_.n_labels]
        return [[names[v] for v in terms] for terms, _ in found]

    # -- answers -------------------------------------------------------------------------------

    def _shares(self, X: Any) -> tuple[csr_array, F64]:
        """Documents as counts, and shares of their labels; rows sum to one."""
        check_is_fitted(self)
        counts = features.damp_counts(self._corpus(X, reset=False).counts, self.tf)
        with Workers(self.n_threads) as workers:
            pairs = scores.pairs_with_labels(counts, self.labels_)
            found = scores.infer(self.labels_, pairs, workers.each)
        return counts, scores.label_shares(self.labels_, found)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Share of each label in the documents: rows sum to one, so that documents compare.

        For two classes the log-odds of the second, one number a document.
        """
        shares = self._shares(X)[1]
        return self._rule().decisions(shares)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of classes (rows add up to one) or of labels, each by itself.

        Of labels a sigmoid of the logarithm of `decision_function`, the same for all labels, fitted to
        training documents that were held out.
        """
        shares = self._shares(X)[1]
        return self._rule().probabilities(shares)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each document or, for several labels a document, an indicator (documents, labels).

        How many labels a document gets is decided by `rule`; it gets one at least.
        """
        counts, shares = self._shares(X)
        return self._rule().answers(shares, counts)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Proportions of topics over labels, of the first chain; without any, of labels and free topics.

        Rows sum to one; a row depends on that row alone. Documents without known terms get the prior.
        """
        check_is_fitted(self)
        counts = features.damp_counts(self._corpus(X, reset=False).counts, self.tf)
        post = self.labels_
        with Workers(self.n_threads) as workers:
            pairs = scores.pairs_with_labels(counts, post)
            if not post.n_topics:
                return scores.infer(post, pairs, workers.each).scores
            return proportions(scores.member_topics(post, 0, pairs, workers.each), post.link_alpha)

    def explain(self, X: Any) -> list[LabelExplanation]:
        """Which terms voted for which labels, and which topics over labels pulled them.

        Returns
        -------
        list of LabelExplanation
            Their parts add up to the shares, `decision_function`.
        """
        check_is_fitted(self)
        corpus, post = self._corpus(X, reset=False), self.labels_
        counts = features.damp_counts(corpus.counts, self.tf)
        pairs = scores.pairs_with_labels(counts, post)
        with Workers(self.n_threads) as workers:
            found = scores.infer(post, pairs, workers.each)
        shares = scores.label_shares(post, found)
        given = np.atleast_2d(self._rule().answers(shares, counts))
        names = self.vocabulary_ or [f"x{v}" for v in range(self.n_features_in_)]
        by_topic = (
            fold_in.pair_topics(post.topics[0], post.link_alpha, pairs) if post.topics else None
        )
        out = []
        for d in range(corpus.n_docs):
            at = slice(pairs.indptr[d], pairs.indptr[d + 1])
            votes = scores.token_votes(post, pairs, d, found)
            mine = np.zeros((len(votes), 0)) if by_topic is None else by_topic[at]
            length = max(float(pairs.counts[at].sum()), 1.0)
            out.append(
                LabelExplanation(
                    classes=self.classes_,
                    terms=tuple(names[v] for v in pairs.terms[at]),
                    counts=pairs.counts[at].astype(np.float64),
                    votes=votes,
                    base=shares[d] - votes.sum(axis=0),
                    shares=mine * pairs.counts[at][:, None] / length,
                    links=post.member_links(0)[:, : post.n_labels],
                    prior=post.link_alpha / max(float(post.link_alpha.sum() + length), 1e-300),
                    n_given=int(given[d].sum()) if self._rule().kind == MULTI_LABEL else 1,
                )
            )
        return out

    # -- files ---------------------------------------------------------------------------------

    def _payload(self) -> dict[str, NDArray[Any]]:
        return {**self.labels_.arrays(), **self.response_.arrays()}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.labels_ = post = LabelPosterior.from_arrays(arrays)
        self.response_ = LabelResponse.from_arrays(arrays, post.n_labels, post.n_terms)

    def _n_columns(self) -> int:
        return self.labels_.n_terms

    # -- learning ------------------------------------------------------------------------------

    @contextmanager
    def _running(self, title: str, task: Task, checkpoint: Any, every: int) -> Iterator[Run]:
        """Threads, progress and checkpoints while `fit` lasts."""
        whole("checkpoint_every", every, 1)
        if checkpoint is not None and self.random_state is None:
            raise ValueError("a checkpoint needs a random_state to go on from; give an integer")

        def describe() -> dict[str, Any]:
            manifest = self._manifest("checkpoint")
            del manifest["learned"]
            counts, of = task.counts, task.labels.indicator
            parts = (counts.indptr, counts.indices, counts.data, of.indptr, of.indices)
            return {**manifest, "data": checkpoints.digest(parts), "seed": self.seed_}

        saver = checkpoints.Saver(checkpoint, every, describe)
        with Workers(self.n_threads) as workers, loop.progress_bar(self.progress, title) as bar:
            yield Run(self, workers.each, [*bar, *self._callbacks()], saver)

    def _read(self, X: Any, y: Any) -> Task:
        """Documents and what is known of their labels."""
        corpus = self._corpus(X, reset=True)
        labels = read_labels(y, corpus.n_docs, corpus=X if isinstance(X, Corpus) else None)
        return Task(features.damp_counts(corpus.counts, self.tf), labels, corpus.vocabulary)
