"""One run of ``bayou stream``: source, sinks, model and loop, put together."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from bayou.cli import model_file, remembered, stream
from bayou.cli.shell import as_flags
from bayou.cli.telling import pass_on, told
from bayou.cli.voice import Voice
from bayou.data.errors import DataError, ModelFileError, several

if TYPE_CHECKING:
    from bayou.cli.streaming import Task
    from bayou.cli.watching import Watch
    from bayou.data.streams.addresses import SourceSettings
    from bayou.data.vocabulary_growth import Growth
    from bayou.run.hooks import Hook
    from bayou.run.ingest import Ingest, Policy
    from bayou.run.journal import CheckpointContents, Journal
    from bayou.text_model import TextModel

_MOST_TERMS = 50_000
_UNKNOWN = 0.5  # share of words from which somebody should have a look


class Plan(NamedTuple):
    """A stream as the command line has it."""

    model: Path
    sources: list[str]
    outputs: list[str]
    state: Path
    dead_letters: Path
    columns: dict[str, str | None]  # text, label, target, id; time where it was given
    separator: str | None
    top: int | None
    block: int | None
    remember: int
    closed: bool
    growth: dict[str, int]  # what was given
    wanted: SourceSettings
    policy: dict[str, Any]  # checkpoints
    keep: int
    metrics: Path | None
    port: int | None
    threads: int | None
    alerts: str | None
    hooks: list[Hook]


def run(plan: Plan, voice: Voice, stopped: Callable[[], bool]) -> bool:
    """The whole of a stream; gives whether the source has ended."""
    from bayou.data.streams import addresses
    from bayou.run.gauges import serving
    from bayou.run.journal import Journal

    journal = Journal(plan.state, plan.keep, voice.say)
    try:
        kept = journal.newest()
        learner = _learner(plan, kept)
        loop = _made(plan, learner, journal, kept, stopped, voice)

        def told(remark: str) -> None:
            voice.say(remark)
            loop.alert()

        addresses.share_retry_callbacks(loop.source, *loop.sinks, stopped=stopped, told=told)
        loop.source.remarks = told
        loop.gauges.values["alerts_total"] += journal.n_damaged
        with serving(plan.port, loop.gauges.text) as port, contextlib.ExitStack() as stack:
            if port is not None:
                voice.say(f"Figures on http://127.0.0.1:{port}/metrics")
            stack.callback(_closed, loop)
            reporter = _Reporter(plan, loop, voice)
            loop.reported = reporter.report
            try:
                loop.open(kept)
            except DataError:
                if not stopped():
                    raise
                voice.say("Stopped before anything was read")  # a server was away
                return False
            first = loop.n_docs
            if kept is not None:
                voice.say(f"Going on after {first:,} documents")
            with _few_collections():
                ended = loop.run()
        learner.save(plan.state / "model.bayou")
        if ended and loop.n_dead and not loop.n_docs:
            raise DataError(
                f"none of the {loop.n_dead:,} records could be used ({loop.why_dead}; more in "
                f"{plan.dead_letters}); mend that, and begin again without {plan.state}"
            )
        if ended and loop.n_docs == first:
            new = "more " if first else ""
            voice.say(f"There were no {new}documents in {loop.source.name}; nothing was learned")
        if not ended and (n := loop.n_waiting):
            voice.say(
                f"{several(n, 'document')} waited for a block of {loop.policy.block:,} to be full: not "
                "learned, and read again when the stream goes on (a smaller --block learns sooner)"
            )
        voice.say(f"{'Done' if ended else 'Stopped'}; the model is {plan.state / 'model.bayou'}")
        return ended
    finally:
        journal.close()


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """Look for cycles seldom: documents make none, and every look goes over all that is loaded."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _closed(loop: Ingest) -> None:
    places: list[Any] = [loop.source, *loop.sinks]
    for place in places:
        with contextlib.suppress(AttributeError, OSError):  # not opened, or on a full disk
            place.close()


class _Reporter:
    """Says how a stream is doing, and what somebody should have a look at."""

    def __init__(self, plan: Plan, loop: Ingest, voice: Voice) -> None:
        self._metrics, self._loop, self._voice = plan.metrics, loop, voice
        self._late = self._undated = 0.0
        self._n_docs = -1.0  # at the last time

    def report(self) -> None:
        gauges = self._loop.gauges
        before, self._n_docs = self._n_docs, gauges.values["documents_total"]
        if gauges.values["unknown_share"] > _UNKNOWN and self._n_docs != before:
            self._remark(
                "Most words of the latest documents are unknown; is this the stream of the model?"
            )
        late, self._late = self._late, gauges.values["late_total"]
        if self._late > late:
            self._remark(
                f"{several(int(self._late - late), 'document')} came late: slices of their time were over, "
                "as later documents had come before"
            )
        undated, self._undated = self._undated, gauges.values["undated_total"]
        if self._undated > undated:
            n = several(self._undated - undated, "document")
            self._voice.say(f"{n} without a date counted to the time of the one before")
        self._voice.say(gauges.line())
        if self._metrics is not None:
            try:
                gauges.write(self._metrics)
            except OSError as error:  # no reason to end what is being measured
                reason = (error.strerror or str(error)).lower()
                self._remark(f"{self._metrics} could not be written: {reason}")

    def _remark(self, text: str) -> None:
        self._voice.say(text)
        self._loop.alert()


