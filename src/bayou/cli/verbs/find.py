"""``bayou find``: the documents of a topic, of a label, or like a text, with the passages that decide."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayou.cli import documents, model_file, options, output
from bayou.cli.predictions import as_decimal
from bayou.cli.terminal import echo

if TYPE_CHECKING:
    from bayou.text_search import Best, Query

_SIZE = 1000  # documents per batch
_INDENT = "    "


@options.with_groups
def find(
    model: options.Model,
    file: options.File,
    input: options.NamedInput,
    run: options.Run,
    topic: Annotated[
        int | None,
        typer.Option(
            "--topic", metavar="N", help="Documents with the largest share of this topic."
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="NAME", help="Documents most probably of this label."),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option("--like", metavar="TEXT", help="Documents whose topics are like this text's."),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", min=1, metavar="N", help="Number of documents.")
    ] = 20,
    width: Annotated[
        int, typer.Option("--width", min=20, metavar="N", help="Characters per passage.")
    ] = 240,
    out: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help=".jsonl, .csv, .tsv or .parquet; - is stdout."
        ),
    ] = None,
) -> None:
    """Find the documents of a topic, of a label, or like a text.

    Prints the best documents first: id, score, and the passage whose words
    contribute most to the score, the strongest words in brackets. Give one of
    --topic, --label and --like. With -o, rows have the columns id, score and
    passage. Documents without known words are never found.

    Example: bayou find speeches.bayou speeches.csv --topic 7 --top 5
    """
    from bayou.data.errors import DataError
    from bayou.text_search import Best, make_query, score_texts

    if [topic, label, like].count(None) != 2:
        raise typer.BadParameter("give one of --topic, --label and --like")
    messages = run.messages()
    text_model = model_file.load_text_model(model, run.threads)
    try:
        query = make_query(text_model, topic, label, like)
    except DataError as error:
        raise typer.BadParameter(str(error)) from None
    source = input.source(file, documents.texts_only(input.text, input.id), text_model)
    best = Best(top)
    for batch in documents.batches(source, _SIZE):
        best.add(score_texts(text_model, batch.texts, query), batch.ids, batch.texts)
        messages.detail(f"{best.n_docs:,} documents")
    rows = _rows(text_model, best, query, width, plain=out is not None)
    if not rows:
        messages.info(f"none of {best.n_docs:,} documents has a known word")
    if out is None:
        _print(rows)
        return
    with output.writing(out, [file, model]) as writer:
        writer.write(rows)


def _rows(model: Any, best: Best, query: Query, width: int, plain: bool) -> list[dict[str, Any]]:
    """One row per document; without ``plain``, brackets mark the words that contribute."""
    from bayou.text_search import find_passages

    passages = find_passages(model, [row[3] for row in best.rows], query, width)
    return [
        {
            "id": name,
            "score": as_decimal(score),
            "passage": p.text if plain else _mark(p.text, p.marks),
        }
        for (score, _, name, _), p in zip(best.rows, passages, strict=True)
    ]


def _mark(text: str, marks: tuple[tuple[int, int], ...]) -> str:
    """The text with brackets around the marks."""
    out, at = "", 0
    for start, end in marks:
        out += text[at:start] + "[" + text[start:end] + "]"
        at = end
    return out + text[at:]


def _print(rows: list[dict[str, Any]]) -> None:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for row in rows:
        echo(f"{row['score']:.3f}  {row['id']}")
        body = row["passage"]
        if width > 30:
            body = textwrap.fill(body, width - len(_INDENT))
        echo(textwrap.indent(body, _INDENT))
