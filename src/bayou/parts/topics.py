"""Documents as pairs or as tokens, the index that groups them by term, and inference under fixed topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayou.kernels import em, fixed_sweep, fold_in
from bayou.kernels.rng import FOLD_IN
from bayou.kernels.token import LANES
from bayou.posterior import MAX_STEPS, MOVED, proportions

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U16 = NDArray[np.uint16]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]


A = TypeVar("A", bound=NDArray[np.generic])


class Each(Protocol):
    """Call a function over ranges of items, as `run.shards.Workers.each` does."""

    def __call__(self, work: Callable[[int, int], None], ends: I64, cost: float = 1.0, /) -> None:
        """``ends`` counts the work before each item, ``cost`` is nanoseconds a unit of it."""


TOKEN_COST = 80.0  # nanoseconds that a sampled token takes, about


class Pairs(NamedTuple):
    """Distinct (document, term) pairs in document order: a CSR matrix as three plain arrays."""

    indptr: I64
    terms: I32
    counts: F32

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.indptr) - 1

    @property
    def n_tokens(self) -> float:
        """Sum of all counts."""
        return float(self.counts.sum(dtype=np.float64))


class Tokens(NamedTuple):
    """Single occurrences in document order."""

    indptr: I64
    terms: U32

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.indptr) - 1


class PairIndex(NamedTuple):
    """Pairs of a run of documents grouped by term: (row of the document, place of the pair)."""

    terms: I32
    termptr: I64
    rows: I32
    at: I32


class TokenIndex(NamedTuple):
    """Tokens grouped by term: the places of each term's tokens."""

    terms: I32
    termptr: I64
    at: I32


def pairs_of(counts: csr_array) -> Pairs:
    """View a canonical CSR matrix of counts as pairs."""
    return Pairs(
        np.ascontiguousarray(counts.indptr, np.int64),
        np.ascontiguousarray(counts.indices, np.int32),
        np.ascontiguousarray(counts.data, np.float32),
    )


def tokens_of(pairs: Pairs) -> Tokens:
    """Whole counts written out, each term as often as it counts."""
    times = np.rint(pairs.counts).astype(np.int64)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(times)])
    return Tokens(ends[pairs.indptr], np.repeat(pairs.terms.astype(np.uint32), times))


def _distinct(terms: I32 | U32, n_terms: int) -> tuple[I32, I64]:
    """The distinct terms, and where each one's group begins and ends."""
    tally = np.bincount(terms, minlength=n_terms)
    distinct = np.flatnonzero(tally).astype(np.int32)
    termptr = np.zeros(len(distinct) + 1, np.int64)
    np.cumsum(tally[distinct], out=termptr[1:])
    return distinct, termptr


def index_pairs(pairs: Pairs, lo: int, hi: int, n_terms: int) -> PairIndex:
    """Group the pairs of documents lo .. hi by term, in document order within a term."""
    mine = pairs.terms[pairs.indptr[lo] : pairs.indptr[hi]]
    terms, termptr = _distinct(mine, n_terms)
    slot = np.zeros(n_terms, np.int32)
    slot[terms] = np.arange(len(terms), dtype=np.int32)
    rows, at = np.empty(len(mine), np.int32), np.empty(len(mine), np.int32)
    em.group_by_term(termptr, rows, at, slot, tuple(pairs), lo, hi)
    return PairIndex(terms, termptr, rows, at)


def index_tokens(tokens: Tokens, n_terms: int) -> TokenIndex:
    """Group tokens by term, in document order within a term."""
    terms, termptr = _distinct(tokens.terms, n_terms)
    at, cursor = np.empty(len(tokens.terms), np.int32), np.zeros(n_terms, np.int64)
    cursor[terms] = termptr[:-1]
    em.place_tokens(at, cursor, tokens.terms)
    return TokenIndex(terms, termptr, at)


def select(pairs: Pairs, docs: I64) -> Pairs:
    """The pairs of some documents, in the order given."""
    sizes = np.diff(pairs.indptr)[docs]
    indptr = np.zeros(len(docs) + 1, np.int64)
    np.cumsum(sizes, out=indptr[1:])
    take = np.repeat(pairs.indptr[docs] - indptr[:-1], sizes) + np.arange(indptr[-1])
    return Pairs(indptr, pairs.terms[take], pairs.counts[take])


def topic_rows(term_topic: F32, beta: float, each: Each) -> F32:
    """phi as (terms x topics): (n_vk + beta) / (n_k + V beta)."""
    n_terms = len(term_topic)
    inv = (1.0 / (topic_totals(term_topic) + n_terms * beta)).astype(np.float32)
    rows = np.empty_like(term_topic)

    def work(lo: int, hi: int) -> None:
        em.rows_into(rows, term_topic, lo, hi, np.float32(beta), inv)

    each(work, np.arange(n_terms + 1, dtype=np.int64), 0.5 * term_topic.shape[1])
    return rows


def topic_totals(term_topic: F32 | F64) -> F64:
    """n_k, summed in double precision in the order of the terms."""
    totals = np.zeros(term_topic.shape[1])
    em.column_sums(totals, term_topic, 0, len(term_topic))
    return totals


def filled(rows: A) -> A:
    """Rows with columns of zeros, up to a whole number of `LANES`."""
    more = -rows.shape[1] % LANES
    if not more:
        return rows
    out = np.zeros((len(rows), rows.shape[1] + more), rows.dtype)
    out[:, : rows.shape[1]] = rows
    return cast(A, out)


def writable(rows: A) -> A:
    """The array, or a copy of a read-only one: kernels compiled for those may round differently."""
    return rows if rows.flags.writeable else rows.copy()


