"""A stream that survives anything: documents are learned, answered and accounted for exactly once.

Documents are cut into blocks by their number alone. The answer to a document comes from the model as it was
before its block, at once; a block is learned when it is full. At the end of a block there is a *mark*: where
the source is, where the sinks are. A checkpoint is the model and the last mark in one file, so it can be
written at any time without changing anything. Who begins again takes the model, goes back in the source, cuts
the sinks back, and does the same once more.
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

_WAIT = 0.25  # seconds after which a source without records lets others have a look
_ALL_DEAD = (
    100  # records at the beginning that are all unusable: the command is wrong, not the data
)
_SEEN, _RECENT = "stream/source", "stream/recent"

U64 = NDArray[np.uint64]
Row = dict[str, Any]


class IngestWork(NamedTuple):
    """What is done with documents; the loop knows no model."""

    read: Callable[[dict[str, Any]], tuple[Any, Any]]  # record -> id (None: it has none), document
    answer: Callable[[Sequence[Any]], list[Row]] | None
    learn: Callable[[Sequence[Any]], Sequence[Row] | None]  # gives alerts, if it has any
    contents: Callable[[], tuple[Arrays, dict[str, Any]]]
    figures: Callable[[Sequence[Any]], Mapping[str, float]]  # given documents that wait for a block


class Policy(NamedTuple):
    """How the loop goes about it; only ``block`` and ``remember`` change what comes out."""

    block: int  # documents that are learned together
    remember: int = 0  # documents whose ids are kept, to know one that comes twice
    every_docs: int | None = None  # a checkpoint after so many, in whole blocks
    every_seconds: float | None = 10.0
    report_seconds: float = 10.0


@dataclass
class Ingest:
    """One run of a stream; `open` it, then `run` it."""

    source: Source
    sinks: list[Sink]  # the last one takes the dead letters
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
        self.why_dead = ""  # the last record that could not be used, and why

    # -- beginning -----------------------------------------------------------------------------

    def open(self, kept: CheckpointContents | None) -> None:
        """Go to where a checkpoint was made; without one, make the first."""
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
            self._commit()  # rows that are written from now on can be told from another stream's

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

    # -- going on ------------------------------------------------------------------------------

    def run(self) -> bool:
        """Take records until the source ends or somebody says stop; gives whether it has ended."""
        while not self.stopped():
            room = self.policy.block - len(self._block)
            try:
                items = self.source.read(room, _WAIT)
            except DataError:
                if self.stopped():
                    break  # while a server was away
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
        """Records that could not be used so far."""
        return self._n_dead

    @property
    def n_docs(self) -> int:
        """Documents so far, over all runs."""
        return self._n_docs

    @property
    def n_waiting(self) -> int:
        """Documents that are read and not learned yet: their block is not full."""
        return len(self._block)

    def _has_news(self) -> bool:
        """Whether anything came since the last mark."""
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
        self._bury(dead)
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

    def _bury(self, dead: list[Row]) -> None:
        if not dead:
            return
        self.sinks[-1].write(dead)
        if not self._n_docs and self._n_dead >= _ALL_DEAD:
            self.sinks[-1].sync()
            raise DataError(
                f"the first {self._n_dead} records are all unusable ({self.why_dead}; more in "
                f"{self.sinks[-1].name}); mend that, and begin again without {self.journal.folder}"
            )

    def _learn(self) -> None:
        if self._block:
            told = self.work.learn(self._block) or ()
            if told and self.alerts is not None:
                self.alerts.write(told)
            self.gauges.values["alerts_total"] += len(told)
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
        """Rows onto the disk, then the model and the mark in one file; then the source may forget."""
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
        """Tell the source; what it does not hear it is told with the next checkpoint."""
        if position:
            with contextlib.suppress(DataError):
                self.source.acknowledge(position)

    # -- figures -------------------------------------------------------------------------------

    def alert(self) -> None:
        """Count something that somebody should look at."""
        self.gauges.values["alerts_total"] += 1

    def _report_if_due(self) -> None:
        if time.monotonic() - self._reported_at >= self.policy.report_seconds:
            self._report()

    def _report(self) -> None:
        self._reported_at = time.monotonic()
        lag = None
        with contextlib.suppress(DataError):  # a server that is away
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
