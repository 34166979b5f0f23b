"""``bayou report``: a model and its documents as one HTML file."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayou.cli import documents, model_file, options, output
from bayou.cli.messages import Messages
from bayou.cli.streams.learner import is_tracker
from bayou.data.errors import DataError

if TYPE_CHECKING:
    from bayou.data.corpus import Corpus
    from bayou.models.topic_tracker import TopicTracker
    from bayou.text_model import TextModel

_BATCH = 1024

# fmt: off
_File = Annotated[str | None, typer.Argument(
    metavar="FILE", help="JSONL, CSV, TSV, Parquet or a folder; - is stdin. Optional for a tracker.")]
_Output = Annotated[Path, typer.Option(
    "--output", "-o", metavar="FILE", help="Where to write the report.")]
_Test = Annotated[str | None, typer.Option(
    "--test", metavar="FILE", help="Documents that the model was not fitted to, to measure it on.")]
# fmt: on


@options.with_groups
def report(
    model: options.Model,
    input: options.FullInput,
    run: options.Run,
    file: _File = None,
    out: _Output = Path("report.html"),
    title: options.Title = None,
    test: _Test = None,
) -> None:
    """Write a report about a model and its documents: one HTML file, no network.

    Example: bayou report reviews.bayou reviews.csv

    The predictions of a supervised model are measured on these documents or,
    better, on held-out documents with the same columns: --test held-out.csv

    A tracker gets the report that `bayou track` writes. Its documents are
    optional, for quotes: bayou report news.stream/model.bayou
    """
    messages = run.messages()
    output.check_page(out, unlike=[file, model, test])
    text_model = model_file.load_text_model(model, run.threads)
    title = title or _title(model)
    tracked = is_tracker(text_model.estimator_)
    if tracked and test is not None:
        raise typer.BadParameter("a tracker has no predictions to measure", param_hint="--test")
    if file is None and not tracked:
        raise typer.BadParameter("name the documents of the model", param_hint="FILE")
    source = None if file is None else _source(file, input, text_model)
    if source is None or tracked:
        quotes = _quotes(text_model, source)
        write_track(out, text_model.estimator_, quotes, title=title, messages=messages)
        return
    held_out = None
    if test is not None:
        documents.check_there(test)
    corpus, texts = documents.read_corpus(source, text_model.vectorizer_, keep_texts=True)
    if test is not None:
        held_out, _ = documents.read_corpus(source._replace(path=test), text_model.vectorizer_)
    write_report(out, text_model, corpus, texts, title=title, messages=messages, test=held_out)


def _source(file: str, input: options.FullInput, model: TextModel) -> documents.Source:
    from bayou.data.table import Columns

    columns = Columns(input.text or "text", input.label, input.target, input.time, input.id)
    return input.source(file, columns, model)


def _quotes(model: TextModel, source: documents.Source | None) -> dict[str, str]:
    """The texts of documents that alerts of a tracker name."""
    if source is None:
        return {}
    named = {name for alert in model.estimator_.alerts() for name in alert.docs}
    batches = documents.batches(source, _BATCH)
    pairs = (pair for batch in batches for pair in zip(batch.ids, batch.texts, strict=True))
    return {str(name): text for name, text in pairs if str(name) in named}


def _title(model: Path) -> str:
    """The name of a model: of its file, or of the folder of its stream."""
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
    messages: Messages,
    test: Corpus | None = None,
) -> None:
    """Write the report and print its path."""
    report = load_report()
    data = report.ReportData.from_model(
        model.estimator_, corpus, texts=texts, title=title, test=test
    )
    report.write(path, data)
    messages.info(f"Report in {path}")


def write_track(
    path: Path, tracker: TopicTracker, texts: Mapping[str, str], *, title: str, messages: Messages
) -> None:
    """Write the report on topics through time and print its path."""
    report = load_report()
    data = report.TrackData.from_tracker(tracker, title=title, texts=texts)
    report.write_track(path, data)
    messages.info(f"Report in {path}")


def load_report() -> Any:
    """The module that writes reports; loaded before training, so that its absence costs no hours."""
    try:
        importlib.import_module("jinja2")
        return importlib.import_module("bayou.report")
    except ImportError as error:
        raise DataError(
            f"reports need one more package ({error.name}): pip install 'bayou[report]'"
        ) from None
