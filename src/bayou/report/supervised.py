"""Results of a supervised model for a report: from the model and documents to plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayou.data.corpus import Corpus
from bayou.metrics import (
    Outcomes,
    confusion,
    label_measures,
    number_measures,
    outcomes,
    reliability_table,
)
from bayou.metrics.answers import align_labels
from bayou.report.classes import MOST_CLASSES, Classes, classes
from bayou.report.measure import Floats
from bayou.report.targets import MOST_DOTS, MOST_TARGETS, Target

_CLOUDS = 12
_FEW_LABELS = 2  # fewest labels of a cloud
_POSITIVE_WEIGHTS = "Labels with positive weight per topic"
_OCCURRING_TOGETHER = "Labels that occur together, per topic"
_LARGEST_SHARES = "Labels with the largest share per topic"
_LISTED = 8  # labels per topic in the table
_LEAST = 0.005  # probability of a listed label
_MOST_TOPICS = 300  # of models with one topic per label; more are not drawn


def class_results(
    model: Any, corpus: Corpus, doc_topics: Floats, names: list[str], test: Corpus | None
) -> Classes | None:
    """Weights, average topic shares and measures of a classifier; None for any other model.

    Parameters
    ----------
    model : fitted model
    corpus : Corpus
        Its documents give the average topic shares. They give the measures only if ``test`` has
        no labels.
    doc_topics : array (documents, topics)
        Topic proportions of the corpus.
    names : list of str
        Names of the topics.
    test : Corpus, optional
    """
    if hasattr(model, "label_topics_"):
        return _author_results(model, names, doc_topics)
    response = getattr(model, "response_", None)
    if response is None or response.kind == "regression":
        return None
    weights, deviations = _weights(model)
    labels = [str(name) for name in response.classes]
    order = _class_order(corpus, labels)
    details = _test_measures(model, corpus, test, order)
    if hasattr(model, "labels_"):
        details |= _label_tables(model, weights, labels, names, doc_topics, order)
    details |= _label_groups(model, weights, labels, names, doc_topics)
    return classes(
        [labels[j] for j in order],
        weights=None if weights is None else weights[:, order],
        deviations=None if deviations is None else deviations[:, order],
        shares=_average_shares(corpus, doc_topics, labels)[order] if _has_labels(corpus) else None,
        several=response.kind == "multi-label",
        **details,
    )


def _author_results(model: Any, names: list[str], doc_topics: Floats) -> Classes | None:
    """Topic shares per label, and labels per topic, of a model that does not predict labels."""
    labels, shares = [str(name) for name in model.classes_], model.label_topics_
    if len(labels) < _FEW_LABELS:
        return None
    groups = _clouds(shares.T, labels, names, doc_topics)
    return classes(labels, shares=shares, groups=groups, groups_title=_LARGEST_SHARES, several=True)


def _weights(model: Any) -> tuple[Any, Floats | None]:
    """Weights (topics, classes) and their standard deviations; None where they are not known."""
    response = model.response_
    if hasattr(model, "labels_"):
        return _label_links(model), None
    weights, deviations = response.weights, _deviations(model)
    if response.kind != "binary":
        return weights, deviations
    both = None if deviations is None else np.hstack([deviations, deviations])
    return np.hstack([-weights, weights]), both


def _label_links(model: Any) -> Floats | None:
    """Label probabilities per topic (topics, labels); the identity if each label is a topic."""
    post = model.labels_
    if post.n_topics:
        return np.asarray(post.member_links(0)[:, : post.n_labels], np.float64)
    if post.n_columns > _MOST_TOPICS:
        return None
    return np.eye(post.n_columns)[:, : post.n_labels]


def _test_measures(
    model: Any, corpus: Corpus, test: Corpus | None, order: list[int]
) -> dict[str, Any]:
    """Measures on the test documents if they have labels, else on the corpus."""
    documents = next((c for c in (test, corpus) if _has_labels(c)), None)
    if documents is None:
        return {}
    return _measures(outcomes(model, documents), order) | {"unseen": documents is test}


def _label_tables(
    model: Any,
    links: Any,
    labels: list[str],
    names: list[str],
    doc_topics: Floats,
    order: list[int],
) -> dict[str, Any]:
    """Tables of a label model: labels per topic, and terms per label."""
    tables: dict[str, Any] = {"label_terms": _label_terms(model, labels, order)}
    if model.labels_.n_topics:
        tables["label_topics"] = _label_topics(links, labels, names, doc_topics)
    return tables


def _label_groups(
    model: Any, weights: Any, labels: list[str], names: list[str], doc_topics: Floats
) -> dict[str, Any]:
    """Clouds of labels per topic of a multi-label model; none if each label is a topic."""
    is_label_model = hasattr(model, "labels_")
    if model.response_.kind != "multi-label" or weights is None:
        return {}
    if is_label_model and not model.labels_.n_topics:
        return {}
    title = _OCCURRING_TOGETHER if is_label_model else _POSITIVE_WEIGHTS
    return {"groups": _clouds(weights, labels, names, doc_topics), "groups_title": title}


def _label_topics(
    links: Floats, labels: list[str], names: list[str], doc_topics: Floats
) -> list[tuple[str, list[tuple[str, float]]]]:
    """Most probable labels per topic over labels, largest topic first."""
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
    """Most probable terms of the first labels in ``order``."""
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
    """Standard deviations of the weights; None if the draws of the chain are not draws of these weights."""
    response = model.response_
    if len(response.covariance):
        return np.asarray(np.sqrt(np.einsum("tkk->kt", response.covariance)), np.float64)
    is_refit = getattr(model, "refit", True) or response.words is not None
    if is_refit or len(response.draws) < 5:
        return None
    return np.asarray(response.draws.std(axis=0, ddof=1), np.float64)


def _class_order(corpus: Corpus, labels: list[str]) -> list[int]:
    """The order of the model or, with more classes than are drawn, the most frequent first."""
    if len(labels) <= MOST_CLASSES:
        return list(range(len(labels)))
    order = np.argsort(-align_labels(corpus, labels)[0].sum(axis=0), kind="stable")
    return [int(j) for j in order]


def _average_shares(corpus: Corpus, doc_topics: Floats, labels: list[str]) -> Floats:
    held = align_labels(corpus, labels)[0].astype(np.float64)
    return np.asarray(held.T @ doc_topics / np.maximum(held.sum(axis=0), 1.0)[:, None], np.float64)


def _measures(found: Outcomes, order: list[int]) -> dict[str, Any]:
    """Measures with the confusion matrix, or with the counts per label of a multi-label model."""
    measures: dict[str, Any] = {
        "measures": tuple(label_measures(found).items()),
        "n_measured": len(found.truth),
    }
    if found.probabilities is not None:
        rows = reliability_table(found.probabilities, found.truth, several=found.several)
        measures["reliability"] = tuple(rows)
    if not found.several:
        return measures | {"confusion": confusion(found)[np.ix_(order, order)]}
    both = found.truth & found.given
    counts = [part.sum(axis=0)[order] for part in (found.truth, found.given, both)]
    return measures | {"outcomes": np.column_stack(counts)}


def _clouds(
    weights: Floats, labels: list[str], names: list[str], doc_topics: Floats
) -> list[tuple[str, list[tuple[str, float]]]]:
    """Labels with positive weights, for the topics with the largest shares."""
    out: list[tuple[str, list[tuple[str, float]]]] = []
    for k in np.argsort(-doc_topics.mean(axis=0), kind="stable"):
        positive = [(labels[j], float(weights[k, j])) for j in np.flatnonzero(weights[k] > 0)]
        if len(positive) >= _FEW_LABELS and len(out) < _CLOUDS:
            out.append((names[k], positive))
    return out


def target_results(
    model: Any, corpus: Corpus, doc_topics: Floats, test: Corpus | None
) -> tuple[Target, ...]:
    """Topic effects and measures per target of a regression; empty for any other model."""
    response = getattr(model, "response_", None)
    if response is None or response.kind != "regression":
        return ()
    measured = next((c for c in (test, corpus) if c is not None and c.targets is not None), None)
    n = response.weights.shape[1]
    predicted: Any = None if measured is None else np.reshape(model.predict(measured), (-1, n))
    average = doc_topics.mean(axis=0)
    out = []
    for t in range(min(n, MOST_TARGETS)):
        weight = response.weights[:, t]
        details: dict[str, Any] = {}
        if measured is not None and measured.targets is not None:
            true = np.reshape(measured.targets, (-1, n))[:, t]
            details = _target_measures(true, predicted[:, t]) | {"unseen": measured is test}
        out.append(
            Target(
                name="the predicted number" if n == 1 else f"target {t}",
                raises=tuple(float(x) for x in weight - average @ weight),
                deviations=_effect_deviations(response, t, average),
                **details,
            )
        )
    return tuple(out)


def _effect_deviations(response: Any, t: int, average: Floats) -> tuple[float, ...] | None:
    """Standard deviations of the topic effects, that is of weights relative to the average document."""
    if not len(response.covariance):
        return None
    contrast = np.eye(len(average)) - average
    variance = np.einsum("kj,jl,kl->k", contrast, response.covariance[t], contrast)
    return tuple(float(x) for x in np.sqrt(np.maximum(variance, 0.0)))


def _target_measures(true: Floats, predicted: Floats) -> dict[str, Any]:
    every = max(1, -(-len(true) // MOST_DOTS))
    pairs = zip(true[::every].tolist(), predicted[::every].tolist(), strict=True)
    return {
        "dots": tuple((float(a), float(b)) for a, b in pairs),
        "measures": tuple(number_measures(true, predicted).items()),
        "n_measured": len(true),
    }
