"""Topics of a report: words, shares, example documents and map positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayou.data.corpus import Corpus
from bayou.metrics import frex, npmi, top_terms, topic_distances
from bayou.report import layout, measure
from bayou.report.measure import Estimate, Floats
from bayou.report.text import shorten
from bayou.results.posterior import Posterior

N_WORDS = 30  # per topic, for clouds; lists show the first ten
COHERENCE_WORDS = 10
LEAST_SHARE = 0.1  # of a document, to be counted as a document of the topic
_LONGEST_TERM = 40
_FEWEST = (
    10  # tokens of a topic whose words are shown; with fewer, its words are those of the prior
)
_NO_WORDS = "no words of its own"
_FEW, _MANY = 40, 100  # topics; with more, fewer and shorter documents are shown


@dataclass(frozen=True, kw_only=True)
class Example:
    """A document with a large share of a topic."""

    name: str
    share: float
    excerpt: str  # empty without texts
    terms: tuple[str, ...]  # terms of the document that the topic explains best
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Topic:
    """One topic of a report."""

    number: int  # row of `components_`
    id: int  # number on the page: the permanent id if the model has one, else the row
    words: tuple[tuple[str, float], ...]  # most probable first
    distinctive: tuple[str, ...]  # words by FREX
    share: Estimate  # of all tokens
    rank: int  # by share, from 1
    n_docs: int  # documents with a share of at least `LEAST_SHARE`
    coherence: float  # NPMI; NaN if the vocabulary has one term
    coherence_rank: int
    sign: layout.Sign
    place: tuple[float, float]  # map position by classical scaling
    examples: tuple[Example, ...]
    bare: bool = False  # has too few tokens to be described

    def name(self, n: int = 3) -> str:
        """Name of the topic: its most probable words."""
        return ", ".join(word for word, _ in self.words[:n])


def term_names(posterior: Posterior) -> list[str]:
    """Names of the columns; "term N" if the model has no vocabulary."""
    if posterior.vocabulary is None:
        return [f"term {v}" for v in range(posterior.n_terms)]
    return [shorten(term, _LONGEST_TERM) or "␣" for term in posterior.vocabulary]


def build(
    posterior: Posterior,
    corpus: Corpus,
    counts: Any,
    doc_topics: Floats,
    texts: Sequence[str] | None,
    ids: Sequence[int] | None = None,
) -> tuple[Topic, ...]:
    """All topics of a model with their shares and examples in a corpus.

    ``ids`` are permanent topic numbers. Default: the rows of `components_`.
    """
    phi, names = posterior.topics, term_names(posterior)
    lengths = np.asarray(counts.sum(axis=1), np.float64).ravel()
    share = measure.shares(doc_topics, lengths)
    sizes = np.array([s.value for s in share])
    best = top_terms(phi, min(N_WORDS, phi.shape[1]))
    bare = _bare(posterior)
    coherent = _coherence(phi, counts, bare)
    distinctive = _distinctive_terms(phi, counts)
    points = layout.classical_scaling(topic_distances(phi, "hellinger"), 8)
    signs = layout.signs(layout.families(points), np.nan_to_num(sizes))
    ranks, coherence_ranks = _ranks(sizes), _ranks(coherent)
    examples = _examples(corpus, counts, doc_topics, lengths, texts, phi, names)
    found = (
        Topic(
            number=k,
            id=k if ids is None else int(ids[k]),
            words=tuple((names[v], float(phi[k, v])) for v in best[k]),
            distinctive=tuple(names[v] for v in distinctive[k]),
            share=share[k],
            rank=ranks[k],
            n_docs=int((doc_topics[lengths > 0, k] >= LEAST_SHARE).sum()),
            coherence=float(coherent[k]),
            coherence_rank=coherence_ranks[k],
            sign=signs[k],
            place=(float(points[k, 0]), float(points[k, 1])),
            examples=examples[k],
        )
        for k in range(len(phi))
    )
    return tuple(_without_words(topic) if bare[topic.number] else topic for topic in found)


def _coherence(phi: Floats, counts: Any, bare: NDArray[np.bool_]) -> Floats:
    """NPMI per topic; NaN for bare topics and for a vocabulary of one term."""
    n = min(COHERENCE_WORDS, phi.shape[1])
    coherent = npmi(phi, counts, top_n=n) if n > 1 else np.full(len(phi), np.nan)
    return np.where(bare, np.nan, coherent)


def _distinctive_terms(phi: Floats, counts: Any) -> NDArray[np.int64]:
    """Columns of the terms with the highest FREX per topic."""
    scores = phi if len(phi) == 1 else frex(phi, term_counts=counts)  # exclusivity needs two topics
    return np.argsort(-scores, axis=1, kind="stable")[:, : 8 if len(phi) <= _MANY else 6]


def _bare(posterior: Posterior) -> NDArray[np.bool_]:
    """Mask of topics with too few tokens to be described; all False if it would include all topics."""
    few = posterior.topic_tokens < _FEWEST
    return np.zeros_like(few) if few.all() else few


def _without_words(topic: Topic) -> Topic:
    """Copy of the topic without its words, which are those of the prior."""
    words = ((_NO_WORDS, 0.0),)
    return replace(topic, words=words, distinctive=(), examples=(), bare=True)


def _ranks(values: Floats) -> list[int]:
    order = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")
    ranks = np.empty(len(values), np.int64)
    ranks[order] = np.arange(1, len(values) + 1)
    return [int(rank) for rank in ranks]


def _examples(
    corpus: Corpus,
    counts: Any,
    doc_topics: Floats,
    lengths: Floats,
    texts: Sequence[str] | None,
    phi: Floats,
    names: list[str],
) -> list[tuple[Example, ...]]:
    """Documents with the largest share of each topic, among documents that are not very short."""
    n_topics = len(phi)
    n_wanted = 3 if n_topics <= _FEW else 2 if n_topics <= _MANY else 1
    longest = 180 if n_topics <= _FEW else 140 if n_topics <= _MANY else 110
    positive = lengths[lengths > 0]
    long_enough = np.flatnonzero(
        lengths >= min(20.0, float(np.median(positive)) if len(positive) else 1)
    )
    out = []
    for k in range(n_topics):
        order = long_enough[np.argsort(-doc_topics[long_enough, k], kind="stable")[: 4 * n_wanted]]
        found: dict[str, Example] = {}
        for d in order:
            if lengths[d] > 0 and doc_topics[d, k] >= LEAST_SHARE and len(found) < n_wanted:
                example = _example(corpus, counts, int(d), texts, longest, phi[k], names)
                values = example | {"share": float(doc_topics[d, k])}
                found.setdefault(values["excerpt"] or values["name"], Example(**values))
        out.append(tuple(found.values()))
    return out


def _example(
    corpus: Corpus,
    counts: Any,
    d: int,
    texts: Sequence[str] | None,
    longest: int,
    topic: NDArray[np.float64],
    names: list[str],
) -> dict[str, Any]:
    """Fields of an `Example` except its share."""
    row = slice(counts.indptr[d], counts.indptr[d + 1])
    terms, times = counts.indices[row], counts.data[row]
    best = np.argsort(-times * topic[terms], kind="stable")[:8]
    labels: tuple[str, ...] = ()
    if corpus.labels is not None and corpus.label_names is not None:
        held = corpus.labels.indices[corpus.labels.indptr[d] : corpus.labels.indptr[d + 1]]
        labels = tuple(shorten(corpus.label_names[j], 40) for j in held[:4])
    return {
        "name": shorten(corpus.ids[d], 60) if corpus.ids is not None else f"document {d}",
        "excerpt": "" if texts is None else shorten(str(texts[d]), longest),
        "terms": tuple(names[v] for v in terms[best]),
        "labels": labels,
    }
