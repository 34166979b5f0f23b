"""Predictions and explanations of supervised models, as the verbs write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from bayou.cli import documents

if TYPE_CHECKING:
    from bayou.data.corpus import Corpus
    from bayou.data.table import Columns
    from bayou.results.explanation import MarginExplanation
    from bayou.text_model import TextModel

DIGITS = 6
TARGET = "target"
_JOINT = "; "  # between the labels of a document in one cell of a table


def as_decimal(value: Any) -> float:
    """A number as it is printed."""
    return round(float(value), DIGITS)


def topic_numbers(model: Any) -> list[int] | None:
    """Permanent numbers of topics that come and go, in order of rows; None where the row is the number."""
    ids = getattr(getattr(model, "estimator_", model), "topic_ids_", None)
    return None if ids is None else [int(i) for i in ids]


def kind_of(model: Any) -> str | None:
    """What a model predicts: a kind of `bayou.results.response.KINDS`, or None for topics alone."""
    inner = getattr(model, "estimator_", model)
    response = getattr(inner, "response_", None)
    if response is not None:
        return str(response.kind)
    if not is_supervised(inner):
        return None
    if is_regression(inner):
        return "regression"
    several = "binary" if len(inner.classes_) == 2 else "multi-class"
    return "multi-label" if inner.multi_label_ else several


def columns(model: TextModel, text: str | None, label: str | None, target: str | None) -> Columns:
    """The columns of the text and of the truth, by option or by guess; other columns are not read."""
    kind = kind_of(model)
    if kind == "regression":
        if label:
            raise typer.BadParameter(
                "the model predicts a number: give --target", param_hint="--label"
            )
        return documents.texts_only(text, "")._replace(target=target)
    if target:
        what = "classes or labels: give --label" if kind else "topics only"
        raise typer.BadParameter(f"the model predicts {what}", param_hint="--target")
    if kind is None and label:
        raise typer.BadParameter("the model predicts topics only", param_hint="--label")
    return documents.texts_only(text, "")._replace(label=label if kind else "")


def is_supervised(estimator: Any) -> bool:
    """Whether an estimator, or its class, is supervised; the predictions of a mixture are its topics."""
    return hasattr(estimator, "predict") and not hasattr(estimator, "score_samples")


def is_regression(estimator: Any) -> bool:
    """Whether an estimator predicts numbers; it need not be fitted."""
    from sklearn.base import is_regressor

    return bool(is_regressor(estimator))


def is_classifier(estimator: Any) -> bool:
    """Whether an estimator predicts classes or labels; it need not be fitted."""
    return is_supervised(estimator) and not is_regression(estimator)


def prediction_rows(
    model: TextModel, corpus: Corpus, top: int | None, tabular: bool
) -> list[dict[str, Any]]:
    """One row per document: ``prediction``, with its probability or standard deviation."""
    kind = kind_of(model)
    if kind is None:
        return [{} for _ in range(corpus.n_docs)]
    if kind == "regression":
        return _numbers(model, corpus)
    names = [str(name) for name in model.classes_]
    labels, chances = model.predict_labels(corpus), model.predict_proba(corpus)
    rows = []
    for given, chance in zip(labels, chances, strict=True):
        found = [str(label) for label in given]
        row: dict[str, Any] = {"prediction": found if kind == "multi-label" else found[0]}
        if kind == "multi-label" and tabular:
            row["prediction"] = _JOINT.join(found)
        elif kind != "multi-label":
            row["probability"] = as_decimal(chance[names.index(found[0])])
        rows.append(row | _probabilities(names, chance, top, tabular))
    return rows


def _probabilities(
    names: Sequence[str], chance: Any, top: int | None, tabular: bool
) -> dict[str, Any]:
    order = range(len(names)) if top is None else (-chance).argsort(kind="stable")[:top].tolist()
    pairs = [(names[i], as_decimal(chance[i])) for i in order]
    if not tabular:
        return {"probabilities": dict(pairs)}
    if top is None:
        return {f"p_{name}": p for name, p in pairs}
    return {
        key: value
        for i, (name, p) in enumerate(pairs, 1)
        for key, value in ((f"class_{i}", name), (f"p_{i}", p))
    }


def _numbers(model: TextModel, corpus: Corpus) -> list[dict[str, Any]]:
    mean, std = model.predict(corpus, return_std=True)
    if mean.ndim == 1:
        return [
            {"prediction": as_decimal(m), "std": as_decimal(s)}
            for m, s in zip(mean, std, strict=True)
        ]
    return [
        {"prediction": [as_decimal(x) for x in m], "std": [as_decimal(x) for x in s]}
        for m, s in zip(mean, std, strict=True)
    ]


class ScoreSide(NamedTuple):
    """A score to explain: its task, its sign (-1 for the first of two classes) and its name."""

    task: int
    sign: float
    name: str


def sides(kind: str, found: MarginExplanation, top: int | None) -> list[ScoreSide]:
    """The scores to explain, best first: of the prediction, or of the ``top`` best classes."""
    scores, names = found.scores, [str(name) for name in found.classes]
    if kind == "regression":
        several = len(scores) > 1
        return [
            ScoreSide(i, 1.0, f"{TARGET} {i}" if several else TARGET) for i in range(len(scores))
        ]
    if kind == "binary" and len(scores) == 1:
        both = [ScoreSide(0, 1.0, names[1]), ScoreSide(0, -1.0, names[0])]
        return (both if scores[0] > 0 else both[::-1])[: top or 1]
    order = (-scores).argsort(kind="stable").tolist()
    n_given = getattr(found, "n_given", None)
    if n_given is None:
        n_given = int((scores > 0).sum()) if kind == "multi-label" else 1
    return [ScoreSide(i, 1.0, names[i]) for i in order[: top or max(n_given, 1)]]


def explain_score(
    found: MarginExplanation, side: ScoreSide, words: Sequence[str]
) -> dict[str, Any]:
    """One score; ``base`` and ``terms`` sum to it, and so do ``base``, ``topics`` and ``words``."""
    i, sign = side.task, side.sign
    parts, topics = sign * found.parts[:, i], sign * found.topic_parts[:, i]
    shares, direct = found.shares.sum(axis=0), sign * found.words[:, i]
    row: dict[str, Any] = {
        "for": side.name,
        "score": as_decimal(sign * found.scores[i]),
        "base": as_decimal(sign * found.base[i]),
        "terms": [
            {"term": found.terms[j], "count": int(found.counts[j]), "part": as_decimal(parts[j])}
            for j in (-parts).argsort(kind="stable")
        ],
        "topics": [
            {
                "topic": int(k),
                "words": words[k],
                "share": as_decimal(shares[k]),
                "part": as_decimal(topics[k]),
            }
            for k in (-topics).argsort(kind="stable")
            if as_decimal(shares[k]) > 0
        ],
    }
    return row | ({"words": as_decimal(direct.sum())} if direct.any() else {})
