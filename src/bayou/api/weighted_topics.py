"""Result mixin of max-margin models: topics of documents and their weights in predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from bayou.api.bases import EstimatorBase
from bayou.inference.lda.arrays import F32, F64, Each
from bayou.inference.margin import scoring
from bayou.results.explanation import MarginExplanation
from bayou.results.posterior import Posterior
from bayou.results.response import Response
from bayou.run.shards import Workers


class WeightedTopics(EstimatorBase):
    """The part that `Classifier` and `Regressor` share: features, scores and explanations of documents."""

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
        found, rule = self.posterior_, self._rule()
        if getattr(self, "prediction", "mean") == "sampled":
            return scoring.draw_features(found, rule, counts, self.tf, self.seed_, each)
        return scoring.document_features(found, rule, counts, self.tf, each)

    # -- what users read -------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Weight of every topic in every task: a class, a label or a target."""
        check_is_fitted(self)
        return self._rule().weights

    def _scores(self, X: Any) -> tuple[F32, F64]:
        """Average topics of documents, and the score of every task."""
        check_is_fitted(self)
        corpus = self._corpus(X, reset=False)
        with Workers(self.n_threads) as workers:
            zbar = self._features(corpus.counts, workers.each)
        return zbar, scoring.task_scores(self.response_, zbar, corpus.counts)

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
        """Contribution of each term to each score, through topics and directly.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms)

        Returns
        -------
        list of MarginExplanation
            The parts of each add up to the scores: `decision_function`, or the prediction of a regressor.
        """
        check_is_fitted(self)
        counts, names = self._corpus(X, reset=False).counts, self._term_names()
        zbar = None
        if getattr(self, "prediction", "mean") == "sampled":
            with Workers(self.n_threads) as workers:
                zbar = self._features(counts, workers.each)
        return scoring.explain_scores(self.posterior_, self.response_, counts, self.tf, names, zbar)
