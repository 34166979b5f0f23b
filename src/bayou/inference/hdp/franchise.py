"""A chain over documents, their tables and topics: its start, its sweeps, and slots for new topics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.inference.hdp import concentration, tables
from bayou.inference.lda.arrays import F32, F64, I64, U16
from bayou.inference.lda.documents import Pairs, Tokens
from bayou.kernels import draw
from bayou.kernels.hdp import direct_sweep, franchise, split_merge
from bayou.kernels.lda import fixed_sweep
from bayou.kernels.rng import ROOT, key

U8 = NDArray[np.uint8]

SAMPLERS = ("alias", "tables", "direct")
MOST_TOKENS = 65_536  # per document: Stirling ratios are tabulated up to the longest document
ROOT_PRIOR = concentration.Gamma(1.0, 0.1)  # of b0: hundreds of topics are not far from its mean
_LEAST_COLUMNS = 64  # least number of tables per topic and document in the table of Stirling ratios
_MOST_CELLS = 1 << 22  # largest size of that table; ratios beyond it are computed when needed
_LEAST_STOCK, _MOST_STOCK = 8, 4096  # number of stored draws per term


class FranchiseData(NamedTuple):
    """What a chain never changes."""

    tokens: Tokens
    lengths: I64
    n_terms: int
    starts: I64  # offsets of the stored draws of each term
    pairs: Pairs | None = None  # counts before rounding, for a fast start


class FranchisePrior(NamedTuple):
    """Concentrations of documents and root, discount, prior of a topic's terms."""

    alpha: float  # b1
    gamma: float  # b0
    discount: float  # a
    beta: float


class FranchiseCounts(NamedTuple):
    """Counts that all documents share. A topic occupies a slot; arrays have one number per slot."""

    term_topic: F32  # n_vk (terms x slots)
    topic: F64  # n_k
    tables: I64  # M_k
    ids: I64  # permanent id of the topic; -1 if the slot is free
    sizes: I64  # number of tables, number of topics, next id


class DrawStore(NamedTuple):
    """Stored draws per term, from the weights that its topics had in an empty document at that time."""

    stale: F32  # weights at that time (terms x slots)
    total: F64  # their sum
    drawn: U16  # slots drawn from them; draws of term v start at starts[v]
    starts: I64
    used: I64  # number of used draws; if all are used, new draws are stored


class FranchiseChain(NamedTuple):
    """The state of a chain: topic and table of each token, and all counts."""

    z: U16
    heads: U8  # the tokens that opened a table, n_jk of which m_jk
    counts: FranchiseCounts
    store: DrawStore


def make_corpus(
    tokens: Tokens, n_terms: int, kind: str, pairs: Pairs | None = None
) -> FranchiseData:
    """The tokens, and the offsets of the draws that sampler ``kind`` stores for each term."""
    lengths = np.diff(tokens.indptr)
    starts = np.zeros(n_terms + 1, np.int64)
    if kind == "alias":
        often = np.bincount(tokens.terms, minlength=n_terms)
        np.cumsum(np.clip(2 * often, _LEAST_STOCK, _MOST_STOCK) * (often > 0), out=starts[1:])
    return FranchiseData(tokens, lengths, n_terms, starts, pairs)


