"""The settings of online max-margin learning: what may be asked for, and what it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from bayou.data.checks import check_parameters, number, one_of, whole
from bayou.inference.lda import features
from bayou.inference.lda.prior import resolve_alpha
from bayou.inference.margin.growth import TopicGrowth
from bayou.inference.margin.online_state import OnlineMarginSettings

FLOOR = 1000.0 / 164.0  # of lambda, in units of cost x margin
_OUT_OF_REACH = 4.0  # in the same units: no document is that far from its margin


def check(p: SimpleNamespace, defaults: Mapping[str, Any]) -> None:
    """Fill in what was left at None, and refuse what cannot be meant."""
    for key, value in defaults.items():
        if getattr(p, key) is None:
            setattr(p, key, value)
    given = SimpleNamespace(**{**vars(p), "n_topics": 1 if p.n_topics is None else p.n_topics})
    counts = ("n_topics", "batch_size", "n_passes", "n_rounds", "n_sweeps")
    check_parameters(given, counts, ("beta", "cost", "variance", "max_time"))
    whole("burn_in", p.burn_in, 0)
    if p.burn_in >= p.n_sweeps:
        raise ValueError(f"burn_in must be below n_sweeps = {p.n_sweeps}; got {p.burn_in}")
    number("ghost_factor", p.ghost_factor, 1e-6, 1e6)
    number("decay", p.decay, 1e-6, 1.0)
    one_of("tf", p.tf, features.DAMPINGS)
    size = p.n_topics if p.n_topics is not None else np.size(p.alpha)
    resolve_alpha(p.alpha, max(int(size), 1))


def set_floor(p: SimpleNamespace, name: str, score: float) -> None:
    """What `weight_floor` comes to: a number, 0 for none.

    ``name`` is of the parameter that chooses the posterior; ``score`` is what a right answer scores.
    """
    given, unit = p.weight_floor, p.cost * score
    p.floor = 0.0 if given is None else given
    if isinstance(given, str):
        one_of("weight_floor", given, ("auto",))
        p.floor = FLOOR * unit if p.gibbs else 0.0
    elif given is not None:
        number("weight_floor", given, 1e-12)
        if not p.gibbs:
            raise ValueError(f"weight_floor belongs to {name}='gibbs'; leave it at 'auto'")
    p.out_of_reach = p.floor >= _OUT_OF_REACH * unit


def step_settings(
    p: SimpleNamespace,
    n_topics: int,
    loss: tuple[int, float, float, bool],
    growth: TopicGrowth | None = None,
    refit: bool = False,
) -> OnlineMarginSettings:
    """The settings of a step. ``loss``: its kind, its width, the factor of a yes, and whether a cost is the
    same for all tasks.
    """
    kind, width, positive, alike = loss
    return OnlineMarginSettings(
        gibbs=p.gibbs, loss=kind, width=width, variance=float(p.variance), floor=float(p.floor),
        shared=bool(p.gibbs and alike and p.out_of_reach), positive=positive,
        alpha=resolve_alpha(p.alpha, n_topics), beta=float(p.beta), n_rounds=int(p.n_rounds),
        n_sweeps=int(p.n_sweeps), burn_in=int(p.burn_in), ghosts=float(p.ghost_factor),
        decay=float(p.decay), tf=p.tf, idf=bool(p.idf), growth=growth, refit=refit,
        cost=float(p.cost),
    )  # fmt: skip
