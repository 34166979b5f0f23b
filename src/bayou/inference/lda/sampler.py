"""Sweeps of the three LDA samplers over one layout: tokens x (1 + M), a topic and its M proposals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayou.inference.lda.arrays import F32, F64, TOKEN_COST, U16, U64, Each, topic_totals
from bayou.inference.lda.documents import TokenIndex, Tokens, index_tokens
from bayou.inference.lda.fold_in import prior_mass
from bayou.inference.lda.resume import check_counts, refuse
from bayou.kernels import alias
from bayou.kernels.lda import fixed_sweep, mh_sweep, sweep
from bayou.kernels.rng import INIT, TOKEN

N_PROPOSALS = 2  # of the Metropolis-Hastings sampler


class SamplerChain(NamedTuple):
    """What the samplers of one corpus share. It never changes."""

    tokens: Tokens
    by_term: TokenIndex
    ids: U64
    n_terms: int
    seed: int


def make_chain(tokens: Tokens, n_terms: int, seed: int) -> SamplerChain:
    """Group the tokens by term and number the documents by position."""
    ids = np.arange(tokens.n_docs, dtype=np.uint64)
    return SamplerChain(tokens, index_tokens(tokens, n_terms), ids, n_terms, seed)


def resume_rules(chain: SamplerChain, n_topics: int, inference: str) -> dict[str, Any]:
    """What the state of a checkpoint must satisfy: sizes, and counts that Gibbs sampling keeps up to date."""
    terms = chain.tokens.terms
    dims = {"terms": chain.n_terms, "topics": n_topics, "tokens": len(terms)}
    dims["columns"] = 1 + (N_PROPOSALS if inference == "mh" else 0)

    def check(state: Any) -> None:
        if state.n_kept and not len(state.kept):
            refuse("kept", "has no rows, but sweeps were kept")
        if inference == "gibbs":
            counts = state.term_topic
            check_counts(state.tokens[:, 0], terms, counts, counts.sum(axis=0, dtype=np.float64))

    return {"dims": dims, "check": check}


def start(chain: SamplerChain, n_topics: int, n_proposals: int, each: Each) -> U16:
    """Random topics, and first proposals if the sampler uses any."""
    z = np.empty(len(chain.tokens.terms), np.uint16)

    def work(lo: int, hi: int) -> None:
        fixed_sweep.start_uniform(z, chain.tokens.indptr, lo, hi, n_topics, chain.seed)

    each(work, chain.tokens.indptr, 10.0)
    return with_proposals(z, chain, n_proposals, each)


def start_from(
    chain: SamplerChain, rows: F32, doc_topic: F32, alpha: F64, n_proposals: int, each: Each
) -> U16:
    """Topics drawn from a point estimate: its topics and the documents' expected counts."""
    z = np.empty(len(chain.tokens.terms), np.uint16)
    prior = alpha.astype(np.float32)

    def work(lo: int, hi: int) -> None:
        fixed_sweep.start_from_counts(
            z, tuple(chain.tokens), lo, hi, rows, doc_topic, prior, chain.seed
        )

    each(work, chain.tokens.indptr, 10.0)
    return with_proposals(z, chain, n_proposals, each)


def start_from_topics(
    chain: SamplerChain, rows: F32, alpha: F64, n_proposals: int, each: Each
) -> U16:
    """Topics drawn token by token under given topics, given the topics of the document's earlier tokens."""
    z = np.empty(len(chain.tokens.terms), np.uint16)
    prior, toks = alpha.astype(np.float32), tuple(chain.tokens)

    def work(lo: int, hi: int) -> None:
        fixed_sweep.start_docs(z, toks, chain.ids, lo, hi, rows, prior, chain.seed, INIT, 4)

    each(work, chain.tokens.indptr, 10.0)
    return with_proposals(z, chain, n_proposals, each)


def with_proposals(z: U16, chain: SamplerChain, n_proposals: int, each: Each) -> U16:
    """Topics, and proposals that each token takes from its own document."""
    state = np.zeros((len(z), 1 + n_proposals), np.uint16)
    state[:, 0] = z
    if n_proposals:
        flat = (np.ones(1, np.float32), np.zeros(1, np.int64))

        def work(lo: int, hi: int) -> None:
            mh_sweep.propose_first(state, chain.tokens.indptr, lo, hi, flat, chain.seed)

        each(work, chain.tokens.indptr, 10.0)
    return state


def count_terms(
    state: U16, chain: SamplerChain, n_topics: int, each: Each, out: F32 | None = None
) -> F32:
    """n_vk as float32 (terms x topics), exact up to 2**24 in a cell; added to ``out`` if given."""
    if out is None:
        out = np.zeros((chain.n_terms, n_topics), np.float32)
    z = np.ascontiguousarray(state[:, 0])

    def work(lo: int, hi: int) -> None:
        fixed_sweep.count_terms(out, z, tuple(chain.by_term), lo, hi, np.float32(1.0))

    each(work, chain.by_term.termptr, 5.0)
    return out


