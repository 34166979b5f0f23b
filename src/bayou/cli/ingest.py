"""``bayou stream``: documents from anywhere, learned and answered for as long as they come."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from bayou.cli import documents, interrupt, options, output
from bayou.cli.shell import INTERRUPTED
from bayou.cli.voice import Voice

_WORDS, _SAFETY, _WATCH, _SOURCE = "Words", "Safety", "Watching", "Source"
_TOP = 3


def stream_(  # one parameter a flag; without the line it would hide the module of that name
    model: options.Model,
    source: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Files, a folder, - for stdin, redis://HOST/0#STREAM, or a database URL#TABLE.",
        ),
    ],
    out: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PLACE",
            help="Answers to a .jsonl file, - for stdout, redis://...#STREAM or URL#TABLE; repeatable.",
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option("--state", metavar="FOLDER", help="Where checkpoints are; else MODEL.stream."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="At the end, wait for more documents.")
    ] = False,
    top: Annotated[
        int,
        typer.Option("--top", min=0, metavar="N", help="Only the N largest shares; 0: all."),
    ] = _TOP,
    text: options.TextAgain = None,
    label: options.Label = None,
    label_separator: options.LabelSeparator = None,
    target: options.Target = None,
    time: options.Time = None,
    id: options.Id = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="jsonl, csv or tsv; else told by the name.",
            rich_help_panel="Reading",
        ),
    ] = None,
    encoding_errors: options.EncodingErrors = "strict",
    max_line_bytes: options.MaxLineBytes = documents.MAX_LINE,
    key: Annotated[
        str,
        typer.Option(
            "--key", metavar="NAME", help="Column that grows, of a table.", rich_help_panel=_SOURCE
        ),
    ] = "id",
    overlap: Annotated[
        int,
        typer.Option(
            "--overlap",
            min=0,
            metavar="N",
            help="Keys to look back for rows that came late.",
            rich_help_panel=_SOURCE,
        ),
    ] = 0,
    group: Annotated[
        str,
        typer.Option(
            "--group", metavar="NAME", help="Consumer group of Redis.", rich_help_panel=_SOURCE
        ),
    ] = "bayou",
    remember: Annotated[
        int,
        typer.Option(
            "--remember",
            min=0,
            metavar="N",
            help="Leave out documents whose id is one of the last N.",
            rich_help_panel=_SOURCE,
        ),
    ] = 0,
    closed: Annotated[
        bool,
        typer.Option("--closed", help="Keep the vocabulary as it is.", rich_help_panel=_WORDS),
    ] = False,
    max_terms: Annotated[
        int | None,
        typer.Option(
            "--max-terms",
            min=1,
            metavar="N",
            help="Most words to know at a time; else 50,000 or twice as many as there are.",
            rich_help_panel=_WORDS,
        ),
    ] = None,
    min_docs: Annotated[
        int | None,
        typer.Option(
            "--min-docs",
            min=1,
            metavar="N",
            help="Documents before a word is taken in; else 5.",
            rich_help_panel=_WORDS,
        ),
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(
            "--memory",
            min=1,
            metavar="N",
            help="Documents after which evidence of words is halved; else 100,000.",
            rich_help_panel=_WORDS,
        ),
    ] = None,
    block: Annotated[
        int | None,
        typer.Option(
            "--block",
            min=1,
            metavar="N",
            help="Documents learned together; else several mini-batches.",
            rich_help_panel=_SAFETY,
        ),
    ] = None,
    checkpoint_seconds: Annotated[
        float,
        typer.Option(
            "--checkpoint-seconds",
            min=0,
            metavar="SECONDS",
            help="Between two checkpoints; never changes the result.",
            rich_help_panel=_SAFETY,
        ),
    ] = 10.0,
    checkpoint_docs: Annotated[
        int | None,
        typer.Option(
            "--checkpoint-docs",
            min=1,
            metavar="N",
            help="A checkpoint after so many documents, too.",
            rich_help_panel=_SAFETY,
        ),
    ] = None,
    keep: Annotated[
        int,
        typer.Option(
            "--keep", min=1, metavar="N", help="Checkpoints to keep.", rich_help_panel=_SAFETY
        ),
    ] = 3,
    dead_letters: Annotated[
        Path | None,
        typer.Option(
            "--dead-letters",
            metavar="FILE",
            help="Records that cannot be used; else in the --state folder.",
            rich_help_panel=_SAFETY,
        ),
    ] = None,
    alerts: Annotated[
        str | None,
        typer.Option(
            "--alerts",
            metavar="PLACE",
            help="Alerts of a tracker, each once: as --output.",
            rich_help_panel="Telling",
        ),
    ] = None,
    on_alert: options.OnAlert = None,
    webhook: options.Webhook = None,
    metrics: Annotated[
        Path | None,
        typer.Option(
            "--metrics",
            metavar="FILE",
            help="Keep figures for Prometheus in this file.",
            rich_help_panel=_WATCH,
        ),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            "--metrics-port",
            min=0,
            max=65535,
            metavar="PORT",
            help="Also on http://127.0.0.1:PORT/metrics.",
            rich_help_panel=_WATCH,
        ),
    ] = None,
    report_seconds: Annotated[
        float,
        typer.Option(
            "--report-seconds",
            min=0.1,
            metavar="SECONDS",
            help="Between two lines of figures.",
            rich_help_panel=_WATCH,
        ),
    ] = 10.0,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Learn from a stream and answer it; killed at any moment, it goes on as if it had not been.

    MODEL is one of a stream, such as online-lda or online-med-lda, or a
    tracker, and stays as it is; what it becomes is in the --state folder. The
    same command once more goes on where the last one was. Words and labels
    that are new become the model's own.

    Example: bayou stream news.bayou mail.jsonl -f -o answers.jsonl
    """
    from bayou.cli.stream_run import Plan, run
    from bayou.cli.telling import hooks_of
    from bayou.data.records import check_options
    from bayou.data.streams.addresses import SourceSettings

    voice = Voice(quiet, verbose)
    state = model.with_suffix(".stream") if state is None else state
    if state.exists() and not state.is_dir():
        raise typer.BadParameter(f"{state} is a file; name a folder", param_hint="--state")
    output.check_writable(state / "x" if state.is_dir() else state, "--state")
    for flag, file in (("--metrics", metrics), ("--dead-letters", dead_letters)):
        if file is not None:
            output.check_writable(file, flag)
    dead = dead_letters or state / "dead-letters.jsonl"
    written: list[tuple[str, str | Path | None]] = [("--output", place) for place in out or []]
    written += [("--alerts", alerts), ("--metrics", metrics), ("--dead-letters", dead)]
    for i, (flag, place) in enumerate(written):
        if place is not None:
            others = [other for _, other in written[:i]]
            output.check_apart(place, [*source, model, *others], flag)
            if flag != "--metrics":
                output.check_lines(str(place), flag)
    given = {"max_terms": max_terms, "min_docs": min_docs, "memory": memory}
    growth = {name: n for name, n in given.items() if n is not None}
    if closed and growth:
        raise typer.BadParameter("--closed has no use for " + ", ".join(growth))
    plan = Plan(
        model, source, out or [], state, dead,
        {"text": text, "label": label, "target": target, "id": id}
        | ({} if time is None else {"time": time}), label_separator, top or None,
        block, remember, closed, growth,
        SourceSettings(format, follow, key, group, overlap, check_options(encoding_errors, max_line_bytes)),
        {"every_docs": checkpoint_docs, "every_seconds": checkpoint_seconds,
         "report_seconds": report_seconds}, keep, metrics, metrics_port, threads,
        alerts, hooks_of(on_alert, webhook),
    )  # fmt: skip
    with interrupt.Brake(voice) as brake, _terminated() as term:
        ended = run(plan, voice, lambda: brake.pressed or term.is_set())
    if not ended and brake.pressed:
        raise typer.Exit(INTERRUPTED)


@contextlib.contextmanager
def _terminated() -> Iterator[threading.Event]:
    """An event that SIGTERM sets."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: event.set())
    try:
        yield event
    finally:
        signal.signal(signal.SIGTERM, before)
