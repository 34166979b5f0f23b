"""What a report says, as plain values: everything is computed here and nothing while drawing."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayou._version import __version__
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError
from bayou.metrics import diversity
from bayou.report import answers, measure
from bayou.report.classes import Classes
from bayou.report.course import Course, course
from bayou.report.measure import Estimate, Floats, HeldOut
from bayou.report.targets import Target
from bayou.report.text import shorten
from bayou.report.topics import Topic, build
from bayou.results.posterior import Posterior

MOST_LABELS = 24
_LEAST_DOCS = 5  # of a label; an average over fewer says little
_DIVERSITY_WORDS = 25
_LEVEL = 0.9  # of the interval of a number of topics


@dataclass(frozen=True, kw_only=True)
class LabelRow:
    """The average document of a label."""

    name: str
    n_docs: int
    shares: tuple[Estimate, ...]  # of each topic


@dataclass(frozen=True, kw_only=True)
class Number:
    """A number of topics that was learned, and ends between which it lies."""

    name: str
    value: int
    low: int
    high: int
    how: str


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """Everything that a report shows; build it with `from_model`, draw it with `render`.

    Attributes
    ----------
    title : str
    model : str
        Name of the estimator; ``about`` is its first line of documentation.
    parameters : tuple of (name, value)
        What changes the result, as given; ``seed`` is what the random state came to.
    code : str
        The model as Python makes it; empty if a parameter is too long to write out.
    n_iter : int
        Steps of training; ``step`` says what one of them is.
    n_docs, n_empty, n_terms : int
        Of the corpus; empty documents have no term that the model knows.
    n_tokens : float
    topics : tuple of Topic
    held_out : HeldOut or None
        Document completion; of the test corpus if ``has_test``, else of the corpus itself.
    diversity : float
        Share of distinct terms among the ``diversity_words`` first terms of all topics.
    curve : tuple of (steps, log-likelihood per token)
    label_rows : tuple of LabelRow
        The most frequent labels; ``n_labels`` is how many there are.
    course : Course or None
        Shares through time.
    classes : Classes or None
        Of a classifier; `bayou.report.classes.classes` makes it from arrays.
    targets : tuple of Target
        Of a regression.
    numbers : tuple of Number
        How many topics were learned, where their number was not given beforehand.
    """

    title: str
    model: str
    about: str
    parameters: tuple[tuple[str, str], ...]
    code: str
    seed: int
    n_iter: int
    step: str
    created: str
    version: str
    n_docs: int
    n_empty: int
    n_terms: int
    n_tokens: float
    topics: tuple[Topic, ...]
    has_texts: bool
    has_test: bool
    held_out: HeldOut | None
    diversity: float
    diversity_words: int
    curve: tuple[tuple[int, float], ...]
    n_labels: int
    label_rows: tuple[LabelRow, ...]
    course: Course | None
    classes: Classes | None = None
    targets: tuple[Target, ...] = ()
    numbers: tuple[Number, ...] = ()

    @classmethod
    def from_model(
        cls,
        model: Any,
        corpus: Corpus,
        *,
        texts: Sequence[str] | None = None,
        title: str | None = None,
        test: Corpus | None = None,
    ) -> ReportData:
        """Measure a fitted model on a corpus.

        Parameters
        ----------
        model : Estimator
            A fitted topic model.
        corpus : Corpus
            The documents to describe, as a rule those the model learned from. Labels, times and
            ids are used where there are any.
        texts : sequence of str, optional
            The texts of the documents, to quote from. Leave them out to keep them out of the file.
        title : str, optional
        test : Corpus, optional
            Documents that the model has not seen, to score it on; with labels or targets, what a
            supervised model predicts is measured on them.

        Examples
        --------
        >>> from bayou import LDA
        >>> from bayou.data.synthetic import sample_lda
        >>> corpus, _ = sample_lda(n_docs=60, n_topics=3, n_terms=30, seed=1)
        >>> model = LDA(n_topics=3, random_state=0).fit(corpus)
        >>> data = ReportData.from_model(model, corpus)
        >>> len(data.topics), data.has_test
        (3, False)
        """
        _check(model, corpus, texts, test)
        posterior = model.posterior_
        doc_topics = np.asarray(model.transform(corpus), np.float64)
        counts = measure.columns_of(corpus, posterior)
        lengths = np.asarray(counts.sum(axis=1), np.float64).ravel()
        ids = getattr(model, "topic_ids_", None)
        topics = build(posterior, corpus, counts, doc_topics, texts, ids)
        names = [f"{topic.id} {topic.name(2)}" for topic in topics]
        n_diverse = min(_DIVERSITY_WORDS, posterior.n_terms)
        return cls(
            title=shorten(title, 120) if title else f"{posterior.n_topics} topics",
            model=type(model).__name__,
            about=_about(model),
            parameters=_parameters(model),
            code=_code(model),
            seed=int(model.seed_),
            n_iter=int(model.n_iter_),
            step="mini-batch" if hasattr(model, "partial_fit") else "pass",
            created=datetime.date.today().isoformat(),
            version=__version__,
            n_docs=corpus.n_docs,
            n_empty=int((lengths == 0).sum()),
            n_terms=posterior.n_terms,
            n_tokens=float(lengths.sum()),
            topics=topics,
            has_texts=texts is not None,
            has_test=test is not None,
            held_out=measure.score_held_out(model, corpus, corpus if test is None else test),
            diversity=diversity(posterior.topics, n_diverse),
            diversity_words=n_diverse,
            curve=_curve(posterior),
            n_labels=corpus.n_labels,
            label_rows=_label_rows(corpus, doc_topics, lengths),
            course=None if corpus.times is None else course(doc_topics, lengths, corpus.times),
            classes=answers.of_classes(model, corpus, doc_topics, names, test),
            targets=answers.of_targets(model, corpus, doc_topics, test),
            numbers=tuple(_numbers(model)),
        )


def _check(model: Any, corpus: Any, texts: Any, test: Any) -> None:
    check_is_fitted(model)
    if not hasattr(model, "posterior_"):
        raise DataError(f"a report needs a fitted topic model of bayou; got {type(model).__name__}")
    for name, given in (("corpus", corpus), ("test", test)):
        if not isinstance(given, Corpus) and (name == "corpus" or given is not None):
            raise DataError(
                f"{name} must be a Corpus, got {type(given).__name__}; "
                "make one with Corpus.from_text or Corpus.from_matrix"
            )
    if isinstance(texts, str | bytes) or (texts is not None and len(texts) != corpus.n_docs):
        raise DataError(
            f"texts must be one string for each of {corpus.n_docs} documents; "
            f"got {'one string' if isinstance(texts, str | bytes) else len(texts)}"
        )


def _numbers(model: Any) -> Iterator[Number]:
    """How many topics there are and how sure that is, of a model that has learned it."""
    if not hasattr(model, "n_topics_interval"):
        return
    low, high = model.n_topics_interval(level=_LEVEL)
    how = f"learned, not given; {_LEVEL:.0%} of what the model has seen possible"
    yield Number(name="Topics", value=int(model.n_topics_), low=low, high=high, how=how)
    if hasattr(model, "n_large_"):
        low, high = model.n_topics_interval(level=_LEVEL, large=True)
        how = f"those with a thousandth of all words and 50 at least, {_LEVEL:.0%}"
        yield Number(name="Large topics", value=int(model.n_large_), low=low, high=high, how=how)


def _about(model: Any) -> str:
    """The first line of a model's documentation, without the key of its paper."""
    line = (type(model).__doc__ or "").strip().partition("\n")[0].rstrip(".")
    return re.sub(r"\s*\[\w+\]", "", line)


