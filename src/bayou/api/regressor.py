"""Result mixin of regressors: predictions, intervals, R² and explanations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.base import RegressorMixin

from bayou.api.scoring import r2
from bayou.api.weighted_topics import WeightedTopics
from bayou.data.checks import number
from bayou.inference.lda.arrays import F64


class Regressor(RegressorMixin, WeightedTopics):
    """Numbers of documents, from the topics `posterior_` and their weights `response_`.

    Comes before `Topics` among the bases of a model, which also declares the parameter `tf`.

    Attributes
    ----------
    response_ : Response
    weights_ : float64 array (topics, targets)
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

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
        zbar, found = self._scores(X)
        if not return_std:
            return _drop_axis(found)
        resp = self.response_
        variance = np.tile(resp.noise, (len(found), 1))
        if len(resp.covariance):
            z = zbar.astype(np.float64) - resp.centre
            variance += np.einsum("dk,tkj,dj->dt", z, resp.covariance, z)
        return _drop_axis(found), _drop_axis(np.sqrt(np.maximum(variance, 0.0)))

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


def _drop_axis(found: F64) -> F64:
    return found[:, 0] if found.shape[1] == 1 else found
