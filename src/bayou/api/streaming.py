"""Learning from a stream: mini-batches, pending documents, a vocabulary that changes, files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.bases import EstimatorBase
from bayou.api.estimator import Saved
from bayou.data import schema
from bayou.data.array_order import in_c_order
from bayou.data.container import pack_strings
from bayou.data.errors import DataError
from bayou.data.vocabulary import Vocabulary
from bayou.results.posterior import unpack_vocabulary
from bayou.run import batches, checkpoint, loop
from bayou.run.batches import BatchPlan
from bayou.run.shards import Workers

I64 = NDArray[np.int64]
Take = Callable[[int, int, int], Any]  # documents lo .. hi of a pass


class Pending(Protocol):
    """Documents that wait for their mini-batch to be full: a NamedTuple of arrays with these methods."""

    @classmethod
    def none(cls) -> Self:
        """No documents."""

    @property
    def n_docs(self) -> int:
        """Number of documents."""

    def take(self, docs: I64) -> Self:
        """Some of the documents, in the given order."""

    def join(self, more: Self) -> Self:
        """These documents, then ``more``."""

    def move_terms(self, keep: I64, n_terms: int) -> Self:
        """The documents without the terms that are not in ``keep``, of ``n_terms``."""


class Stream(NamedTuple):
    """The algorithm of an online model.

    ``update(state, documents, settings, seed, each)`` gives the state after one mini-batch and owns the
    arrays of the state it is given. ``init(documents, settings, seed, each)`` makes the first state from the
    first mini-batch. A model that starts from its prior alone sets `state_` itself.
    """

    state: type[Any]
    documents: type[Pending]
    update: Callable[..., Any]
    init: Callable[..., Any] | None = None
    move_terms: Callable[[Any, I64, int], tuple[Any, float]] | None = None
    later: Callable[[Any], Any] | None = None  # the settings of passes after the first
    omit_empty: bool = False  # whether a file without pending documents has no arrays for them
    chunk: int | None = None  # documents between two calls of the callbacks; None: `batches.CHUNK`
    check: Callable[[Any], None] | None = (
        None  # refuses a state of a file for reasons that no schema can express
    )
    posterior: Any = None  # a function that gives the result of a state, for mixins that show it
    batched: bool = True  # whether documents are learned in mini-batches; sums take any number
    growing: str = (
        ""  # a similar model whose vocabulary can grow, for the message if this one's cannot
    )
    chunked: bool = (
        False  # whether `update` takes several mini-batches in one call and cuts them itself
    )


class Streaming(EstimatorBase):
    """Learning from mini-batches of `batch_size` documents.

    The result depends on the documents and their order only. Mini-batches are cut every `batch_size`
    documents, however a stream is cut into calls of `partial_fit`. Documents of a mini-batch that is not full
    wait in `pending_`. Predictions include what they teach; the next call starts from `state_` again.
    `partial_fit` learns everything it is given: `max_time` and callbacks end `fit` only.

    Attributes
    ----------
    state_ : State or None
        Everything known after the last full mini-batch; None before the first.
    pending_ : documents
        The documents after it.
    """

    algorithm: ClassVar[Stream]

    state_: Any
    pending_: Any
    _names: Vocabulary | None

    def __sklearn_is_fitted__(self) -> bool:
        state, pending = (getattr(self, name, None) for name in ("state_", "pending_"))
        return pending is not None and (state is not None or pending.n_docs > 0)

    # -- learning ------------------------------------------------------------------------------

    def _discard(self, names: Vocabulary | None) -> None:
        """Before the first documents: discard everything learned, and resolve the seed."""
        self.seed_, self._names = self._resolve_seed(), names
        self.state_, self.pending_ = None, self.algorithm.documents.none()

    def _learn_passes(
        self,
        documents: Any,
        p: Any,
        n_passes: int,
        order: Callable[[int], I64],
        *,
        whole: bool = False,
    ) -> None:
        """`fit`: passes over documents, each in its own order; a last mini-batch may be short.

        If ``whole``, neither a callback nor the time limit ends it.
        """
        self.pending_ = documents.take(np.zeros(0, np.int64))
        cut = BatchPlan(documents.n_docs, p.batch_size, n_passes, self.algorithm.chunk)
        self._learn(p, cut, lambda n, lo, hi: documents.take(order(n)[lo:hi]), whole=whole)

    def _learn_stream(self, documents: Any, p: Any) -> None:
        """`partial_fit`: all full mini-batches of the pending documents and these; the rest waits."""
        if not self.algorithm.batched:
            with Workers(self.n_threads) as workers:
                self.state_ = self._advance(self.state_, documents, p, workers.each)
            return
        waiting = self.pending_.join(documents) if hasattr(self, "pending_") else documents
        n = waiting.n_docs // p.batch_size * p.batch_size
        self.pending_ = waiting.take(np.arange(n, waiting.n_docs))
        seen = self._n_in_state()
        try:
            cut = BatchPlan(n, p.batch_size, chunk=self.algorithm.chunk)
            self._learn(p, cut, lambda _, lo, hi: waiting.take(np.arange(lo, hi)), whole=True)
        finally:
            done = self._n_in_state() - seen
            if done < n:  # a callback failed: the documents that were not learned wait
                self.pending_ = waiting.take(np.arange(done, waiting.n_docs))

    @property
    def n_seen_(self) -> int:
        """Number of documents so far, with those that wait for their mini-batch to be full."""
        return self._n_in_state() + int(self.pending_.n_docs)

    def _n_in_state(self) -> int:
        state = getattr(self, "state_", None)
        return 0 if state is None else int(state.n_seen)

    def _learn(self, p: Any, cut: BatchPlan, take: Take, *, whole: bool) -> None:
        """Learn mini-batch after mini-batch until the end or, in `fit`, until a callback stops it."""
        later = p if self.algorithm.later is None else self.algorithm.later(p)
        title, callbacks = type(self).__name__, self._callbacks()
        self.state_ = getattr(self, "state_", None)
        with Workers(self.n_threads) as workers, loop.progress_bar(self.progress, title) as bar:

            def learn(state: Any, n: int, first: int, end: int) -> Any:
                for lo, hi in self._cuts(cut, first, end):
                    # arrays change in place: after an error the state must still fit them
                    settings = p if n == 0 else later
                    state = self._advance(state, take(n, lo, hi), settings, workers.each)
                    self.state_ = state
                return state

            try:
                batches.run(
                    self.state_, cut, learn, p.phase, callbacks=[*bar, *callbacks],
                    max_time=self.max_time, whole=whole,
                )  # fmt: skip
            finally:  # after an error too: what was learned stays
                self.n_iter_ = 0 if self.state_ is None else self.state_.step

    def _cuts(self, cut: BatchPlan, lo: int, hi: int) -> list[tuple[int, int]]:
        """The documents of each call of `update`."""
        return [(lo, hi)] if self.algorithm.chunked else cut.batches(lo, hi)

    def _advance(self, state: Any, documents: Any, p: Any, each: Any) -> Any:
        """The state after one mini-batch; the first one makes the first state if there is none."""
        if state is None and self.algorithm.init is not None:
            state = self.algorithm.init(documents, p, self.seed_, each)
        return in_c_order(self.algorithm.update(state, documents, p, self.seed_, each))

    def _current(self) -> Any:
        """The state updated with the pending documents; computed once, at the first request."""
        check_is_fitted(self)
        return batches.state_with_pending(self, self._learn_pending)

    def _learn_pending(self) -> Any:
        p, pending = self.resolve(), self.pending_
        state = None if self.state_ is None else copy_state(self.state_)
        with Workers(1) as workers:
            for lo, hi in self._cuts(BatchPlan(pending.n_docs, p.batch_size), 0, pending.n_docs):
                state = self._advance(state, pending.take(np.arange(lo, hi)), p, workers.each)
        return state

    # -- a vocabulary that changes -------------------------------------------------------------

    def _change_terms(self, keep: I64, names: Vocabulary) -> float:
        """Keep the columns ``keep`` in that order and add one for each further name.

        Returns the number of tokens that were counted in the columns that are dropped.
        """
        self._check_terms_move()
        gone = self._move_terms(keep, len(names) - len(keep))
        self._names = names
        self.n_features_in_ = len(names)
        self.__dict__.pop("feature_names_in_", None)
        return gone

    def _move_terms(self, keep: I64, n_new: int) -> float:
        """Change the columns of pending documents and of the state; returns the tokens dropped."""
        gone = 0.0
        self.pending_ = self.pending_.move_terms(keep, self.n_features_in_)
        if self.state_ is not None and self.algorithm.move_terms is not None:
            self.state_, gone = self.algorithm.move_terms(self.state_, keep, n_new)
        return gone

    def _growth_error(self) -> str:
        """Why the vocabulary cannot change and what to do instead; empty if it can."""
        if self.algorithm.move_terms is not None:
            return ""
        other = f" or use {self.algorithm.growing}" if self.algorithm.growing else ""
        name = type(self).__name__
        return (
            f"the vocabulary of {name} cannot grow; leave out growth (bayou stream --closed){other}"
        )

    def _check_terms_move(self) -> None:
        """Refuse a growing vocabulary before anything is learned."""
        if reason := self._growth_error():
            raise DataError(reason)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        self.resolve()

    def _file_dims(self) -> dict[str, int]:
        """Sizes of dimensions that the arrays of a file must have."""
        return {"terms": self.n_features_in_}


def check_vocabulary_grows(model: Any) -> None:
    """Refuse a growing vocabulary for a model whose columns cannot change."""
    if isinstance(model, Streaming):
        return model._check_terms_move()
    name = type(model).__name__
    raise DataError(
        f"the vocabulary of {name} cannot grow; leave out growth (bayou stream --closed)"
    )


def copy_state(state: Any) -> Any:
    """A state whose arrays may change without changing those of the original."""
    values = {n: x.copy() if isinstance(x, np.ndarray) else x for n, x in state._asdict().items()}
    return type(state)(**values)


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    out = {} if model.state_ is None else checkpoint.arrays_of(model.state_)
    if model.pending_.n_docs or not model.algorithm.omit_empty:
        out |= checkpoint.arrays_of(model.pending_, "pending")
    if model._names is not None:
        out["vocabulary"] = pack_strings(model._names)
    return out


def _unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    kind, dims = model.algorithm, model._file_dims()
    model.state_, model.pending_ = None, kind.documents.none()
    if any(name.startswith("pending.") for name in arrays):
        model.pending_ = schema.read(kind.documents, arrays, "pending", dims)
    if not model.pending_.n_docs or any(name.startswith("state.") for name in arrays):
        model.state_ = schema.read(kind.state, arrays, "state", dims)
        if kind.check is not None:
            kind.check(model.state_)
    model._names = unpack_vocabulary(arrays.get("vocabulary"), model.n_features_in_)


STREAM = Saved(_pack, _unpack)
