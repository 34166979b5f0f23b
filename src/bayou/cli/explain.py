"""``bayou explain``: which words of a text gave it which topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayou.cli import documents, model_file, options, output
from bayou.cli.voice import Voice

if TYPE_CHECKING:
    from bayou.explanation import Explanation

_SIZE = 100
_DIGITS = 6


def explain(
    model: options.Model,
    file: options.File,
    out: options.Output = "-",
    top: Annotated[
        int, typer.Option("--top", min=1, metavar="N", help="Topics to explain, largest first.")
    ] = 3,
    text: options.Text = "text",
    id: options.Id = None,
    format: options.Format = None,
    encoding_errors: options.EncodingErrors = "strict",
    max_line_bytes: options.MaxLineBytes = documents.MAX_LINE,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Say which words of a text gave it which topics.

    Every known word gets the probability of each topic and the part of the
    document's share that comes from it; with the prior's part the parts add up
    to the shares that predict gives.

    Example: echo '{"text": "..."}' | bayou explain reviews.bayou -
    """
    voice = Voice(quiet, verbose)
    learned = model_file.load_text_model(model, threads)
    columns = documents.texts_only(text, id)
    source = documents.Source(file, columns, format, encoding_errors, max_line_bytes)
    n_docs = 0
    with output.writing(out) as writer:
        for batch in documents.batches(source, _SIZE):
            for name, found in zip(batch.ids, learned.explain(batch.texts), strict=True):
                writer.write(
                    _flat(name, found, top) if writer.tabular else [_row(name, found, top)]
                )
            n_docs += len(batch.ids)
            voice.detail(f"{n_docs:,} documents")


def _row(name: str | int, found: Explanation, top: int) -> dict[str, Any]:
    parts = found.parts
    topics = []
    for k in (-found.proportions).argsort(kind="stable")[:top]:
        words = [
            {
                "term": found.terms[i],
                "count": int(found.counts[i]),
                "probability": _short(found.topics[i, k]),
                "part": _short(parts[i, k]),
            }
            for i in (-parts[:, k]).argsort(kind="stable")
        ]
        topics.append(
            {
                "topic": int(k),
                "share": _short(found.proportions[k]),
                "prior": _short(found.base[k]),
                "terms": words,
            }
        )
    return {"id": name, "topics": topics, "unknown": list(found.unknown)}


def _flat(name: str | int, found: Explanation, top: int) -> list[dict[str, Any]]:
    """A line for each topic and term, and one for the prior of each topic (its term is empty)."""
    rows = []
    for topic in _row(name, found, top)["topics"]:
        head = {"id": name, "topic": topic["topic"], "share": topic["share"]}
        prior = {"term": "", "count": 0, "probability": 0.0, "part": topic["prior"]}
        rows += [head | line for line in (prior, *topic["terms"])]
    return rows


def _short(value: Any) -> float:
    return round(float(value), _DIGITS)
