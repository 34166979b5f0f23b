"""Chains of an HDP sampler: documents, seeds, starts, and arrays in a state."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayou.data.checks import MAX_TOPICS
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError, ModelFileError
from bayou.inference.hdp import initial_topics
from bayou.inference.hdp.franchise import (
    MOST_TOKENS,
    DrawStore,
    FranchiseChain,
    FranchiseCounts,
    FranchiseData,
    FranchisePrior,
    make_corpus,
    start,
)
from bayou.inference.lda.arrays import I64, U16, Each
from bayou.inference.lda.documents import Tokens, pairs_of
from bayou.inference.lda.resume import check_counts, refuse
from bayou.kernels.rng import MEMBER, key

FEW_DOCS, FEW_TOKENS = 6, 1200  # documents or tokens per topic at the start


def make_data(corpus: Corpus, sampler: str) -> FranchiseData:
    """The documents of a chain; documents too long for a table of Stirling ratios are refused."""
    tokens = Tokens(*corpus.tokens())
    longest = int(np.diff(tokens.indptr).max(initial=0))
    if sampler != "direct" and longest > MOST_TOKENS:
        raise DataError(
            f"a document has {longest:,} tokens and sampler {sampler!r} takes up to "
            f"{MOST_TOKENS:,}; divide it, or give sampler 'direct'"
        )
    return make_corpus(tokens, corpus.n_terms, sampler, pairs_of(corpus.counts))


def chain_seed(seed: int, chain: int) -> int:
    """The seed of one of several chains; the first has the model's seed."""
    return seed if chain == 0 else int(key(seed, MEMBER, 0, chain)) & 0xFFFFFFFF


def first_topics(n_topics: int | None, n_docs: int, n_tokens: int, chain: int) -> int:
    """Number of topics that a chain starts with.

    The first chain starts with ``n_topics``, the others with 1.5 times, a quarter, 2.25 times, a 16th, ... of
    it.

    Default: half the square root of the number of tokens, but at most one topic per `FEW_DOCS` documents or
    `FEW_TOKENS` tokens, whichever are more topics. Chains that start from more topics of fewer documents each
    take hundreds of sweeps to drop them.
    """
    most = max(n_docs / FEW_DOCS, n_tokens / FEW_TOKENS)
    asked = n_topics or max(1, round(min(math.sqrt(n_tokens) / 2, most)))
    factor = 1.5 ** ((chain + 1) // 2) if chain % 2 else 4.0 ** -(chain // 2)
    return int(min(max(1, round(asked * factor)), max(n_tokens, 1), MAX_TOPICS // 2))


def first_alpha(alpha: float | None, data: FranchiseData, *, wide: bool) -> float:
    """The concentration of documents that a chain starts with: as given, wide for long documents, or 1."""
    if alpha is not None:
        return alpha
    return (
        max(initial_topics.mean_length(data.tokens) / initial_topics.NARROW, 1.0) if wide else 1.0
    )


def draw_start(
    data: FranchiseData, n_topics: int, beta: float, seed: int, each: Each
) -> U16 | None:
    """Topics of tokens from a cheap sampler of LDA; None without tokens."""
    if not len(data.tokens.terms):
        return None
    if data.pairs is None:
        raise TypeError("a fast start needs the counts of the documents; make the data with pairs")
    return initial_topics.draw_initial_topics(
        data.pairs, data.tokens, data.n_terms, n_topics, beta, seed, each
    )


def start_chain(
    data: FranchiseData, p: Any, seed: int, each: Each, chain_no: int
) -> tuple[FranchiseChain, FranchisePrior]:
    """A chain at its first topics; ``p`` are the settings of the model. The first chain is the model."""
    alpha = first_alpha(p.alpha, data, wide=p.how.learn_alpha and p.start == "fast")
    prior = FranchisePrior(alpha, p.gamma, p.discount, p.beta)
    sizes = data.tokens.n_docs, len(data.tokens.terms)
    n_topics = first_topics(p.n_topics, *sizes, chain_no)
    seed = chain_seed(seed, chain_no)
    given = draw_start(data, n_topics, p.beta, seed, each) if p.start == "fast" else None
    return start(data, n_topics, prior, seed, given), prior


def fields_of(chain: FranchiseChain) -> dict[str, Any]:
    """The arrays of a chain by the names that a state has for them."""
    stale, total, drawn, _, used = chain.store
    store = {"stale": stale, "total": total, "drawn": drawn, "used": used}
    return {"z": chain.z, "heads": chain.heads, **chain.counts._asdict(), **store}


def chain_of(state: Any, data: FranchiseData) -> FranchiseChain:
    """The inverse of `fields_of`."""
    counts = FranchiseCounts(state.term_topic, state.topic, state.tables, state.ids, state.sizes)
    store = DrawStore(state.stale, state.total, state.drawn, data.starts, state.used)
    return FranchiseChain(state.z, state.heads, counts, store)


def dims_of(data: FranchiseData) -> dict[str, int]:
    """Sizes that the arrays of a state must have."""
    n_stock = int(data.starts[-1])
    return {
        "terms": data.n_terms,
        "tokens": len(data.tokens.terms),
        "stocked": data.n_terms if n_stock else 0,
        "stock": n_stock,
    }


def check_chain(state: Any, data: FranchiseData) -> None:
    """Refuse a state of a checkpoint whose arrays contradict each other."""
    check_counts(state.z, data.tokens.terms, state.term_topic, state.topic)
    used = state.topic > 0
    n_tables, n_topics, next_id = state.sizes.tolist()
    is_whole = n_tables == state.tables.sum() and n_topics == (state.ids >= 0).sum()
    if not is_whole or (state.ids[used] < 0).any() or state.ids.max(initial=-1) >= next_id:
        refuse("sizes", "does not follow from the others")
    check_store(state.used, data)


def check_store(used: I64, data: FranchiseData) -> None:
    """Refuse a state of a checkpoint that has used more draws of a term than are stored."""
    if (used > np.diff(data.starts)).any():
        raise ModelFileError("the checkpoint's array 'used' holds impossible numbers")
