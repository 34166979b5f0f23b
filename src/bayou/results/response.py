"""What a supervised model predicts with, beside its topics; frozen, like the topics, when training ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from bayou.data.errors import ModelFileError
from bayou.data.label_forms import pack_classes, unpack_classes
from bayou.results.posterior import check_arrays

F64 = NDArray[np.float64]
F32 = NDArray[np.float32]

KINDS = ("binary", "multi-class", "multi-label", "regression")


@dataclass(frozen=True, eq=False, kw_only=True)
class Response:
    """Weights of topics (and words) in every task, and how scores become answers.

    The score of task i is ``intercept[i] + zbar . weights[:, i] (+ words . word_weights[:, i])``.

    Parameters
    ----------
    kind : {"binary", "multi-class", "multi-label", "regression"}
        Two classes are one task, +1 for the second; otherwise each class, label or target is a task.
    classes : array
        Classes or labels in the order of `predict_proba`; numbers of the targets in a regression.
    weights : float64 array (topics, tasks)
    intercept : float64 array (tasks,)
    term_weight : float32 array (terms,)
        Weight of a term's tokens in a document's average topics.
    slope, offset : float64 arrays (tasks,)
        From scores to probabilities: softmax(slope f) over classes, else 1 / (1 + exp(-(slope f + offset))).
        Of two classes the offset is in the intercept (`balanced`).
    share : float
        Part of the margins that topics carry, 1 without words.
    draws : float32 array (draws, topics, tasks)
        Last draws of the weights from the chain's posterior.
    noise : float64 array (tasks,)
        Variance of a target around its prediction.
    covariance : float64 array (tasks, topics, topics), or without rows
        Of the weights of a regression around ``centre``, the mean of zbar in training.
    centre : float64 array (topics,)
    n_members : int
        Chains whose topics stand side by side.
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
    words: F32 | None = None
    word_weight: F32 | None = None

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.intercept)

    def balance_border(self) -> Response:
        """The same with the border of two classes, score 0, where each of them has probability 1/2.

        Else the class that is predicted could be the less probable one.
        """
        if self.kind != "binary" or not self.slope.all():
            return self
        moved = self.intercept + self.offset / self.slope
        return replace(self, intercept=moved, offset=np.zeros_like(self.offset))

    def probabilities(self, scores: F64) -> F64:
        """From scores (documents, tasks): of each class, rows adding up to one, or of each label."""
        if self.kind == "multi-class":
            return np.asarray(softmax(scores * self.slope, axis=1), np.float64)
        p = np.asarray(expit(scores * self.slope + self.offset), np.float64)
        return np.column_stack([1.0 - p[:, 0], p[:, 0]]) if self.kind == "binary" else p

    def answers(self, scores: F64) -> NDArray[Any]:
        """Classes of documents, or for several labels an indicator.

        A label is given where its score is positive, and the best one where none is.
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
        names = ("weights", "intercept", "term_weight", "slope", "offset", "draws", "noise")
        out = {f"response.{name}": getattr(self, name) for name in (*names, "covariance", "centre")}
        out["response.members"] = np.array([self.n_members], np.int64)
        out["response.kind"] = np.array([KINDS.index(self.kind)], np.int64)
        out["response.share"] = np.array([self.share])
        out |= pack_classes(self.classes, self.kind == "multi-label")
        if self.words is not None and self.word_weight is not None:
            out["response.words"] = self.words
            out["response.word_weight"] = self.word_weight
        return out

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], shape: tuple[int, int]) -> Response:
        """The inverse of `arrays`, checked against the number of (terms, topics)."""
        got = {name: arrays.get(f"response.{name}", np.zeros(0)) for name in _NAMES}
        kind = got.pop("kind")
        check_arrays("kind", kind, np.int64, (1,))
        if kind[0] >= len(KINDS):
            raise ModelFileError("the model file names a kind of answer this bayou does not know")
        n_terms, n_topics = shape
        n_tasks = got["intercept"].shape[0] if got["intercept"].ndim == 1 else -1
        shapes: dict[str, tuple[Any, tuple[int, ...], bool]] = {
            "weights": (np.float64, (n_topics, n_tasks), True),
            "intercept": (np.float64, (n_tasks,), True),
            "term_weight": (np.float32, (n_terms,), False),
            "slope": (np.float64, (n_tasks,), True),
            "offset": (np.float64, (n_tasks,), True),
            "share": (np.float64, (1,), True),
            "draws": (np.float32, (_n_rows(got["draws"]), n_topics, n_tasks), True),
            "noise": (np.float64, (n_tasks,), False),
        }
        shapes["centre"] = (np.float64, (n_topics,), False)
        shapes["members"] = (np.int64, (1,), False)
        shapes["covariance"] = (
            np.float64,
            (n_tasks if _n_rows(got["covariance"]) else 0, n_topics, n_topics),
            True,
        )
        if "response.words" in arrays:
            got["words"] = arrays["response.words"]
            got["word_weight"] = arrays.get("response.word_weight", np.zeros(0))
            shapes["words"] = (np.float32, (n_terms, n_tasks), True)
            shapes["word_weight"] = (np.float32, (n_terms,), False)
        for name, (dtype, want, signed) in shapes.items():
            check_arrays(name, got[name], dtype, want, signed=signed)
        share, n_members = float(got.pop("share")[0]), int(got.pop("members")[0])
        if n_members < 1 or n_topics % n_members:
            raise ModelFileError("the model file's chains do not fit its topics; save it again")
        classes, _ = unpack_classes(arrays)
        name = KINDS[int(kind[0])]
        if len(classes) != (2 if name == "binary" else n_tasks):
            raise ModelFileError("the model file's classes do not fit its weights; save it again")
        return cls(kind=name, classes=classes, share=share, n_members=n_members, **got)


_NAMES = (
    "kind", "weights", "intercept", "term_weight", "slope", "offset", "share", "draws", "noise",
    "covariance", "centre", "members",
)  # fmt: skip


def _n_rows(array: NDArray[Any]) -> int:
    return array.shape[0] if array.ndim else -1
