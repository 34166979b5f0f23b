"""Content of a report as plain values. Everything is computed here; rendering only formats."""

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
from bayou.report import measure, supervised
from bayou.report.classes import Classes
from bayou.report.course import Course, course
from bayou.report.measure import Estimate, Floats, HeldOut
from bayou.report.targets import Target
from bayou.report.text import shorten
from bayou.report.topics import Topic, build
from bayou.results.posterior import Posterior

MOST_LABELS = 24
_LEAST_DOCS = 5  # fewest documents of a label that is shown
_DIVERSITY_WORDS = 25
_LEVEL = 0.9  # of the interval of the number of topics


@dataclass(frozen=True, kw_only=True)
class LabelRow:
    """Average topic shares of the documents of a label."""

    name: str
    n_docs: int
    shares: tuple[Estimate, ...]  # per topic


@dataclass(frozen=True, kw_only=True)
class Number:
    """A learned number of topics with its interval."""

    name: str
    value: int
    low: int
    high: int
    how: str


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """Content of a report. Build it with `from_model`, render it with `render`.

    Attributes
    ----------
    title : str
    model : str
        Class name of the estimator.
    about : str
        First line of the estimator's docstring.
    parameters : tuple of (name, value)
        Constructor parameters that affect the result.
    code : str
        Python code that creates the model; empty if a parameter is too long to write out.
    seed : int
        Seed that ``random_state`` resolved to.
    n_iter : int
        Number of training steps.
    step : str
        Name of one training step: "pass" or "mini-batch".
    n_docs, n_empty, n_terms : int
        Documents of the corpus, documents without a term of the vocabulary, size of the vocabulary.
    n_tokens : float
    topics : tuple of Topic
    held_out : HeldOut or None
        Document completion on the test corpus if ``has_test``, else on the corpus itself.
    diversity : float
        Share of distinct terms among the ``diversity_words`` most probable terms of all topics.
    curve : tuple of (steps, log-likelihood per token)
    label_rows : tuple of LabelRow
        The most frequent labels.
    n_labels : int
        Number of all labels.
    course : Course or None
        Topic shares over time.
    classes : Classes or None
        Results of a classifier; `bayou.report.classes.classes` creates it from arrays.
    targets : tuple of Target
        Results of a regression.
    numbers : tuple of Number
        Learned number of topics, for models that learn it.
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
            Documents to describe, usually the training documents. Labels, times and ids are used
            if the corpus has them.
        texts : sequence of str, optional
            Texts of the documents, for excerpts. Default: no text is written to the report.
        title : str, optional
            Default: the number of topics.
        test : Corpus, optional
            Held-out documents for the scores. With labels or targets, they also give the measures of
            a supervised model. Default: the corpus itself is scored.

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
        return cls(
            title=shorten(title, 120) if title else f"{posterior.n_topics} topics",
            **_model_values(model),
            **_corpus_values(corpus, doc_topics, lengths),
            n_terms=posterior.n_terms,
            topics=topics,
            has_texts=texts is not None,
            has_test=test is not None,
            held_out=measure.score_held_out(model, corpus, corpus if test is None else test),
            classes=supervised.class_results(model, corpus, doc_topics, names, test),
            targets=supervised.target_results(model, corpus, doc_topics, test),
        )


def _model_values(model: Any) -> dict[str, Any]:
    """Fields of `ReportData` that depend on the model alone."""
    posterior = model.posterior_
    n_diverse = min(_DIVERSITY_WORDS, posterior.n_terms)
    return {
        "model": type(model).__name__,
        "about": _about(model),
        "parameters": parameters_of(model),
        "code": code_of(model),
        "seed": int(model.seed_),
        "n_iter": int(model.n_iter_),
        "step": "mini-batch" if hasattr(model, "partial_fit") else "pass",
        "created": datetime.date.today().isoformat(),
        "version": __version__,
        "diversity": diversity(posterior.topics, n_diverse),
        "diversity_words": n_diverse,
        "curve": _curve(posterior),
        "numbers": tuple(_numbers(model)),
    }


def _corpus_values(corpus: Corpus, doc_topics: Floats, lengths: Floats) -> dict[str, Any]:
    """Fields of `ReportData` that depend on the corpus and its topic proportions."""
    times = corpus.times
    return {
        "n_docs": corpus.n_docs,
        "n_empty": int((lengths == 0).sum()),
        "n_tokens": float(lengths.sum()),
        "n_labels": corpus.n_labels,
        "label_rows": _label_rows(corpus, doc_topics, lengths),
        "course": None if times is None else course(doc_topics, lengths, times),
    }


def _check(model: Any, corpus: Any, texts: Any, test: Any) -> None:
    check_is_fitted(model)
    if not hasattr(model, "posterior_"):
        raise DataError(f"a report needs a fitted bayou topic model; got {type(model).__name__}")
    for name, given in (("corpus", corpus), ("test", test)):
        if not isinstance(given, Corpus) and (name == "corpus" or given is not None):
            raise DataError(
                f"{name} must be a Corpus, got {type(given).__name__}; "
                "create one with Corpus.from_text or Corpus.from_matrix"
            )
    if isinstance(texts, str | bytes) or (texts is not None and len(texts) != corpus.n_docs):
        raise DataError(
            f"texts must contain one string for each of {corpus.n_docs} documents; "
            f"got {'one string' if isinstance(texts, str | bytes) else len(texts)}"
        )


def _numbers(model: Any) -> Iterator[Number]:
    """Learned numbers of topics with intervals; empty if the number was given."""
    if not hasattr(model, "n_topics_interval"):
        return
    low, high = model.n_topics_interval(level=_LEVEL)
    how = f"learned from the data; {_LEVEL:.0%} interval of this model, other seeds may differ"
    yield Number(name="Topics", value=int(model.n_topics_), low=low, high=high, how=how)
    if hasattr(model, "n_large_"):
        low, high = model.n_topics_interval(level=_LEVEL, large=True)
        how = (
            f"topics with at least 0.1 % of all words and at least 50 words; {_LEVEL:.0%} interval"
        )
        yield Number(name="Large topics", value=int(model.n_large_), low=low, high=high, how=how)


def _about(model: Any) -> str:
    """First line of the model's docstring, without citation keys."""
    line = (type(model).__doc__ or "").strip().partition("\n")[0].rstrip(".")
    return re.sub(r"\s*\[\w+\]", "", line)


