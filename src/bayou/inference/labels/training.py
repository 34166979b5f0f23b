"""Labelled LDA, the lower level of every label model: priors, given terms, sweeps, expected counts.

    p(z_dn = y | rest) ~ 1[y in Y_d] (n_vy + beta) / (n_y + V beta) (n_dy + alpha_y)

Two inferences: Gibbs sampling draws z, CVB0 iterates the probabilities gamma of all labels of a document.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayou.data.errors import DataError
from bayou.data.schema import Array
from bayou.inference.labels import assignments
from bayou.inference.labels.assignments import LabelChain, LabelData, LabelPrior, SoftAssignments
from bayou.inference.lda.arrays import F32, F64, I32, Each
from bayou.inference.lda.resume import check_places, refuse
from bayou.kernels.rng import MEMBER, key

INFERENCES = ("cvb0", "gibbs")
PRIORS = ("frequency", "flat")  # of the labels of new documents
MOVED = 1e-3  # mean probability per token that a step of CVB0 moves, below which it has converged
MASS = 30.0  # tokens that a flat prior of labels is worth


class LabelTrainingState(NamedTuple):
    """What the next sweep needs: drawn labels (Gibbs), or their probabilities (CVB0)."""

    step: int
    z: Annotated[I32, Array(("chains", 0), ("tokens", 0), below="places")]  # place in Y_d
    kept: Annotated[F32, Array(("chains", 0), ("cells", 0))]  # sum of expected counts
    share: Annotated[F32, Array(("entries", 0))]  # gamma of CVB0
    moved: float  # mean probability per token that the last step of CVB0 moved


Lower = Any  # a state with the fields of `LabelTrainingState`, and perhaps others
S = TypeVar("S", bound=Lower)


class LabelCounts(NamedTuple):
    """Counts that follow from a state; sweeps keep them up to date."""

    chains: tuple[LabelChain, ...]  # of Gibbs sampling
    soft: SoftAssignments | None  # of CVB0


# -- priors ------------------------------------------------------------------------------------


def label_prior(
    n_terms: int, n_columns: int, alpha: float | None, beta: float, *, boost: float = 0.0, greedy: bool
) -> LabelPrior:  # fmt: skip
    """The same prior for every label; alpha None is `MASS` divided by the number of columns."""
    alpha = MASS / n_columns if alpha is None else float(alpha)
    return LabelPrior(
        beta=np.full(n_columns, float(beta)), vbeta=np.full(n_columns, float(beta) * n_terms),
        gain=np.ones(n_columns), alpha=np.full(n_columns, alpha), boost=boost, greedy=greedy,
    )  # fmt: skip


def add_frequencies(alpha: F64, frequency: F64, weight: float) -> F64:
    """Prior of labels in a new document: alpha plus ``weight`` tokens, shared out by label frequency."""
    if not frequency.sum() > 0.0:
        return alpha.copy()
    more = weight * frequency / frequency.sum()
    n_labels = len(frequency)  # free topics follow the labels
    return np.asarray(np.concatenate([alpha[:n_labels] + more, alpha[n_labels:]]), np.float64)


def label_term_matrix(
    given: Any, classes: NDArray[Any], n_free: int, n_terms: int
) -> csr_array | None:
    """Given distributions over terms as a matrix (terms, columns) whose given columns sum to one."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise DataError(
            f"given_terms must map labels to arrays over terms; got {type(given).__name__}"
        )
    place = {name: j for j, name in enumerate(classes.tolist())}
    out = np.zeros((n_terms, len(classes) + n_free), np.float32)
    for name, values in given.items():
        if name not in place:
            raise DataError(f"given_terms has {name!r}, which no document has as a label")
        row = np.asarray(values, np.float64)
        possible = row.shape == (n_terms,) and np.isfinite(row).all() and (row >= 0).all()
        if not possible or not row.any():
            raise DataError(
                f"given_terms[{name!r}] must be {n_terms} numbers, not negative and not all zero"
            )
        out[:, place[name]] = row / row.sum()
    return csr_array(out)


def fix_terms(prior: LabelPrior, given: csr_array | None) -> LabelPrior:
    """A prior under which labels keep their given terms: n_vy = phi_vy, no smoothing, no gain."""
    if given is None:
        return prior
    known = np.zeros(len(prior.beta), bool)
    known[np.unique(given.indices)] = True
    beta, vbeta, gain = (np.where(known, 0.0, x) for x in (prior.beta, prior.vbeta, prior.gain))
    return prior._replace(beta=beta, vbeta=vbeta, gain=gain)


