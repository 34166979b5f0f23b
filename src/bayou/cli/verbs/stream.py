"""``bayou stream``: learn from a stream and write predictions."""

from __future__ import annotations

import contextlib
import functools
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bayou.cli import interrupt, options, output
from bayou.cli.shell import INTERRUPTED

_source_option = functools.partial(typer.Option, rich_help_panel="Source")
_safety_option = functools.partial(typer.Option, rich_help_panel="Safety")
_monitoring_option = functools.partial(typer.Option, rich_help_panel="Monitoring")


# fmt: off
@dataclass(frozen=True)
class Outputs:
    """Places of the output."""

    out: Annotated[list[str] | None, typer.Option(
        "--output", "-o", metavar="PLACE",
        help="Predictions to a .jsonl file, - for stdout, redis://...#STREAM or URL#TABLE; "
        "repeatable.")] = None
    state: Annotated[Path | None, typer.Option(
        "--state", metavar="FOLDER", help="Folder of checkpoints. Default: MODEL.stream.")] = None
    follow: Annotated[bool, typer.Option(
        "--follow", "-f", help="At the end, wait for more documents.")] = False
    top: Annotated[int, typer.Option(
        "--top", min=0, metavar="N", help="Write only the N largest shares; 0: all.")] = 3


@dataclass(frozen=True)
class StreamInput(options.FullInput):
    """Source of records and options for reading them."""

    format: Annotated[str | None, options.reading_option(
        "--format", metavar="NAME", help="jsonl, csv or tsv. Default: by the file name.")] = None
    key: Annotated[str, _source_option(
        "--key", metavar="NAME", help="Column of a table that only grows.")] = "id"
    overlap: Annotated[int, _source_option(
        "--overlap", min=0, metavar="N", help="Keys to read again, for rows that were committed late.")] = 0
    group: Annotated[str, _source_option(
        "--group", metavar="NAME", help="Consumer group of Redis.")] = "bayou"
    remember: Annotated[int, _source_option(
        "--remember", min=0, metavar="N", help="Skip documents whose id is among the last N.")] = 0

    def columns(self) -> dict[str, str | None]:
        """Column names as given; the time only where it was."""
        names = {"text": self.text, "label": self.label, "target": self.target, "id": self.id}
        return names if self.time is None else {**names, "time": self.time}


@dataclass(frozen=True)
class Growing:
    """Growth of the vocabulary."""

    closed: Annotated[bool, options.words_option(
        "--closed", help="Do not change the vocabulary.")] = False
    max_terms: Annotated[int | None, options.words_option(
        "--max-terms", min=1, metavar="N",
        help="Size of the vocabulary. Default: 50,000, or twice the present size if larger.")] = None
    min_docs: Annotated[int | None, options.words_option(
        "--min-docs", min=1, metavar="N",
        help="Add a word once N documents contain it. Default: 5.")] = None
    memory: Annotated[int | None, options.words_option(
        "--memory", min=1, metavar="N",
        help="Halve the counts of candidate words every N documents. Default: 100,000.")] = None

    def limits(self) -> dict[str, int]:
        """The limits that were given."""
        limits = {"max_terms": self.max_terms, "min_docs": self.min_docs, "memory": self.memory}
        return {name: n for name, n in limits.items() if n is not None}


@dataclass(frozen=True)
class Safety:
    """When checkpoints are written, and where unusable records go."""

    block: Annotated[int | None, _safety_option(
        "--block", min=1, metavar="N",
        help="Documents learned together. Default: several mini-batches.")] = None
    checkpoint_seconds: Annotated[float, _safety_option(
        "--checkpoint-seconds", min=0, metavar="SECONDS",
        help="Time between checkpoints; does not change the result.")] = 10.0
    checkpoint_docs: Annotated[int | None, _safety_option(
        "--checkpoint-docs", min=1, metavar="N", help="Also write a checkpoint every N documents.")] = None
    keep: Annotated[int, _safety_option(
        "--keep", min=1, metavar="N", help="Number of checkpoints to keep.")] = 3
    dead_letters: Annotated[Path | None, _safety_option(
        "--dead-letters", metavar="FILE",
        help="File of records that cannot be used. Default: in the --state folder.")] = None