def parameters_of(model: Any) -> tuple[tuple[str, str], ...]:
    """Parameters that affect the result; runtime parameters are omitted."""
    runtime = set()
    if is_dataclass(model):
        runtime = {f.name for f in fields(model) if f.metadata.get("runtime")}
    given = model.get_params(deep=False)
    kept = sorted(name for name in given if name not in runtime | {"random_state"})
    return tuple((name, shorten(repr(given[name]), 60)) for name in kept)


def _curve(posterior: Posterior) -> tuple[tuple[int, float], ...]:
    steps = zip(posterior.score_steps, posterior.scores, strict=True)
    return tuple((int(step), float(score)) for step, score in steps if math.isfinite(score))


def code_of(model: Any) -> str:
    """Constructor call with the parameters that differ from their defaults."""
    defaults = dict(parameters_of(type(model)()))
    given = [(name, value) for name, value in parameters_of(model) if defaults[name] != value]
    if any("…" in value or "(" in value for _, value in given):
        return ""
    listed = "".join(f"{name}={value}, " for name, value in given)
    return f"bayou.{type(model).__name__}({listed}random_state={int(model.seed_)})"


def _label_rows(corpus: Corpus, doc_topics: Floats, lengths: Floats) -> tuple[LabelRow, ...]:
    """Average topic shares of the most frequent labels."""
    if corpus.labels is None:
        return ()
    held = corpus.labels[lengths > 0].astype(np.float64).tocsc()
    shares = doc_topics[lengths > 0]
    sizes = np.diff(held.indptr)
    names = corpus.label_names or tuple(f"label {j}" for j in range(len(sizes)))
    rows = []
    for j in np.argsort(-sizes, kind="stable")[:MOST_LABELS]:
        if sizes[j] >= _LEAST_DOCS:
            docs = held.indices[held.indptr[j] : held.indptr[j + 1]]
            average = measure.shares(shares[docs], np.ones(len(docs)))
            name = shorten(names[j], 40) or "␣"
            rows.append(LabelRow(name=name, n_docs=int(sizes[j]), shares=tuple(average)))
    return tuple(rows)
