"""Fault-tolerant ingestion of a stream: every document is learned, predicted and counted exactly once.

Documents are cut into blocks by their number alone. The prediction for a document is made at once, by the
model as it was before the block. A block is learned when it is full. At the end of a block, a *mark* records
the positions of the source and the sinks. A checkpoint is the model and the last mark in one file. It can be
written at any time without affecting the results. To resume, the loop loads the model, rewinds the source,
truncates the sinks, and processes the same documents again.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data.errors import DataError
from bayou.data.streams.items import Item, Recent, Source, format_record
from bayou.data.streams.sinks import Sink
from bayou.run.gauges import Gauges
from bayou.run.journal import Arrays, CheckpointContents, Journal
from bayou.run.stream_position import StreamPosition, position_of

_WAIT = 0.25  # seconds that one read waits for records
_ALL_DEAD = (
    100  # unusable records at the start of a stream after which it is aborted: wrong settings
)
_SEEN, _RECENT = "stream/source", "stream/recent"

U64 = NDArray[np.uint64]
Row = dict[str, Any]


class IngestWork(NamedTuple):
    """The operations on documents; the loop itself is independent of any model."""

    read: Callable[[dict[str, Any]], tuple[Any, Any]]  # record -> id (None without one), document
    answer: Callable[[Sequence[Any]], list[Row]] | None
    learn: Callable[[Sequence[Any]], Sequence[Row] | None]  # returns alerts, if any
    contents: Callable[[], tuple[Arrays, dict[str, Any]]]
    figures: Callable[
        [Sequence[Any]], Mapping[str, float]
    ]  # of the documents that wait for a block


class Policy(NamedTuple):
    """Settings of the loop; only ``block`` and ``remember`` change the results."""

    block: int  # documents that are learned together
    remember: int = 0  # number of recent ids that are kept to detect duplicates
    every_docs: int | None = None  # documents between checkpoints, rounded up to whole blocks
    every_seconds: float | None = 10.0
    report_seconds: float = 10.0


@dataclass
class Ingest:
    """One run of a stream: call `open`, then `run`."""

    source: Source
    sinks: list[Sink]  # the last one receives the dead letters
    journal: Journal
    work: IngestWork
    policy: Policy
    settings: dict[str, Any]
    stopped: Callable[[], bool] = lambda: False
    reported: Callable[[], None] = lambda: None
    alerts: Sink | None = None
    gauges: Gauges = field(init=False)

    def __post_init__(self) -> None:
        self.gauges = Gauges(self.source.unit)
        *self._answers, dead = self.sinks
        self.sinks = [*self._answers, *([self.alerts] if self.alerts is not None else []), dead]
        self._block: list[Any] = []
        self.why_dead = ""  # the last unusable record, and the reason

    # -- opening -------------------------------------------------------------------------------

    def open(self, kept: CheckpointContents | None) -> None:
        """Resume from a checkpoint; without one, write the first checkpoint."""
        none: U64 = np.zeros(0, np.uint64)
        mark = StreamPosition(None, 0, 0, 0, 0, [None] * len(self.sinks))
        seen, recent = none, none
        if kept is not None:
            mark = position_of(kept.manifest, self.settings, len(self.sinks))
            seen, recent = kept.arrays.get(_SEEN, none), kept.arrays.get(_RECENT, none)
        self.source.begin(mark.position, seen)
        for sink, position in zip(self.sinks, mark.outputs, strict=True):
            sink.begin(position)
        self._recent = Recent(self.policy.remember, recent)
        self._n_docs, self._n_dead, self._n_repeated = mark.n_docs, mark.n_dead, mark.n_repeated
        self.gauges.begin(self._n_docs)
        self._mark = self._saved = self._here()
        self._saved_at = self._reported_at = time.monotonic()
        if kept is None:
            self._commit()  # from now on, rows can be matched to this stream

    def _here(self) -> StreamPosition:
        self._recent.trim()
        outputs: list[int | None] = [sink.position() for sink in self.sinks]
        return StreamPosition(
            self.source.position(),
            self._n_docs,
            self._n_dead,
            self._n_repeated,
            len(self._recent),
            outputs,
        )

    # -- the loop ------------------------------------------------------------------------------

    def run(self) -> bool:
        """Process records until the source ends or the user stops; return whether the source ended."""
        while not self.stopped():
            n_free = self.policy.block - len(self._block)
            try:
                items = self.source.read(n_free, _WAIT)
            except DataError:
                if self.stopped():
                    break  # stopped while a server was unavailable
                raise
            self._take(items)
            if len(self._block) == self.policy.block or (self.source.ended and self._has_news()):
                self._learn()
            if self.source.ended:
                break
            self._commit_if_due()
            self._report_if_due()
        if self._mark != self._saved:
            self._commit()
        if self.source.ended:
            self._acknowledge(self._saved.position)
        self._report()
        return self.source.ended

    @property
    def n_dead(self) -> int:
        """Number of unusable records so far."""
        return self._n_dead

    @property
    def n_docs(self) -> int:
        """Number of documents so far, over all runs."""
        return self._n_docs

    @property
    def n_waiting(self) -> int:
        """Number of documents that are read but not learned yet, because their block is not full."""
        return len(self._block)

    def _has_news(self) -> bool:
        """Whether anything arrived since the last mark."""
        return bool(self._block) or self._here() != self._mark

    def _take(self, items: Sequence[Item]) -> None:
        fresh: list[tuple[int, Any, Any]] = []
        dead: list[Row] = []
        for item in items:
            try:
                id_, document = self._accept(item)
            except DataError as error:
                self._n_dead += 1
                self.why_dead = f"{item.where}: {error}"
                row = {"n": self._n_dead, "id": item.where, "reason": str(error)}
                dead.append(row | {"record": format_record(item)})
                if not self._n_docs and self._n_dead >= _ALL_DEAD:
                    break
                continue
            if id_ is not None and not self._recent.is_new(id_):
                self._n_repeated += 1
                continue
            self._n_docs += 1
            fresh.append((self._n_docs, self._n_docs if id_ is None else id_, document))
        self._write_dead_letters(dead)
        if not fresh:
            return
        documents = [document for _, _, document in fresh]
        if self.work.answer is not None:
            said = self.work.answer(documents)
            rows = [{"n": n, "id": id_} | row for (n, id_, _), row in zip(fresh, said, strict=True)]
            for sink in self._answers:
                sink.write(rows)
        self._block.extend(documents)

    def _accept(self, item: Item) -> tuple[Any, Any]:
        if item.record is None:
            raise DataError(item.reason)
        return self.work.read(item.record)

    def _write_dead_letters(self, dead: list[Row]) -> None:
        if not dead:
            return
        self.sinks[-1].write(dead)
        if not self._n_docs and self._n_dead >= _ALL_DEAD:
            self.sinks[-1].sync()
            raise DataError(
                f"the first {self._n_dead} records are all unusable ({self.why_dead}; more in "
                f"{self.sinks[-1].name}); correct that, and start again without {self.journal.folder}"
            )

    def _learn(self) -> None:
        if self._block:
            alerts = self.work.learn(self._block) or ()
            if alerts and self.alerts is not None:
                self.alerts.write(alerts)
            self.gauges.values["alerts_total"] += len(alerts)
            self._block = []
        self._mark = self._here()

    # -- checkpoints ---------------------------------------------------------------------------

    def _commit_if_due(self) -> None:
        if self._mark == self._saved:
            return
        p, now = self.policy, time.monotonic()
        n = self._mark.n_docs - self._saved.n_docs
        by_count = p.every_docs is not None and n >= p.every_docs
        by_time = p.every_seconds is not None and now - self._saved_at >= p.every_seconds
        if by_count or by_time:
            self._commit()

    def _commit(self) -> None:
        """Sync the sinks, write the model and the mark to one file, then acknowledge the source."""
        mark = self._mark
        for sink in self.sinks:
            sink.sync()
        arrays, manifest = self.work.contents()
        position = mark.position or {}
        arrays[_SEEN] = self.source.memory(position)
        arrays[_RECENT] = self._recent.array(mark.n_recent)
        manifest["stream"] = {"settings": self.settings, "mark": mark._asdict()}
        self.journal.write(arrays, manifest)
        self._saved, self._saved_at = mark, time.monotonic()
        self.gauges.count_checkpoint()
        oldest = self.journal.oldest_manifest().get("stream", {}).get("mark", {}).get("position")
        self._acknowledge(oldest)

    def _acknowledge(self, position: dict[str, Any] | None) -> None:
        """Acknowledge records at the source; a failure is repaired by the next checkpoint."""
        if position:
            with contextlib.suppress(DataError):
                self.source.acknowledge(position)

    # -- metrics -------------------------------------------------------------------------------

    def alert(self) -> None:
        """Count an alert."""
        self.gauges.values["alerts_total"] += 1

    def _report_if_due(self) -> None:
        if time.monotonic() - self._reported_at >= self.policy.report_seconds:
            self._report()

    def _report(self) -> None:
        self._reported_at = time.monotonic()
        lag = None
        with contextlib.suppress(DataError):  # the server is unavailable
            lag = self.source.lag()
        self.gauges.values |= {
            "documents_total": float(self._n_docs),
            "dead_letters_total": float(self._n_dead),
            "repeated_total": float(self._n_repeated),
            "lag": math.nan if lag is None else float(lag),
            "waiting": float(len(self._block)),
            "block": float(self.policy.block),
        }
        self.gauges.values |= self.work.figures(self._block)
        self.gauges.update_rates()
        self.reported()