@dataclass(frozen=True)
class StreamAlerts(options.Alerts):
    """Places for alerts of a tracker."""

    alerts: Annotated[str | None, options.alert_option(
        "--alerts", metavar="PLACE", help="Write each alert of a tracker once; as --output.")] = None


@dataclass(frozen=True)
class Monitoring:
    """Metrics of the running stream."""

    metrics: Annotated[Path | None, _monitoring_option(
        "--metrics", metavar="FILE", help="Keep metrics for Prometheus in this file.")] = None
    metrics_port: Annotated[int | None, _monitoring_option(
        "--metrics-port", min=0, max=65535, metavar="PORT",
        help="Also serve metrics on http://127.0.0.1:PORT/metrics.")] = None
    report_seconds: Annotated[float, _monitoring_option(
        "--report-seconds", min=0.1, metavar="SECONDS", help="Time between two lines of metrics.")] = 10.0


@dataclass(frozen=True)
class StreamPlan:
    """All options of a stream."""

    model: options.Model
    sources: Annotated[list[str], typer.Argument(
        metavar="SOURCE...",
        help="Files, a folder, - for stdin, redis://HOST/0#STREAM, kafka://HOST:9092/TOPIC, or a "
        "database URL#TABLE.")]
    outputs: Outputs
    input: StreamInput
    growing: Growing
    safety: Safety
    alerts: StreamAlerts
    monitoring: Monitoring
    run: options.Run

    @property
    def state(self) -> Path:
        """The folder of checkpoints."""
        return self.outputs.state or self.model.with_suffix(".stream")

    @property
    def dead_letters(self) -> Path:
        """The file of records that cannot be used."""
        return self.safety.dead_letters or self.state / "dead-letters.jsonl"
# fmt: on


@options.with_groups
def stream(plan: StreamPlan) -> None:
    """Learn from a stream and write predictions. Resumes after a crash without losing data.

    MODEL is a streaming model, such as online-lda or online-med-lda, or a
    tracker. It is not changed: the new model is in the --state folder. The same
    command continues where the last one stopped. New words and labels are
    added to the model.

    Example: bayou stream news.bayou mail.jsonl -f -o predictions.jsonl
    """
    from bayou.cli.streams.stream_run import run

    messages = plan.run.messages()
    _check_places(plan)
    if plan.growing.closed and plan.growing.limits():
        flags = ", ".join("--" + name.replace("_", "-") for name in plan.growing.limits())
        raise typer.BadParameter(f"--closed cannot be combined with {flags}")
    with interrupt.Brake(messages) as brake, _on_sigterm() as term:
        is_over = run(plan, messages, lambda: brake.pressed or term.is_set())
    if not is_over and brake.pressed:
        raise typer.Exit(INTERRUPTED)


def _check_places(plan: StreamPlan) -> None:
    """Refuse files that cannot be written, or that would overwrite each other."""
    state, metrics = plan.state, plan.monitoring.metrics
    if state.exists() and not state.is_dir():
        raise typer.BadParameter(f"{state} is a file; name a folder", param_hint="--state")
    output.check_writable(state / "x" if state.is_dir() else state, "--state")
    for flag, file in (("--metrics", metrics), ("--dead-letters", plan.safety.dead_letters)):
        if file is not None:
            output.check_writable(file, flag)
    places: list[tuple[str, str | Path | None]] = [("--output", p) for p in plan.outputs.out or []]
    places += [("--alerts", plan.alerts.alerts), ("--metrics", metrics)]
    places += [("--dead-letters", plan.dead_letters)]
    for i, (flag, place) in enumerate(places):
        if place is not None:
            others = [other for _, other in places[:i]]
            output.check_apart(place, [*plan.sources, plan.model, *others], flag)
            if flag != "--metrics":
                output.check_lines(str(place), flag)


@contextlib.contextmanager
def _on_sigterm() -> Iterator[threading.Event]:
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