# -- sweeps ------------------------------------------------------------------------------------


def chain_seed(seed: int, chain: int) -> int:
    """The seed of one of several chains."""
    return int(key(seed, MEMBER, chain, 55)) & 0x7FFFFFFF


def init(
    data: LabelData, n_labels: int, inference: str, n_chains: int, seed: int, each: Each
) -> LabelTrainingState:
    """Labels of tokens at random (Gibbs), or equally likely (CVB0)."""
    if inference == "cvb0":
        none = np.zeros((0, 0))
        share = assignments.start_soft(data, n_labels, seed, each)
        return LabelTrainingState(0, none.astype(np.int32), none.astype(np.float32), share, 1.0)
    z = np.stack([assignments.start_chain(data, chain_seed(seed, c)) for c in range(n_chains)])
    kept = np.zeros((n_chains, len(data.cell_labels)), np.float32)
    return LabelTrainingState(0, z, kept, np.zeros(0, np.float32), 1.0)


def dims(data: LabelData, n_chains: int) -> dict[str, int]:
    """Sizes that the arrays of a checkpoint must have."""
    return {
        "chains": n_chains,
        "tokens": int(data.token_ptr[-1]),
        "cells": len(data.cell_labels),
        "entries": int(data.first[-1]),
        "places": int(np.diff(data.label_ptr).max(initial=0)),
        "labels": data.n_labels,
    }


def count(state: Lower, data: LabelData, prior: LabelPrior, each: Each) -> LabelCounts:
    """Counts from the labels of tokens, or from their probabilities."""
    if len(state.share) or not len(state.z):
        if len(state.share) != data.first[-1]:
            refuse("share", "does not have a number for every label of every document's terms")
        return LabelCounts((), assignments.soft_counts(state.share, data, prior, each))
    return LabelCounts(count_chains(state.z, state.kept, data, prior), None)


def count_chains(z: I32, kept: F32, data: LabelData, prior: LabelPrior) -> tuple[LabelChain, ...]:
    """Counts of every chain from its labels of tokens."""
    if len(z) != len(kept) or kept.shape[1] != len(data.cell_labels):
        refuse("kept", "does not fit the chains")
    check_places(z, data.token_ptr, data.label_ptr)
    each = zip(z, kept, strict=True)
    return tuple(assignments.chain_counts(mine, sums, data, prior) for mine, sums in each)


def sweep(
    state: S, counts: LabelCounts, data: LabelData, prior: LabelPrior, first_kept: int, seed: int,
    each: Each,
) -> S:  # fmt: skip
    """One step of CVB0, or one Gibbs sweep of every chain, in place.

    Gibbs sweeps from ``first_kept`` on are averaged.
    """
    if counts.soft is not None:
        moved = assignments.step_soft(counts.soft, data, prior, each)
        return cast(S, state._replace(step=state.step + 1, moved=moved))
    keep = state.step >= first_kept

    def work(lo: int, hi: int) -> None:
        for c in range(lo, hi):
            assignments.draw(counts.chains[c], data, prior, chain_seed(seed, c), state.step, keep)

    each_chain(work, len(counts.chains), data, each)
    return cast(S, state._replace(step=state.step + 1))


def each_chain(work: Any, n_chains: int, data: LabelData, each: Each) -> None:
    """Run ``work(lo, hi)`` for all chains, on several threads."""
    ends = np.arange(n_chains + 1, dtype=np.int64) * max(len(data.slots), 1)
    each(work, ends, 10.0 * assignments.CELL_COST)


def is_done(state: Lower, n_sweeps: int) -> bool:
    """Whether all sweeps are made, or CVB0 has converged."""
    return bool(state.step >= n_sweeps or state.moved < MOVED)


def expected_counts(
    state: Lower, counts: LabelCounts, data: LabelData, first_kept: int
) -> csr_array:
    """Expected counts of terms in labels (terms, columns), with the given terms of labels."""
    if counts.soft is not None:
        return data.term_label(counts.soft.cells)
    return mean_counts(state.kept, state.step - first_kept, counts.chains, data)


def mean_counts(
    kept: F32, n_kept: int, chains: tuple[LabelChain, ...], data: LabelData
) -> csr_array:
    """The mean of all chains over the kept sweeps; over the last sweep where none was kept."""
    if n_kept <= 0:
        cells = np.mean([chain.cells for chain in chains], axis=0)
    else:
        cells = kept.sum(axis=0, dtype=np.float64) / (n_kept * len(kept)) + data.start
    return data.term_label(cells.astype(np.float32))
