"""``bayou explain``: which words of a text gave it which topics, or its class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayou.cli import answers, documents, model_file, options, output, remembered
from bayou.cli.answers import short
from bayou.cli.voice import Voice

if TYPE_CHECKING:
    from bayou.results.explanation import Explanation
    from bayou.text_model import TextModel

_SIZE = 100
_TOPICS = 3
_WORDS = 3  # that a topic is called by


def explain(
    model: options.Model,
    file: options.File,
    out: options.Output = "-",
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            min=1,
            metavar="N",
            help="Topics to explain; else 3. Or classes; else those given.",
        ),
    ] = None,
    text: options.TextAgain = None,
    id: options.Id = None,
    format: options.Format = None,
    encoding_errors: options.EncodingErrors = "strict",
    max_line_bytes: options.MaxLineBytes = documents.MAX_LINE,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Say which words of a text gave it which topics, class or number.

    Every known word gets the probability of each topic and the part of the
    document's share that comes from it; with the prior's part the parts add up
    to the shares that predict gives. Of a supervised model the score of what it
    predicts is explained instead: what its words add to it, and its topics.

    Example: echo '{"text": "..."}' | bayou explain reviews.bayou -
    """
    voice = Voice(quiet, verbose)
    learned = model_file.load_text_model(model, threads)
    columns = documents.texts_only(text, id)
    source = documents.Source(file, columns, format, encoding_errors, max_line_bytes)
    source = remembered.beside(learned, source, text)
    n_docs = 0
    with output.writing(out, [file, model]) as writer:
        for batch in documents.batches(source, _SIZE):
            writer.write(_rows(learned, batch, top, writer.tabular))
            n_docs += len(batch.ids)
            voice.detail(f"{n_docs:,} documents")


def _rows(
    model: TextModel, batch: documents.Batch, top: int | None, tabular: bool
) -> list[dict[str, Any]]:
    kind, found = answers.kind_of(model), model.explain(batch.texts)
    rows: list[dict[str, Any]] = []
    if kind is None:
        numbers = answers.topic_numbers(model)
        for name, one in zip(batch.ids, found, strict=True):
            row = _row(name, one, numbers, _TOPICS if top is None else top)
            rows += _flat(row) if tabular else [row]
        return rows
    words = [" ".join(terms) for terms in model.top_terms(_WORDS)]
    for name, one, tokens in zip(
        batch.ids, found, model.vectorizer_.tokens(batch.texts), strict=True
    ):
        told = [answers.explained(one, side, words) for side in answers.sides(kind, one, top)]
        if tabular:
            rows += _flat_scores(name, told)
        else:
            unknown = dict.fromkeys(t for t in tokens if t not in model.vocabulary_)
            rows.append({"id": name, "explained": told, "unknown": list(unknown)})
    return rows


def _flat_scores(name: str | int, told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each score and term, and one for what no term decides (its term is empty)."""
    rows = []
    for one in told:
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
                "probability": short(found.topics[i, k]),
                "part": short(parts[i, k]),
            }
            for i in (-parts[:, k]).argsort(kind="stable")
        ]
        topics.append(
            {
                "topic": int(k) if numbers is None else numbers[k],
                "share": short(found.proportions[k]),
                "prior": short(found.base[k]),
                "terms": words,
            }
        )
    return {"id": name, "topics": topics, "unknown": list(found.unknown)}


def _flat(explained: dict[str, Any]) -> list[dict[str, Any]]:
    """A line for each topic and term, and one for the prior of each topic (its term is empty)."""
    rows = []
    for topic in explained["topics"]:
        head = {"id": explained["id"], "topic": topic["topic"], "share": topic["share"]}
        prior = {"term": "", "count": 0, "probability": 0.0, "part": topic["prior"]}
        rows += [head | line for line in (prior, *topic["terms"])]
    return rows
