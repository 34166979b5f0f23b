"""One-vs-all on a stream: each task has topics of its own; its part of the state is a binary model [Shi17].

Topics of all tasks are columns side by side: those of task i are K i .. K (i + 1). Weights and precisions
have K columns, since a task has weights for its own topics only. All tasks share random numbers, so that
classes without documents have equal topics, and a class that comes late is as if it had come first.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayou.inference.lda.arrays import F32, F64
from bayou.inference.margin.online_state import OnlineMarginSettings, OnlineMarginState
from bayou.inference.margin.online_weights import OnlineRun

Sampler = Callable[[OnlineMarginState, OnlineRun], tuple[OnlineMarginState, F64]]


def part_of(state: OnlineMarginState, i: int) -> OnlineMarginState:
    """The state of task i alone; its arrays are views."""
    size, one = state.mean.shape[1], slice(i, i + 1)
    own = slice(i * size, (i + 1) * size)
    return state._replace(
        raw=state.raw[:, own], topic=state.topic[own], mean=state.mean[one], yes=state.yes[one],
        precision=state.precision[one], linear=state.linear[one],
    )  # fmt: skip


def sample(
    draw: Sampler, state: OnlineMarginState, run: OnlineRun
) -> tuple[OnlineMarginState, F64]:
    """A mini-batch learned by each task with ``draw``; the state, and the counts of all topics."""
    batch, found, counts = run.batch, [], []
    for i in range(len(state.mean)):
        one = slice(i, i + 1)
        own = batch._replace(y=batch.y[:, one], cost=batch.cost[:, one], dear=batch.dear[:, one])
        part, added = draw(part_of(state, i), run._replace(batch=own))
        found.append(part)
        counts.append(added)
    state = state._replace(
        mean=np.concatenate([part.mean for part in found]),
        precision=np.concatenate([part.precision for part in found]),
        linear=np.concatenate([part.linear for part in found]),
    )
    return state, np.hstack(counts)


def parts(state: OnlineMarginState, p: OnlineMarginSettings) -> list[OnlineMarginState]:
    """The states of all tasks, or the one that they share."""
    return [part_of(state, i) for i in range(len(state.mean))] if p.separate else [state]


def stack_weights(mean: F64) -> F64:
    """Weights of all topics (tasks x topics): zero for topics of other tasks."""
    n_tasks, size = mean.shape
    out = np.zeros((n_tasks, n_tasks * size))
    for i in range(n_tasks):
        out[i, i * size : (i + 1) * size] = mean[i]
    return out


def score(zbar: F32, mean: F64) -> F64:
    """Scores (documents x tasks) from average topics of all tasks side by side."""
    rows = zbar.astype(np.float64).reshape(len(zbar), *mean.shape)
    return np.asarray(np.einsum("dik,ik->di", rows, mean), np.float64)
