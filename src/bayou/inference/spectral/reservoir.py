"""A uniform sample of a stream of documents in constant memory, or all documents of a stream.

Which documents are in the sample depends only on the seed and on their number in the stream, so the cut of
the stream does not matter. Algorithm L skips documents: of n documents about R (1 + ln(n / R)) are examined
[Li94].

[Li94] Li. Reservoir-sampling algorithms of time complexity O(n(1 + log(N / n))). ACM TOMS 20, 1994.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from bayou.data.schema import Array, Number
from bayou.inference.lda.arrays import F32, I32, I64
from bayou.inference.lda.documents import Pairs, select
from bayou.kernels.rng import GOLDEN, RESERVOIR, key, unit

_MASK = (1 << 64) - 1


class Reservoir(NamedTuple):
    """Documents that are kept, as arrays and numbers."""

    indptr: Annotated[I64, Array("docs+1", offsets="pairs")]
    terms: Annotated[I32, Array("pairs", below="terms")]
    counts: Annotated[F32, Array("pairs")]
    n_seen: int  # documents offered
    n_drawn: int  # random numbers used
    log_w: Annotated[float, Number(ge=None)]  # ln W of Algorithm L
    next: int  # the number of the next document to take

    @property
    def pairs(self) -> Pairs:
        """The documents."""
        return Pairs(self.indptr, self.terms, self.counts)


def none() -> Reservoir:
    """No documents."""
    return Reservoir(
        np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 0, 0, 0.0, 0
    )


def join_pairs(one: Pairs, other: Pairs) -> Pairs:
    """Documents of ``one``, then documents of ``other``."""
    ends = one.indptr[-1] + (other.indptr[1:] - other.indptr[0])
    span = slice(other.indptr[0], other.indptr[-1])
    return Pairs(
        np.concatenate([one.indptr, ends]),
        np.concatenate([one.terms, other.terms[span]]),
        np.concatenate([one.counts, other.counts[span]]),
    )


def slice_pairs(pairs: Pairs, lo: int, hi: int) -> Pairs:
    """Documents lo .. hi."""
    first, last = pairs.indptr[lo], pairs.indptr[hi]
    return Pairs(
        pairs.indptr[lo : hi + 1] - first, pairs.terms[first:last], pairs.counts[first:last]
    )


def append_pairs(kept: Reservoir, pairs: Pairs) -> Reservoir:
    """The documents with more documents at the end."""
    return kept._replace(
        **join_pairs(kept.pairs, pairs)._asdict(), n_seen=kept.n_seen + pairs.n_docs
    )


def latest(kept: Reservoir, pairs: Pairs, size: int) -> Reservoir:
    """The last ``size`` documents of a stream."""
    both = join_pairs(kept.pairs, pairs)
    few = slice_pairs(both, max(both.n_docs - size, 0), both.n_docs)
    return kept._replace(**few._asdict(), n_seen=kept.n_seen + pairs.n_docs)


def sample_pairs(kept: Reservoir, pairs: Pairs, size: int, seed: int) -> Reservoir:
    """Offer documents to a sample of ``size``."""
    first = min(max(size - kept.pairs.n_docs, 0), pairs.n_docs)
    n_before = kept.n_seen
    if first:
        kept = append_pairs(kept, slice_pairs(pairs, 0, first))
        if kept.pairs.n_docs == size:
            kept = _draw_skip(kept._replace(next=size - 1), size, seed)
    end = n_before + pairs.n_docs
    replaced: dict[int, int] = {}
    while kept.pairs.n_docs == size and kept.next < end:
        if kept.next >= n_before + first:
            slot = int(_draw(kept, seed) * size)
            kept = kept._replace(n_drawn=kept.n_drawn + 1)
            replaced[slot] = kept.next - n_before
        kept = _draw_skip(kept, size, seed)
    kept = kept._replace(n_seen=end)
    return _swap_pairs(kept, pairs, replaced) if replaced else kept


def _draw(kept: Reservoir, seed: int) -> float:
    """A uniform number in (0, 1)."""
    at = (int(key(seed, RESERVOIR, 0, 0)) + (kept.n_drawn + 1) * int(GOLDEN)) & _MASK
    return max(float(unit(np.uint64(at))), 1e-300)


def _draw_skip(kept: Reservoir, size: int, seed: int) -> Reservoir:
    """W <- W U^(1/R), and a geometric gap with this W."""
    log_w = kept.log_w + math.log(_draw(kept, seed)) / size
    kept = kept._replace(log_w=log_w, n_drawn=kept.n_drawn + 1)
    miss = math.log1p(-math.exp(log_w)) if log_w < 0.0 else -math.inf
    gap = math.log(_draw(kept, seed)) / miss if miss < 0.0 else math.inf
    ahead = int(min(gap, 2.0**62))
    return kept._replace(n_drawn=kept.n_drawn + 1, next=min(kept.next + ahead + 1, 2**62))


def _swap_pairs(kept: Reservoir, pairs: Pairs, replaced: dict[int, int]) -> Reservoir:
    """Replace the documents in some slots by documents of ``pairs``."""
    both = join_pairs(kept.pairs, pairs)
    n = kept.pairs.n_docs
    order = np.arange(n)
    for slot, d in replaced.items():
        order[slot] = n + d
    return kept._replace(**select(both, order)._asdict())
