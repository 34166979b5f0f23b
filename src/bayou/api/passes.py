"""Training of online topic models without labels: reading documents, passes of `fit` until convergence."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayou.api.training import score_of
from bayou.data.corpus import Corpus
from bayou.inference.lda.documents import pairs_of
from bayou.run import batches, loop
from bayou.run.loop import Info
from bayou.run.shards import Workers

N_SCORED = (500, 65_536)  # at most this number of documents and of their tokens is scored


def fit_to_rest(model: Any, corpus: Corpus, p: Any, patience: int, state: Any = None) -> None:
    """Learn mini-batches of at most ``p.n_passes`` passes, each in its own keyed order.

    A sample of the documents is scored after each pass. Training ends when the last ``patience`` scores each
    gained less than ``p.tol``.

    Parameters
    ----------
    model : Streaming
        Its `seed_` is resolved already. `state_`, `pending_` and `n_iter_` are set.
    corpus : Corpus
    p : settings
        With `n_passes`, `batch_size`, `tol` and `phase`.
    patience : int
    state : State, optional
        Where to start. Default: `algorithm.init` of the first mini-batch.
    """
    pairs, n = pairs_of(corpus.counts), corpus.n_docs
    model.pending_ = pairs.none()
    per_pass = -(-n // p.batch_size)
    last = p.n_passes * per_pass
    order = lru_cache(maxsize=1)(lambda i: batches.order(model.seed_, n, i))
    sample = _sample(corpus, batches.order(model.seed_, n, p.n_passes))

    def step(state: Any) -> tuple[Any, Info | None]:
        done = 0 if state is None else state.step
        if done == last or (done and _is_at_rest(state, p.tol, patience)):
            return state, None
        i, at = divmod(done, per_pass)
        batch = pairs.take(order(i)[at * p.batch_size : (at + 1) * p.batch_size])
        # arrays change in place: after an error the state must still fit them
        model.state_ = state = model._advance(state, batch, p, workers.each)
        if state.step % per_pass == 0:
            score = model.log_likelihood(sample)
            scores, steps = np.append(state.scores, score), np.append(state.score_steps, state.step)
            model.state_ = state = state._replace(scores=scores, score_steps=steps)
        return state, Info(state.step, last, p.phase, score_of(state), 0.0)

    title = type(model).__name__
    with Workers(model.n_threads) as workers, loop.progress_bar(model.progress, title) as bar:
        callbacks = [*bar, *model._callbacks()]
        loop.run(state, step, callbacks=callbacks, max_time=model.max_time)
    model.state_ = model.state_._replace(n_seen=n)  # however often each document was read
    model.n_iter_ = model.state_.step


def read_first(model: Any, X: Any, *, whole: bool) -> Corpus:
    """Check the parameters and the first documents, and discard everything learned before."""
    model.check_params()
    corpus = _read(model, X, reset=True, whole=whole)
    model._discard(corpus.vocabulary)
    return corpus


def read_more(model: Any, X: Any, *, whole: bool) -> Corpus:
    """The next documents of a stream; ``whole`` rounds counts, with one warning for all mini-batches."""
    if not model.__sklearn_is_fitted__():
        return read_first(model, X, whole=whole)
    return _read(model, X, reset=False, whole=whole)


def _read(model: Any, X: Any, *, reset: bool, whole: bool) -> Corpus:
    corpus: Corpus = model._corpus(X, reset=reset)
    if whole:
        corpus = corpus.rounded()
        corpus.whole_counts()  # refuses counts that cannot be written out as tokens
    return corpus


def check_n_topics(model: Any) -> None:
    """Refuse another number of topics than the stream has."""
    n_topics = model.n_topics if model.state_ is None else model.state_.raw.shape[1]
    if n_topics != model.n_topics:
        raise ValueError(
            f"n_topics is {model.n_topics} but this stream has {n_topics}; "
            "start another model for another number of topics"
        )


def hold_out(corpus: Corpus, n_out: int, seed: int, n: int) -> tuple[Corpus, Corpus]:
    """The documents without the first ``n_out`` in the order of pass ``n``, and those documents."""
    order = batches.order(seed, corpus.n_docs, n)
    return corpus[np.sort(order[n_out:])], corpus[np.sort(order[:n_out])]


def _sample(corpus: Corpus, order: NDArray[np.int64]) -> Corpus:
    """The documents that are scored after each pass: the first ones of ``order``."""
    first = order[: N_SCORED[0]]
    lengths = np.asarray(corpus[first].counts.sum(axis=1), np.float64).ravel()
    n = int(np.searchsorted(np.cumsum(lengths), N_SCORED[1], side="right"))
    return corpus[np.sort(first[: max(n, 1)])]


def _is_at_rest(state: Any, tol: float, patience: int) -> bool:
    """Whether each of the last scores, the last of them just taken, gained less than ``tol``."""
    fresh = len(state.scores) > patience and state.score_steps[-1] == state.step
    return bool(fresh and (np.diff(state.scores[-patience - 1 :]) < tol).all())
