"""What the fast inference of LDA works on."""

from __future__ import annotations

from types import SimpleNamespace

from scipy.sparse import csr_array

from bayou.data.corpus import Corpus
from bayou.metrics.likelihood import completion_halves
from bayou.parts import fast, schedule, topics
from bayou.parts.topics import Each, Pairs


def prepare(corpus: Corpus, p: SimpleNamespace, seed: int, each: Each) -> fast.Setup:
    """Documents in keyed order, and those kept out in halves."""

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
