"""Parameters of batch max-margin models with a fixed number of topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from bayou.api.params import param
from bayou.inference.margin.setup import PREDICTIONS, PROPOSALS

if TYPE_CHECKING:
    from bayou.api.estimator import Estimator as Base
else:
    Base = object

SAMPLERS = ("auto", "gibbs", "light")


@dataclass(kw_only=True, eq=False, repr=False)
class FixedTopics(Base):
    """Samplers, chains and predictions of `MedLDAClassifier` and `MedLDARegressor`, which describe them."""

    alpha: float | ArrayLike | None = None
    sampler: str = param("auto", choices=SAMPLERS)
    exact: bool = False
    proposals: str = param("mixed", choices=tuple(PROPOSALS))
    n_proposals: int = param(6, ge=1)
    n_weight_passes: int = param(2, ge=1)
    prediction: str = param("mean", choices=PREDICTIONS)
    n_chains: int = param(1, ge=1)
    warm_start: bool = False

    if TYPE_CHECKING:
        refit: bool
        word_residual: Any

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed, alone or together."""
        super().check_params()
        words = self.word_residual not in ("auto", 0)
        if self.prediction == "sampled" and (self.refit or words):
            raise ValueError(
                'prediction="sampled" draws the weights of the chain; set refit=False and word_residual=0'
            )
