"""The training loop: run a step, call the callbacks, decide whether to stop. Independent of any model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

S = TypeVar("S")


class Info(NamedTuple):
    """The progress report of one step."""

    step: int  # passes over the corpus so far
    n_steps: int  # maximum number of passes
    phase: str  # what the pass did
    score: float  # log-likelihood per token, or NaN if not measured
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
    """Run ``step`` until it returns no Info, a callback returns True, or the time is up.

    ``after`` receives the state after each complete step, for example to write a checkpoint. ``stopped``
    receives the last state if a callback or the time ended the run. At least one step runs, even with a very
    short ``max_time``, so that there is always a model. With ``whole``, neither callbacks nor the time end
    the run. `partial_fit` uses this: documents of a stream are given only once, and the caller ends the
    stream by giving no more.
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
    """A rich progress bar on standard error, as a list of one callback; an empty list if not shown."""
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

        def show_step(info: Info) -> None:
            note = info.phase if info.score != info.score else f"{info.phase} {info.score:.4f}"
            bar.update(task, completed=info.step, total=info.n_steps, note=note)

        yield [show_step]
