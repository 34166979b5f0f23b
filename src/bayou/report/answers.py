"""What a supervised model has to say, measured: from the model and documents to plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayou.data.corpus import Corpus
from bayou.metrics import Outcomes, confusion, label_measures, number_measures, outcomes
from bayou.report.classes import MOST_CLASSES, Classes, classes
from bayou.report.measure import Floats
from bayou.report.targets import MOST_DOTS, MOST_TARGETS, Target
from bayou.report.text import shorten

_CLOUDS = 12
_FEW_LABELS = 2  # a cloud of fewer says nothing
_SPOKEN_FOR = "The labels that each topic speaks for"
_HELD_TOGETHER = "The labels that each topic holds together"
_BEHIND = "The labels that speak most of each topic"
_LISTED = 8  # labels of a topic in the table
_LEAST = 0.005  # probability of a label that is listed
_MOST_TOPICS = 300  # labels that are topics themselves; more make no picture


def of_classes(
    model: Any, corpus: Corpus, doc_topics: Floats, names: list[str], test: Corpus | None
) -> Classes | None:
    """Weights, average documents and mistakes of a classifier; None for any other model.

    Parameters
    ----------
    model : fitted model
    corpus : Corpus
        Whose average documents are shown. Mistakes are those on ``test``, where it has labels.
    doc_topics : array (documents, topics)
        Of the corpus.
    names : list of str
        What topics are called.
    test : Corpus, optional
    """
    if hasattr(model, "label_topics_"):
        return _of_authors(model, names, doc_topics)
    response = getattr(model, "response_", None)
    if response is None or response.kind == "regression":
        return None
    above = hasattr(model, "labels_")
    weights: Any = _links(model) if above else response.weights
    deviations = None if above else _deviations(model)
    if response.kind == "binary" and not above:
        weights = np.hstack([-weights, weights])
        deviations = None if deviations is None else np.hstack([deviations, deviations])
    several = response.kind == "multi-label"
    labels = [str(name) for name in response.classes]
    order = _order(corpus, labels)
    said: dict[str, Any] = {}
    measured = next((c for c in (test, corpus) if _has_labels(c)), None)
    if measured is not None:
        said = _mistakes(outcomes(model, measured), order) | {"unseen": measured is test}
    if above and model.labels_.n_topics:
        said |= {"label_topics": _label_topics(weights, labels, names, doc_topics)}
    if above:
        said |= {"label_terms": _label_terms(model, labels, order)}
    if several and weights is not None and not (above and not model.labels_.n_topics):
        title = _HELD_TOGETHER if above else _SPOKEN_FOR
        said |= {"groups": _clouds(weights, labels, names, doc_topics), "groups_title": title}
    return classes(
        [labels[j] for j in order],
        weights=None if weights is None else weights[:, order],
        deviations=None if deviations is None else deviations[:, order],
        shares=_averages(corpus, doc_topics, labels)[order] if _has_labels(corpus) else None,
        several=several,
        **said,
    )


def _of_authors(model: Any, names: list[str], doc_topics: Floats) -> Classes | None:
    """What labels speak of, and the labels behind each topic, in a model that predicts none of them."""
    labels, spoken = [str(name) for name in model.classes_], model.label_topics_
    if len(labels) < _FEW_LABELS:
        return None
    said = _clouds(spoken.T, labels, names, doc_topics)
    return classes(labels, shares=spoken, groups=said, groups_title=_BEHIND, several=True)


def _links(model: Any) -> Floats | None:
    """Labels of each topic (topics, labels): of topics over labels, or one to one where labels are topics."""
    post = model.labels_
    if post.n_topics:
        return np.asarray(post.member_links(0)[:, : post.n_labels], np.float64)
    if post.n_columns > _MOST_TOPICS:
        return None
    return np.eye(post.n_columns)[:, : post.n_labels]


def _label_topics(
    links: Floats, labels: list[str], names: list[str], doc_topics: Floats
) -> list[tuple[str, list[tuple[str, float]]]]:
    """Every topic over labels with its most probable ones, the largest share first."""
    out = []
    for k in np.argsort(-doc_topics.mean(axis=0), kind="stable"):
        best = [int(j) for j in np.argsort(-links[k], kind="stable")[:_LISTED]]
        listed = [(labels[j], float(links[k, j])) for j in best if links[k, j] >= _LEAST]
        if listed:
            out.append((names[k], listed))
    return out


def _label_terms(
    model: Any, labels: list[str], order: list[int]
) -> list[tuple[str, list[tuple[str, float]]]]:
    """The first labels with their most probable terms."""
    names = model.vocabulary_ or [f"x{v}" for v in range(model.labels_.n_terms)]
    found = model.labels_.top_terms(_LISTED)
    return [
        (labels[j], [(names[v], float(p)) for v, p in zip(*found[j], strict=True)])
        for j in order[:MOST_CLASSES]
        if len(found[j][0])
    ]


def _has_labels(corpus: Corpus | None) -> bool:
    return corpus is not None and corpus.labels is not None and corpus.labels.nnz > 0


def _deviations(model: Any) -> Floats | None:
    """Standard deviations of the weights, where the draws of the chain are draws of these weights."""
    response = model.response_
    if len(response.covariance):
        return np.asarray(np.sqrt(np.einsum("tkk->kt", response.covariance)), np.float64)
    refitted = getattr(model, "refit", True) or response.words is not None
    if refitted or len(response.draws) < 5:
        return None
    return np.asarray(response.draws.std(axis=0, ddof=1), np.float64)


def _label_indicator(corpus: Corpus, labels: list[str]) -> Floats:
    """Which documents have which of the labels, by name."""
    out = np.zeros((corpus.n_docs, len(labels)))
    if corpus.labels is None:
        return out
    mine = corpus.label_names or tuple(str(j) for j in range(corpus.n_labels))
    place = {name: j for j, name in enumerate(mine)}
    for i, name in enumerate(labels):
        if name in place:
            out[:, i] = corpus.labels[:, [place[name]]].toarray()[:, 0]
    return out


def _order(corpus: Corpus, labels: list[str]) -> list[int]:
    """As they come or, where there are more than can be drawn, the most frequent first."""
    if len(labels) <= MOST_CLASSES:
        return list(range(len(labels)))
    order = np.argsort(-_label_indicator(corpus, labels).sum(axis=0), kind="stable")
    return [int(j) for j in order]


def _averages(corpus: Corpus, doc_topics: Floats, labels: list[str]) -> Floats:
    held = _label_indicator(corpus, labels)
    return np.asarray(held.T @ doc_topics / np.maximum(held.sum(axis=0), 1.0)[:, None], np.float64)


def _mistakes(found: Outcomes, order: list[int]) -> dict[str, Any]:
    said: dict[str, Any] = {
        "measures": tuple(label_measures(found).items()),
        "n_measured": len(found.truth),
    }
    if not found.several:
        return said | {"confusion": confusion(found)[np.ix_(order, order)]}
    both = found.truth & found.given
    counts = [part.sum(axis=0)[order] for part in (found.truth, found.given, both)]
    return said | {"outcomes": np.column_stack(counts)}


def _clouds(
    weights: Floats, labels: list[str], names: list[str], doc_topics: Floats
) -> list[tuple[str, list[tuple[str, float]]]]:
    """For the topics with the largest shares, the labels they speak for."""
    out: list[tuple[str, list[tuple[str, float]]]] = []
    for k in np.argsort(-doc_topics.mean(axis=0), kind="stable"):
        spoken = [(labels[j], float(weights[k, j])) for j in np.flatnonzero(weights[k] > 0)]
        if len(spoken) >= _FEW_LABELS and len(out) < _CLOUDS:
            out.append((names[k], spoken))
    return out


def of_targets(
    model: Any, corpus: Corpus, doc_topics: Floats, test: Corpus | None
) -> tuple[Target, ...]:
    """What raises and lowers the numbers of a regression, and how well they are predicted."""
    response = getattr(model, "response_", None)
    if response is None or response.kind != "regression":
        return ()
    measured = next((c for c in (test, corpus) if c is not None and c.targets is not None), None)
    n_targets = response.weights.shape[1]
    said: Any = None if measured is None else np.reshape(model.predict(measured), (-1, n_targets))
    average = doc_topics.mean(axis=0)
    out = []
    for t in range(min(n_targets, MOST_TARGETS)):
        weight = response.weights[:, t]
        beside: dict[str, Any] = {}
        if measured is not None and measured.targets is not None:
            true = np.reshape(measured.targets, (-1, n_targets))[:, t]
            beside = _against(true, said[:, t]) | {"unseen": measured is test}
        out.append(
            Target(
                name=shorten("the number" if n_targets == 1 else f"target {t}", 40),
                raises=tuple(float(x) for x in weight - average @ weight),
                deviations=_contrasts(response, t, average),
                **beside,
            )
        )
    return tuple(out)


def _contrasts(response: Any, t: int, average: Floats) -> tuple[float, ...] | None:
    """Deviations of the weights less that of the average document."""
    if not len(response.covariance):
        return None
    away = np.eye(len(average)) - average
    spread = np.einsum("kj,jl,kl->k", away, response.covariance[t], away)
    return tuple(float(x) for x in np.sqrt(np.maximum(spread, 0.0)))


def _against(true: Floats, said: Floats) -> dict[str, Any]:
    every = max(1, -(-len(true) // MOST_DOTS))
    pairs = zip(true[::every].tolist(), said[::every].tolist(), strict=True)
    return {
        "dots": tuple((float(a), float(b)) for a, b in pairs),
        "measures": tuple(number_measures(true, said).items()),
        "n_measured": len(true),
    }