def count_docs(state: U16, chain: SamplerChain, n_topics: int, each: Each) -> F32:
    """n_dk as float32 (documents x topics)."""
    out = np.zeros((chain.tokens.n_docs, n_topics), np.float32)
    z = np.ascontiguousarray(state[:, 0])

    def work(lo: int, hi: int) -> None:
        fixed_sweep.count_docs(out, z, chain.tokens.indptr, lo, hi, np.float32(1.0))

    each(work, chain.tokens.indptr, 10.0)
    return out


def gibbs(
    state: U16, term_topic: F32, chain: SamplerChain, alpha: F64, beta: float, step: int
) -> None:
    """An exact collapsed sweep in place, one token after another; ``term_topic`` is updated."""
    z = np.ascontiguousarray(state[:, 0])
    topic = topic_totals(term_topic)
    sweep.gibbs_sweep(z, tuple(chain.tokens), term_topic, topic, alpha, beta, chain.seed, step)
    state[:, 0] = z


def snapshot(
    state: U16, chain: SamplerChain, alpha: F64, beta: float, step: int, each: Each
) -> None:
    """A Gibbs sweep of every document given the word counts before the sweep, in place."""
    z = np.ascontiguousarray(state[:, 0])
    a32, toks, b32 = alpha.astype(np.float32), tuple(chain.tokens), np.float32(beta)
    own = _inverse_totals(state, len(alpha), chain.n_terms * beta).astype(np.float32)
    rows = np.empty((chain.n_terms, len(alpha)), np.float32)

    def terms(lo: int, hi: int) -> None:
        fixed_sweep.count_rows(rows, z, tuple(chain.by_term), lo, hi, b32, own)

    def docs(lo: int, hi: int) -> None:
        fixed_sweep.sweep_docs(
            z, toks, chain.ids, lo, hi, rows, slack, own, a32, chain.seed, TOKEN, step
        )

    each(terms, chain.by_term.termptr, 10.0)
    slack = prior_mass(rows, a32)
    each(docs, chain.tokens.indptr, TOKEN_COST)
    state[:, 0] = z


def metropolis(
    state: U16, chain: SamplerChain, alpha: F64, beta: float, step: int, each: Each
) -> None:
    """A term pass and a document pass of the O(1) sampler, in place."""
    n_topics = len(alpha)
    flat = np.full(n_topics, beta)
    tables = [_table(flat), _table(alpha)]

    def terms(lo: int, hi: int) -> None:
        mh_sweep.term_pass(
            state, tuple(chain.by_term), lo, hi, flat, tables[0], inv, chain.seed, step
        )

    def docs(lo: int, hi: int) -> None:
        mh_sweep.doc_pass(
            state, chain.tokens.indptr, lo, hi, alpha, tables[1], inv, chain.seed, step
        )

    inv = _inverse_totals(state, n_topics, chain.n_terms * beta)
    each(terms, chain.by_term.termptr, TOKEN_COST)
    inv = _inverse_totals(state, n_topics, chain.n_terms * beta)
    each(docs, chain.tokens.indptr, TOKEN_COST)


def draw_topics(term_topic: F32, beta: float, seed: int, step: int, each: Each) -> F32:
    """phi_k ~ Dir(n_k + beta) for every topic, as (terms x topics).

    No entry is below 1e-30 of its topic's largest: a term must not be impossible in all topics at once.
    """
    out = np.empty_like(term_topic)

    def work(lo: int, hi: int) -> None:
        fixed_sweep.draw_topics(out, term_topic, lo, hi, beta, seed, step)

    each(work, np.arange(len(out) + 1, dtype=np.int64), 50.0 * out.shape[1])
    out -= out.max(axis=0)
    np.exp(out, out=out)
    np.maximum(out, np.float32(1e-30), out=out)
    out /= topic_totals(out).astype(np.float32)
    return out


def add_draw(
    draws: F32, n_draws: int, counts: F32, beta: float, chain: SamplerChain, step: int, each: Each
) -> F32:
    """The last ``n_draws`` draws of the topics, with one from these counts as the newest."""
    if not n_draws:
        return draws
    drawn = draw_topics(counts, beta, chain.seed, step, each)
    return np.concatenate([draws[max(len(draws) - n_draws + 1, 0) :], drawn[None]])


def log_joint(state: U16, term_topic: F32, chain: SamplerChain, alpha: F64, beta: float) -> float:
    """ln p(w, z) per token with proportions and topics integrated out."""
    z = np.ascontiguousarray(state[:, 0])
    n = max(len(z), 1)
    docs = fixed_sweep.log_joint_docs(z, chain.tokens.indptr, 0, chain.tokens.n_docs, alpha)
    words = fixed_sweep.log_joint_terms(term_topic, topic_totals(term_topic), beta)
    return float((docs + words) / n)


def _inverse_totals(state: U16, n_topics: int, vbeta: float) -> F64:
    topic = np.zeros(n_topics, np.int64)
    z = np.ascontiguousarray(state[:, 0])
    fixed_sweep.count_topics(topic, z, 0, len(z))
    return np.asarray(1.0 / (topic + vbeta), np.float64)


def _table(weights: F64):  # type: ignore[no-untyped-def]
    n = len(weights)
    prob, other = np.empty(n, np.float32), np.empty(n, np.int64)
    alias.build_alias_into(prob, other, weights, np.empty(n, np.int64), np.empty(n, np.int64))
    return prob, other
