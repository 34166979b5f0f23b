"""The settings of a tracker: what may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from bayou.data.calendar import parse_width
from bayou.data.checks import check_parameters, number, one_of, whole
from bayou.inference.lda.prior import resolve_alpha
from bayou.inference.tracking.slice import SWEEPS


def check(p: SimpleNamespace) -> None:
    """Refuse what cannot be meant."""
    check_parameters(p, ("n_topics", "n_sweeps", "n_starts", "min_docs"), ("max_time",))
    if p.beta is not None:
        check_parameters(p, (), ("beta",))
    parse_width(p.slice_by)
    resolve_alpha(p.alpha, p.n_topics + len(p.fixed or ()))
    one_of("inference", p.inference, ("fast", "snapshot", "gibbs"))
    one_of("start", p.start, ("random", "spectral"))
    one_of("scale", p.scale, ("strength", "counts"))
    one_of("late", p.late, ("next", "drop"))
    for name in ("max_topics", "dead_after", "window", "max_terms", "forget_after"):
        if getattr(p, name) is not None:
            whole(name, getattr(p, name), 1)
    for name in ("n_spare", "grace", "warm_up"):
        whole(name, getattr(p, name), 0)
    number("rho", p.rho, 0.0, 1.0)
    number("weight", p.weight, 0.0, 1.0 - 1e-9)
    number("level", p.level, 0.0, 1.0)
    number("min_effect", p.min_effect, 0.0, 1.0)
    number("min_tokens", p.min_tokens, 0.0)
    if isinstance(p.strength, str) and p.strength != "estimate":
        raise ValueError(
            f"strength must be a number of pseudo-tokens or 'estimate'; got {p.strength!r:.60}"
        )
    if p.strength is not None and p.strength != "estimate":
        number("strength", p.strength, 0.0)
    if p.fixed_strength is not None:
        number("fixed_strength", p.fixed_strength, 0.0)
    if p.burn_in is not None:
        whole("burn_in", p.burn_in, 0)
        if p.inference == "fast":
            raise ValueError("burn_in belongs to the samplers; leave it out with 'fast'")
        most = p.n_sweeps or SWEEPS[p.inference]
        if p.burn_in >= most:
            raise ValueError(f"burn_in must be under n_sweeps = {most}; got {p.burn_in}")
    if p.scale == "counts" and (p.window is not None or p.strength is not None):
        raise ValueError("scale='counts' has no strength and no window; leave them out")
    if p.fixed is not None:
        _check_fixed_topics(p.fixed)


def _check_fixed_topics(fixed: Any) -> None:
    """Refuse topics that no documents could make sense of; which terms there are is known later."""
    if not isinstance(fixed, Mapping):
        raise ValueError(f"fixed must be a mapping from names to topics; got {fixed!r:.60}")
    for name, topic in fixed.items():
        given = list(topic.values()) if isinstance(topic, Mapping) else topic
        try:
            weights = np.asarray(given, np.float64)
        except (TypeError, ValueError):
            weights = np.zeros(0)
        if (
            weights.ndim != 1
            or not weights.any()
            or not (weights >= 0).all()
            or np.isinf(weights).any()
        ):
            raise ValueError(
                f"the fixed topic {name!r} needs weights that are not negative, one above 0, as in "
                f"{{'match': 3, 'goal': 2}}; got {topic!r:.60}"
            )