def _learner(plan: Plan, kept: CheckpointContents | None) -> TextModel:
    """The model of the newest checkpoint, or the one that was given."""
    if kept is not None:
        from bayou.api.files import model_of
        from bayou.cli.streaming import digest_of

        begun = kept.manifest.get("stream", {}).get("settings", {}).get("model")
        if begun != digest_of(plan.model):
            raise ModelFileError(
                f"the stream in {plan.state} was not begun with {plan.model} as it is now; give the model it "
                "was begun with, or another --state"
            )
        learner: TextModel = model_of(kept.arrays, kept.manifest, str(plan.state))
        learner.estimator_.set_params(n_threads=plan.threads)
        return learner
    learner = model_file.load_text_model(plan.model, plan.threads)
    if stream.is_tracker(learner.estimator_):
        return learner  # it finds its own words
    stream.check_able(learner, plan.model)
    learner.growth = None if plan.closed else _growth(plan, learner)
    learner._open_again()  # so that the first checkpoint knows of it
    return learner


def _growth(plan: Plan, learner: TextModel) -> Growth:
    from bayou.data.vocabulary_growth import Growth

    own = asdict(learner.growth) if learner.growth is not None else {}
    size = plan.block or stream.size_of(learner)
    usual = {
        "max_terms": max(_MOST_TERMS, 2 * len(learner.vocabulary_)),
        "every": min(size, Growth.every, plan.growth.get("memory", size)),
    }
    return Growth(**{**usual, **own, **plan.growth})


def _made(
    plan: Plan,
    learner: TextModel,
    journal: Journal,
    kept: CheckpointContents | None,
    stopped: Callable[[], bool],
    voice: Voice,
) -> Ingest:
    """Source, sinks, model and loop, put together."""
    from bayou.data.streams import addresses
    from bayou.data.streams.sinks import JsonLines
    from bayou.run.ingest import Ingest, Policy

    policy = Policy(plan.block or stream.size_of(learner), plan.remember, **plan.policy)
    source = addresses.open_source(plan.sources, plan.wanted)
    sinks = [*map(addresses.open_sink, plan.outputs), JsonLines(str(plan.dead_letters))]
    told = None if plan.alerts is None else addresses.open_sink(plan.alerts)
    names = [sink.name for sink in (*sinks, *([told] if told is not None else []))]
    settings = _settings(plan, policy, source.name, names)
    begun = kept is not None and bool(kept.manifest.get("stream", {}).get("mark", {}).get("n_docs"))
    work = _task(plan, learner, begun, voice).work(bool(plan.outputs))
    work = work._replace(read=_in_flags(work.read))
    return Ingest(source, sinks, journal, work, policy, settings, stopped, alerts=told)


def _in_flags(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Errors about records in the words of the command line: they stand among the dead letters."""

    def worded(record: Any) -> Any:
        try:
            return read(record)
        except DataError as error:
            raise DataError(as_flags(str(error))) from None

    return worded


def _task(plan: Plan, learner: TextModel, begun: bool, voice: Voice) -> Task | Watch:
    """What is done with documents: by a tracker, which needs their times, or by any other model."""
    from bayou.cli.streaming import Task
    from bayou.cli.watching import Watch

    text, label, target, id_ = (plan.columns[name] for name in ("text", "label", "target", "id"))
    time = plan.columns.get("time")
    columns = stream.columns_of(learner, text, label, target)._replace(id=id_)
    names = remembered.asked(learner, columns, plan.separator, text)
    if not stream.is_tracker(learner.estimator_):
        if time is not None or plan.alerts is not None or plan.hooks:
            raise typer.BadParameter(
                f"{plan.model} has no slices of time and no alerts of topics; leave out --time, --alerts, "
                "--on-alert and --webhook, or make a tracker with `bayou track -o`",
                param_hint="MODEL",
            )
        return Task(learner, names, plan.top, voice.say)
    if plan.closed or plan.growth:
        raise typer.BadParameter(
            "a tracker keeps account of its own words, as it was made to; leave out --closed, --max-terms, "
            "--min-docs and --memory",
            param_hint="MODEL",
        )
    dated = isinstance(learner.estimator_.slice_by, str)

    def tell(alert: Any) -> None:
        voice.say(told(alert))
        pass_on(alert.to_json(), plan.hooks, voice)

    when = time if time is not None or dated else ""
    names = names._replace(columns=names.columns._replace(time=when))
    return Watch(learner, names, plan.top, tell, begun)


def _settings(plan: Plan, policy: Policy, source: str, outputs: list[str]) -> dict[str, Any]:
    """What must be the same when the stream goes on."""
    from bayou.cli.streaming import digest_of

    w = plan.wanted
    return {
        "model": digest_of(plan.model),
        "source": source,
        "output": outputs,
        "columns": plan.columns,
        "label-separator": plan.separator,
        "top": plan.top,
        "block": policy.block,
        "remember": plan.remember,
        "closed": plan.closed,
        "growth": plan.growth,
        "reading": [w.format, w.key, w.overlap, *w.options],
        "group": w.group,
    }
