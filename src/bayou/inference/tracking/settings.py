"""Parameters of one run of a tracker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayou.data.calendar import Width
from bayou.inference.lda.arrays import F64
from bayou.inference.lda.prior import resolve_alpha

INFERENCES = ("fast", "snapshot", "gibbs")
SWEEPS = {"fast": 4, "snapshot": 100, "gibbs": 100}  # default number of sweeps over a slice
FROM_NOISE = 8  # times more passes over a first slice, which has no memory to start from


class TrackerSettings(NamedTuple):
    """The parameters, with defaults that depend on others filled in; `TopicTracker` documents them."""

    width: Width  # of a slice
    n_topics: int
    alpha: F64  # of the first slice, fixed topics first
    learns_alpha: bool  # whether the first slice learns one alpha for all topics
    beta: float | None
    inference: str
    n_sweeps: int
    n_first_sweeps: int
    burn_in: int
    start: str
    n_starts: int
    weight: float
    strength: float | str | None
    rho: float
    scale: str
    window: int | None
    n_spare: int
    max_topics: int
    dead_after: int | None
    fixed: Mapping[str, Any]
    fixed_strength: float | None
    learn_alpha: bool
    level: float
    min_effect: float
    min_tokens: float
    warm_up: int
    min_docs: int
    max_terms: int | None
    forget_after: int | None


def complete(p: TrackerSettings) -> TrackerSettings:
    """Fill in defaults that depend on other parameters. Refuse combinations that contradict each other."""
    fixed = {} if p.fixed is None else p.fixed
    check_fixed_topics(fixed)
    n_sweeps = p.n_sweeps or SWEEPS[p.inference]
    if p.burn_in is not None and p.inference == "fast":
        raise ValueError("burn_in belongs to the samplers; leave it out with 'fast'")
    if p.burn_in is not None and p.burn_in >= n_sweeps:
        raise ValueError(f"burn_in must be under n_sweeps = {n_sweeps}; got {p.burn_in}")
    if p.scale == "counts" and (p.window is not None or p.strength is not None):
        raise ValueError("scale='counts' has no strength and no window; leave them out")
    return p._replace(
        fixed=fixed, alpha=resolve_alpha(p.alpha, p.n_topics + len(fixed)), n_sweeps=n_sweeps,
        n_first_sweeps=n_sweeps * (FROM_NOISE if p.n_sweeps is None else 1),
        burn_in=n_sweeps // 2 if p.burn_in is None else p.burn_in,
        max_topics=2 * p.n_topics if p.max_topics is None else p.max_topics,
    )  # fmt: skip


def check_fixed_topics(fixed: Any) -> None:
    """Refuse fixed topics that are wrong for any documents. Terms are checked in the first slice."""
    if not isinstance(fixed, Mapping):
        raise ValueError(f"fixed must be a mapping from names to topics; got {fixed!r:.60}")
    for name, topic in fixed.items():
        given = list(topic.values()) if isinstance(topic, Mapping) else topic
        try:
            weights = np.asarray(given, np.float64)
        except (TypeError, ValueError):
            weights = np.zeros(0)
        valid = weights.ndim == 1 and weights.any() and (weights >= 0).all()
        if not valid or np.isinf(weights).any():
            raise ValueError(
                f"the fixed topic {name!r} needs weights that are not negative, one above 0, as in "
                f"{{'match': 3, 'goal': 2}}; got {topic!r:.60}"
            )
