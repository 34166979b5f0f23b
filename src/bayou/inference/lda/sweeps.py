"""Sweeps of a sampler: which are scored, which are kept, and when burn-in and training end."""

from __future__ import annotations

from typing import Protocol

from bayou.inference.lda.arrays import F64

CHECK, APART = 10, 5  # sweeps between two scores, and between two that are kept
SWEEPS = 200  # default number of sweeps
SETTLED = 50  # least number of sweeps after a burn-in that ended by itself


class SweepSettings(Protocol):
    """The settings that the ends of burn-in and training depend on."""

    @property
    def n_sweeps(self) -> int | None:
        """Largest number of sweeps. Default: `SWEEPS`."""

    @property
    def burn_in(self) -> int | None:
        """Number of sweeps of burn-in. None: until the scores no longer rise, at most half of all."""

    @property
    def tol(self) -> float:
        """Gain per score below which scores no longer rise."""


def most(p: SweepSettings) -> int:
    """Largest number of sweeps."""
    return p.n_sweeps or SWEEPS


def is_scored(step: int, p: SweepSettings) -> bool:
    """Whether the state is scored after this sweep."""
    return step % CHECK == 0 or step in (most(p), p.burn_in)


def is_kept(step: int, burnt: int, p: SweepSettings) -> bool:
    """Whether this sweep is kept; ``burnt`` is the sweep that ended burn-in, -1 before."""
    return burnt >= 0 and ((step - burnt) % APART == 0 or step == most(p))


def end_of_burn_in(step: int, burnt: int, scores: F64, p: SweepSettings) -> int:
    """The sweep that ended burn-in, after a scored sweep; -1 if burn-in goes on."""
    flat = len(scores) > 5 and scores[-1] - scores[-6] < 5 * p.tol
    half = step >= most(p) // 2
    over = step >= p.burn_in if p.burn_in is not None else flat or half
    return step if over and burnt < 0 else burnt


def is_done(step: int, burnt: int, p: SweepSettings) -> bool:
    """Whether all sweeps are done or, after a burn-in that ended by itself, as many again."""
    if step >= most(p):
        return True
    return p.burn_in is None and burnt >= 0 and step >= burnt + max(burnt, SETTLED)
