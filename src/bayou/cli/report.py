"""``bayou report``: a model and its documents as one HTML file."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayou.cli import documents, model_file, options, output, remembered, stream
from bayou.cli.voice import Voice
from bayou.data.errors import DataError

if TYPE_CHECKING:
    from bayou.data.corpus import Corpus
    from bayou.models.topic_tracker import TopicTracker
    from bayou.text_model import TextModel

_BATCH = 1024


def report(
    model: options.Model,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="JSONL, CSV, TSV, Parquet or a folder; - is stdin. A tracker needs none.",
        ),
    ] = None,
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

    The report on a tracker is the one that `bayou track` writes; documents
    are for it to quote from: bayou report news.stream/model.bayou
    """
    from bayou.data.table import Columns

    voice = Voice(quiet, verbose)
    output.check_page(out, unlike=[file, model, test])
    learned = model_file.load_text_model(model, threads)
    tracked = stream.is_tracker(learned.estimator_)
    if tracked and test is not None:
        raise typer.BadParameter("a tracker is not measured; leave it out", param_hint="--test")
    if file is None:
        if not tracked:
            raise typer.BadParameter("name the documents of the model", param_hint="FILE")
        write_track(out, learned.estimator_, {}, title=title or _title(model), voice=voice)
        return
    columns = Columns(text or "text", label, target, time, id)
    source = documents.Source(
        file, columns, format, encoding_errors, max_line_bytes, label_separator
    )
    source = remembered.beside(learned, source, text)
    if tracked:
        named = {name for alert in learned.estimator_.alerts() for name in alert.docs}
        batches = documents.batches(source, _BATCH)
        pairs = (pair for batch in batches for pair in zip(batch.ids, batch.texts, strict=True))
        quotes = {str(name): text for name, text in pairs if str(name) in named}
        write_track(out, learned.estimator_, quotes, title=title or _title(model), voice=voice)
        return
    if test is not None:
        documents.check_there(test)
    corpus, texts = documents.read_corpus(source, learned.vectorizer_, keep_texts=True)
    held_out = None
    if test is not None:
        held_out, _ = documents.read_corpus(source._replace(path=test), learned.vectorizer_)
    title = title or _title(model)
    write_report(out, learned, corpus, texts, title=title, voice=voice, test=held_out)


def _title(model: Path) -> str:
    """What a model is called: by its file, or by the folder of the stream that keeps it."""
    folder = model.absolute().parent
    if model.name != "model.bayou" or not folder.name:
        return model.stem
    return folder.stem if folder.suffix == ".stream" else folder.name


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


def write_track(
    path: Path, tracker: TopicTracker, texts: Mapping[str, str], *, title: str, voice: Voice
) -> None:
    """Write the report on topics through time and say where it is."""
    written = available()
    data = written.TrackData.from_tracker(tracker, title=title, texts=texts)
    written.write_track(path, data)
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