def stirling(chain: FranchiseChain, corpus: FranchiseData, discount: float) -> tuple[F64, F64]:
    """Stirling ratios and factors for these document lengths, and for more tables than there are now."""
    longest = int(corpus.lengths.max(initial=1))
    most = franchise.most_tables(
        chain.z, chain.heads, corpus.tokens.indptr, len(chain.counts.topic)
    )
    wanted = min(max(_LEAST_COLUMNS, 3 * most // 2), longest)
    wanted = 1 << (wanted - 1).bit_length()  # a power of two, so that it rarely grows
    wanted = min(wanted, max(_LEAST_COLUMNS, _MOST_CELLS // longest))
    return tables.ratios(longest, wanted, discount), tables.factors(longest, wanted, discount)


def start(
    corpus: FranchiseData, n_topics: int, prior: FranchisePrior, seed: int, given: U16 | None = None
) -> FranchiseChain:
    """Tokens at given topics or random ones of ``n_topics``; tables under a uniform root."""
    z = np.empty(len(corpus.tokens.terms), np.uint16) if given is None else given
    if given is None:
        indptr = corpus.tokens.indptr
        fixed_sweep.start_uniform(z, indptr, 0, corpus.tokens.n_docs, n_topics, seed)
    chain = count_chain(corpus, z, np.zeros(len(z), np.uint8), None, _roomy(n_topics))
    n_live = int(chain.counts.sizes[franchise.LIVE])
    root = np.where(chain.counts.topic > 0, 1.0 / max(n_live, 1), 0.0)
    seat(chain, corpus, root, prior, seed, 0)
    return chain


def count_chain(
    corpus: FranchiseData, z: U16, heads: U8, ids: I64 | None, n_slots: int | None = None
) -> FranchiseChain:
    """A chain from topics and heads of all tokens, with ``ids`` of the topics or numbers from 0 on."""
    n_slots = n_slots or _roomy(0 if ids is None else len(ids))
    term_topic = np.zeros((corpus.n_terms, n_slots), np.float32)
    franchise.count(term_topic, corpus.tokens.terms, z)
    topic = np.bincount(z, minlength=n_slots).astype(np.float64)
    live, named = topic > 0, np.full(n_slots, -1, np.int64)
    named[live] = np.arange(live.sum()) if ids is None else ids
    opened = np.bincount(z, weights=heads, minlength=n_slots).astype(np.int64)
    sizes = np.array([opened.sum(), live.sum(), named.max(initial=-1) + 1], np.int64)
    counts = FranchiseCounts(term_topic, topic, opened, named, sizes)
    return FranchiseChain(z, heads, counts, _empty_store(corpus, n_slots))


def _roomy(n_topics: int) -> int:
    """Number of slots for ``n_topics`` topics and some births, a multiple of eight."""
    return min((n_topics + max(8, n_topics // 8) + 7) // 8 * 8, 65_536)


def _empty_store(corpus: FranchiseData, n_slots: int) -> DrawStore:
    """A store in which all draws are used."""
    room = np.diff(corpus.starts)
    n_terms = len(room) if corpus.starts[-1] else 0
    return DrawStore(
        np.zeros((n_terms, n_slots), np.float32), np.zeros(n_terms),
        np.zeros(corpus.starts[-1], np.uint16), corpus.starts, room.copy(),
    )  # fmt: skip


def with_room(chain: FranchiseChain, corpus: FranchiseData) -> tuple[FranchiseChain, I64]:
    """The chain with free slots for births, but not too many; and the old slot of each slot, or -1.

    Stored draws are dropped when slots move.
    """
    topic = chain.counts.topic
    live = np.flatnonzero(topic > 0)
    n_slots, wanted = len(topic), _roomy(len(live))
    n_free = n_slots - len(live)
    if n_free > 0 and n_slots <= 2 * wanted:
        return chain, np.arange(n_slots)
    if len(live) >= 65_535:
        raise ValueError("more than 65,535 topics; give a larger beta or smaller concentrations")
    old = np.full(wanted, -1, np.int64)
    old[: len(live)] = live
    to = np.zeros(n_slots, np.uint16)
    to[live] = np.arange(len(live))
    counts = FranchiseCounts(
        np.ascontiguousarray(move_slots(chain.counts.term_topic, old)), move_slots(topic, old),
        move_slots(chain.counts.tables, old), move_slots(chain.counts.ids, old, -1), chain.counts.sizes,
    )  # fmt: skip
    return FranchiseChain(to[chain.z], chain.heads, counts, _empty_store(corpus, wanted)), old


def move_slots(array: Any, old: I64, empty: int = 0) -> Any:
    """The last axis of an array by old slots; ``empty`` if there is none."""
    out = np.asarray(array[..., np.maximum(old, 0)])
    out[..., old < 0] = empty
    return out


def sweep_tables(
    chain: FranchiseChain,
    corpus: FranchiseData,
    prior: FranchisePrior,
    how: tuple[int, bool],
    seed: int,
    step: int,
) -> tuple[FranchiseChain, I64]:
    """Draw topic and table of each token given all others; slots are added when they are needed.

    ``how`` is the number of proposals per token (0: all topics are weighed), and whether stored draws are
    renewed when they are used up. Without renewal a sweep leaves the posterior exactly invariant.
    """
    old, at, ratios = np.arange(len(chain.counts.topic)), 0, stirling(chain, corpus, prior.discount)
    while True:
        chain, new = with_room(chain, corpus)
        old = move_slots(old, new, -1)
        at = franchise.seat_sweep(
            chain.z, chain.heads, tuple(corpus.tokens), tuple(chain.counts), tuple(chain.store),
            ratios, tuple(prior), how, seed, step, at,
        )  # fmt: skip
        if at == len(chain.z):
            return chain, old


def sweep_direct(
    chain: FranchiseChain,
    corpus: FranchiseData,
    root: F64,
    prior: FranchisePrior,
    seed: int,
    step: int,
) -> tuple[FranchiseChain, F64, I64]:
    """Draw topics given the root; also returns the root after births and deaths. Tables are not drawn."""
    old, at = np.arange(len(chain.counts.topic)), 0
    while True:
        chain, new = with_room(chain, corpus)
        old, root = move_slots(old, new, -1), np.append(move_slots(root[:-1], new), root[-1])
        at = direct_sweep.direct_sweep(
            chain.z, tuple(corpus.tokens), tuple(chain.counts), root, tuple(prior), seed, step, at
        )
        if at == len(chain.z):
            return chain, root, old


def draw_root(chain: FranchiseChain, prior: FranchisePrior, seed: int, step: int) -> F64:
    """g ~ Dir(M_1 .. M_K, b0): a probability per slot and, last, that of all unseen topics."""
    out = np.empty(len(chain.counts.topic) + 1)
    stream = np.array([key(seed, ROOT, step, 1)], np.uint64)
    draw.draw_dirichlet_into(out, stream, np.append(chain.counts.tables, prior.gamma))
    return out


def move_topics(
    chain: FranchiseChain,
    corpus: FranchiseData,
    root: F64,
    prior: FranchisePrior,
    n_moves: int,
    seed: int,
    step: int,
) -> I64:
    """Split and merge topics in place, with the root; returns the numbers of splits and merges."""
    done: I64 = split_merge.split_merge(
        chain.z, tuple(corpus.tokens), tuple(chain.counts), root, tuple(prior), n_moves, seed, step
    )
    return done


def seat(
    chain: FranchiseChain,
    corpus: FranchiseData,
    root: F64,
    prior: FranchisePrior,
    seed: int,
    step: int,
) -> None:
    """Draw the tables of all documents given topics and root, in place."""
    mass = prior.alpha * root[: len(chain.counts.topic)]
    franchise.seat(
        chain.heads, chain.counts.tables, chain.z, corpus.tokens.indptr, mass, seed, step
    )
    chain.counts.sizes[franchise.ALL] = chain.counts.tables.sum()


def draw_concentrations(
    chain: FranchiseChain,
    corpus: FranchiseData,
    prior: FranchisePrior,
    which: tuple[bool, bool],
    seed: int,
    step: int,
) -> FranchisePrior:
    """Draw b1 and b0 given all tables, under Gamma(1, 1) and Gamma(1, 0.1); ``which`` are learned."""
    alpha, gamma = prior.alpha, prior.gamma
    weak, a = concentration.Gamma(), prior.discount
    if which[0]:
        opened = np.zeros(len(corpus.lengths), np.int64)
        franchise.count_heads(opened, chain.heads, corpus.tokens.indptr)
        alpha = concentration.draw_document(
            alpha, corpus.lengths, opened, prior=weak, seed=seed, sweep=step, discount=a
        )
    if which[1]:
        n_tables, n_live = (int(n) for n in chain.counts.sizes[:2])
        gamma = concentration.draw_root(
            gamma, n_tables, n_live, prior=ROOT_PRIOR, seed=seed, sweep=step, discount=a
        )
    return prior._replace(alpha=max(alpha, 1e-6), gamma=max(gamma, 1e-6))


def mass_of(counts: FranchiseCounts, prior: FranchisePrior) -> F64:
    """b1 E[g_k] per slot: the weight of its topic in a document without tokens of it."""
    live = counts.topic > 0
    n_tables = counts.sizes[franchise.ALL]
    share = (counts.tables - prior.discount) / (n_tables + prior.gamma)
    return np.where(live, prior.alpha * share, 0.0)
