"""Options of the command line, defined once, and groups of them that several verbs share.

A group is a dataclass whose fields are options. A verb decorated with `with_groups` takes groups as
parameters; the command line shows their fields.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from bayou.cli.documents import MAX_LINE, Source
from bayou.cli.messages import Messages

column_option = functools.partial(typer.Option, rich_help_panel="Columns of the input")
reading_option = functools.partial(typer.Option, rich_help_panel="Reading")
run_option = functools.partial(typer.Option, rich_help_panel="Running")
alert_option = functools.partial(typer.Option, rich_help_panel="Alerts")
words_option = functools.partial(typer.Option, rich_help_panel="Words")

# fmt: off
File = Annotated[
    str, typer.Argument(metavar="FILE", help="JSONL, CSV, TSV, Parquet or a folder; - is stdin.")]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model written by `bayou fit` or `bayou track`.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Output = Annotated[str, typer.Option(
    "--output", "-o", metavar="FILE", help=".jsonl, .csv, .tsv or .parquet; - is stdout.")]
ModelOutput = Annotated[Path | None, typer.Option(
    "--output", "-o", metavar="FILE", help="Where to save the model. Default: overwrite MODEL.")]
Settings = Annotated[list[str] | None, typer.Option(
    "--set", metavar="NAME=VALUE", help="A parameter of the model; repeatable.")]
Title = Annotated[str | None, typer.Option(
    "--title", metavar="TEXT", help="Heading of the report. Default: the name of the model or file.")]
Seed = Annotated[int, run_option(
    "--seed", min=0, metavar="N", help="Random seed; the same seed gives the same model.")]
Threads = Annotated[int | None, run_option(
    "--threads", min=1, metavar="N", help="Threads; do not change the result. Default: all cores.")]
First = Annotated[int | None, run_option(
    "--first", min=1, metavar="N",
    help="Streaming models: choose words from the first N documents, then learn in one pass.")]
MaxTime = Annotated[float | None, run_option(
    "--max-time", metavar="SECONDS", help="Start no further pass after this time.")]


def with_groups(verb: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameters of a verb that are groups by the options of the groups."""
    own = inspect.signature(verb, eval_str=True).parameters
    kinds = {name: p.annotation for name, p in own.items()}
    flat = [
        option
        for name, p in own.items()
        for option in (_options(kinds[name]) if is_dataclass(kinds[name]) else [p])
    ]

    @functools.wraps(verb)
    def command(**given: Any) -> None:
        verb(**{name: _collect(kind, given, name) for name, kind in kinds.items()})

    named = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in flat]
    command.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in named}
    return command


def _options(group: Any) -> Iterator[inspect.Parameter]:
    """The options of a group and of the groups in it."""
    hints = get_type_hints(group, include_extras=True)
    for f in fields(group):
        if is_dataclass(hints[f.name]):
            yield from _options(hints[f.name])
        else:
            default = inspect.Parameter.empty if f.default is MISSING else f.default
            kind = inspect.Parameter.KEYWORD_ONLY
            yield inspect.Parameter(f.name, kind, default=default, annotation=hints[f.name])


def _collect(kind: Any, given: Mapping[str, Any], name: str) -> Any:
    """The value of a parameter: as given, or a group of given values."""
    if not is_dataclass(kind):
        return given[name]
    hints = get_type_hints(kind)
    return kind(**{f.name: _collect(hints[f.name], given, f.name) for f in fields(kind)})  # type: ignore[operator]


def flags_of(group: Any) -> dict[str, str]:
    """The long flags of a group, by the names of its fields."""
    return {p.name: get_args(p.annotation)[1].default for p in _options(group)}


@dataclass(frozen=True)
class Run:
    """Threads and messages of a verb."""

    threads: Threads = None
    quiet: Annotated[bool, run_option("--quiet", "-q", help="Print errors only.")] = False
    verbose: Annotated[
        bool, run_option("--verbose", "-v", help="Print more, and tracebacks.")] = False

    def messages(self) -> Messages:
        """Messages on standard error."""
        return Messages(self.quiet, self.verbose)


