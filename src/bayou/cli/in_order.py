"""Documents of a file in the order of time, as a tracker needs them whatever order they stand in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from bayou.cli import documents
from bayou.cli.voice import Voice
from bayou.data.calendar import NEVER, Times, Width, filled, parse_width, slice_numbers
from bayou.data.fields import as_times

_LOOK = 4096  # documents at a time while only their dates are looked at


def batches(
    source: documents.Source, size: int, model: Any, voice: Voice
) -> Iterator[documents.Batch]:
    """Batches in the order of calendar slices.

    A file is looked through first: one that is in order is then read batch by batch, one that is not as a
    whole. What comes through a pipe can be read only once, and comes as it comes.
    """
    width = parse_width(model.slice_by)
    times = _times(source, width, model)
    if times is None:
        yield from documents.batches(source, size)
        return
    numbers = slice_numbers(times, width)
    if (numbers[1:] >= numbers[:-1]).all():
        at = 0
        for batch in documents.batches(source, size):
            yield batch._replace(times=list(times[at : at + len(batch.texts)]))
            at += len(batch.texts)
        return
    voice.say(f"{source.path} is not in the order of time: it is read as a whole and sorted")
    yield from _sorted(source, size, times)


def _times(source: documents.Source, width: Width, model: Any) -> Times | None:
    """The times of all documents of a file, those that lack one with the one before; None for no dates."""
    if not width.dated or not os.path.isfile(source.path):
        return None
    missing = np.datetime64("NaT", "us")
    found = [
        batch.times or [missing] * len(batch.texts) for batch in documents.batches(source, _LOOK)
    ]
    times = as_times(list(chain(*found)), sum(map(len, found)))
    if np.isnat(times).all():
        return None
    clock = model._intake.clock if hasattr(model, "_intake") else NEVER
    return filled(times, np.datetime64(clock, "us"))


def _sorted(source: documents.Source, size: int, times: Times) -> Iterator[documents.Batch]:
    whole = list(documents.batches(source, _LOOK))
    ids = list(chain.from_iterable(batch.ids for batch in whole))
    texts = list(chain.from_iterable(batch.texts for batch in whole))
    order = np.argsort(times, kind="stable").tolist()
    for at in range(0, len(order), size):
        rows = order[at : at + size]
        yield documents.Batch(
            [ids[d] for d in rows], [texts[d] for d in rows], times=[times[d] for d in rows]
        )
