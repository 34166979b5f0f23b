"""Result mixin of regressors: predictions, intervals, R² and explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import norm
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from bayou.api.scoring import r2
from bayou.data.checks import number
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


class Regressor(RegressorMixin, Base):
    """Numbers of documents, from the topics `posterior_` and their weights `response_`.

    Comes before `Topics` among the bases of a model, which also declares the parameter `tf`.

    Attributes
    ----------
    response_ : Response
    weights_ : float64 array (topics, targets)
    """

    posterior_: Posterior
    response_: Response
    tf: str

    def _features(self, counts: csr_array, each: Each) -> F32:
        """Average topics of documents (documents x topics).

        Default: computed from `posterior_`. A model whose topics are costly to compute for all terms uses the
        terms of these documents only.
        """
        if getattr(self, "prediction", "mean") == "sampled":
            return scoring.draw_features(
                self.posterior_, self.response_, counts, self.tf, self.seed_, each
            )
        return scoring.document_features(self.posterior_, self.response_, counts, self.tf, each)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Weight of every topic in every target."""
        check_is_fitted(self)
        return self.response_.weights

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The number, or numbers, of each document.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms)
        return_std : bool
            Also return the standard deviation of a new target around the prediction: uncertainty of the
            weights and noise.

        Returns
        -------
        float64 array (documents,), or (documents, targets) for several targets; two with `return_std`
        """
        check_is_fitted(self)
        corpus = self._corpus(X, reset=False)
        with Workers(self.n_threads) as workers:
            zbar = self._features(corpus.counts, workers.each)
        resp = self.response_
        found = scoring.task_scores(resp, zbar, corpus.counts)
        if not return_std:
            return _drop_axis(found)
        variance = np.tile(resp.noise, (len(found), 1))
        if len(resp.covariance):
            z = zbar.astype(np.float64) - resp.centre
            variance += np.einsum("dk,tkj,dj->dt", z, resp.covariance, z)
        return _drop_axis(found), _drop_axis(np.sqrt(variance))

    def predict_interval(self, X: Any, *, level: float = 0.9) -> NDArray[np.float64]:
        """Lower and upper ends of the interval that holds a new target with probability ``level``.

        The noise is taken to be normal.

        Returns
        -------
        float64 array (2, documents) or (2, documents, targets)
        """
        number("level", level, 0.0, 1.0)
        mean, std = self.predict(X, return_std=True)
        half = norm.ppf((1.0 + level) / 2.0) * std
        return np.stack([mean - half, mean + half])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R², the share of the targets' variance that is predicted; the mean over several targets.

        ``y`` may be omitted if X is a corpus with targets. Missing targets (NaN) are left out.
        """
        return r2(self.predict(X), y, X, sample_weight)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Topic proportions of documents; rows sum to one, over all chains together.

        A row depends on that row alone, and nothing in the model changes. Documents without known terms get
        the prior mean.
        """
        check_is_fitted(self)
        corpus, post = self._corpus(X, reset=False), self.posterior_
        with Workers(self.n_threads) as workers:
            return scoring.topic_proportions(
                post, self.response_, corpus.counts, self.tf, workers.each
            )

    def explain(self, X: Any) -> list[MarginExplanation]:
        """What each term adds to each prediction, through topics and directly.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms)

        Returns
        -------
        list of MarginExplanation
            The parts of each add up to the prediction.
        """
        check_is_fitted(self)
        corpus = self._corpus(X, reset=False)
        names = self.vocabulary_ or [f"x{v}" for v in range(self.n_features_in_)]
        return scoring.explain_scores(
            self.posterior_, self.response_, corpus.counts, self.tf, names
        )


def _drop_axis(found: F64) -> F64:
    return found[:, 0] if found.shape[1] == 1 else found
