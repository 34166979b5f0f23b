"""Label sets and probabilities from label scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from bayou.data import schema
from bayou.data.errors import ModelFileError
from bayou.data.label_forms import pack_classes, unpack_classes
from bayou.data.schema import Array

F64 = NDArray[np.float64]

KINDS = ("binary", "multi-class", "multi-label")
RULES = ("cardinality", "scut")
_LEAST = 1e-12  # of a score whose logarithm is taken
_BINS = 400


class ResponseArrays(NamedTuple):
    """The arrays of a `LabelResponse` in a model file."""

    kind: Annotated[NDArray[np.int64], Array(2)]  # places in `KINDS` and `RULES`
    thresholds: Annotated[F64, Array("thresholds", ge=None)]
    term_weights: Annotated[F64, Array("weights", ge=None)]
    figures: Annotated[F64, Array(3, ge=None)]  # intercept, slope, offset


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelResponse:
    """Label sets and probabilities from label shares, whose rows sum to one.

    Parameters
    ----------
    kind : {"binary", "multi-class", "multi-label"}
    classes : array
        Classes or labels in the order of columns.
    rule : {"cardinality", "scut"}
        For several labels per document: the best ones, as many as a regression on the document's words
        predicts, or those above a threshold per label.
    thresholds : float64 array (labels,), or empty
    term_weights : float64 array (terms,), or empty
        Regression of the number of labels on counts.
    intercept : float
        Of this regression.
    slope, offset : float
        p = 1 / (1 + exp(-(slope ln S + offset))), the same for all labels, so that no ranking changes.
    """

    kind: str
    classes: NDArray[Any]
    rule: str = "cardinality"
    thresholds: F64
    term_weights: F64
    intercept: float = 1.0
    slope: float = 1.0
    offset: float = 0.0

    def decisions(self, shares: F64) -> F64:
        """Scores as scikit-learn defines them; for two classes one column, positive for the second."""
        if self.kind != "binary":
            return shares
        kept = np.maximum(shares, np.finfo(np.float64).tiny)
        return np.asarray(np.log(kept[:, 1]) - np.log(kept[:, 0]), np.float64)

    def probabilities(self, shares: F64) -> F64:
        """Shares of classes, or a sigmoid of ln S for each label."""
        if self.kind != "multi-label":
            return shares
        logs = np.log(np.maximum(shares, _LEAST))
        return np.asarray(expit(self.slope * logs + self.offset), np.float64)

    def n_each(self, counts: csr_array) -> NDArray[np.int64]:
        """Predicted number of labels of documents, at least one."""
        said = np.asarray(counts @ self.term_weights, np.float64) + self.intercept
        return np.clip(np.floor(said + 0.5), 1, len(self.classes)).astype(np.int64)

    def answers(self, shares: F64, counts: csr_array) -> NDArray[Any]:
        """The class of each document, or an indicator of labels with at least one per document."""
        best = shares.argmax(axis=1)
        if self.kind != "multi-label":
            return np.asarray(self.classes[best])
        out = np.zeros(shares.shape, np.int64)
        if self.rule == "cardinality":
            order = np.argsort(-shares, axis=1, kind="stable")  # ties go to the lower column
            for d, n in enumerate(self.n_each(counts).tolist()):
                out[d, order[d, :n]] = 1
        else:
            out[shares > self.thresholds] = 1
            bare = np.flatnonzero(out.sum(axis=1) == 0)
            out[bare, best[bare]] = 1
        return out

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays, for a model file."""
        kind = (KINDS.index(self.kind), RULES.index(self.rule))
        return {
            "response.kind": np.array(kind, np.int64),
            "response.thresholds": self.thresholds,
            "response.term_weights": self.term_weights,
            "response.figures": np.array([self.intercept, self.slope, self.offset]),
            **pack_classes(self.classes, self.kind == "multi-label"),
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], n_labels: int, n_terms: int
    ) -> LabelResponse:
        """The inverse of `arrays`, checked."""
        got = schema.read(ResponseArrays, arrays, "response")
        kind, rule = got.kind.tolist()
        if kind >= len(KINDS) or rule >= len(RULES):
            raise ModelFileError("the model file names a rule this bayou does not know")
        several, by_size = KINDS[kind] == "multi-label", RULES[rule] == "cardinality"
        sizes = (0 if by_size or not several else n_labels, n_terms if by_size and several else 0)
        classes, _ = unpack_classes(arrays)
        if len(classes) != n_labels or (len(got.thresholds), len(got.term_weights)) != sizes:
            raise ModelFileError("the model file's classes do not fit its labels; save it again")
        intercept, slope, offset = got.figures.tolist()
        return cls(
            kind=KINDS[kind], classes=classes, rule=RULES[rule], thresholds=got.thresholds,
            term_weights=got.term_weights, intercept=intercept, slope=slope, offset=offset,
        )  # fmt: skip


def fit_sigmoid(shares: F64, truth: csr_array) -> tuple[float, float]:
    """Slope and offset of the sigmoid of ln S with the largest likelihood, by Newton's method.

    One positive and one negative are added, spread over all bins, so that separable labels do not drive the
    slope to infinity.
    """
    logs = np.log(np.maximum(shares, _LEAST))
    span = max(float(-logs.min()), 1e-9)
    place = np.minimum((-logs / span * _BINS).astype(np.int64), _BINS - 1)
    every = np.bincount(place.ravel(), minlength=_BINS).astype(np.float64) + 2.0 / _BINS
    rows = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
    yes = np.bincount(place[rows, truth.indices], minlength=_BINS) + 1.0 / _BINS
    x = -(np.arange(_BINS) + 0.5) / _BINS * span
    return sigmoid_of_bins(x, yes.astype(np.float64), every)


def sigmoid_of_bins(x: F64, yes: F64, every: F64) -> tuple[float, float]:
    """Slope and offset for labels tallied by ln S: ``yes`` positives of ``every`` in the bin at x."""
    design = np.column_stack([x, np.ones(len(x))])
    beta = np.array([1.0, 0.0])
    for _ in range(100):
        p = expit(design @ beta)
        gradient = design.T @ (yes - every * p) - 1e-3 * (beta - [1.0, 0.0])
        curve = design.T @ (design * (every * p * (1 - p))[:, None]) + 1e-3 * np.eye(2)
        step = np.linalg.solve(curve, gradient)
        beta = beta + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-10:
            break
    return float(max(beta[0], 1e-3)), float(beta[1])
