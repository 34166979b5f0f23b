"""Bases of online max-margin models that have not been moved to `Classifier` and `Regressor` yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bayou.api.classifier import RESPONSE, Classifier
from bayou.api.estimator import Saved
from bayou.api.regressor import Regressor
from bayou.api.topic_estimator import TopicEstimator
from bayou.api.topics import POSTERIOR


@dataclass(kw_only=True, eq=False, repr=False)
class SupervisedEstimator(TopicEstimator, abstract=True):
    """A topic model with weights for tasks."""

    tf: str = "log"

    saved: ClassVar[tuple[Saved, ...]] = (POSTERIOR, RESPONSE)


@dataclass(kw_only=True, eq=False, repr=False)
class TopicClassifier(Classifier, SupervisedEstimator, abstract=True):
    """A topic model that predicts classes or labels."""


@dataclass(kw_only=True, eq=False, repr=False)
class TopicRegressor(Regressor, SupervisedEstimator, abstract=True):
    """A topic model that predicts numbers."""
