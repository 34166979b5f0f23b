"""``bayou track``: dated texts in, alerts and a report of topics through time out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayou.cli import (
    builtin,
    documents,
    interrupt,
    model_file,
    options,
    output,
    remembered,
    settings,
    telling,
)
from bayou.cli.fit import check_parameters
from bayou.cli.report import available, write_track
from bayou.cli.shell import INTERRUPTED, session_of
from bayou.cli.voice import Voice
from bayou.data.errors import DataError, several

if TYPE_CHECKING:
    from bayou.text_model import TextModel

_WORDS = "Words"
_FIRST = {
    "slice_": "--slice", "topics": "--topics", "settings_": "--set", "seed": "--seed",
    "stop_words": "--stop-words", "min_df": "--min-df", "max_terms": "--max-terms",
}  # fmt: skip


def track(  # one parameter a flag
    ctx: typer.Context,
    file: options.File,
    slice_: Annotated[
        str,
        typer.Option("--slice", metavar="TIME", help="day, week, month, quarter, '5 years', or documents."),
    ] = "month",
    topics: Annotated[
        int, typer.Option("--topics", "-k", min=1, metavar="N", help="How many topics to begin with.")
    ] = 20,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a report, one HTML file.")
    ] = None,
    alerts: Annotated[
        str | None,
        typer.Option("--alerts", metavar="FILE", help="Write (--from: add) JSON lines; - is stdout."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Save the model, to go on later."),
    ] = None,
    begin: Annotated[
        Path | None, typer.Option("--from", metavar="MODEL", help="Go on from a model that was saved.")
    ] = None,
    keep_open: Annotated[
        bool, typer.Option("--keep-open", help="Leave the last slice open for more documents.")
    ] = False,
    on_alert: options.OnAlert = None,
    webhook: options.Webhook = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="What the report is called.")
    ] = None,
    settings_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the tracker; may be repeated."),
    ] = None,
    stop_words: Annotated[
        str,
        typer.Option(
            "--stop-words", metavar="LANG", help="Leave out common words: english, german, ... or none.",
            rich_help_panel=_WORDS,
        ),
    ] = "english",
    min_df: Annotated[
        int,
        typer.Option(
            "--min-df", min=2, metavar="N", help="A word counts once so many documents have had it.",
            rich_help_panel=_WORDS,
        ),
    ] = 3,
    max_terms: Annotated[
        int | None,
        typer.Option(
            "--max-terms", min=1, metavar="N", help="Keep so many words at most.",
            rich_help_panel=_WORDS,
        ),
    ] = 50_000,
    text: options.TextAgain = None,
    time: options.Time = None,
    id: options.Id = None,
    format: options.Format = None,
    encoding_errors: options.EncodingErrors = "strict",
    max_line_bytes: options.MaxLineBytes = documents.MAX_LINE,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:  # fmt: skip
    """Follow topics through time and tell what changes.

    A file may be in any order. Standard input is read once, as it comes, and
    forgotten slice by slice, so it need never end. Every change is printed as
    its slice ends.

    Example: bayou track news.jsonl --time date --slice week --report news.html

    Without a file at hand, builtin:news is a stream with planted events.
    """
    from bayou.data.table import Columns
    from bayou.data.text import Vectorizer
    from bayou.text_model import TextModel

    voice, session = Voice(quiet, verbose), session_of(ctx)
    documents.check_there(file)
    written = {"--report": report, "--output": out, "--alerts": alerts}
    for flag, path in written.items():
        if path is not None and path != output.STDOUT:
            others = [other for name, other in written.items() if name != flag]
            before = (
                [] if flag == "--output" else [begin]
            )  # which may take the place of the old one
            check = {"--report": output.check_page, "--output": output.check_model}
            check.get(flag, output.check_writable)(path, flag, [file, *before, *others])
    if alerts is not None:
        output.check_lines(alerts, "--alerts")
        output.check_alerts(alerts)
    if report is not None:
        available()
    hooks = telling.hooks_of(on_alert, webhook)
    if begin is not None:
        _check_unsaid(ctx)
        before = _loaded(begin, threads)
        model, vectorizer = before.estimator_, before.vectorizer_
    else:
        before = TextModel()
        flags = {
            "n_topics": settings.Flag("--topics", topics, settings.said(ctx, "topics")),
            "min_docs": settings.Flag("--min-df", min_df, settings.said(ctx, "min_df")),
            "max_terms": settings.Flag("--max-terms", max_terms, settings.said(ctx, "max_terms")),
        }
        table = session.settings.get("track", {})
        given = settings.read(_kind(), settings_ or (), table, flags)
        how = {"slice_by": _width(slice_), "random_state": seed, "n_threads": threads}
        model = _kind()(**given, **how)
        check_parameters(model)
        vectorizer = Vectorizer(stop_words=None if stop_words.lower() == "none" else stop_words)
    dated = isinstance(model.slice_by, str)
    columns = Columns(text or "text", "", "", time if time is not None or dated else "", id)
    source = documents.Source(file, columns, format, encoding_errors, max_line_bytes)
    n_before = model._intake.arrived if hasattr(model, "_intake") else 0
    source = remembered.beside(before, source, text)._replace(n_before=n_before)
    teller = telling.Teller(model, vectorizer, alerts, hooks, voice)
    end: BaseException | None = None
    try:
        with interrupt.termed():
            if teller.follow(source, keep_open):
                end = KeyboardInterrupt()
    except DataError as error:
        if not source.once:
            raise
        end = error  # what came before it cannot be brought again
    if end is not None and not hasattr(model, "state_"):
        raise end
    _leave(teller, source, report, out, title, voice)
    if end is not None and out is not None:
        voice.say(f"Stopped; documents behind the first {teller.n_docs:,} go on with --from {out}")
    if isinstance(end, KeyboardInterrupt):
        raise typer.Exit(INTERRUPTED)
    if end is not None:
        raise end


def _check_unsaid(ctx: typer.Context) -> None:
    """Refuse what belongs to a tracker that begins where one goes on."""
    said = [flag for name, flag in _FIRST.items() if settings.said(ctx, name)]
    if said:
        raise typer.BadParameter(
            f"a tracker from a file has its own {', '.join(said)}; leave "
            f"{'it' if len(said) == 1 else 'them'} out",
            param_hint="--from",
        )


def _kind() -> Any:
    from bayou.models.topic_tracker import TopicTracker

    return TopicTracker


def _width(text: str) -> int | str:
    """What --slice says, as the tracker has it."""
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


def _loaded(path: Path, threads: int | None) -> TextModel:
    found = model_file.load_text_model(path, threads)
    if not isinstance(found.estimator_, _kind()):
        raise typer.BadParameter(
            f"{path} is not a tracker; `bayou track -o` writes one", param_hint="--from"
        )
    return found


def _leave(
    teller: telling.Teller,
    source: documents.Source,
    report: Path | None,
    out: Path | None,
    title: str | None,
    voice: Voice,
) -> None:
    """Say what was learned, write what was asked for, and judge a stream whose truth is known."""
    model = teller.model
    if not hasattr(model, "state_"):
        if not teller.n_docs or not hasattr(model, "_intake"):
            raise DataError(
                f"there are no words in {several(teller.n_docs, 'document')}; name the right column "
                "with --text, or give --stop-words none"
            )
        raise DataError(
            f"no slice is over after {several(teller.n_docs, 'document')}; give more documents, a "
            "shorter --slice, or a smaller --min-df"
        )
    if teller.path != output.STDOUT:
        for line in telling.topics_of(model):
            typer.echo(line)
    voice.say(teller.account())
    for doubt in teller.doubts():
        voice.say(doubt)
    if out is not None:
        _text_model(teller, source).save(out)
        voice.say(f"Saved to {out}")
    if report is not None:
        name = title or documents.title_of(source.path)
        write_track(report, model, teller.kept, title=name, voice=voice)
    if source.path == builtin.PREFIX + builtin.NEWS:
        for line in telling.judged(model.alerts()):
            typer.echo(line)


def _text_model(teller: telling.Teller, source: documents.Source) -> Any:
    from bayou.data.text import as_stop_words
    from bayou.text_model import TextModel

    model, vectorizer = TextModel(), teller.vectorizer
    vectorizer.stop_words_ = as_stop_words(vectorizer.stop_words)
    if teller.model.vocabulary_ is not None:
        vectorizer.vocabulary_ = teller.model.vocabulary_
    model._keep(teller.model, vectorizer)
    remembered.keep(model, source)
    return model
