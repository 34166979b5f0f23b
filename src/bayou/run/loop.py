"""For each step: run it, tell the callbacks, see whether to stop. Knows no model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

S = TypeVar("S")


class Info(NamedTuple):
    """What one step reports to a human."""

    step: int  # passes over the corpus so far
    n_steps: int  # the most there can be
    phase: str  # what the pass did
    score: float  # log-likelihood per token, or NaN where it was not measured
    seconds: float  # since training began


Callback = Callable[[Info], bool | None]


def run(
    state: S,
    step: Callable[[S], tuple[S, Info | None]],
    *,
    callbacks: Sequence[Callback] = (),
    after: Callable[[S, Info], None] | None = None,
    stopped: Callable[[S, Info], None] | None = None,
    max_time: float | None = None,
    whole: bool = False,
) -> S:
    """Run ``step`` until it gives no Info, a callback returns True, or the time is up.

    ``after`` sees the state once a step is complete; it is the place to write a checkpoint. ``stopped``
    sees the last state when a callback or the time ended the run. At least one step is made however
    short ``max_time`` is, so that there is always a model. ``whole``: callbacks are told, and neither
    they nor the time end it. So are the documents of one `partial_fit` learned: who gives documents from a
    stream gives them once, and ends it by giving no more.
    """
    begun = time.monotonic()
    while True:
        state, info = step(state)
        if info is None:
            return state
        info = info._replace(seconds=time.monotonic() - begun)
        if after is not None:
            after(state, info)
        stop = [callback(info) for callback in callbacks]
        if whole:
            continue
        if any(stop) or (max_time is not None and info.seconds >= max_time):
            if stopped is not None:
                stopped(state, info)
            return state


@contextmanager
def progress_bar(show: bool, title: str) -> Iterator[list[Callback]]:
    """A rich progress bar on standard error as a callback; an empty list when not wanted."""
    if not show:
        yield []
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, note="")

        def tell(info: Info) -> None:
            note = info.phase if info.score != info.score else f"{info.phase} {info.score:.4f}"
            bar.update(task, completed=info.step, total=info.n_steps, note=note)

        yield [tell]
