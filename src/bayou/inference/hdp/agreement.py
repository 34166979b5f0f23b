"""Whether chains from different starts agree, the number of topics they found, and the topics they share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from bayou.inference.lda.arrays import F32, F64, I64

AGREE = 1.1  # largest split R-hat of chains whose sweeps are pooled [Gelman13]
# Chains also agree if their means are at most this far apart: a share of the number of topics (or 1 topic), a
# share of the number of large topics (or 1), and nats per token. Small topics come and go: one chain's 90 %
# interval of the number of all topics is already about a quarter of it wide.
APART = (0.2, 0.1, 0.02)
LEAST = 10  # sweeps after warm-up without which nothing is said about agreement


def split_rhat(parts: Sequence[F64]) -> float:
    """Split R-hat: the spread of half chains over the spread within them; 1 if they agree, never below.

    [Gelman13] Gelman, Carlin, Stern, Dunson, Vehtari, Rubin. Bayesian Data Analysis, 3rd edition, 11.4.
    """
    n = min(len(part) for part in parts) // 2
    if n < LEAST // 2:
        return float("inf")
    halves = np.array([half for part in parts for half in (part[-2 * n : -n], part[-n:])], float)
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    return float(np.sqrt(max((n - 1) / n + between / within, 1.0)))


def after_warm_up(trace: I64, burn_in: int | None) -> list[I64]:
    """Positions in the trace of each chain's sweeps after warm-up: half of them, or ``burn_in``."""
    out = []
    for chain in np.unique(trace[:, 0]):
        at = np.flatnonzero(trace[:, 0] == chain)
        warm_up = len(at) // 2 if burn_in is None else burn_in
        out.append(at[warm_up:] if len(at) > warm_up else at[-1:])
    return out


def rhats(trace: I64, fits: F64, burn_in: int | None) -> tuple[float, float, float]:
    """Split R-hat of the number of topics, the number of large topics, and ln p(w | z)."""
    parts = after_warm_up(trace, burn_in)
    columns = trace[:, 1].astype(float), trace[:, 2].astype(float), fits
    first, second, third = (split_rhat([column[part] for part in parts]) for column in columns)
    return first, second, third


def differences(trace: I64, fits: F64, burn_in: int | None) -> tuple[float, float, float]:
    """Largest differences of the means of chains: of both numbers as a share, of ln p(w | z) in nats.

    A difference of at most one topic counts as none.
    """
    parts, out = after_warm_up(trace, burn_in), []
    for column in (trace[:, 1].astype(float), trace[:, 2].astype(float)):
        means = np.array([column[part].mean() for part in parts])
        is_far = np.ptp(means) > 1.0
        out.append(float(np.ptp(means) / means.mean()) if is_far else 0.0)
    return out[0], out[1], float(np.ptp([fits[part].mean() for part in parts]))


def is_agreed(trace: I64, fits: F64, burn_in: int | None) -> bool:
    """Whether each of three values has a split R-hat of at most `AGREE` or means at most `APART` apart."""
    found = rhats(trace, fits, burn_in)
    if max(found) == np.inf and is_short(trace, burn_in):
        return False
    apart = differences(trace, fits, burn_in)
    pairs = zip(found, apart, APART, strict=True)
    return all(rhat <= AGREE or far <= most for rhat, far, most in pairs)


def is_short(trace: I64, burn_in: int | None) -> bool:
    """Whether a chain has too few sweeps after warm-up for anything to be said."""
    return min(len(part) for part in after_warm_up(trace, burn_in)) < LEAST


def describe(trace: I64, fits: F64, burn_in: int | None) -> str:
    """What to say about chains that do not agree."""
    if is_short(trace, burn_in):
        return (
            "too few sweeps to compare chains from different starts; intervals of the number of topics "
            "cover all chains. Give a larger n_sweeps"
        )
    found = differences(trace, fits, burn_in)
    return (
        f"chains from different starts do not agree: their means differ by {found[0]:.0%} of the number of "
        f"topics, {found[1]:.0%} of large topics, {found[2]:.3f} nats per token of ln p(w | z); intervals of "
        "the number of topics cover all chains. A larger n_sweeps brings chains closer"
    )


class TraceNumber(NamedTuple):
    """The number of topics in the sweeps after warm-up of all chains."""

    trace: I64  # chain, topics and large topics after each sweep
    burn_in: int | None

    @property
    def n_large(self) -> int:
        """Number of large topics at the end of the first chain."""
        return int(self.trace[self.trace[:, 0] == 0][-1, 2])

    def interval(self, level: float, is_large: bool) -> tuple[int, int]:
        """Central interval of the number of topics, or of large topics.

        If split R-hat of the number is at most `AGREE`, the sweeps of all chains are pooled. Otherwise the
        interval reaches from the lowest to the highest end of the chains' own intervals.
        """
        column = self.trace[:, 2 if is_large else 1]
        parts = [column[at] for at in after_warm_up(self.trace, self.burn_in)]
        pooled = split_rhat([part.astype(float) for part in parts]) <= AGREE
        ends = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        groups = [np.concatenate(parts)] if pooled else parts
        found = np.array([np.quantile(part, ends, method="inverted_cdf") for part in groups])
        return int(found[:, 0].min()), int(found[:, 1].max())


def affinity(rows: F32, others: F32) -> F64:
    """Bhattacharyya coefficients sum_v sqrt(phi_vk phi_vj) of topics (terms x topics) with other topics."""
    return np.asarray(np.sqrt(rows).T @ np.sqrt(others), np.float64)


def recurrence(rows: F32, others: Iterable[F32]) -> F64:
    """Bhattacharyya coefficient of each topic with its match in another chain.

    The mean over the other chains. Matches are one to one and have the largest sum. A topic
    without a match has 0; without other chains all are NaN.
    """
    found = []
    for other in others:
        alike = affinity(rows, other)
        mine, match = linear_sum_assignment(-alike)
        out = np.zeros(rows.shape[1])
        out[mine] = np.minimum(alike[mine, match], 1.0)
        found.append(out)
    return np.mean(found, axis=0) if found else np.full(rows.shape[1], np.nan)
