"""What parameters may be: each check says what came, what was expected and so what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from types import SimpleNamespace
from typing import Any

import numpy as np

MAX_TOPICS = 65_535  # topic numbers are stored in sixteen bits

# Kernels work in single precision: priors outside these bounds would turn into zero or infinity there.
LEAST, MOST = 1e-30, 1e30
_OPTIONAL = ("n_sweeps", "n_docs", "max_time")  # parameters that may be None


def check_parameters(p: SimpleNamespace, counts: Iterable[str], positive: Iterable[str]) -> None:
    """Refuse parameters that cannot be meant; ``counts`` are whole numbers of at least 1."""
    for name in counts:
        if getattr(p, name) is not None or name not in _OPTIONAL:
            whole(name, getattr(p, name), 1)
    for name in positive:
        if getattr(p, name) is not None or name not in _OPTIONAL:
            number(name, getattr(p, name), LEAST)
    _check_most(p.n_topics)
    if p.n_threads not in (None, -1):
        whole("n_threads", p.n_threads, 1)


def check_n_topics(n_topics: Any) -> None:
    """Refuse a number of topics that cannot be."""
    whole("n_topics", n_topics, 1)
    _check_most(n_topics)


def _check_most(n_topics: int) -> None:
    if n_topics > MAX_TOPICS:
        raise ValueError(f"n_topics must be at most {MAX_TOPICS}; got {n_topics}")


def check_averaged_sweeps(p: SimpleNamespace) -> None:
    """Refuse to average more sweeps than there are."""
    if p.n_kept > p.n_sweeps:
        raise ValueError(f"n_kept must be at most n_sweeps = {p.n_sweeps}; got {p.n_kept}")


def check_growth(p: SimpleNamespace) -> None:
    """Refuse what topics cannot be born under."""
    number("alpha", p.alpha, LEAST)
    number("gamma", p.gamma, 1e-6, 1e6)
    whole("n_topics", p.n_topics, 1)
    whole("max_topics", p.max_topics, 1)
    if not p.n_topics <= p.max_topics <= MAX_TOPICS:
        raise ValueError(
            f"max_topics must be from n_topics = {p.n_topics} to {MAX_TOPICS}; got {p.max_topics}"
        )


def whole(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")


def number(name: str, value: Any, least: float, most: float = MOST) -> None:
    """Refuse what is not a number from ``least`` to ``most``."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not least <= value <= most:
        kind = "positive number" if least > 0 else "number"
        raise ValueError(f"{name} must be a {kind}, from {least:g} to {most:g}; got {value!r}")


def optional(name: str, value: Any, least: float, most: float = MOST) -> None:
    """Refuse what is neither None nor a number from ``least`` to ``most``."""
    if value is not None:
        number(name, value, least, most)


def one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Refuse a word that is not on the list."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")
