"""What can be done with the state of online max-margin learning between mini-batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayou.inference.lda.arrays import F64
from bayou.inference.margin import calibration
from bayou.inference.margin.online_state import N_BINS, N_SCORED, OnlineMarginState
from bayou.inference.margin.passive_aggressive import Examples

N_PRIOR = 10
N_LATEST = 32  # documents at least that probabilities are fitted to, if so many have been scored


def regroup(state: OnlineMarginState, source: NDArray[np.intp], sign: F64) -> OnlineMarginState:
    """Tasks made of older ones: task i was task ``source[i]``, with yes and no changed if the sign is -1."""
    turned = sign < 0.0
    return state._replace(
        mean=state.mean[source] * sign[:, None],
        linear=state.linear[source] * sign[:, None] if len(state.linear) else state.linear,
        precision=state.precision[source] if len(state.precision) > 1 else state.precision,
        yes=np.where(turned, float(state.n_seen > 0), state.yes[source]),
        scores=state.scores[:, source] * sign,
        truths=state.truths[:, source] * sign,
        refitted=state.refitted[source] * sign[:, None] if len(state.bend) else state.refitted,
        bend=state.bend[source] if len(state.bend) else state.bend,
    )


def recent_scores(state: OnlineMarginState, n_tasks: int) -> tuple[F64, F64]:
    """Scores of the latest documents from before they were learned, and what was true of them."""
    n = min(state.n_scored, N_SCORED)
    return state.scores[:n, :n_tasks], state.truths[:n, :n_tasks]


def latest(state: OnlineMarginState, n_tasks: int) -> tuple[F64, F64]:
    """Of `recent_scores`, the last quarter of the stream: earlier scores are of a model that knew less."""
    n = min(state.n_scored, N_SCORED, max(state.n_scored // 4, N_LATEST))
    at = np.arange(state.n_scored - n, state.n_scored) % N_SCORED
    return state.scores[at, :n_tasks], state.truths[at, :n_tasks]


def fit_calibration(state: OnlineMarginState, kind: str, n_tasks: int) -> tuple[F64, F64]:
    """Slopes and offsets from scores to probabilities, fitted to what the stream has shown.

    The scores were made before their documents were learned, so they are like those of documents to come.
    """
    scores, truth = latest(state, n_tasks)
    unit = max(float(np.abs(state.mean[:n_tasks]).max(initial=0.0)), 1e-12)
    slope, offset = np.full(n_tasks, 1.0 / unit), np.zeros(n_tasks)
    if kind == "multi-class":
        use = np.flatnonzero((truth > 0.0).any(axis=1))
        size = float(np.abs(scores[use]).mean()) if len(use) else 0.0
        if size > 0.0:
            codes = truth[use].argmax(axis=1)
            slope[:] = calibration.temperature(scores[use] / size, codes) / size
        return slope, offset
    for i in range(n_tasks):
        use = np.flatnonzero(~np.isnan(truth[:, i]))
        weight = np.abs(truth[use, i]) if kind == "binary" else np.ones(len(use))
        found = calibration.sigmoid(scores[use, i], truth[use, i], weight)
        slope[i], offset[i] = found[0] or slope[i], found[1]
    return slope, offset


def fit_correction(state: OnlineMarginState, n_tasks: int) -> tuple[F64, F64, F64]:
    """Slope, offset and noise of targets around the scores that the stream has shown.

    Labels have pulled the topics of the documents that weights were learned from, so that scores of documents
    to come fall short of their targets. The slope is shrunk to one as by `N_PRIOR` further documents.
    """
    scores, truth = recent_scores(state, n_tasks)
    number, _, squares = state.moments
    slope, offset = np.ones(n_tasks), np.zeros(n_tasks)
    noise = squares / np.maximum(number, 1.0)
    for i in range(n_tasks):
        use = np.flatnonzero(~np.isnan(truth[:, i]))
        if len(use) < 2:
            continue
        x, y = scores[use, i], truth[use, i]
        gap = x - x.mean()
        spread = float(gap @ gap)
        if spread > 1e-12 * squares[i]:
            fitted = float(gap @ (y - y.mean())) / spread
            slope[i] = (len(use) * fitted + N_PRIOR) / (len(use) + N_PRIOR)
        offset[i] = y.mean() - slope[i] * x.mean()
        noise[i] = float(((y - slope[i] * x - offset[i]) ** 2).mean())
    return slope, offset, noise


def covariance(state: OnlineMarginState, scale: F64) -> F64:
    """Of the weights of every task, times ``scale`` squared; without rows where only their mean is known."""
    if not len(state.precision):
        return state.precision
    return np.asarray(np.linalg.inv(state.precision) * scale[:, None, None] ** 2, np.float64)


def sound(state: OnlineMarginState, pending: Examples) -> bool:
    """Whether what was read has the shapes and the numbers that kernels rely on."""
    arrays = [x for n, x in state._asdict().items() if n not in (*_PLAIN, "raw", *_WHOLE)]
    if not all(isinstance(a, np.ndarray) and a.dtype == np.float64 for a in arrays):
        return False
    if not isinstance(state.raw, np.ndarray) or state.raw.dtype not in (np.float32, np.float64):
        return False
    whole = [getattr(state, name) for name in _WHOLE]
    if not all(isinstance(a, np.ndarray) and a.dtype == np.int64 for a in whole):
        return False
    numbers = (state.step, state.n_seen, state.n_scored, state.told, state.n_born)
    real = (state.scale, state.mass, state.lessons)
    if not all(type(n) is int and n >= 0 for n in numbers) or not all(
        type(x) is float for x in real
    ):
        return False
    if not (0.0 < state.scale < np.inf and all(0.0 <= x < np.inf for x in real[1:])):
        return False
    if state.raw.ndim != 2:
        return False
    return _fit(state) and _finite(state) and _waiting(pending, state)


_PLAIN = ("step", "n_seen", "mass", "scale", "told", "n_scored", "n_born", "lessons")
_WHOLE = ("ids", "course")


def _fit(state: OnlineMarginState) -> bool:
    n_terms, n_topics = state.raw.shape
    n_tasks, n_matrices = len(state.yes), len(state.precision)
    n_targets = state.moments.shape[-1]
    n_refitted = n_tasks if len(state.bend) else 0
    shapes: dict[str, tuple[int, ...]] = {
        "seen_in": (n_terms,),
        "topic": (n_topics,),
        "mean": (n_tasks, n_topics),
        "precision": (n_matrices, n_topics, n_topics),
        "linear": (n_tasks if n_matrices else 0, n_topics),
        "yes": (n_tasks,),
        "moments": (3, n_targets),
        "scores": (N_SCORED, n_tasks),
        "truths": (N_SCORED, n_tasks),
        "tables": (n_topics if state.tables.size else 0,),
        "ids": (n_topics if state.tables.size else 0,),
        "course": (state.course.size,),
        "gram": (n_targets or 1, n_topics, n_topics) if n_refitted else (0, *state.gram.shape[1:]),
        "refitted": (n_refitted, n_topics if n_refitted else state.refitted.shape[-1]),
        "bend": (n_refitted,),
        "curve": (4, N_BINS),
    }
    right = all(getattr(state, name).shape == shape for name, shape in shapes.items())
    return right and n_topics > 0 and n_tasks > 0 and n_targets in (0, n_tasks)


def _finite(state: OnlineMarginState) -> bool:
    arrays: list[NDArray[Any]] = [
        state.raw, state.topic, state.mean, state.precision, state.linear, state.moments, state.scores,
        state.seen_in, state.yes, state.tables, state.gram, state.refitted, state.bend, state.curve,
    ]  # fmt: skip
    counts = (
        state.raw, state.topic, state.seen_in, state.yes, state.tables, state.bend, state.curve,
    )  # fmt: skip
    named = len(np.unique(state.ids)) == state.ids.size and (state.course > 0).all()
    if not named or state.ids.min(initial=0) < 0 or state.ids.max(initial=-1) >= state.n_born:
        return False
    if not all(np.isfinite(a).all() for a in arrays) or np.isinf(state.truths).any():
        return False
    pivots = np.diagonal(state.precision, axis1=1, axis2=2)
    return bool(all((a >= 0).all() for a in counts) and (pivots > 0).all())


def _waiting(pending: Examples, state: OnlineMarginState) -> bool:
    indptr, indices, data, y, costs = pending
    if not all(isinstance(a, np.ndarray) and a.dtype == np.int64 for a in (indptr, indices)):
        return False
    if not all(isinstance(a, np.ndarray) and a.dtype == np.float64 for a in (data, costs)):
        return False
    classes = not state.moments.size
    if not isinstance(y, np.ndarray) or y.dtype != (np.int8 if classes else np.float64):
        return False
    n = costs.size
    shapes = [(n + 1,), (indices.size,), (n, len(state.mean)), (n,), (data.size,)]
    if [a.shape for a in (indptr, data, y, costs, indices)] != shapes:
        return False
    inside = indices.size == 0 or (indices.min() >= 0 and indices.max() < len(state.raw))
    order = indptr[0] == 0 and indptr[-1] == indices.size and (np.diff(indptr) >= 0).all()
    numbers = np.isfinite(data).all() and (data >= 0).all() and np.isfinite(costs).all()
    signs = (np.abs(y) <= 1).all() if classes else not np.isinf(y).any()
    return bool(inside and order and numbers and (costs >= 0).all() and signs)
