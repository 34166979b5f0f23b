"""What a model of labels predicts with: terms of labels, and topics over labels that hold them together."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from bayou.data.container import pack_strings
from bayou.data.errors import ModelFileError
from bayou.data.vocabulary import Vocabulary
from bayou.kernels.labels.scores import term_topics
from bayou.results.posterior import Posterior, check_arrays, unpack_vocabulary

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

SCORES = ("tokens", "document")
AUTO = "auto"  # of a score or a rule: what is better on documents held out


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelPosterior:
    """Labels and topics over labels after training; counts of terms in labels are sparse.

    Parameters
    ----------
    term_label : csr_array of float32 (terms, columns)
        Expected number of tokens of each term in each label [n_vy]; free topics stand behind the labels.
    beta : float64 array (columns,)
        Prior of a label's terms: phi_vy = (n_vy + beta_y) / (n_y + V beta_y). Zero where terms were given.
    alpha : float64 array (columns,)
        Prior of labels in a document, where no topics over labels say more.
    n_labels : int
    label_docs : float64 array (labels,)
        Training documents of each label.
    links : float64 array (members x topics, columns)
        Probability of each label in each topic over labels [phi'], those of several chains one below the
        other; without rows in a model that has none.
    link_alpha : float64 array (topics,)
        Prior of a document's topics, of the first chain where `member_alpha` is given.
    member_alpha : float64 array (members, topics), optional
        The same of each chain, where they have learned their own.
    n_members : int
        Chains that `links` come from.
    strength : float
        Tokens that what the topics say of a document's labels is worth in ``score="document"``; a negative
        number for as many as the document has.
    score : {"tokens", "document"}
        What `labels.scores` does with a prior over labels: asks each token what it says (S1), or
        infers the labels of the document with it (S2).
    mix : float
        Part of a score that comes from the topics alone, without the words' own labels [omega].
    vocabulary : Vocabulary or None
    tokens : float64 array (columns,), optional
        Tokens of each label, where ``term_label`` has the cells of some terms only.
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
    rate: F32 = field(init=False)  # n_vy / (n_y + V beta_y), an entry for each cell
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
        # A label that no token was ever given has no terms of its own: it would attract rare ones.
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
        """The same with another mixture, and perhaps another way to score; nothing else is computed anew."""
        other = copy.copy(self)
        object.__setattr__(other, "mix", float(mix))
        object.__setattr__(other, "score", self.score if score is None else score)
        return other

    def _term_topics(self) -> tuple[F32, ...]:
        """psi_vk = sum_y phi_vy phi'_ky of each chain: the labels of tokens summed out."""
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
            self.totals, joint.sum(axis=0), out=np.zeros_like(self.totals), where=self.totals > 0
        )
        return np.asarray(joint @ each, np.float64)

    def top_terms(self, n: int) -> list[tuple[I64, F64]]:
        """The most probable terms of each column that it has met, and their probabilities [phi]."""
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

    def dense(self, scores: F64 | None = None, steps: I64 | None = None) -> Posterior:
        """Topics as other models have them: those over labels of the first chain, or the labels."""
        if self.n_topics:
            rows, alpha = self.topics[0], self.link_alpha
            tokens = self.topic_tokens
        else:
            found = self.term_label.toarray().astype(np.float64)
            found += np.where(self.totals > 0, self.beta, 1.0)
            rows, alpha, tokens = (
                (found / found.sum(axis=0)).astype(np.float32),
                self.alpha,
                self.totals,
            )
        return Posterior(
            rows=rows,
            alpha=alpha,
            beta=float(self.beta.max()),
            topic_tokens=tokens,
            scores=np.zeros(0) if scores is None else scores,
            score_steps=np.zeros(0, np.int64) if steps is None else steps,
            vocabulary=self.vocabulary,
        )

    # -- files ---------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays, for a model file."""
        cells = self.term_label
        sizes = (self.n_labels, self.n_members, SCORES.index(self.score))
        out: dict[str, NDArray[Any]] = {
            "labels.indptr": cells.indptr.astype(np.int64),
            "labels.indices": cells.indices.astype(np.int32),
            "labels.data": cells.data.astype(np.float32),
            "labels.sizes": np.array(sizes, np.int64),
            "labels.figures": np.array([self.strength, self.mix]),
        }
        for name in ("beta", "alpha", "label_docs", "links", "link_alpha"):
            out[f"labels.{name}"] = getattr(self, name)
        if self.member_alpha is not None:
            out["labels.member_alpha"] = self.member_alpha
        if self.vocabulary is not None:
            out["labels.vocabulary"] = pack_strings(self.vocabulary)
        return out

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LabelPosterior:
        """The inverse of `arrays`; shapes are checked."""
        names = ("indptr", "indices", "data", "sizes", "figures", "beta", "alpha", "label_docs")
        got = {n: arrays.get(f"labels.{n}", np.zeros(0)) for n in (*names, "links", "link_alpha")}
        n_terms, n_columns, n_topics = (got[n].size for n in ("indptr", "beta", "link_alpha"))
        check_arrays("sizes", got["sizes"], np.int64, (3,))
        n_labels, n_members, score = got["sizes"].tolist()
        n_cells = (got["data"].size,)
        if n_terms < 2 or not 1 <= n_labels <= n_columns or score >= len(SCORES):
            raise ModelFileError("the model file's labels do not fit its terms; save it again")
        shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
            "indptr": (np.int64, (n_terms,)),
            "indices": (np.int32, n_cells),
            "data": (np.float32, n_cells),
            "figures": (np.float64, (2,)),
            "beta": (np.float64, (n_columns,)),
            "alpha": (np.float64, (n_columns,)),
            "label_docs": (np.float64, (n_labels,)),
            "links": (np.float64, (n_members * n_topics, n_columns)),
            "link_alpha": (np.float64, (n_topics,)),
        }
        if "labels.member_alpha" in arrays:
            got["member_alpha"] = arrays["labels.member_alpha"]
            shapes["member_alpha"] = (np.float64, (n_members, n_topics))
        for name, (dtype, shape) in shapes.items():
            check_arrays(name, got[name], dtype, shape, signed=name == "figures")
        return cls(
            member_alpha=got.get("member_alpha"),
            term_label=_matrix(got, n_terms - 1, n_columns),
            n_labels=n_labels,
            n_members=n_members,
            score=SCORES[score],
            strength=float(got["figures"][0]),
            mix=float(got["figures"][1]),
            vocabulary=unpack_vocabulary(arrays.get("labels.vocabulary"), n_terms - 1),
            **{n: got[n] for n in ("beta", "alpha", "label_docs", "links", "link_alpha")},
        )


def _matrix(got: Mapping[str, NDArray[Any]], n_terms: int, n_columns: int) -> csr_array:
    """The sparse counts of a model file, if they can be any."""
    indptr, indices = got["indptr"], got["indices"]
    whole = indptr[0] == 0 and indptr[-1] == len(indices) and (np.diff(indptr) >= 0).all()
    if not whole or (len(indices) and indices.max() >= n_columns):
        raise ModelFileError(
            "the model file's counts of terms in labels are damaged; save it again"
        )
    return csr_array((got["data"], indices, indptr), shape=(n_terms, n_columns))
