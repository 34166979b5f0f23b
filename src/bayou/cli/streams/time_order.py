"""Documents in order of time, as a tracker needs them, from a file in any order."""

from __future__ import annotations

import json
import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bayou.cli import documents, interrupt
from bayou.cli.messages import Messages
from bayou.data.calendar import NEVER, Times, Width, fill_missing_times, parse_width, slice_numbers
from bayou.data.errors import DataError
from bayou.data.times import as_times

_LOOK = 4096  # documents per batch while only dates are read


def batches(
    source: documents.Source, size: int, model: Any, messages: Messages
) -> Iterator[documents.Batch]:
    """Batches in the order of calendar slices.

    The dates of a file are read first. A file in order is then read batch by batch; any other file is sorted
    on disk. A pipe can be read only once, in order of arrival: there a batch ends with the document that ends
    a slice, so that its alerts are not delayed.
    """
    width = parse_width(model.slice_by)
    if source.is_read_once:
        yield from _in_arrival_order(source, size, width, model)
        return
    clock = np.datetime64(model._intake.clock if hasattr(model, "_intake") else NEVER, "us")
    times = _times(source, width, clock)
    if times is None:
        yield from documents.batches(source, size)
        return
    numbers = slice_numbers(times, width)
    if (numbers[1:] >= numbers[:-1]).all():
        at = 0
        for batch in documents.batches(source, size):
            mine = list(times[at : at + len(batch.texts)])
            at += len(batch.texts)
            yield batch._replace(
                times=mine + _times_of(batch)[len(mine) :]
            )  # the file may have grown
        return
    messages.info(f"{source.path} is not in order of time; sorting it")
    yield from _in_time_order(source, size, clock)


def _times_of(batch: documents.Batch) -> list[Any]:
    return batch.times or [np.datetime64("NaT", "us")] * len(batch.texts)


def _times(source: documents.Source, width: Width, clock: np.datetime64) -> Times | None:
    """The times of all documents, missing ones filled with the previous; None without any dates."""
    if not width.is_dated or not os.path.isfile(source.path):
        return None
    times = _concatenate(_times_of(batch) for batch in documents.batches(source, _LOOK))
    return None if np.isnat(times).all() else fill_missing_times(times, clock)


def _concatenate(found: Iterable[list[Any]]) -> Times:
    parts = [as_times(some, len(some)) for some in found]
    return np.concatenate(parts)


def _in_arrival_order(
    source: documents.Source, size: int, width: Width, model: Any
) -> Iterator[documents.Batch]:
    held: list[documents.Batch] = []  # one document each
    arrived = model._intake.arrived if hasattr(model, "_intake") else 0
    before: int | None = (
        None  # of the last document, not the newest: one wrong date must not delay all others
    )
    try:
        for one in documents.batches(source, 1):
            held.append(one)
            arrived += 1
            number = _number(one, width, arrived)
            later = number is not None and before is not None and number > before
            before = before if number is None else number
            if later or len(held) == size:
                yield _merge(held)
                held = []
    except (KeyboardInterrupt, DataError) as end:
        is_dated = before is not None or hasattr(model, "_intake") or not width.is_dated
        if held and is_dated:  # they were read, and cannot be read again
            if isinstance(end, KeyboardInterrupt):
                interrupt.acknowledge()
            yield _merge(held)
        raise
    if held:
        yield _merge(held)


def _number(one: documents.Batch, width: Width, arrived: int) -> int | None:
    """The slice of a document, where it is known."""
    if width.unit == "call":
        return None  # a batch is a slice
    if not width.is_dated:
        return arrived // width.step
    times = as_times(one.times or [None], 1)
    return None if np.isnat(times[0]) else int(slice_numbers(times, width)[0])


def _merge(ones: list[documents.Batch]) -> documents.Batch:
    dated = any(one.times for one in ones)
    return documents.Batch(
        [one.ids[0] for one in ones],
        [one.texts[0] for one in ones],
        times=[(one.times or [None])[0] for one in ones] if dated else None,
        n_undated=sum(one.n_undated for one in ones),
    )


def _in_time_order(
    source: documents.Source, size: int, clock: np.datetime64
) -> Iterator[documents.Batch]:
    """Sort through a temporary file: the texts of all documents need not fit into memory."""
    ends = array("q", [0])
    with tempfile.TemporaryFile() as file:

        def write_texts() -> Iterator[list[Any]]:
            for batch in documents.batches(source, _LOOK):
                for id_, text in zip(batch.ids, batch.texts, strict=True):
                    both = json.dumps([str(id_), text], ensure_ascii=False)
                    ends.append(ends[-1] + file.write(both.encode("utf-8", "surrogatepass")))
                yield _times_of(batch)

        own = _concatenate(write_texts())
        times = fill_missing_times(own, clock)
        order = np.argsort(times, kind="stable")
        for at in range(0, len(order), size):
            rows, pairs = order[at : at + size].tolist(), []
            for d in rows:
                file.seek(ends[d])
                pairs.append(json.loads(file.read(ends[d + 1] - ends[d])))
            ids, texts = map(list, zip(*pairs, strict=True))
            lacking = int(np.isnat(own[rows]).sum())
            yield documents.Batch(ids, texts, times=[times[d] for d in rows], n_undated=lacking)
