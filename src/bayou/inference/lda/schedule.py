"""How many passes of which kind the fast inference makes: it follows from sizes alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MANY = 400  # topics from which documents are the start and a sampled phase pays
ONLINE = 3  # online passes
BATCH = 1 << 15  # pairs in a batch of such a pass, or more
SHORT, LARGE, DENSE = 100, 10_000, 4  # tokens a document, documents, tokens a cell of n_vk: sampled
RESCUE_SWEEPS = 100


class CorpusSize(NamedTuple):
    """What the schedule follows from, beside the number of topics."""

    n_docs: int
    n_pairs: int
    n_tokens: float
    n_terms: int
    whole: bool


class FastSchedule(NamedTuple):
    """How many passes of each kind, what the prior may learn, and the gain that counts as none."""

    online: int
    sampled: int
    cavity: int
    rescue: int
    n_batches: int
    tol: float
    learn_alpha: bool
    learn_beta: bool
    clustered: bool  # start from clusters of documents, topics fresh for every batch


def make_schedule(
    n_topics: int,
    size: CorpusSize,
    n_sweeps: int | None,
    tol: float,
    learn: tuple[bool, bool],
) -> FastSchedule:
    """The schedule for this many topics and a corpus of this size.

    ``n_sweeps`` bounds all passes together. Where it is left open, a run that overfits may add up to
    `RESCUE_SWEEPS` sampled ones.
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


def is_short(n_topics: int, size: CorpusSize) -> bool:
    """Whether this is a large corpus of short documents, which is sampled and not brought to rest."""
    dense = size.n_tokens >= DENSE * n_topics * size.n_terms
    short = size.n_tokens < SHORT * size.n_docs
    return size.whole and size.n_docs >= LARGE and short and dense


def guard_size(n_docs: int) -> int:
    """One document in fifty, at most 1,000, at least 25 where a fifth of the corpus allows it."""
    return 0 if n_docs < 10 else min(1000, max(n_docs // 50, min(25, n_docs // 5)))
