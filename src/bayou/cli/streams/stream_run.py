"""One run of ``bayou stream``: source, sinks, model and loop."""

from __future__ import annotations

import contextlib
import gc
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bayou.cli import alerts, columns, model_file
from bayou.cli.messages import Messages
from bayou.cli.shell import as_flags
from bayou.cli.streams.learner import Learner
from bayou.cli.streams.stream_report import Reporter
from bayou.data.errors import DataError, ModelFileError, several

if TYPE_CHECKING:
    from bayou.cli.streams.stream_task import StreamTask
    from bayou.cli.streams.tracker_task import TrackerTask
    from bayou.cli.verbs.stream import StreamPlan
    from bayou.data.streams.addresses import SourceSettings
    from bayou.data.vocabulary_growth import Growth
    from bayou.run.hooks import Hook
    from bayou.run.ingest import Ingest, Policy
    from bayou.run.journal import CheckpointContents, Journal

_MOST_TERMS = 50_000


def run(plan: StreamPlan, messages: Messages, stopped: Callable[[], bool]) -> bool:
    """Run a stream; gives whether the source has ended."""
    from bayou.run.journal import Journal

    hooks = alerts.hooks_of(plan.alerts)
    journal = Journal(plan.state, plan.safety.keep, messages.info)
    try:
        kept = journal.newest()
        learner = _load(plan, kept)

        def task() -> StreamTask | TrackerTask:
            return _task(plan, learner, kept, hooks, messages)

        loop = _loop(plan, learner, task, journal, stopped)
        loop.gauges.values["alerts_total"] += journal.n_damaged
        done = _drive(plan, loop, kept, messages)
        if done is None:
            return False
        learner.model.save(plan.state / "model.bayou")
        n_before, is_over = done
        _report_end(plan, loop, n_before, is_over, messages)
        return is_over
    finally:
        journal.close()


def _drive(
    plan: StreamPlan, loop: Ingest, kept: CheckpointContents | None, messages: Messages
) -> tuple[int, bool] | None:
    """Run the loop; gives the documents of earlier runs and whether the source has ended.

    None if it was stopped before anything was read.
    """
    from bayou.data.streams import addresses
    from bayou.run.gauges import serving

    def warn(text: str) -> None:
        messages.info(text)
        loop.alert()

    addresses.share_retry_callbacks(loop.source, *loop.sinks, stopped=loop.stopped, told=warn)
    loop.source.remarks = warn
    metrics = plan.monitoring
    with serving(metrics.metrics_port, loop.gauges.text) as port, contextlib.ExitStack() as stack:
        if port is not None:
            messages.info(f"Metrics on http://127.0.0.1:{port}/metrics")
        stack.callback(_close, loop)
        loop.reported = Reporter(metrics.metrics, loop, messages).report
        try:
            loop.open(kept)
        except DataError:
            if not loop.stopped():
                raise
            messages.info("Stopped before anything was read")  # a server was away
            return None
        n_before = loop.n_docs
        if kept is not None:
            messages.info(f"Resuming after {n_before:,} documents")
        with _few_collections():
            return n_before, loop.run()


