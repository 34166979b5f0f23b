"""Topics to begin with: a few passes of the fast inference of LDA."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from scipy.sparse import csr_array

from bayou.data.corpus import Corpus
from bayou.metrics.likelihood import completion_halves
from bayou.parameters import resolve_alpha
from bayou.parts import fast, sampler, schedule, topics
from bayou.parts.topics import U16, Each, Pairs


def prepare(corpus: Corpus, p: SimpleNamespace, seed: int, each: Each) -> fast.Setup:
    """What the fast inference works on: documents in keyed order, and those kept out in halves."""

    def split(guard: Pairs) -> tuple[Pairs, Pairs]:
        matrix = csr_array(
            (guard.counts, guard.terms, guard.indptr), (guard.n_docs, corpus.n_terms)
        )
        observed, scored = completion_halves(matrix)
        return topics.pairs_of(observed), topics.pairs_of(scored)

    def plan(size: schedule.Size) -> schedule.Plan:
        learn = (p.learn_alpha, p.learn_beta)
        return schedule.make_plan(p.n_topics, size, p.n_sweeps, p.tol, learn)

    pairs = topics.pairs_of(corpus.counts)
    return fast.make_setup(pairs, corpus.n_terms, p.n_topics, plan, split, p.beta, seed, each)


def drawn_under(
    corpus: Corpus, n_topics: int, beta: float, n_passes: int, seed: int, each: Each
) -> U16:
    """A topic for every token, drawn under what ``n_passes`` have found."""
    p = SimpleNamespace(
        n_topics=n_topics,
        n_sweeps=n_passes,
        beta=beta,
        tol=0.0,
        learn_alpha=False,
        learn_beta=False,
    )
    setup = prepare(corpus, p, seed, each)
    state = fast.start(setup, resolve_alpha(None, n_topics), beta)
    while state.phase != fast.DONE:
        state = fast.advance(state, setup)
    counts, alpha, _ = fast.answer(state, setup)
    chain = sampler.make_chain(topics.Tokens(*corpus.tokens()), corpus.n_terms, seed)
    rows = topics.topic_rows(counts, beta, each)
    return np.ascontiguousarray(sampler.start_under(chain, rows, alpha, 0, each)[:, 0])
