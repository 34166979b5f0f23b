"""Number of passes of each phase of the fast inference. It depends on sizes only."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

MANY = 400  # topics from which documents are the start and a sampled phase pays
ONLINE = 3  # online passes
BATCH = 1 << 15  # pairs in a batch of such a pass, or more
SHORT, LARGE, DENSE = 100, 10_000, 4  # tokens a document, documents, tokens a cell of n_vk: sampled
RESCUE_SWEEPS = 100


class CorpusSize(NamedTuple):
    """What the schedule depends on, beside the number of topics."""

    n_docs: int
    n_pairs: int
    n_tokens: float
    n_terms: int
    whole: bool


class FastSchedule(NamedTuple):
    """Number of passes of each phase, which priors are learned, and the smallest gain of a score."""

    online: int
    sampled: int
    cavity: int
    rescue: int
    n_batches: int
    tol: float
    learn_alpha: bool
    learn_beta: bool
    clustered: bool  # start from clusters of documents, topics fresh for every batch

    @property
    def n_passes(self) -> int:
        """Number of passes without the rescue."""
        return self.online + self.sampled + self.cavity


def make_schedule(
    n_topics: int,
    size: CorpusSize,
    n_sweeps: int | None,
    tol: float,
    learn: tuple[bool, bool],
) -> FastSchedule:
    """The schedule for this many topics and a corpus of this size.

    ``n_sweeps`` bounds all passes together. If it is None, a run that overfits may add up to
    `RESCUE_SWEEPS` sampled passes.
    """
    many = n_topics >= MANY
    short = not many and is_short(n_topics, size)
    total = n_sweeps or (121 if many else 100)
    online = min(total, 1 if many or short else ONLINE)
    cavity = 0 if short else min(total - online, 20) if many else total - online
    most = 8 if many else max(64, size.n_pairs // BATCH) if short else 64
    n_batches = int(np.clip(size.n_docs // 16, 1, most))
    rescue = RESCUE_SWEEPS if n_sweeps is None else 0
    return FastSchedule(
        online, total - online - cavity, cavity, rescue, n_batches, tol, *learn, short
    )


def schedule_of(p: Any) -> Callable[[CorpusSize], FastSchedule]:
    """`make_schedule` with the settings of a model; the corpus is not known yet."""
    learn = (p.learn_alpha, p.learn_beta)
    return partial(make_schedule, p.n_topics, n_sweeps=p.n_sweeps, tol=p.tol, learn=learn)


def is_short(n_topics: int, size: CorpusSize) -> bool:
    """Whether this is a large corpus of short documents, which is sampled to the end."""
    dense = size.n_tokens >= DENSE * n_topics * size.n_terms
    short = size.n_tokens < SHORT * size.n_docs
    return size.whole and size.n_docs >= LARGE and short and dense


def guard_size(n_docs: int) -> int:
    """One document in fifty, at most 1,000, and at least 25 if that is not over a fifth of the corpus."""
    return 0 if n_docs < 10 else min(1000, max(n_docs // 50, min(25, n_docs // 5)))