@dataclass(frozen=True)
class Checkpoints:
    """Training that can be resumed."""

    checkpoint_dir: Annotated[Path | None, run_option(
        "--checkpoint-dir", metavar="FOLDER",
        help="Write a checkpoint here at intervals and on Ctrl-C.")] = None
    resume: Annotated[bool, run_option(
        "--resume", help="Resume from the checkpoint, if there is one.")] = False
    dry_run: Annotated[bool, run_option(
        "--dry-run", help="Read and check the input, print what would be done, write nothing.")] = False


@dataclass(frozen=True)
class Alerts:
    """Actions for each alert."""

    on_alert: Annotated[str | None, alert_option(
        "--on-alert", metavar="CMD",
        help="Run this for each alert, with its JSON on stdin. No shell: use sh -c '...'.")] = None
    webhook: Annotated[str | None, alert_option(
        "--webhook", metavar="URL", help="Post each alert to this address.")] = None


@dataclass(frozen=True)
class Input:
    """Options for reading a file of texts."""

    text: Annotated[str | None, column_option(
        "--text", metavar="NAME",
        help="Column of the text. Default: as when the model was made, else `text`. The other "
        "columns default likewise.")] = None
    format: Annotated[str | None, reading_option(
        "--format", metavar="NAME",
        help="jsonl, csv, tsv, parquet or folder. Default: by the file name.")] = None
    encoding_errors: Annotated[str, reading_option(
        "--encoding-errors", metavar="HOW", help="Bytes that are not UTF-8: strict or replace.")] = "strict"
    max_line_bytes: Annotated[int, reading_option(
        "--max-line-bytes", min=1, metavar="N", help="Refuse longer lines. Default: 64 MiB.",
        show_default=False)] = MAX_LINE

    def source(self, file: str, columns: Any, model: Any = None) -> Source:
        """The documents of a file; columns without a name are looked up in the model, if there is one."""
        from bayou.cli.columns import complete

        found = Source(file, columns, self.format, self.encoding_errors, self.max_line_bytes)
        found = found._replace(label_separator=getattr(self, "label_separator", None))
        return found if model is None else complete(model, found, self.text)


@dataclass(frozen=True)
class NamedInput(Input):
    """Documents with an id."""

    id: Annotated[str | None, column_option(
        "--id", metavar="NAME",
        help="Column of the document's id. Default: `id`, else documents are numbered.")] = None


@dataclass(frozen=True)
class DatedInput(NamedInput):
    """Documents with an id and a date."""

    time: Annotated[str | None, column_option("--time", metavar="NAME", help="Column of the date.")] = None


@dataclass(frozen=True)
class LabelledInput(Input):
    """Documents with labels or a number."""

    label: Annotated[str | None, column_option(
        "--label", metavar="NAME", help="Column of the class or labels.")] = None
    label_separator: Annotated[str | None, column_option(
        "--label-separator", metavar="TEXT", help="Separator of several labels in one field.")] = None
    target: Annotated[str | None, column_option(
        "--target", metavar="NAME", help="Column of the number to predict.")] = None


@dataclass(frozen=True)
class FullInput(DatedInput, LabelledInput):
    """Documents with everything that a column can hold."""


@dataclass(frozen=True)
class WordOptions:
    """Options for words that `fit` and `track` share."""

    stop_words: Annotated[str, words_option(
        "--stop-words", metavar="NAMES",
        help="Drop common words: english, english-long, german, fr, own.txt, english+own.txt, ... or none.",
    )] = "english"
    ngrams: Annotated[int, words_option(
        "--ngrams", min=1, max=9, metavar="N", help="Also count runs of up to N words as terms.")] = 1

    def word_settings(self) -> dict[str, Any]:
        """Parameters of the vectorizer. Files of stop words are read now, so that errors come first."""
        from bayou.data.stop_words import has_file
        from bayou.data.text import as_stop_words

        names: Any = None if self.stop_words.strip().lower() == "none" else self.stop_words
        if names is not None and has_file(names):
            names = sorted(as_stop_words(names) or ())
        return {"stop_words": names, "ngrams": (1, self.ngrams)}
# fmt: on
