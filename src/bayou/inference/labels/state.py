"""State and settings that online label models share, and the counts that follow from a state.

The state holds shares of all tokens, which sum to one, and the number of tokens C that they stand for. So the
mass of N is C, however many terms and labels have come and gone. Words (lower level) and labels (upper level)
are two streams of tokens with totals of their own: C_w and |M|_w, C_l and |M|_l.

A label that comes later has been blended in for fewer steps than the others. For each label the state keeps
the weight of the time before it, prod (1 - rho_t) since then, and counts are divided by the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayou.data.errors import ModelFileError
from bayou.data.schema import Array, Number
from bayou.inference.labels import cells as label_cells
from bayou.inference.labels.cells import Cells, SharingSettings
from bayou.inference.labels.progress import empty_tally
from bayou.inference.lda.arrays import F32, F64, I32, I64
from bayou.results.label_posterior import SCORES, LabelPosterior

WORDS, LABELS, DOCS = 0, 1, 2  # the three totals of a stream


class LabelStreamState(NamedTuple):
    """What the next mini-batch needs."""

    step: int  # mini-batches with labels so far
    n_seen: int  # documents so far
    cell_ptr: Annotated[I64, Array("terms+1", offsets="cells")]
    cell_labels: Annotated[I32, Array("cells", below="labels")]  # increasing within a term
    raw: Annotated[F32, Array("cells")]  # share of all tokens / scale
    scale: Annotated[float, Number(gt=0.0)]
    ids: Annotated[I64, Array("labels", distinct=True)]  # never used twice
    next_id: int
    left: Annotated[F64, Array(2, "labels", le=1.0)]  # words and labels: prod (1 - rho) since birth
    doubt: Annotated[F64, Array(3)]  # 1 / (words, labels and documents that shares stand for)
    lengths: Annotated[F64, Array(2)]  # mean words and labels of a labelled document
    shares: Annotated[F64, Array("labels")]  # of all label tokens
    topics: Annotated[F64, Array("chains", "labels", "topics")]  # shares of all label tokens
    tables: Annotated[F64, Array(("labels", 0))]  # per document; empty where no root is learned
    scored: Annotated[F64, Array("mixes", 2, "bins")]  # ln(share) of all labels and of true labels
    sizes: Annotated[F64, Array(2, ("terms", 0), ge=None)]  # regression of the number of labels

    def check_relations(self) -> None:
        """Refuse a state of a file that stands for more than 1e30 words or documents."""
        if ((self.doubt > 0.0) & (self.doubt < 1e-30)).any():
            raise ModelFileError("the file's array 'doubt' holds impossible numbers")

    @property
    def cells(self) -> Cells:
        """Shares of tokens by term and label, divided by `scale`."""
        return Cells(self.cell_ptr, self.cell_labels, self.raw)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.ids)

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return len(self.cell_ptr) - 1

    def with_cells(self, cells: Cells, scale: float) -> LabelStreamState:
        """The same state with other cells."""
        return self._replace(
            cell_ptr=cells.ptr, cell_labels=cells.labels, raw=cells.raw, scale=float(scale)
        )


class LabelStreamSettings(NamedTuple):
    """The parameters of one run of an online label model. Defaults: no topics over labels, no root."""

    # the stream
    batch_size: int
    rate: tuple[float, float, float]  # step sizes: s, tau, kappa
    n_docs: float | None  # documents that shares stand for; None: as many as the steps remember
    # terms of labels
    beta: float
    sharing: SharingSettings  # how the tokens of a document are shared out among its labels
    n_rounds: int
    # labels of documents
    greedy: bool = True  # take the labels of a training document as equally likely
    concentration: float = 1.0  # b1 and b0 of a learned prior of labels
    root_concentration: float = 1.0
    # topics over labels
    alpha: F64 = np.zeros(0)  # of a document's topics
    link_beta: float = 1.0  # of a topic's labels
    n_label_rounds: int = 1
    n_chains: int = 1
    # scores of new documents
    new_alpha: float | None = None  # prior of each label, also in training; None: 30 / labels
    frequency_weight: float = 0.0  # tokens that label frequencies add to this prior
    score: str = SCORES[0]
    strength: float = -1.0
    mixes: F64 = np.zeros(1)  # parts of the score that topics may have; the best one is used
    validation_share: float = 0.1
    by_size: bool = False  # whether a regression gives the number of labels per document
    # the label set
    names: Mapping[int, Any] = {}  # by id
    multi_label: bool = True

    @property
    def phase(self) -> str:
        """What progress reports call a step."""
        return "stream"


def start(n_terms: int, p: LabelStreamSettings) -> LabelStreamState:
    """The state before the first document: no label, no counts."""
    return LabelStreamState(
        0, 0, *label_cells.no_cells(n_terms), 1.0, np.zeros(0, np.int64), 0, np.ones((2, 0)),
        np.zeros(3), np.zeros(2), np.zeros(0), np.zeros((p.n_chains, 0, len(p.alpha))), np.zeros(0),
        empty_tally(len(p.mixes)), np.zeros((2, n_terms if p.by_size else 0)),
    )  # fmt: skip


def has_settings(state: LabelStreamState, p: LabelStreamSettings) -> bool:
    """Whether a state was made with these topics, chains, mixtures and rule."""
    wanted = (p.n_chains, state.n_labels, len(p.alpha))
    n_sizes = state.n_terms if p.by_size else 0
    return (
        state.topics.shape == wanted
        and state.sizes.shape[1] == n_sizes
        and len(state.scored) == len(p.mixes)
    )


def birth_correction(left: F64) -> F64:
    """Factor of the counts of labels: 1 / (1 - prod (1 - rho)); 1 where nothing was learned."""
    gone = 1.0 - left
    return np.divide(1.0, gone, out=np.ones_like(gone), where=gone > 0.0)


def totals(state: LabelStreamState, n_docs: float | None) -> F64:
    """C_w, C_l and D: tokens, label tokens and documents that the shares stand for."""
    if n_docs is not None:
        return np.append(n_docs * state.lengths, n_docs)
    return np.divide(1.0, state.doubt, out=np.zeros(3), where=state.doubt > 0.0)


def factors(state: LabelStreamState, which: int, n_docs: float | None) -> F64:
    """From shares to counts, one factor per label: C times the correction for late labels."""
    return np.asarray(
        totals(state, n_docs)[which] * birth_correction(state.left[which]), np.float64
    )


def root(state: LabelStreamState, p: LabelStreamSettings) -> F64:
    """g_y = (M_y + b0 / L) / (M + b0), M_y the expected tables of the label in all documents."""
    b0 = p.root_concentration
    mass = totals(state, p.n_docs)[DOCS] * birth_correction(state.left[WORDS]) * state.tables
    return np.asarray((mass + b0 / len(mass)) / (mass.sum() + b0), np.float64)


def freeze(
    state: LabelStreamState, p: LabelStreamSettings, alpha: F64, terms: I64 | None, vocabulary: Any
) -> LabelPosterior:
    """The counts of both levels as a posterior with the prior ``alpha`` of labels in a new document.

    With ``terms`` only those have counts; totals of labels are those of all terms.
    """
    cells = state.cells if terms is None else label_cells.select_terms(state.cells, terms)
    factor = factors(state, WORDS, p.n_docs)
    tokens = state.scale * label_cells.column_totals(state.cells, state.n_labels) * factor
    counts = (cells.raw * (state.scale * factor)[cells.labels]).astype(np.float32)
    shares = factors(state, LABELS, p.n_docs)
    links = np.zeros((0, state.n_labels))
    if len(p.alpha):
        mass = shares[:, None] * state.topics + p.link_beta
        links = (mass / mass.sum(axis=1, keepdims=True)).transpose(0, 2, 1)
        links = links.reshape(-1, state.n_labels)
    return LabelPosterior(
        term_label=csr_array((counts, cells.labels, cells.ptr), (state.n_terms, state.n_labels)),
        beta=np.full(state.n_labels, p.beta), alpha=alpha, n_labels=state.n_labels,
        label_docs=shares * state.shares, links=np.ascontiguousarray(links), link_alpha=p.alpha,
        n_members=len(state.topics), strength=p.strength, score=p.score, vocabulary=vocabulary,
        tokens=tokens,
    )  # fmt: skip
