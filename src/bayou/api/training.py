"""One call of `fit`: threads, progress, callbacks, time limit and checkpoint."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from numpy.typing import NDArray

from bayou.api.estimator import Estimator
from bayou.data.array_order import in_c_order
from bayou.data.checks import whole
from bayou.data.errors import ModelFileError
from bayou.inference.lda.arrays import Each
from bayou.run import checkpoint as checkpoints
from bayou.run import loop
from bayou.run.loop import Callback, Info
from bayou.run.shards import Workers

S = TypeVar("S", bound=tuple[Any, ...])
Path = str | os.PathLike[str]
Step = Callable[[S], tuple[S, Info | None]]


class Training:
    """The run of one `fit`: `each` distributes work over threads, `run` repeats a step."""

    def __init__(
        self,
        each: Each,
        callbacks: list[Callback],
        saver: checkpoints.Saver,
        max_time: float | None,
        most: float = math.inf,  # steps that a checkpoint may have made
    ) -> None:
        self.each, self.max_time, self._most = each, max_time, most
        self._callbacks, self._saver = callbacks, saver

    def run(
        self,
        kind: type[S],
        init: Callable[[], S],
        step: Step[S],
        *,
        dims: Mapping[str, int] | None = None,
        check: Callable[[S], None] | None = None,
        final: bool = True,
        count_init: bool = False,
    ) -> S:
        """Repeat ``step`` until it returns no `Info`, a callback stops it, or the time is up.

        Parameters
        ----------
        kind : type
            The NamedTuple of the state, which a checkpoint holds.
        init : callable
            Makes the first state if there is no checkpoint.
        step : callable
            Gives the next state and an `Info` about it, or the state and None at the end.
        dims : mapping, optional
            Sizes of dimensions that the arrays of a checkpoint must have.
        check : callable, optional
            Refuses a state of a checkpoint for what its declared arrays cannot express.
        final : bool
            Whether this is the run that users see. Others have no checkpoint and no callbacks.
        count_init : bool
            Whether the time of ``init`` counts towards the time limit.
        """
        started = time.monotonic()
        state = self.first(kind, init, dims=dims, check=check, final=final)
        spent = time.monotonic() - started if count_init else 0.0
        return self.repeat(state, step, final=final, spent=spent)

    def first(
        self,
        kind: type[S],
        init: Callable[[], S],
        *,
        dims: Mapping[str, int] | None = None,
        check: Callable[[S], None] | None = None,
        final: bool = True,
    ) -> S:
        """The state to start from: that of the checkpoint, or a new one. For parameters see `run`."""
        state = self._saver.read(kind, dims) if final else None
        steps = max(getattr(state, "step", 0), getattr(state, "link_step", 0))
        if state is not None and steps > self._most:
            raise ModelFileError("the checkpoint has made more steps than its parameters ask for")
        if state is not None and check is not None:
            check(state)
        return init() if state is None else state

    def repeat(self, state: S, step: Step[S], *, final: bool = True, spent: float = 0.0) -> S:
        """Repeat ``step`` from a state; ``spent`` seconds of the time limit are used already."""
        saver = self._saver if final else checkpoints.Saver()

        def step_in_order(state: S) -> tuple[S, Info | None]:
            state, info = step(state)
            return in_c_order(state), info

        return loop.run(
            state,
            step_in_order,
            callbacks=self._callbacks if final else (),
            after=saver.after,
            stopped=saver.save_on_stop,
            max_time=None if self.max_time is None else self.max_time - spent,
        )


@contextmanager
def training(
    model: Estimator,
    data: Callable[[], Iterable[NDArray[Any]]] = tuple,
    checkpoint: Path | None = None,
    checkpoint_every: int = 1,
) -> Iterator[Training]:
    """Start threads and the progress bar, and open the checkpoint.

    Parameters
    ----------
    model : Estimator
        Its `seed_` is resolved already.
    data : callable
        Gives the arrays whose contents a checkpoint must agree with.
    checkpoint, checkpoint_every
        As in `LDA.fit`.
    """
    whole("checkpoint_every", checkpoint_every, 1)
    if checkpoint is not None and model.random_state is None:
        raise ValueError("a checkpoint needs a random_state that can be repeated; give an integer")

    def describe() -> dict[str, Any]:
        manifest = model._manifest("checkpoint")
        del manifest["learned"]
        return {**manifest, "data": checkpoints.digest(data()), "seed": model.seed_}

    saver = checkpoints.Saver(checkpoint, checkpoint_every, describe)
    title = type(model).__name__
    with Workers(model.n_threads) as workers, loop.progress_bar(model.progress, title) as bar:
        most = (getattr(model, "n_sweeps", None) or math.inf) * getattr(model, "n_chains", 1)
        yield Training(workers.each, [*bar, *model._callbacks()], saver, model.max_time, most)


def score_of(state: Any) -> float:
    """The score of a state if it was measured at its last step, else NaN."""
    fresh = len(state.scores) > 0 and state.score_steps[-1] == state.step
    return float(state.scores[-1]) if fresh else float("nan")
