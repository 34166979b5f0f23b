"""The run of labelled LDA, by Gibbs sampling or CVB0: priors, given terms, sweeps, expected counts."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayou.data.checks import check_averaged_sweeps, number, one_of, optional, whole
from bayou.data.errors import DataError
from bayou.inference.labels import assignments
from bayou.inference.lda.arrays import F32, F64, I32, Each
from bayou.kernels.rng import MEMBER, key

INFERENCES = ("cvb0", "gibbs")
MOVED = 1e-3  # of a token's probability, on average, below which CVB0 has arrived
PRIORS = ("frequency", "flat")  # of the labels of new documents
MASS = 30.0  # tokens that a flat prior of labels is worth


class LabelTrainingState(NamedTuple):
    """What the next sweep needs: labels drawn, or their probabilities."""

    step: int
    z: I32  # chains x tokens
    kept: F32  # chains x cells
    share: F32  # gamma, of CVB0
    moved: float  # how much of a token's probability the last step of CVB0 moved, on average


Below = Any  # a state with the fields of `LabelTrainingState`, and perhaps others
S = TypeVar("S", bound=Below)


class LabelCounts(NamedTuple):
    """What follows from a state: counts that sweeps keep up to date."""

    chains: tuple[assignments.LabelChain, ...]
    soft: assignments.SoftAssignments | None


def check(p: SimpleNamespace) -> None:
    """The parameters of a labelled model."""
    for name in ("n_sweeps", "n_kept", "n_chains"):
        whole(name, getattr(p, name), 1)
    number("beta", p.beta, 1e-30)
    optional("alpha", p.alpha, 1e-30)
    optional("max_time", p.max_time, 1e-30)
    if p.n_threads not in (None, -1):
        whole("n_threads", p.n_threads, 1)
    one_of("inference", p.inference, INFERENCES)
    if p.inference == "gibbs":
        check_averaged_sweeps(p)


def priors(
    n_terms: int, n_columns: int, p: SimpleNamespace, *, boost: float, greedy: bool
) -> assignments.LabelPrior:
    """The same for every label."""
    alpha = MASS / n_columns if p.alpha is None else float(p.alpha)
    return assignments.LabelPrior(
        beta=np.full(n_columns, float(p.beta)),
        vbeta=np.full(n_columns, float(p.beta) * n_terms),
        gain=np.ones(n_columns),
        alpha=np.full(n_columns, alpha),
        boost=boost,
        greedy=greedy,
    )


def check_prior(p: SimpleNamespace) -> None:
    """The parameters of the prior that new documents have."""
    one_of("prior", p.prior, PRIORS)
    number("eta", p.eta, 0.0)


def label_prior(alpha: F64, found: F64, p: Any) -> F64:
    """Prior of labels in a new document: alpha and, if asked for, `eta` tokens as frequent labels are."""
    if p.prior == "flat" or not found.sum() > 0.0:
        return alpha.copy()
    more = p.eta * found / found.sum()
    return np.asarray(np.concatenate([alpha[: len(found)] + more, alpha[len(found) :]]), np.float64)


def label_term_matrix(
    given: Any, classes: NDArray[Any], n_free: int, n_terms: int
) -> csr_array | None:
    """Terms that labels keep, as (terms, columns); columns of given labels sum to one."""
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
        if (
            row.shape != (n_terms,)
            or not np.isfinite(row).all()
            or (row < 0).any()
            or not row.any()
        ):
            raise DataError(
                f"given_terms[{name!r}] must be {n_terms} numbers, not negative and not all zero"
            )
        out[:, place[name]] = row / row.sum()
    return csr_array(out)


def fix_terms(prior: assignments.LabelPrior, given: csr_array | None) -> assignments.LabelPrior:
    """Priors under which labels with given terms keep them: n_vy = phi_vy, no smoothing, no gain."""
    if given is None:
        return prior
    known = np.zeros(len(prior.beta), bool)
    known[np.unique(given.indices)] = True
    return prior._replace(
        beta=np.where(known, 0.0, prior.beta),
        vbeta=np.where(known, 0.0, prior.vbeta),
        gain=np.where(known, 0.0, prior.gain),
    )


def chain_seed(seed: int, chain: int) -> int:
    """The seed of one of several chains."""
    return int(key(seed, MEMBER, chain, 55)) & 0x7FFFFFFF


def begin(
    data: assignments.LabelData,
    n_labels: int,
    p: SimpleNamespace,
    seed: int,
    n_chains: int,
    each: Each,
) -> LabelTrainingState:
    """Labels at random, or equally likely."""
    if p.inference == "cvb0":
        none = np.zeros((0, 0))
        share = assignments.start_soft(data, n_labels, seed, each)
        return LabelTrainingState(0, none.astype(np.int32), none.astype(np.float32), share, 1.0)
    z = np.stack([assignments.start_chain(data, chain_seed(seed, c)) for c in range(n_chains)])
    kept = np.zeros((n_chains, len(data.cell_labels)), np.float32)
    return LabelTrainingState(0, z, kept, np.zeros(0, np.float32), 1.0)


def counts_of(
    state: Below, data: assignments.LabelData, prior: assignments.LabelPrior, each: Each
) -> LabelCounts:
    """Counts from the labels of tokens, or from their probabilities."""
    if len(state.share) or not len(state.z):
        return LabelCounts((), assignments.soft_counts(state.share, data, prior, each))
    pairs = zip(state.z, state.kept, strict=True)
    return LabelCounts(
        tuple(assignments.chain_counts(z, kept, data, prior) for z, kept in pairs), None
    )


def sweep(
    state: S,
    counts: LabelCounts,
    data: assignments.LabelData,
    prior: assignments.LabelPrior,
    p: SimpleNamespace,
    seed: int,
    each: Each,
) -> S:
    """One sweep of all chains, each on its own, or one step of CVB0; in place."""
    if counts.soft is not None:
        moved = assignments.step_soft(counts.soft, data, prior, each)
        return cast(S, state._replace(step=state.step + 1, moved=moved))
    keep = state.step >= p.n_sweeps - p.n_kept

    def work(lo: int, hi: int) -> None:
        for c in range(lo, hi):
            assignments.draw(counts.chains[c], data, prior, chain_seed(seed, c), state.step, keep)

    ends = np.arange(len(counts.chains) + 1, dtype=np.int64) * max(len(data.slots), 1)
    each(work, ends, 10.0 * assignments.CELL_COST)
    return cast(S, state._replace(step=state.step + 1))


def is_over(state: Below, p: SimpleNamespace) -> bool:
    """Whether there is nothing more to do."""
    return bool(state.step >= p.n_sweeps or state.moved < MOVED)


def expected_counts(
    state: Below, counts: LabelCounts, data: assignments.LabelData, p: SimpleNamespace
) -> csr_array:
    """Expected counts of terms in labels: the average of all chains, labels' given terms among them."""
    if counts.soft is not None:
        return data.term_label(counts.soft.cells)
    n_kept = state.step - (p.n_sweeps - p.n_kept)
    if n_kept <= 0:  # stopped before any sweep was kept
        cells = np.mean([chain.cells for chain in counts.chains], axis=0)
    else:
        cells = state.kept.sum(axis=0, dtype=np.float64) / (n_kept * len(state.kept)) + data.start
    return data.term_label(cells.astype(np.float32))