def expected_counts(
    rows: F32,
    alpha: F64,
    pairs: Pairs,
    each: Each,
    *,
    max_iter: int = MAX_STEPS,
    tol: float = MOVED,
) -> F32:
    """Expected tokens of each topic in each document with topics fixed (documents x topics).

    Expectation-maximisation on distinct terms, at most ``max_iter`` steps, stopping when less than
    ``tol`` of the document's tokens moved.
    """
    out = np.empty((pairs.n_docs, len(alpha)), np.float32)
    rows, prior = writable(rows), alpha.astype(np.float32)

    def work(lo: int, hi: int) -> None:
        fold_in.em_rows(out, tuple(pairs), lo, hi, rows, prior, max_iter, np.float32(tol))

    each(work, pairs.indptr, 5.0 * len(alpha))
    return out


def log_likelihoods(rows: F32, theta: F32, pairs: Pairs, each: Each) -> F64:
    """ln p(w_d) of every document under topics and its proportions."""
    out = np.empty(pairs.n_docs)

    def work(lo: int, hi: int) -> None:
        fold_in.log_lik_rows(out, theta, tuple(pairs), lo, hi, rows)

    each(work, pairs.indptr, 1.0 * rows.shape[1])
    return out


def pair_topics(rows: F32, alpha: F64, pairs: Pairs) -> F64:
    """Probability of each topic for each (document, term) pair with topics fixed (pairs x topics).

    theta_k phi_vk / sum_j theta_j phi_vj with the theta from which the last step of `expected_counts`
    was made, so that counts times probabilities add up to its result.
    """
    prior, n_docs = alpha.astype(np.float32), pairs.n_docs

    def counts(n_steps: int) -> F32:
        out = np.empty((n_docs, len(alpha)), np.float32)
        plain, tol = tuple(pairs), np.float32(MOVED)
        fold_in.em_rows(out, plain, 0, n_docs, rows, prior, n_steps, tol)
        return out

    final, before, last = counts(MAX_STEPS), counts(0), counts(0)
    pending = np.ones(n_docs, bool)
    for n in range(1, MAX_STEPS + 1):
        now = counts(n)
        done = pending & (now == final).all(axis=1)
        before[done] = last[done]
        pending &= ~done
        if not pending.any():
            break
        last = now
    docs = np.repeat(np.arange(n_docs), np.diff(pairs.indptr))
    theta = np.where(final > 0, before + prior, np.float32(0.0))  # topics may have been dropped
    out = theta[docs].astype(np.float64) * rows[pairs.terms]
    out /= out.sum(axis=1, keepdims=True)
    return out


def prior_mass(rows: F32, alpha: F32) -> F32:
    """sum_k alpha_k phi_vk of every term: the part of a token's weight that no document changes."""
    out = np.empty(len(rows), np.float32)
    fixed_sweep.slack_terms(out, rows, 0, len(rows), alpha)
    return out


def sampled_counts(
    rows: F32,
    alpha: F64,
    tokens: Tokens,
    ids: U64,
    seed: int,
    n_samples: int,
    burn_in: int,
    each: Each,
) -> F32:
    """Posterior draws of n_d with topics fixed: (samples x documents x topics), one sweep apart."""
    prior = alpha.astype(np.float32)
    own = np.zeros(len(alpha), np.float32)
    z = np.empty(len(tokens.terms), np.uint16)
    out = np.zeros((n_samples, tokens.n_docs, len(alpha)), np.float32)
    toks, slack = tuple(tokens), prior_mass(rows, prior)

    def work(lo: int, hi: int) -> None:
        fixed_sweep.start_docs(z, toks, ids, lo, hi, rows, prior, seed, FOLD_IN, 0)
        for sweep in range(1, burn_in + n_samples + 1):
            fixed_sweep.sweep_docs(
                z, toks, ids, lo, hi, rows, slack, own, prior, seed, FOLD_IN, sweep
            )
            if sweep > burn_in:
                fixed_sweep.count_docs(
                    out[sweep - burn_in - 1], z, tokens.indptr, lo, hi, np.float32(1.0)
                )

    each(work, tokens.indptr, TOKEN_COST * (burn_in + n_samples))
    return out


def drawn_proportions(doc_topic: F32, alpha: F64, ids: U64, seed: int, each: Each) -> F64:
    """theta_d ~ Dir(n_d + alpha) given draws of n_d, as (samples x documents x topics)."""
    out = np.empty(doc_topic.shape)

    def work(lo: int, hi: int) -> None:
        for i in range(len(out)):
            fixed_sweep.draw_proportions(out[i], doc_topic[i], ids, lo, hi, alpha, seed, i)

    each(work, np.arange(len(ids) + 1, dtype=np.int64), 50.0 * len(out) * len(alpha))
    return out


def content_ids(pairs: Pairs) -> U64:
    """A number for each document that depends on its terms and counts alone."""
    out = np.empty(pairs.n_docs, np.uint64)
    fixed_sweep.content_ids(out, tuple(pairs), 0, pairs.n_docs)
    return out


def completion(rows: F32, alpha: F64, observed: Pairs, scored: Pairs, each: Each) -> float:
    """Mean log-likelihood of the scored tokens when topic proportions come from the observed ones.

    Documents without scored tokens contribute nothing; NaN where there is nothing to score.
    """
    n_tokens = scored.n_tokens
    if n_tokens == 0:
        return float("nan")
    theta = proportions(expected_counts(rows, alpha, observed, each), alpha).astype(np.float32)
    return float(log_likelihoods(rows, theta, scored, each).sum() / n_tokens)
