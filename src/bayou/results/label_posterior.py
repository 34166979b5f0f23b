"""The result of training a label model: terms of labels, and topics over labels."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from bayou.data import schema
from bayou.data.container import pack_strings
from bayou.data.errors import ModelFileError
from bayou.data.schema import LEAST_FLOAT, Array
from bayou.data.vocabulary import Vocabulary
from bayou.kernels.labels.scores import term_topics
from bayou.results.posterior import Posterior, check_arrays, unpack_vocabulary

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

SCORES = ("tokens", "document")
AUTO = "auto"  # of a score or a rule: the better one on held-out documents


class LabelArrays(NamedTuple):
    """The arrays of a `LabelPosterior` in a model file."""

    indptr: Annotated[I64, Array("terms+1", offsets="cells")]
    indices: Annotated[I32, Array("cells", below="columns")]
    data: Annotated[F32, Array("cells")]
    sizes: Annotated[I64, Array(3)]  # labels, chains, place of the score in `SCORES`
    figures: Annotated[F64, Array(2, ge=None)]  # strength, mix
    beta: Annotated[F64, Array("columns")]
    alpha: Annotated[F64, Array("columns")]
    label_docs: Annotated[F64, Array("labels")]
    links: Annotated[F64, Array("rows", "columns")]
    link_alpha: Annotated[F64, Array("topics")]


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelPosterior:
    """Labels and topics over labels after training; counts of terms in labels are sparse.

    Parameters
    ----------
    term_label : csr_array of float32 (terms, columns)
        Expected number of tokens of each term in each label [n_vy]; free topics come after the labels.
    beta : float64 array (columns,)
        Prior of a label's terms: phi_vy = (n_vy + beta_y) / (n_y + V beta_y). Zero where terms were given.
    alpha : float64 array (columns,)
        Prior of labels in a document, for models without topics over labels.
    n_labels : int
    label_docs : float64 array (labels,)
        Training documents of each label.
    links : float64 array (members x topics, columns)
        Probability of each label in each topic over labels [phi'], chains one below the other. No rows in a
        model without topics over labels.
    link_alpha : float64 array (topics,)
        Prior of a document's topics; that of the first chain if `member_alpha` is given.
    member_alpha : float64 array (members, topics), optional
        Prior of a document's topics in each chain, if chains learn their own.
    n_members : int
        Chains that `links` come from.
    strength : float
        Tokens that the topics' prior of labels counts as in ``score="document"``. Negative: as many as the
        document has.
    score : {"tokens", "document"}
        How `labels.scores` uses a prior over labels: to infer the label of each token (S1), or the labels of
        the document (S2).
    mix : float
        Part of a score that comes from the topics alone, without the words' own labels [omega].
    vocabulary : Vocabulary or None
    tokens : float64 array (columns,), optional
        Tokens of each label, if ``term_label`` has the cells of some terms only.
    """

    term_label: csr_array
    beta: F64
    alpha: F64
    n_labels: int
    label_docs: F64
    links: F64
    link_alpha: F64
    n_members: int = 1
    strength: float = -1.0
    score: str = "tokens"
    mix: float = 0.0
    vocabulary: Vocabulary | None = None
    tokens: F64 | None = None
    member_alpha: F64 | None = None
    totals: F64 = field(init=False)  # n_y
    base: F64 = field(init=False)  # beta_y / (n_y + V beta_y)
    rate: F32 = field(init=False)  # n_vy / (n_y + V beta_y), one entry per cell
    words: tuple[I64, I32, F32] = field(init=False)  # the sparse part of phi by term, for kernels
    topics: tuple[F32, ...] = field(init=False)  # psi of each chain (terms, topics)

    def __post_init__(self) -> None:
        cells = self.term_label
        totals = (
            self.tokens
            if self.tokens is not None
            else np.bincount(
                cells.indices, weights=cells.data.astype(np.float64), minlength=self.n_columns
            )
        )
        mass = totals + self.n_terms * self.beta
        scale = np.divide(1.0, mass, out=np.zeros_like(mass), where=totals > 0)
        rate = (self.term_label.data * scale[self.term_label.indices]).astype(np.float32)
        # a label without tokens gets no terms: uniform ones would attract rare words
        object.__setattr__(self, "totals", totals)
        object.__setattr__(self, "base", self.beta * scale)
        object.__setattr__(self, "rate", rate)
        words = (cells.indptr.astype(np.int64), cells.indices.astype(np.int32), rate)
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "topics", self._term_topics())

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return int(self.term_label.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of labels and free topics."""
        return len(self.beta)

    @property
    def n_topics(self) -> int:
        """Topics over labels in each chain."""
        return len(self.link_alpha)

    def alpha_of(self, member: int) -> F64:
        """Prior of a document's topics in one chain."""
        return self.link_alpha if self.member_alpha is None else self.member_alpha[member]

    def member_links(self, member: int) -> F64:
        """Topics over labels of one chain (topics, columns)."""
        return self.links[member * self.n_topics : (member + 1) * self.n_topics]

    def with_mix(self, mix: float, score: str | None = None) -> LabelPosterior:
        """The posterior with another mixture and way to score; nothing else is computed again."""
        other = copy.copy(self)
        object.__setattr__(other, "mix", float(mix))
        object.__setattr__(other, "score", self.score if score is None else score)
        return other

    def _term_topics(self) -> tuple[F32, ...]:
        """psi_vk = sum_y phi_vy phi'_ky of each chain; the labels of tokens are summed out."""
        out = []
        for member in range(self.n_members if self.n_topics else 0):
            links = self.member_links(member)
            psi = np.empty((self.n_terms, self.n_topics), np.float32)
            by_label = np.ascontiguousarray(links.T, np.float32)
            term_topics(psi, self.words, by_label, (links @ self.base).astype(np.float32))
            out.append(psi)
        return tuple(out)

    @property
    def topic_tokens(self) -> F64:
        """Tokens of labels shared out among topics of the first chain, p(k | y) ~ alpha_k phi'_ky."""
        joint = self.alpha_of(0)[:, None] * self.member_links(0)
        each = np.divide(
            self.totals, joint.sum(axis=0), out=np.zeros(len(self.totals)), where=self.totals > 0
        )
        return np.asarray(joint @ each, np.float64)

    def top_terms(self, n: int) -> list[tuple[I64, F64]]:
        """The most probable terms of each column among those with counts, and their probabilities [phi]."""
        pointers, _, rate = self.words
        cells = csc_array(
            csr_array((rate, self.term_label.indices, pointers), self.term_label.shape)
        )
        out = []
        for y, base in enumerate(self.base.tolist()):
            at = slice(cells.indptr[y], cells.indptr[y + 1])
            order = np.argsort(-cells.data[at], kind="stable")[:n]
            terms = cells.indices[at][order].astype(np.int64)
            out.append((terms, cells.data[at][order].astype(np.float64) + base))
        return out

    def dense(self) -> Posterior:
        """The topics over labels of the first chain, or the labels, as a `Posterior` over terms."""
        if self.n_topics:
            rows, alpha, tokens = self.topics[0], self.link_alpha, self.topic_tokens
        else:
            found = self.term_label.toarray().astype(np.float64)
            found += np.where(self.totals > 0, self.beta, 1.0)
            rows, alpha = (found / found.sum(axis=0)).astype(np.float32), self.alpha
            tokens = self.totals
        return Posterior(
            rows=rows, alpha=alpha, beta=float(self.beta.max()), topic_tokens=tokens,
            scores=np.zeros(0), score_steps=np.zeros(0, np.int64), vocabulary=self.vocabulary,
        )  # fmt: skip

    # -- files ---------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays, for a model file."""
        cells = self.term_label
        sizes = (self.n_labels, self.n_members, SCORES.index(self.score))
        own = LabelArrays(
            cells.indptr.astype(np.int64), cells.indices.astype(np.int32),
            cells.data.astype(np.float32), np.array(sizes, np.int64),
            np.array([self.strength, self.mix]), self.beta, self.alpha, self.label_docs, self.links,
            self.link_alpha,
        )  # fmt: skip
        out: dict[str, NDArray[Any]] = {f"labels.{n}": a for n, a in own._asdict().items()}
        if self.member_alpha is not None:
            out["labels.member_alpha"] = self.member_alpha
        if self.vocabulary is not None:
            out["labels.vocabulary"] = pack_strings(self.vocabulary)
        return out

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LabelPosterior:
        """The inverse of `arrays`, checked."""
        got = schema.read(LabelArrays, arrays, "labels")
        n_terms, n_columns, n_topics = len(got.indptr) - 1, len(got.beta), len(got.link_alpha)
        n_labels, n_members, score = got.sizes.tolist()
        right = 1 <= n_labels <= n_columns and score < len(SCORES) and n_terms > 0
        if not right or len(got.label_docs) != n_labels or len(got.links) != n_members * n_topics:
            raise ModelFileError("the model file's labels do not fit its terms; save it again")
        if any(len(prior) and prior.sum() < LEAST_FLOAT for prior in (got.alpha, got.link_alpha)):
            raise ModelFileError("the model file's priors must be positive; save it again")
        member_alpha = arrays.get("labels.member_alpha")
        if member_alpha is not None:
            check_arrays("member_alpha", member_alpha, np.float64, (n_members, n_topics))
        return cls(
            term_label=csr_array((got.data, got.indices, got.indptr), shape=(n_terms, n_columns)),
            beta=got.beta, alpha=got.alpha, n_labels=n_labels, label_docs=got.label_docs,
            links=got.links, link_alpha=got.link_alpha, member_alpha=member_alpha,
            n_members=n_members, score=SCORES[score], strength=float(got.figures[0]),
            mix=float(got.figures[1]),
            vocabulary=unpack_vocabulary(arrays.get("labels.vocabulary"), n_terms),
        )  # fmt: skip
