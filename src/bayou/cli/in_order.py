"""Documents of a file in the order of time, as a tracker needs them whatever order they stand in."""

from __future__ import annotations

import json
import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bayou.cli import documents, interrupt
from bayou.cli.voice import Voice
from bayou.data.calendar import NEVER, Times, Width, fill_missing_times, parse_width, slice_numbers
from bayou.data.errors import DataError
from bayou.data.times import as_times

_LOOK = 4096  # documents at a time while only their dates are looked at


def batches(
    source: documents.Source, size: int, model: Any, voice: Voice
) -> Iterator[documents.Batch]:
    """Batches in the order of calendar slices.

    A file is looked through first: one that is in order is then read batch by batch, one that is not is
    sorted on disk. What comes through a pipe can be read only once, and comes as it comes: there a batch ends
    with the document that ends a slice, so that its alerts need not wait for others.
    """
    width = parse_width(model.slice_by)
    if source.once:
        yield from _as_they_come(source, size, width, model)
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
            yield batch._replace(times=mine + _own(batch)[len(mine) :])  # some may have been added
        return
    voice.say(f"{source.path} is not in the order of time: it is sorted first")
    yield from _sorted(source, size, clock)


def _own(batch: documents.Batch) -> list[Any]:
    return batch.times or [np.datetime64("NaT", "us")] * len(batch.texts)


def _times(source: documents.Source, width: Width, clock: np.datetime64) -> Times | None:
    """The times of all documents of a file, those that lack one with the one before; None for no dates."""
    if not width.is_dated or not os.path.isfile(source.path):
        return None
    times = _joined_times(_own(batch) for batch in documents.batches(source, _LOOK))
    return None if np.isnat(times).all() else fill_missing_times(times, clock)


def _joined_times(found: Iterable[list[Any]]) -> Times:
    parts = [as_times(some, len(some)) for some in found]
    return np.concatenate(parts)


def _as_they_come(
    source: documents.Source, size: int, width: Width, model: Any
) -> Iterator[documents.Batch]:
    held: list[documents.Batch] = []  # a document each
    arrived = model._intake.arrived if hasattr(model, "_intake") else 0
    before: int | None = None  # not the newest so far: one wrong date would hold up all others
    try:
        for one in documents.batches(source, 1):
            held.append(one)
            arrived += 1
            number = _number(one, width, arrived)
            later = number is not None and before is not None and number > before
            before = before if number is None else number
            if later or len(held) == size:
                yield _joined(held)
                held = []
    except (KeyboardInterrupt, DataError) as end:
        dated = before is not None or hasattr(model, "_intake") or not width.is_dated
        if held and dated:  # read, and nobody could bring them again
            if isinstance(end, KeyboardInterrupt):
                interrupt.heard()
            yield _joined(held)
        raise
    if held:
        yield _joined(held)


def _number(one: documents.Batch, width: Width, arrived: int) -> int | None:
    """The slice that a document opens or belongs to, where it is known."""
    if width.unit == "call":
        return None  # a batch is a slice
    if not width.is_dated:
        return arrived // width.step
    times = as_times(one.times or [None], 1)
    return None if np.isnat(times[0]) else int(slice_numbers(times, width)[0])


def _joined(ones: list[documents.Batch]) -> documents.Batch:
    dated = any(one.times for one in ones)
    return documents.Batch(
        [one.ids[0] for one in ones],
        [one.texts[0] for one in ones],
        times=[(one.times or [None])[0] for one in ones] if dated else None,
        n_undated=sum(one.n_undated for one in ones),
    )


def _sorted(source: documents.Source, size: int, clock: np.datetime64) -> Iterator[documents.Batch]:
    """By way of a file that is gone afterwards: the texts of all documents need not fit into memory."""
    ends = array("q", [0])
    with tempfile.TemporaryFile() as aside:

        def put_aside() -> Iterator[list[Any]]:
            for batch in documents.batches(source, _LOOK):
                for id_, text in zip(batch.ids, batch.texts, strict=True):
                    both = json.dumps([str(id_), text], ensure_ascii=False)
                    ends.append(ends[-1] + aside.write(both.encode("utf-8", "surrogatepass")))
                yield _own(batch)

        own = _joined_times(put_aside())
        times = fill_missing_times(own, clock)
        order = np.argsort(times, kind="stable")
        for at in range(0, len(order), size):
            rows, pairs = order[at : at + size].tolist(), []
            for d in rows:
                aside.seek(ends[d])
                pairs.append(json.loads(aside.read(ends[d + 1] - ends[d])))
            ids, texts = map(list, zip(*pairs, strict=True))
            lacking = int(np.isnat(own[rows]).sum())
            yield documents.Batch(ids, texts, times=[times[d] for d in rows], n_undated=lacking)
