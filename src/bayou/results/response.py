"""The result of training a supervised model, besides its topics: weights and calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, softmax

from bayou.data import schema
from bayou.data.errors import ModelFileError
from bayou.data.label_forms import pack_classes, unpack_classes
from bayou.data.schema import Array

F64 = NDArray[np.float64]
F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

KINDS = ("binary", "multi-class", "multi-label", "regression")


class _ResponseArrays(NamedTuple):
    """The arrays of a model file, named ``response.*``."""

    weights: Annotated[F64, Array("topics", "tasks", ge=None)]
    intercept: Annotated[F64, Array("tasks", ge=None)]
    term_weight: Annotated[F32, Array("terms")]
    slope: Annotated[F64, Array("tasks", ge=None)]
    offset: Annotated[F64, Array("tasks", ge=None)]
    draws: Annotated[F32, Array("draws", "topics", "tasks", ge=None)]
    noise: Annotated[F64, Array("tasks")]
    covariance: Annotated[F64, Array(("tasks", 0), "topics", "topics", ge=None)]
    centre: Annotated[F64, Array("topics")]
    members: Annotated[I64, Array(1, gt=0)]
    kind: Annotated[I64, Array(1, le=len(KINDS) - 1)]
    share: Annotated[F64, Array(1, ge=None)]


class _ClassArrays(NamedTuple):
    """Further array of several classes; files of earlier versions have softmax(slope f) without it."""

    power: Annotated[F64, Array(1, gt=0)]


class _WordArrays(NamedTuple):
    """Further arrays if words take part."""

    words: Annotated[F32, Array("terms", "tasks", ge=None)]
    word_weight: Annotated[F32, Array("terms")]


@dataclass(frozen=True, eq=False, kw_only=True)
class Response:
    """Weights of topics (and words) in every task, and how scores become predictions.

    The score of task i is ``intercept[i] + zbar . weights[:, i] (+ words . word_weights[:, i])``.

    Parameters
    ----------
    kind : {"binary", "multi-class", "multi-label", "regression"}
        Binary: one task, +1 for the second class. Otherwise each class, label or target is a task.
    classes : array
        Classes or labels in the order of `predict_proba`. Regression: numbers of the targets.
    weights : float64 array (topics, tasks)
    intercept : float64 array (tasks,)
    term_weight : float32 array (terms,)
        Weight of a term's tokens in a document's average topics.
    slope, offset : float64 arrays (tasks,)
        Scores to probabilities: 1 / (1 + exp(-(slope f + offset))) of two classes or a label. Binary: the
        offset is part of the intercept (`balance_border`).
    power : float or None
        Several classes: probabilities are proportional to these sigmoids to this power. None: softmax of
        slope f.
    share : float
        Share of topics in the margins; 1 without words.
    draws : float32 array (draws, topics, tasks)
        Last draws of the weights from the posterior of the chain.
    noise : float64 array (tasks,)
        Variance of a target around its prediction.
    covariance : float64 array (tasks, topics, topics), or without rows
        Covariance of the weights of a regression around ``centre``, the mean of zbar in training.
    centre : float64 array (topics,)
    n_members : int
        Number of chains, whose topics are columns side by side.
    words : float32 array (terms, tasks) or None
        Weights of words beside the topics.
    word_weight : float32 array (terms,) or None
    """

    kind: str
    classes: NDArray[Any]
    weights: F64
    intercept: F64
    term_weight: F32
    slope: F64
    offset: F64
    share: float
    draws: F32
    noise: F64
    covariance: F64
    centre: F64
    n_members: int = 1
    power: float | None = None
    words: F32 | None = None
    word_weight: F32 | None = None

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.intercept)

    def balance_border(self) -> Response:
        """A response with the border between two classes, score 0, at probability 1/2.

        Otherwise the predicted class could be the less probable one.
        """
        if self.kind != "binary" or not self.slope.all():
            return self
        moved = self.intercept + self.offset / self.slope
        return replace(self, intercept=moved, offset=np.zeros_like(self.offset))

    def probabilities(self, scores: F64) -> F64:
        """Probabilities from scores (documents, tasks): of classes, rows sum to one, or of each label."""
        if self.kind == "multi-class":
            logs = scores * self.slope
            if self.power is not None:
                logs = self.power * log_expit(logs + self.offset)
            return np.asarray(softmax(logs, axis=1), np.float64)
        p = np.asarray(expit(scores * self.slope + self.offset), np.float64)
        return np.column_stack([1.0 - p[:, 0], p[:, 0]]) if self.kind == "binary" else p

    def answers(self, scores: F64) -> NDArray[Any]:
        """Classes of documents, or an indicator of labels.

        A label is assigned if its score is positive. If no score is positive, the best label is assigned.
        """
        if self.kind == "binary":
            return np.asarray(self.classes[(scores[:, 0] > 0).astype(np.intp)])
        best = scores.argmax(axis=1)
        if self.kind == "multi-class":
            return np.asarray(self.classes[best])
        out = (scores > 0).astype(np.int64)
        bare = np.flatnonzero(out.sum(axis=1) == 0)
        out[bare, best[bare]] = 1
        return out

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays, for a model file."""
        plain = _ResponseArrays._fields[:9]
        out = {f"response.{name}": getattr(self, name) for name in plain}
        out["response.members"] = np.array([self.n_members], np.int64)
        out["response.kind"] = np.array([KINDS.index(self.kind)], np.int64)
        out["response.share"] = np.array([self.share])
        if self.power is not None:
            out["response.power"] = np.array([self.power])
        out |= pack_classes(self.classes, self.kind == "multi-label")
        if self.words is not None and self.word_weight is not None:
            out["response.words"] = self.words
            out["response.word_weight"] = self.word_weight
        return out

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], shape: tuple[int, int]) -> Response:
        """The inverse of `arrays`, checked against the number of (terms, topics)."""
        dims = {"terms": shape[0], "topics": shape[1]}
        got = schema.read(_ResponseArrays, arrays, "response", dims)._asdict()
        share, kind = float(got.pop("share")[0]), KINDS[int(got.pop("kind")[0])]
        n_members, n_tasks = int(got.pop("members")[0]), len(got["intercept"])
        weight = got["term_weight"]
        if ((weight > 0) & (weight < 1e-30)).any():
            raise ModelFileError("the model file's weights of terms are too small; save it again")
        if shape[1] % n_members:
            raise ModelFileError("the model file's chains do not fit its topics; save it again")
        if "response.power" in arrays:
            got["power"] = float(schema.read(_ClassArrays, arrays, "response", dims).power[0])
        if "response.words" in arrays:
            dims["tasks"] = n_tasks
            got |= schema.read(_WordArrays, arrays, "response", dims)._asdict()
        classes, _ = unpack_classes(arrays)
        if len(classes) != (2 if kind == "binary" else n_tasks):
            raise ModelFileError("the model file's classes do not fit its weights; save it again")
        return cls(kind=kind, classes=classes, share=share, n_members=n_members, **got)
