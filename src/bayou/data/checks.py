"""Checks of parameters. Each error names the value, what was expected, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

MAX_TOPICS = 65_535  # topic numbers are stored in sixteen bits

# Kernels work in single precision: priors outside these bounds would turn into zero or infinity there.
LEAST, MOST = 1e-30, 1e30


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
