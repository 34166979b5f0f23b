"""Several chains on one corpus: run side by side, averaged, and read as topics and weights.

One chain for all tasks, several whose scores are averaged, or one for each task with its own topics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bayou.inference.lda import arrays, documents, sampler
from bayou.inference.lda import features as lda_features
from bayou.inference.lda.arrays import F32, F64, I64, U16, Each
from bayou.inference.margin import features, linear, refit
from bayou.inference.margin.setup import (
    AUTO,
    MarginChain,
    MarginData,
    MarginSettings,
)
from bayou.inference.margin.tasks import MarginTask
from bayou.results.posterior import Posterior
from bayou.results.response import Response


class SampledChains(NamedTuple):
    """What chains have sampled; the first axis is the chain unless stated otherwise."""

    z: U16  # after the last sweep
    counts: F32  # n_vk after the last sweep
    topic: F64  # n_k after the last sweep
    mean_counts: F32  # n_vk averaged over kept sweeps
    mean: F64  # chains x tasks x topics: weights averaged over kept sweeps
    draws: F32  # kept sweeps x chains x tasks x topics
    scores: F64  # ln p(w, z) per token of the first chain
    score_steps: I64


def run_members(n: int, member: Callable[[int, Each], None], each: Each) -> None:
    """Call ``member(i, each)`` for n chains: one chain shares the threads, several take one each."""
    if n == 1:
        member(0, each)
        return

    def work(lo: int, hi: int) -> None:
        for i in range(lo, hi):
            member(i, _serial)

    each(work, np.arange(n + 1, dtype=np.int64), 1e9)


def _serial(work: Callable[[int, int], None], ends: I64, cost: float = 1.0) -> None:
    """All of the work in the calling thread."""
    del cost
    if len(ends) > 1:
        work(0, len(ends) - 1)


def log_joint(z: U16, counts: F32, chain: MarginChain) -> float:
    """ln p(w, z) per token of a chain."""
    none = documents.TokenIndex(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32))
    plain = sampler.SamplerChain(chain.tokens, none, chain.ids, chain.n_terms, 0)
    return sampler.log_joint(z[:, None], counts, plain, *chain.prior)


def results(
    found: SampledChains,
    data: MarginData,
    task: MarginTask,
    p: MarginSettings,
    each: Each,
) -> dict[str, Any]:
    """The topics, and the weights refitted to leave-one-out features, as attributes of a model."""
    zbar = leave_one_out_topics(found, data, each)
    return {
        "posterior_": posterior(found, data, each),
        "response_": response(found, zbar, data, task, p),
    }


def posterior(found: SampledChains, data: MarginData, each: Each) -> Posterior:
    """Topics from averaged counts, those of the chains side by side."""
    prior = data.chains[0].prior
    rows = [arrays.topic_rows(counts, prior.beta, each) for counts in found.mean_counts]
    return Posterior(
        rows=np.ascontiguousarray(np.hstack(rows)),
        alpha=np.tile(prior.alpha, len(rows)),
        beta=prior.beta,
        topic_tokens=np.concatenate([arrays.topic_totals(counts) for counts in found.mean_counts]),
        scores=found.scores,
        score_steps=found.score_steps,
        vocabulary=data.corpus.vocabulary,
    )


def response(
    found: SampledChains, zbar: F32, data: MarginData, task: MarginTask, p: MarginSettings
) -> Response:
    """Weights and probabilities, refitted to features ``zbar`` that labels have not shaped."""
    idf = lda_features.inverse_frequency(data.corpus.counts)
    words = None
    auto = p.word_residual == AUTO and p.refit
    q = 0.0 if p.word_residual == AUTO else float(p.word_residual)
    if auto or q > 0:
        words = lda_features.unit_words(data.corpus.counts, idf)[data.order]
    mean, draws = stack_weights(found.mean, found.draws, p.separate)
    if p.prediction == "sampled":
        mean = draws[-1].astype(np.float64)
    seen = linear.RefitEvidence(
        zbar, words, task.y[data.order].astype(np.float32),
        task.cost[data.order].astype(np.float32), data.term_weight, idf, mean, draws,
        len(data.chains), p.separate,
    )  # fmt: skip
    plan = linear.RefitPlan(
        p.refit, q, p.loss.refit, data.seeds[0], auto, free_positive=p.positive_cost is None
    )
    return refit.respond(seen, task, data.order, plan)


def leave_one_out_topics(found: SampledChains, data: MarginData, each: Each) -> F32:
    """Leave-one-out average topics of the training documents, in the order of the chains."""
    pairs = documents.select(documents.pairs_of(data.damped), data.order)
    zbar = [
        features.zbar_without(
            (found.counts[i], found.topic[i]), (chain.tokens, found.z[i]), *chain.prior,
            data.term_weight, pairs, each,
        )
        for i, chain in enumerate(data.chains)
    ]  # fmt: skip
    return np.ascontiguousarray(np.hstack(zbar))


def stack_weights(mean: F64, draws: F32, separate: bool) -> tuple[F64, F32]:
    """Weights (topics x tasks) with the topics of all chains side by side, and their draws."""
    n, n_tasks, n_topics = mean.shape
    if separate:  # the topics of a chain have weights in one task only
        whole = np.zeros((n * n_topics, n))
        drawn = np.zeros((len(draws), n * n_topics, n), np.float32)
        for i in range(n):
            at = slice(i * n_topics, (i + 1) * n_topics)
            whole[at, i], drawn[:, at, i] = mean[i, 0], draws[:, i, 0]
        return whole, drawn
    stacked = mean.transpose(0, 2, 1).reshape(n * n_topics, n_tasks) / n
    drawn = draws.transpose(0, 1, 3, 2).reshape(len(draws), n * n_topics, n_tasks) / np.float32(n)
    return stacked, np.ascontiguousarray(drawn)