def _parameters(model: Any) -> tuple[tuple[str, str], ...]:
    """Parameters that change what is learned; those of the run alone are left out."""
    runtime = set()
    if is_dataclass(model):
        runtime = {f.name for f in fields(model) if f.metadata.get("runtime")}
    given = model.get_params(deep=False)
    kept = sorted(name for name in given if name not in runtime | {"random_state"})
    return tuple((name, shorten(repr(given[name]), 60)) for name in kept)


def _curve(posterior: Posterior) -> tuple[tuple[int, float], ...]:
    steps = zip(posterior.score_steps, posterior.scores, strict=True)
    return tuple((int(step), float(score)) for step, score in steps if math.isfinite(score))


def _code(model: Any) -> str:
    """The constructor with what differs from its defaults."""
    defaults = dict(_parameters(type(model)()))
    given = [(name, value) for name, value in _parameters(model) if defaults[name] != value]
    if any("…" in value or "(" in value for _, value in given):
        return ""
    listed = "".join(f"{name}={value}, " for name, value in given)
    return f"bayou.{type(model).__name__}({listed}random_state={int(model.seed_)})"


def _label_rows(corpus: Corpus, doc_topics: Floats, lengths: Floats) -> tuple[LabelRow, ...]:
    """Average topic shares of the documents of each of the most frequent labels."""
    if corpus.labels is None:
        return ()
    held = corpus.labels[lengths > 0].astype(np.float64).tocsc()
    spoken = doc_topics[lengths > 0]
    sizes = np.diff(held.indptr)
    names = corpus.label_names or tuple(f"label {j}" for j in range(len(sizes)))
    rows = []
    for j in np.argsort(-sizes, kind="stable")[:MOST_LABELS]:
        if sizes[j] >= _LEAST_DOCS:
            docs = held.indices[held.indptr[j] : held.indptr[j + 1]]
            average = measure.shares(spoken[docs], np.ones(len(docs)))
            name = shorten(names[j], 40) or "␣"
            rows.append(LabelRow(name=name, n_docs=int(sizes[j]), shares=tuple(average)))
    return tuple(rows)
