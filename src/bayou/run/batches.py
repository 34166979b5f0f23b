"""Mini-batches of documents, and the state of a model while the last one is not full. Knows no model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from bayou.kernels import rng
from bayou.run import loop
from bayou.run.loop import Callback, Info

CHUNK = 1024  # documents between two calls of the callbacks, in whole mini-batches

S = TypeVar("S", bound=Any)  # a state that counts its mini-batches as `step`

# (state, pending documents, state that includes them) per model. Not an attribute: prediction changes none.
_SHOWN: WeakKeyDictionary[Any, tuple[Any, Any, Any]] = WeakKeyDictionary()


class BatchPlan(NamedTuple):
    """Sizes of mini-batches and number of passes.

    ``chunk`` is the number of documents between two calls of the callbacks. Default: `CHUNK`.
    """

    n_docs: int
    batch_size: int
    n_passes: int = 1
    chunk: int | None = None

    def batches(self, lo: int, hi: int) -> list[tuple[int, int]]:
        """The mini-batches of documents lo .. hi of a pass."""
        return [(at, min(at + self.batch_size, hi)) for at in range(lo, hi, self.batch_size)]

    def chunks(self) -> list[tuple[int, int, int]]:
        """(pass, lo, hi) of the documents between two calls of the callbacks."""
        size = max((self.chunk or CHUNK) // self.batch_size, 1) * self.batch_size
        once = [(lo, min(lo + size, self.n_docs)) for lo in range(0, self.n_docs, size)]
        return [(n, lo, hi) for n in range(self.n_passes) for lo, hi in once]


def run(
    begin: S,
    cut: BatchPlan,
    learn: Callable[[S, int, int, int], S],
    phase: str,
    *,
    callbacks: Sequence[Callback],
    max_time: float | None,
    whole: bool,
) -> S:
    """Call ``learn(state, pass, lo, hi)`` for each chunk of documents; ``whole`` as in `loop.run`."""
    todo = iter(cut.chunks())
    last = (0 if begin is None else begin.step) + cut.n_passes * -(-cut.n_docs // cut.batch_size)

    def step(state: S) -> tuple[S, Info | None]:
        job = next(todo, None)
        if job is None:
            return state, None
        state = learn(state, *job)
        return state, Info(state.step, last, phase, np.nan, 0.0)

    return loop.run(begin, step, callbacks=callbacks, max_time=max_time, whole=whole)


def order(seed: int, n_docs: int, n: int) -> NDArray[np.int64]:
    """The documents in the order of pass ``n``."""
    key = np.uint64(rng.key(seed, rng.SHUFFLE, n, 0))
    return np.asarray(rng.permutation(n_docs, key), np.int64)


def state_with_pending(model: Any, learn: Callable[[], S]) -> S:
    """`state_` updated with the documents in `pending_`. ``learn`` computes it once, at the first request."""
    if not model.pending_.n_docs:
        return model.state_  # type: ignore[no-any-return]
    cached = _SHOWN.get(model)
    if cached is None or cached[0] is not model.state_ or cached[1] is not model.pending_:
        _SHOWN[model] = cached = (model.state_, model.pending_, learn())
    return cached[2]  # type: ignore[no-any-return]