def _report_end(
    plan: StreamPlan, loop: Ingest, n_before: int, is_over: bool, messages: Messages
) -> None:
    """Print how a run ended; a stream without a single usable record is an error."""
    if is_over and loop.n_dead and not loop.n_docs:
        raise DataError(
            f"none of the {loop.n_dead:,} records could be used ({loop.why_dead}; more in "
            f"{plan.dead_letters}); correct that, remove {plan.state} and start again"
        )
    if is_over and loop.n_docs == n_before:
        new = "more " if n_before else ""
        messages.info(f"There were no {new}documents in {loop.source.name}; nothing was learned")
    if not is_over and (n := loop.n_waiting):
        messages.info(
            f"{several(n, 'document')} waited for a block of {loop.policy.block:,}: not learned, and read "
            "again when the stream resumes (a smaller --block learns sooner)"
        )
    messages.info(f"{'Done' if is_over else 'Stopped'}; the model is {plan.state / 'model.bayou'}")


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """Collect garbage seldom: documents make no cycles, and a collection visits all loaded objects."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _close(loop: Ingest) -> None:
    places: list[Any] = [loop.source, *loop.sinks]
    for place in places:
        with contextlib.suppress(AttributeError, OSError):  # not opened, or on a full disk
            place.close()


def _load(plan: StreamPlan, kept: CheckpointContents | None) -> Learner:
    """The model of the newest checkpoint, or the one that was given."""
    if kept is not None:
        from bayou.api.files import model_of

        first = kept.manifest.get("stream", {}).get("settings", {}).get("model")
        if first != _digest(plan.model):
            raise ModelFileError(
                f"the stream in {plan.state} was not started with {plan.model} as it is now; give the model "
                "it was started with, or another --state"
            )
        found = Learner(model_of(kept.arrays, kept.manifest, str(plan.state)))
        found.estimator.set_params(n_threads=plan.run.threads)
        return found
    learner = Learner(model_file.load_text_model(plan.model, plan.run.threads))
    if learner.is_tracker:
        return learner  # its vocabulary grows by its own rules
    learner.check_updatable(plan.model)
    learner.model.growth = None if plan.growing.closed else _growth(plan, learner)
    learner.model._open_again()  # so that the first checkpoint has it
    return learner


def _growth(plan: StreamPlan, learner: Learner) -> Growth:
    from bayou.data.vocabulary_growth import Growth

    model, given = learner.model, plan.growing.limits()
    own = asdict(model.growth) if model.growth is not None else {}
    size = plan.safety.block or learner.block_size
    usual = {
        "max_terms": max(_MOST_TERMS, 2 * len(model.vocabulary_)),
        "every": min(size, Growth.every, given.get("memory", size)),
    }
    return Growth(**{**usual, **own, **given})


def _loop(
    plan: StreamPlan,
    learner: Learner,
    task: Callable[[], StreamTask | TrackerTask],
    journal: Journal,
    stopped: Callable[[], bool],
) -> Ingest:
    """Source, sinks, model and loop, put together."""
    from bayou.data.streams import addresses
    from bayou.data.streams.sinks import JsonLines
    from bayou.run.ingest import Ingest, Policy

    safety, outputs, wanted = plan.safety, plan.outputs.out or [], _reading(plan)
    policy = Policy(
        safety.block or learner.block_size,
        plan.input.remember,
        safety.checkpoint_docs,
        safety.checkpoint_seconds,
        plan.monitoring.report_seconds,
    )
    source = addresses.open_source(plan.sources, wanted)
    sinks = [*map(addresses.open_sink, outputs), JsonLines(str(plan.dead_letters))]
    alert_sink = None if plan.alerts.alerts is None else addresses.open_sink(plan.alerts.alerts)
    names = [sink.name for sink in (*sinks, *([alert_sink] if alert_sink is not None else []))]
    settings = _settings(plan, policy, wanted, source.name, names)
    work = task().work(bool(outputs))
    work = work._replace(read=_with_flags(work.read))
    return Ingest(source, sinks, journal, work, policy, settings, stopped, alerts=alert_sink)


def _reading(plan: StreamPlan) -> SourceSettings:
    from bayou.data.records import check_options
    from bayou.data.streams.addresses import SourceSettings

    i = plan.input
    how = check_options(i.encoding_errors, i.max_line_bytes)
    return SourceSettings(i.format, plan.outputs.follow, i.key, i.group, i.overlap, how)


def _with_flags(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A reader whose errors name flags of the command line: they are written to the dead letters."""

    def read_record(record: Any) -> Any:
        try:
            return read(record)
        except DataError as error:
            raise DataError(as_flags(str(error))) from None

    return read_record


def _task(
    plan: StreamPlan,
    learner: Learner,
    kept: CheckpointContents | None,
    hooks: list[Hook],
    messages: Messages,
) -> StreamTask | TrackerTask:
    """The task of a stream: for a tracker, which needs dates, or for any other model."""
    from bayou.cli.streams.stream_task import StreamTask
    from bayou.cli.streams.tracker_task import TrackerTask

    input, top = plan.input, plan.outputs.top or None
    found = learner.columns(input.text, input.label, input.target)._replace(id=input.id)
    names = columns.field_names(learner.model, found, input.label_separator, input.text)
    if not learner.is_tracker:
        if input.time is not None or plan.alerts.alerts is not None or hooks:
            raise typer.BadParameter(
                f"{plan.model} is not a tracker and has no alerts; leave out --time, --alerts, --on-alert "
                "and --webhook, or make a tracker with `bayou track -o`",
                param_hint="MODEL",
            )
        return StreamTask(learner, names, top, messages.info)
    if plan.growing.closed or plan.growing.limits():
        raise typer.BadParameter(
            "a tracker manages its vocabulary itself; leave out --closed, --max-terms, --min-docs and "
            "--memory",
            param_hint="MODEL",
        )
    is_dated = isinstance(learner.estimator.slice_by, str)

    def send(alert: Any) -> None:
        messages.info(alerts.line(alert))
        alerts.call_hooks(alert.to_json(), hooks, messages)

    when = input.time if input.time is not None or is_dated else ""
    names = names._replace(columns=names.columns._replace(time=when))
    mark = {} if kept is None else kept.manifest.get("stream", {}).get("mark", {})
    return TrackerTask(learner.model, names, top, send, bool(mark.get("n_docs")))


def _settings(
    plan: StreamPlan, policy: Policy, wanted: SourceSettings, source: str, outputs: list[str]
) -> dict[str, Any]:
    """Settings that must be unchanged when the stream resumes."""
    return {
        "model": _digest(plan.model),
        "source": source,
        "output": outputs,
        "columns": plan.input.columns(),
        "label-separator": plan.input.label_separator,
        "top": plan.outputs.top or None,
        "block": policy.block,
        "remember": plan.input.remember,
        "closed": plan.growing.closed,
        "growth": plan.growing.limits(),
        "reading": [wanted.format, wanted.key, wanted.overlap, *wanted.options],
        "group": wanted.group,
    }


def _digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
