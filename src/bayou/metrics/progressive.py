"""Progressive evaluation: predict every document before learning from it (test, then train)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

F64 = NDArray[np.float64]


class Progress(NamedTuple):
    """Quality of the predictions for a stream, each made before learning from the document.

    Parameters
    ----------
    n_seen : int64 array
        Number of documents learned before each predicted batch.
    n_docs : int64 array
        Number of documents in the batch with a known answer.
    accuracy : float64 array
        Fraction of them whose class, or whole set of labels, was right; R² for numbers.
    f1 : float64 array
        Micro-averaged F1 (for one class per document, equal to accuracy); NaN for numbers.
    """

    n_seen: NDArray[np.int64]
    n_docs: NDArray[np.int64]
    accuracy: F64
    f1: F64

    def mean(self, last: int | None = None) -> float:
        """Mean accuracy over all documents, or about the ``last`` ones; NaN if there are none."""
        weight = self.n_docs.astype(np.float64)
        if last is not None:
            behind = self.n_docs[::-1].cumsum()[::-1] - self.n_docs
            weight = np.where(behind < last, weight, 0.0)
        use = np.isfinite(self.accuracy) & (weight > 0)
        return float(np.average(self.accuracy[use], weights=weight[use])) if use.any() else np.nan

    def curve(self, width: int = 60) -> str:
        """The accuracy along the stream as one line of text, scaled from lowest to highest value."""
        values = self.accuracy[np.isfinite(self.accuracy)]
        if not len(values):
            return ""
        parts = np.array_split(values, min(width, len(values)))
        means = np.array([part.mean() for part in parts])
        low, span = means.min(), max(float(np.ptp(means)), 1e-12)
        return "".join(_BARS[int((m - low) / span * (len(_BARS) - 1) + 0.5)] for m in means)


_BARS = "▁▂▃▄▅▆▇█"


def progressive(model: Any, batches: Iterable[tuple[Any, Any]], *, classes: Any = None) -> Progress:
    """Predict each batch, then learn from it.

    Parameters
    ----------
    model : estimator with `partial_fit` and `predict`
        Training continues from its current state; in the end it has learned all batches.
    batches : iterable of (X, y)
        Documents and their classes, label indicators (documents, labels) or numbers. None or NaN means
        unknown: the document is learned but not scored.
    classes : array-like, optional
        All classes or labels, for classifiers that need them at the first batch. A model that is not fitted
        learns the first batch without predicting it.

    Examples
    --------
    >>> import numpy as np
    >>> from bayou import BayesPAClassifier
    >>> X = np.tile(np.eye(2), (40, 1))
    >>> y = np.tile([0, 1], 40)
    >>> stream = [(X[i : i + 8], y[i : i + 8]) for i in range(0, 80, 8)]
    >>> found = progressive(BayesPAClassifier(), stream, classes=[0, 1])
    >>> len(found.n_docs), found.mean()
    (9, 1.0)
    """
    rows: list[tuple[int, int, float, float]] = []
    ready, seen = _is_fitted(model), 0
    extra = {} if classes is None else {"classes": classes}
    for X, y in batches:
        if ready:
            rows.append((seen, *_measure(model.predict(X), y, regression=is_regressor(model))))
        model.partial_fit(X, y, **extra)
        ready, seen = True, seen + len(_rows(y))
    n_seen, n_docs, accuracy, f1 = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Progress(
        np.array(n_seen, np.int64),
        np.array(n_docs, np.int64),
        np.array(accuracy, np.float64),
        np.array(f1, np.float64),
    )


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _rows(y: Any) -> NDArray[Any]:
    """The labels as a dense array."""
    return np.asarray(y.toarray() if hasattr(y, "toarray") else y)


def _measure(found: Any, y: Any, *, regression: bool) -> tuple[int, float, float]:
    """Number of documents with a known answer, the fraction that is right (or R²), and micro-F1."""
    truth = _rows(y)
    known = ~np.array([_missing(row) for row in truth], bool)
    n = int(known.sum())
    found, truth = np.asarray(found)[known], truth[known]
    if regression:
        truth = truth.astype(np.float64)
        return n, float(r2_score(truth, found)) if n > 1 else np.nan, np.nan
    if n == 0:
        return 0, np.nan, np.nan
    if truth.ndim == 1:
        right = float(
            np.mean([a == b for a, b in zip(truth.tolist(), found.tolist(), strict=True)])
        )
        return n, right, right
    truth = truth.astype(np.int64)
    hits, total = float((found * truth).sum()), float(found.sum() + truth.sum())
    return n, float((found == truth).all(axis=1).mean()), 2.0 * hits / total if total else 1.0


def _missing(row: Any) -> bool:
    """Whether the answer of a document is unknown: None or NaN."""
    if np.ndim(row):
        return bool(np.ndim(row) == 1 and len(row) and all(map(_missing, row.tolist())))
    return row is None or (isinstance(row, float | np.floating) and bool(np.isnan(row)))
