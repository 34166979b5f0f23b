"""``bayou explain``: which words of a text contribute to its topics, class or number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayou.cli import documents, model_file, options, output, predictions
from bayou.cli.predictions import as_decimal

if TYPE_CHECKING:
    from bayou.results.explanation import Explanation
    from bayou.text_model import TextModel

_SIZE = 100
_TOPICS = 3
_WORDS = 3  # in the name of a topic


@options.with_groups
def explain(
    model: options.Model,
    file: options.File,
    input: options.NamedInput,
    run: options.Run,
    out: options.Output = "-",
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            min=1,
            metavar="N",
            help="Topics (default: 3) or classes (default: those predicted) to explain.",
        ),
    ] = None,
) -> None:
    """Show how much each word of a text contributes to its topics, class or number.

    Every known word gets the probability of each topic and its part of the
    document's share. With the part of the prior, the parts sum to the shares
    that predict writes. For a supervised model the score of the prediction is
    explained instead: the parts of words and of topics.

    Example: echo '{"text": "..."}' | bayou explain reviews.bayou -
    """
    messages = run.messages()
    text_model = model_file.load_text_model(model, run.threads)
    source = input.source(file, documents.texts_only(input.text, input.id), text_model)
    n_docs = 0
    with output.writing(out, [file, model]) as writer:
        for batch in documents.batches(source, _SIZE):
            writer.write(_rows(text_model, batch, top, writer.tabular))
            n_docs += len(batch.ids)
            messages.detail(f"{n_docs:,} documents")


def _rows(
    model: TextModel, batch: documents.Batch, top: int | None, tabular: bool
) -> list[dict[str, Any]]:
    kind, found = predictions.kind_of(model), model.explain(batch.texts)
    rows: list[dict[str, Any]] = []
    if kind is None:
        numbers = predictions.topic_numbers(model)
        for name, one in zip(batch.ids, found, strict=True):
            row = _row(name, one, numbers, _TOPICS if top is None else top)
            rows += _flat(row) if tabular else [row]
        return rows
    words = [" ".join(terms) for terms in model.top_terms(_WORDS)]
    for name, one, tokens in zip(
        batch.ids, found, model.vectorizer_.tokens(batch.texts), strict=True
    ):
        scores = [
            predictions.explain_score(one, side, words)
            for side in predictions.sides(kind, one, top)
        ]
        if tabular:
            rows += _flat_scores(name, scores)
        else:
            unknown = dict.fromkeys(t for t in tokens if t not in model.vocabulary_)
            rows.append({"id": name, "explained": scores, "unknown": list(unknown)})
    return rows


def _flat_scores(name: str | int, scores: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line per score and term, and one for the base of each score (its term is empty)."""
    rows = []
    for one in scores:
        head = {"id": name, "for": one["for"], "score": one["score"]}
        base = {"term": "", "count": 0, "part": one["base"]}
        rows += [head | line for line in (base, *one["terms"])]
    return rows


def _row(
    name: str | int, found: Explanation, numbers: Sequence[int] | None, top: int
) -> dict[str, Any]:
    parts = found.parts
    topics = []
    for k in (-found.proportions).argsort(kind="stable")[:top]:
        words = [
            {
                "term": found.terms[i],
                "count": int(found.counts[i]),
                "probability": as_decimal(found.topics[i, k]),
                "part": as_decimal(parts[i, k]),
            }
            for i in (-parts[:, k]).argsort(kind="stable")
        ]
        topics.append(
            {
                "topic": int(k) if numbers is None else numbers[k],
                "share": as_decimal(found.proportions[k]),
                "prior": as_decimal(found.base[k]),
                "terms": words,
            }
        )
    return {"id": name, "topics": topics, "unknown": list(found.unknown)}


def _flat(explained: dict[str, Any]) -> list[dict[str, Any]]:
    """One line per topic and term, and one for the prior of each topic (its term is empty)."""
    rows = []
    for topic in explained["topics"]:
        head = {"id": explained["id"], "topic": topic["topic"], "share": topic["share"]}
        prior = {"term": "", "count": 0, "probability": 0.0, "part": topic["prior"]}
        rows += [head | line for line in (prior, *topic["terms"])]
    return rows
