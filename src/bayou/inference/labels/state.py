"""What is known of labels on a stream: shares of tokens, what they stand for, and whether a file's can be.

Kept are shares of all tokens, which add up to one, and beside them how many tokens C they stand for; so the
mass of N is C whatever has come and gone. Words (layer 1) and labels (layer 2) are two streams of tokens with
totals of their own: C_w and |M|_w, C_l and |M|_l.

A label that comes later has been blended in for fewer steps than the others. What is left of the time before
it, prod (1 - rho_t) since then, is kept for each label, and counts are divided by what is missing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayou.inference.labels import cells as label_cells
from bayou.inference.labels.cells import Cells, SharingSettings
from bayou.inference.lda.arrays import F32, F64, I32, I64

WORDS, LABELS, DOCS = 0, 1, 2  # the three totals of a stream


class LabelStreamState(NamedTuple):
    """What the next mini-batch needs."""

    step: int  # mini-batches with labels so far
    n_seen: int  # documents so far
    cell_ptr: I64  # terms + 1
    cell_labels: I32  # of each cell, increasing within a term
    raw: F32  # share of all tokens / scale, of each cell
    scale: float
    ids: I64  # one a label, never given twice
    next_id: int
    left: F64  # 2 x labels: prod (1 - rho) of words and of labels since the label came
    doubt: F64  # 3: one over the words, labels and documents that shares stand for
    lengths: F64  # 2: words and labels of a document that has labels, on average
    shares: F64  # of all label tokens, one a label
    topics: F64  # chains x labels x topics: shares of all label tokens
    tables: F64  # tables a document, one a label; without entries where no root is learned
    scored: F64  # mixtures x 2 x bins: logarithms of shares of labels, of all and of those that were true
    sizes: F64  # 2 x terms: weights for the number of labels, and how far they moved; or without columns

    @property
    def cells(self) -> Cells:
        """Shares of tokens by term and label, over `scale`."""
        return Cells(self.cell_ptr, self.cell_labels, self.raw)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.ids)

    def with_cells(self, cells: Cells, scale: float) -> LabelStreamState:
        """The same with other cells."""
        return self._replace(
            cell_ptr=cells.ptr, cell_labels=cells.labels, raw=cells.raw, scale=float(scale)
        )


class LabelStreamSettings(NamedTuple):
    """The settings of a step."""

    beta: float
    link_beta: float  # of a topic's labels
    alpha: F64  # of a document's topics over labels
    local: SharingSettings  # of a document's tokens; its prior is made of `prior` and `root`
    prior: float | None  # of each label of a document while training; None where all are alike
    root: tuple[float, float] | None  # b1 and b0 where that prior is a learned one
    n_rounds: int
    n_label_rounds: int
    rate: tuple[float, float, float]  # s, tau, kappa
    n_docs: float | None  # documents that shares stand for; None: as many as the steps remember


def start(n_terms: int, n_topics: int, n_chains: int) -> LabelStreamState:
    """Nothing known, and no label."""
    cells = label_cells.no_cells(n_terms)
    return LabelStreamState(
        0, 0, *cells, 1.0, np.zeros(0, np.int64), 0, np.ones((2, 0)), np.zeros(3), np.zeros(2),
        np.zeros(0), np.zeros((n_chains, 0, n_topics)), np.zeros(0), np.zeros((0, 2, 0)),
        np.zeros((2, 0)),
    )  # fmt: skip


def step_size(step: int, rate: tuple[float, float, float]) -> float:
    """rho_t = s (tau + t)^-kappa, and 1, 1/2, 1/3 .. before: nothing random is ever blended in."""
    s, tau, kappa = rate
    return float(min(1.0, max(1.0 / step, s * (tau + step) ** -kappa)))


def birth_correction(left: F64) -> F64:
    """What counts of labels are multiplied by: 1 / (1 - prod (1 - rho)); 1 where nothing came."""
    gone = 1.0 - left
    return np.divide(1.0, gone, out=np.ones_like(gone), where=gone > 0.0)


def totals(state: LabelStreamState, n_docs: float | None) -> F64:
    """C_w, C_l and D: tokens, label tokens and documents that the shares stand for."""
    if n_docs is not None:
        return np.append(n_docs * state.lengths, n_docs)
    return np.divide(1.0, state.doubt, out=np.zeros(3), where=state.doubt > 0.0)


def factors(state: LabelStreamState, which: int, n_docs: float | None) -> F64:
    """From shares to counts, one a label: C times the correction by birth."""
    return np.asarray(
        totals(state, n_docs)[which] * birth_correction(state.left[which]), np.float64
    )


def root_of(state: LabelStreamState, how: LabelStreamSettings) -> F64:
    """g_y = (M_y + b0 / L) / (M + b0), M_y the expected tables of the label in all documents."""
    b0 = how.root[1] if how.root is not None else 1.0
    mass = totals(state, how.n_docs)[DOCS] * birth_correction(state.left[WORDS]) * state.tables
    return np.asarray((mass + b0 / len(mass)) / (mass.sum() + b0), np.float64)


def label_prior(state: LabelStreamState, how: LabelStreamSettings) -> F64:
    """Prior of each label in a document while training; without entries where all are alike."""
    if how.prior is None:
        return np.zeros(0)
    return np.full(state.n_labels, how.prior) if how.root is None else table_mass(state, how)


def table_mass(state: LabelStreamState, how: LabelStreamSettings) -> F64:
    """b1 g_y: how many tokens of a label open a table of their own."""
    return (how.root[0] if how.root is not None else 1.0) * root_of(state, how)


def sound(state: LabelStreamState) -> bool:
    """Whether what was read has the shapes and the numbers that kernels rely on."""
    whole = (state.step, state.n_seen, state.next_id)
    if not all(type(n) is int and n >= 0 for n in whole) or type(state.scale) is not float:
        return False
    kinds = {"cell_ptr": np.int64, "cell_labels": np.int32, "raw": np.float32, "ids": np.int64}
    others = ("left", "doubt", "lengths", "shares", "topics", "tables", "scored", "sizes")
    for name, dtype in {**kinds, **dict.fromkeys(others, np.float64)}.items():
        array = getattr(state, name)
        if not isinstance(array, np.ndarray) or array.dtype != dtype:
            return False
        if not np.isfinite(array).all() or (name != "sizes" and (array < 0).any()):
            return False
    return 0.0 < state.scale < np.inf and _fits(state)


def _fits(state: LabelStreamState) -> bool:
    n, ptr, labels = len(np.atleast_1d(state.ids)), state.cell_ptr, state.cell_labels
    shapes = {
        "ids": (n,), "left": (2, n), "doubt": (3,), "lengths": (2,), "shares": (n,),
        "raw": labels.shape,
    }  # fmt: skip
    if not all(getattr(state, name).shape == shape for name, shape in shapes.items()):
        return False
    if ptr.ndim != 1 or labels.ndim != 1 or len(ptr) < 2 or ptr[0] != 0 or ptr[-1] != len(labels):
        return False
    if (np.diff(ptr) < 0).any() or (len(labels) and labels.max() >= n) or (state.left > 1).any():
        return False
    if state.topics.ndim != 3 or state.topics.shape[1] != n or len(state.tables) not in (0, n):
        return False
    distinct = len(np.unique(state.ids)) == n and state.ids.max(initial=-1) < state.next_id
    sizes = state.sizes.ndim == 2 and state.sizes.shape[1] in (0, len(ptr) - 1)
    return bool(n and distinct and sizes and state.scored.ndim == 3 and len(state.sizes) == 2)
