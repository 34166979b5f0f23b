"""``bayou report``: a model and its documents as one HTML file."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayou.cli import documents, model_file, options, output, remembered
from bayou.cli.voice import Voice
from bayou.data.errors import DataError

if TYPE_CHECKING:
    from bayou.data.corpus import Corpus
    from bayou.text_model import TextModel


def report(
    model: options.Model,
    file: options.File,
    out: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the report.")
    ] = Path("report.html"),
    title: Annotated[
        str | None,
        typer.Option("--title", metavar="TEXT", help="Its heading; else the name of the model."),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            "--test", metavar="FILE", help="Documents the model has not seen, to measure it on."
        ),
    ] = None,
    text: options.TextAgain = None,
    label: options.Label = None,
    label_separator: options.LabelSeparator = None,
    target: options.Target = None,
    time: options.Time = None,
    id: options.Id = None,
    format: options.Format = None,
    encoding_errors: options.EncodingErrors = "strict",
    max_line_bytes: options.MaxLineBytes = documents.MAX_LINE,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Write a report about a model and its documents: one HTML file, no network.

    Example: bayou report reviews.bayou reviews.csv

    What a supervised model predicts is measured on these documents, or better on
    others of the same columns: --test held-out.csv
    """
    from bayou.data.readers import Columns

    voice = Voice(quiet, verbose)
    output.check_writable(out, unlike=[file, model, test])
    learned = model_file.load_text_model(model, threads)
    columns = Columns(text or "text", label, target, time, id)
    source = documents.Source(
        file, columns, format, encoding_errors, max_line_bytes, label_separator
    )
    source = remembered.beside(learned, source, text)
    if test is not None:
        documents.check_there(test)
    corpus, texts = documents.read_corpus(source, learned.vectorizer_, keep_texts=True)
    held_out = None
    if test is not None:
        held_out, _ = documents.read_corpus(source._replace(path=test), learned.vectorizer_)
    title = title or model.stem
    write_report(out, learned, corpus, texts, title=title, voice=voice, test=held_out)


def write_report(
    path: Path,
    model: TextModel,
    corpus: Corpus,
    texts: list[str],
    *,
    title: str,
    voice: Voice,
    test: Corpus | None = None,
) -> None:
    """Write the report and say where it is."""
    written = available()
    data = written.ReportData.from_model(
        model.estimator_, corpus, texts=texts, title=title, test=test
    )
    written.write(path, data)
    voice.say(f"Report in {path}")


def available() -> Any:
    """The module that writes reports; asked for early, since its absence should cost no hours."""
    try:
        importlib.import_module("jinja2")
        return importlib.import_module("bayou.report")
    except ImportError as error:
        raise DataError(
            f"reports need one more package ({error.name}): pip install 'bayou[report]'"
        ) from None
