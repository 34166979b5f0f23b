"""``bayou track``: dated texts in, alerts and a report of topics through time out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayou.cli import alerts, builtin, documents, interrupt, model_file, options, output, settings
from bayou.cli.columns import keep_names
from bayou.cli.messages import Messages
from bayou.cli.shell import INTERRUPTED, session_of
from bayou.cli.streams.track_run import TrackRun
from bayou.cli.terminal import echo
from bayou.cli.verbs.fit import check_parameters
from bayou.cli.verbs.report import load_report, write_track
from bayou.data.errors import DataError

if TYPE_CHECKING:
    from bayou.text_model import TextModel


# fmt: off
@dataclass(frozen=True)
class NewTracker(options.WordOptions):
    """Options of a tracker that starts; one that continues has them in its file."""

    slice_: Annotated[str, typer.Option(
        "--slice", metavar="TIME", help="day, week, month, quarter, '5 years', or a number of documents.",
    )] = "month"
    topics: Annotated[int, typer.Option(
        "--topics", "-k", min=1, metavar="N", help="Number of topics at the start.")] = 20
    settings: options.Settings = None
    min_df: Annotated[int, options.words_option(
        "--min-df", min=2, metavar="N", help="Add a word once N documents contain it.")] = 3
    max_terms: Annotated[int | None, options.words_option(
        "--max-terms", min=1, metavar="N", help="Size of the vocabulary.")] = 50_000
    seed: options.Seed = 0


@dataclass(frozen=True)
class TrackOutput(options.Alerts):
    """Output files and the end of the run."""

    report: Annotated[Path | None, typer.Option(
        "--report", metavar="FILE", help="Write a report, one HTML file.")] = None
    alerts: Annotated[str | None, typer.Option(
        "--alerts", metavar="FILE",
        help="Write alerts as JSON lines (with --from: append them); - is stdout.")] = None
    out: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="FILE", help="Save the model, to continue it later.")] = None
    begin: Annotated[Path | None, typer.Option(
        "--from", metavar="MODEL", help="Continue a saved tracker.")] = None
    keep_open: Annotated[bool, typer.Option(
        "--keep-open", help="Leave the last slice open for more documents.")] = False
    title: options.Title = None

    def check(self, file: str) -> None:
        """Refuse files that cannot be written, or that would overwrite each other."""
        checks = {"--report": output.check_page, "--output": output.check_model}
        written = {"--report": self.report, "--output": self.out, "--alerts": self.alerts}
        for flag, path in written.items():
            if path is not None and path != output.STDOUT:
                others = [other for name, other in written.items() if name != flag]
                before = [] if flag == "--output" else [self.begin]  # a model may be overwritten
                checks.get(flag, output.check_writable)(path, flag, [file, *before, *others])
        if self.alerts is not None:
            output.check_lines(self.alerts, "--alerts")
            output.check_alerts(self.alerts)
        if self.report is not None:
            load_report()
# fmt: on


@options.with_groups
def track(
    ctx: typer.Context,
    file: options.File,
    new: NewTracker,
    written: TrackOutput,
    input: options.DatedInput,
    run: options.Run,
) -> None:
    """Track topics through time and report significant changes.

    A file may be in any order. Standard input is read once, in order of arrival,
    and its documents are dropped after each slice, so it may be endless. Changes
    are printed when their slice ends.

    Example: bayou track news.jsonl --time date --slice week --report news.html

    builtin:news is a stream with planted events, for trials.
    """
    messages = run.messages()
    documents.check_there(file)
    written.check(file)
    hooks = alerts.hooks_of(written)
    model = _model(ctx, new, written.begin, run.threads)
    source = _source(file, input, model)
    job = TrackRun(model.estimator_, model.vectorizer_, written.alerts, hooks, messages)
    end = _learn(job, source, written.keep_open)
    _finish(job, source, written, messages)
    if end is not None and written.out is not None:
        messages.info(
            f"Stopped; continue with the documents after the first {job.n_docs:,} and --from {written.out}"
        )
    if isinstance(end, KeyboardInterrupt):
        raise typer.Exit(INTERRUPTED)
    if end is not None:
        raise end


def _learn(job: TrackRun, source: documents.Source, keep_open: bool) -> BaseException | None:
    """Learn from all documents; gives what ended it early, if what was learned can still be used."""
    end: BaseException | None = None
    try:
        with interrupt.sigterm_as_interrupt():
            if job.learn_all(source, keep_open):
                end = KeyboardInterrupt()
    except DataError as error:
        if not source.is_read_once:
            raise
        end = error  # the documents before it cannot be read again
    if end is not None and not hasattr(job.model, "state_"):
        raise end
    return end


def _model(
    ctx: typer.Context, new: NewTracker, begin: Path | None, threads: int | None
) -> TextModel:
    """The tracker of a file, or a new one with its vectorizer."""
    from bayou.data.text import Vectorizer
    from bayou.models.topic_tracker import TopicTracker
    from bayou.text_model import TextModel

    if begin is not None:
        return _load(ctx, begin, threads)
    flags = {
        name: settings.Flag(flag, getattr(new, field), settings.is_given(ctx, field))
        for name, flag, field in (
            ("n_topics", "--topics", "topics"),
            ("min_docs", "--min-df", "min_df"),
            ("max_terms", "--max-terms", "max_terms"),
        )
    }
    table = session_of(ctx).settings.get("track", {})
    given = settings.read(TopicTracker, new.settings or (), table, flags)
    tracker = TopicTracker(
        **given, slice_by=_width(new.slice_), random_state=new.seed, n_threads=threads
    )
    check_parameters(tracker)
    model = TextModel()
    model._keep(tracker, Vectorizer(**new.word_settings()))
    return model


def _load(ctx: typer.Context, path: Path, threads: int | None) -> TextModel:
    """The tracker of a file; options of a new one are refused."""
    from bayou.models.topic_tracker import TopicTracker

    flags = [f for name, f in options.flags_of(NewTracker).items() if settings.is_given(ctx, name)]
    if flags:
        raise typer.BadParameter(
            f"a saved tracker has its own settings; leave out {', '.join(flags)}",
            param_hint="--from",
        )
    found = model_file.load_text_model(path, threads)
    if not isinstance(found.estimator_, TopicTracker):
        raise typer.BadParameter(
            f"{path} is not a tracker; `bayou track -o` writes one", param_hint="--from"
        )
    return found


def _source(file: str, input: options.DatedInput, model: TextModel) -> documents.Source:
    """The documents; without a name for their dates the column is looked for if dates are needed."""
    from bayou.data.table import Columns

    tracker = model.estimator_
    is_dated = isinstance(tracker.slice_by, str)
    time = input.time if input.time is not None or is_dated else ""
    columns = Columns(input.text or "text", "", "", time, input.id)
    n_before = tracker._intake.arrived if hasattr(tracker, "_intake") else 0
    return input.source(file, columns, model)._replace(n_before=n_before)


def _width(text: str) -> int | str:
    """The width of a slice, from --slice."""
    from bayou.data.calendar import UNITS, parse_width

    width = int(text) if text.strip().isdigit() else text
    try:
        parse_width(width)
    except ValueError:
        raise typer.BadParameter(
            f"a slice is a number of documents, or a time such as {', '.join(UNITS)} or '5 years'; "
            f"got {text!r}",
            param_hint="--slice",
        ) from None
    return width


def _finish(
    job: TrackRun,
    source: documents.Source,
    written: TrackOutput,
    messages: Messages,
) -> None:
    """Print the topics, write the model and the report, and compare with planted events."""
    job.check_learned()
    if job.path != output.STDOUT:
        for line in alerts.topic_lines(job.model):
            echo(line)
    messages.info(job.summary())
    for warning in job.warnings():
        messages.info(warning)
    if written.out is not None:
        _as_text_model(job, source).save(written.out)
        messages.info(f"Saved to {written.out}")
    if written.report is not None:
        name = written.title or documents.title_of(source.path)
        write_track(written.report, job.model, job.quotes, title=name, messages=messages)
    if source.path == builtin.PREFIX + builtin.NEWS:
        for line in alerts.compare_with_events(job.model.alerts()):
            echo(line)


def _as_text_model(job: TrackRun, source: documents.Source) -> Any:
    from bayou.data.text import as_stop_words
    from bayou.text_model import TextModel

    model, vectorizer = TextModel(), job.vectorizer
    vectorizer.stop_words_ = as_stop_words(vectorizer.stop_words)
    if job.model.vocabulary_ is not None:
        vectorizer.vocabulary_ = job.model.vocabulary_
    model._keep(job.model, vectorizer)
    keep_names(model, source)
    return model
