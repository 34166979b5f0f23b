"""Significance of the changes in a slice: divergence of topics, their shares, terms, surprising documents.

Scores are compared with scores of recent slices as well as with theory. Inference moves topics towards the
slice, and text is burstier than any urn model. Both increase the scores of slices without change.

[Benjamini95] Benjamini, Hochberg. Controlling the false discovery rate. JRSS B 57, 1995.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from bayou.inference.lda.arrays import F32, F64, I64, Each, topic_totals
from bayou.inference.lda.fold_in import log_likelihoods
from bayou.inference.tracking import change, lineage, prior
from bayou.inference.tracking.lineage import LEAST_SHARE, TopicMeasures
from bayou.inference.tracking.prior import SliceDocuments, SliceTopics
from bayou.inference.tracking.settings import TrackerSettings
from bayou.inference.tracking.state import TrackerState
from bayou.inference.tracking.surprise import N_RECENT, surprise_p, topic_shares, update_limits

FACTOR = 1.5  # least change of a share, up or down, that is reported
RISEN = 1.5  # least ratio of documents to expected documents of a term that emerges
FEW = 3.0  # standard deviation of log-odds in a slice of a single document


class InferredSlice(NamedTuple):
    """The documents of a slice, the topics found in them, and the shares of these topics."""

    documents: SliceDocuments
    topics: SliceTopics
    measures: TopicMeasures
    logit: F64  # log-odds of the shares, of all topics and spare topics
    variance: F64  # of the log-odds, over documents drawn again


class SliceEvidence(NamedTuple):
    """Results of the tests in a slice: per topic of the state before it, per term, or per document."""

    drift: change.Drift
    expected: F64  # divergence without change, estimated from slices of this stream
    p_drift: F64
    drifted: NDArray[np.bool_]
    is_new: NDArray[np.bool_]  # drifted, and not merely as far from the memory as in the last slice
    p_share: F64
    swung: I64  # -1, 0 or 1
    p_terms: F64
    emerged: NDArray[np.bool_]
    surprise: F64  # NaN for empty documents
    p_surprise: float
    burst: float
    ratios: F64
    swings: F64


class _DriftTests(NamedTuple):
    """Input of drift tests that does not depend on the reference."""

    repeats: change.TermRepeats
    counted: tuple[F32, NDArray[np.int32]]
    burst: float
    enough: NDArray[np.bool_]  # topics that have enough tokens
    key: tuple[int, int]


def measure_shares(found: SliceTopics, here: SliceDocuments) -> InferredSlice:
    """Shares of the topics with 95 % intervals, and their log-odds."""
    share, error = change.shares(found.doc_topic)
    kept = np.clip(share, LEAST_SHARE, 1.0 - LEAST_SHARE)
    variance = (error / (kept * (1.0 - kept))) ** 2 + (FEW / max(here.pairs.n_docs, 1)) ** 2
    tokens, ends = topic_totals(found.term_topic), change.interval(share, error)
    measures = TopicMeasures(found.term_topic, here.terms, here.n_terms, tokens, share, *ends)
    return InferredSlice(here, found, measures, _log_odds(share), variance)


def likelihood(
    found: SliceTopics, known: prior.SlicePrior, here: SliceDocuments, each: Each
) -> float:
    """ln p(w) of a slice under the topics found in it, to choose between starts."""
    rows = prior.topic_rows(found.term_topic, known)
    theta = topic_shares(found.doc_topic, found.alpha)
    return float(np.nansum(log_likelihoods(rows, theta, here.pairs, each)))


def _log_odds(share: F64) -> F64:
    kept = np.clip(share, LEAST_SHARE, 1.0 - LEAST_SHARE)
    return np.asarray(np.log(kept / (1.0 - kept)), np.float64)


def smooth_memory(state: TrackerState, here: SliceDocuments, n_all: int) -> F32:
    """The memory of the slice's terms as topics in which every term is possible.

    Further topics up to ``n_all`` are uniform.
    """
    n_terms, n_topics = state.memory.shape
    size = np.maximum(state.tokens, 1.0)
    out = np.full((len(here.terms), n_all), 1.0 / n_terms, np.float32)
    mass = size + n_terms * state.beta
    pull = size * change.inverse_sums(state.memory) / mass
    out[:, :n_topics] = state.memory[here.terms] * pull.astype(np.float32)
    out[:, :n_topics] += (state.beta / mass).astype(np.float32)
    return out


def judge(
    state: TrackerState, seen: InferredSlice, before: F32, p: TrackerSettings, seed: int, each: Each
) -> SliceEvidence:
    """Test everything in a slice against the memory before it.

    ``before`` is the memory of the slice's terms as topics (`smooth_memory`).
    """
    here, found = seen.documents, seen.topics
    repeats = change.count_repeats(found.z, here.tokens, state.memory[here.terms])
    size = repeats.lengths.sum(axis=1).astype(np.float64)
    enough = (size >= max(p.min_tokens, 1)) & (state.silent == 0)
    counted, burst = (_count_tokens(found, here), here.place), change.burstiness(repeats)
    tests = _DriftTests(repeats, counted, burst, enough, (seed, state.step))
    noise = size * state.doubt
    gap, expected, p_drift, ratios = _test_drift(state, tests, state.memory, noise, each)
    p_drift = np.where(enough, p_drift, np.nan)
    drifted = change.reject_hypotheses(p_drift, p.level) & (gap.value - expected > p.min_effect)
    again = drifted & (state.alarmed > 0)
    is_new = drifted & ~again
    if again.any():  # compare with the last slice instead of the memory
        noise = size / np.maximum(state.tokens, 1.0)
        step, limit, p_step, _ = _test_drift(state, tests, state.rows, noise, each)
        certain = p_step < p.level / max(enough.sum(), 1)
        is_new |= again & certain & (step.value - limit > p.min_effect)
    p_share, swung, swings = _share_p(state, seen, size, p)
    p_terms, emerged = _terms_p(state, here, size, p)
    surprise, p_surprise = surprise_p(state, here.pairs, before, each)
    return SliceEvidence(
        gap, expected, p_drift, drifted, is_new, p_share, swung, p_terms, emerged, surprise, p_surprise,
        burst, ratios, swings,
    )  # fmt: skip


def _count_tokens(found: SliceTopics, here: SliceDocuments) -> F32:
    """Tokens of the last sweep by term of the slice and topic."""
    n_terms, n_topics = found.term_topic.shape
    cell = here.tokens.terms.astype(np.int64) * n_topics + found.z
    counts = np.bincount(cell, minlength=n_terms * n_topics)
    return counts.reshape(n_terms, n_topics).astype(np.float32)


def _test_drift(
    state: TrackerState, tests: _DriftTests, reference: F32, noise: F64, each: Each
) -> tuple[change.Drift, F64, F64, F64]:
    """The divergence from ``reference``; its value without change, P(at least as large), ln(seen / expected).

    ``noise`` is the tokens of the slice over the tokens that the reference is worth. The sampling error of
    the reference adds to the divergence in that proportion. The rest is common to all topics and is
    estimated from recent ones.
    """
    topics, enough = (state.ids, tests.enough), tests.enough
    gap = change.drift(
        tests.repeats, tests.counted, reference, tests.burst, topics, tests.key, each
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.log(gap.value / (gap.expected * (1.0 + noise)))
    pool = np.concatenate([state.ratios, ratios[enough]])
    pool = pool[np.isfinite(pool)]
    centre = max(change.median(pool), 0.0) if len(pool) else 0.0
    wide = 1.4826 * change.median(np.abs(pool - centre)) if len(pool) > 4 else change.EXTRA
    within = float(np.nanmean(gap.spread[enough] ** 2)) if enough.any() else 0.0
    between = max(wide**2 - within, change.EXTRA**2)
    z = (ratios - centre) / np.sqrt(gap.spread**2 + between)
    expected = gap.expected * (1.0 + noise) * np.exp(centre)
    return gap, expected, np.asarray(ndtr(-z), np.float64), ratios[enough & np.isfinite(ratios)]


def _share_p(
    state: TrackerState, seen: InferredSlice, size: F64, p: TrackerSettings
) -> tuple[F64, I64, F64]:
    """P-values of the topics' log-odds against the usual ones, signs of significant changes, scores.

    Shares are shares among the topics that are not dormant before and after. If a topic is born, becomes
    dormant or is revived, the shares of all others change, which is no change of their own. Tokens in spare
    topics beyond the usual share may belong to a topic with new words. A fall must be significant with
    these tokens, too.
    """
    n, found = len(state.ids), seen.measures
    usual, share = lineage.usual_share(state.logit), found.share[:n]
    steady = (state.silent == 0) & ~lineage.is_dormant(usual, share, found.high[:n])
    whole = max(share[steady].sum(), LEAST_SHARE)
    before = _log_odds(usual / max(usual[steady].sum(), LEAST_SHARE))
    extra = max(float(found.share[n:].sum()) - state.spared, 0.0)
    now, most = _log_odds(share / whole), _log_odds((share + extra) / whole)
    now = np.where(now < before, np.minimum(most, before), now)
    z = (now - before) / np.sqrt(seen.variance[:n] + state.logit_doubt + 1e-6)
    enough = (np.maximum(size, usual * max(size.sum(), 1.0)) >= p.min_tokens) & (state.silent == 0)
    p_share = np.where(enough, change.usual_p(z, state.swings), np.nan)
    far = np.abs(now - before) > np.log(FACTOR)
    significant = change.reject_hypotheses(p_share, p.level) & far
    return p_share, np.where(significant, np.sign(z), 0).astype(np.int64), z[enough]


def _terms_p(
    state: TrackerState, here: SliceDocuments, size: F64, p: TrackerSettings
) -> tuple[F64, NDArray[np.bool_]]:
    """P-values of the terms' numbers of documents, and which terms emerge.

    The expected number of documents of a term is the usual one, times a factor for the shares of its topics
    in this slice: a topic that grows does not make its terms emerge. If all terms vary more than in
    documents drawn independently (documents of a slice may have one author), the memory is worth less.
    """
    n_terms, pairs = len(state.usual), here.pairs
    docs = here.spread(np.bincount(pairs.terms).astype(np.float64))
    now = size * change.inverse_sums(state.memory) / max(size.sum(), 1.0)
    today = state.memory @ now.astype(np.float32)
    lift = np.where(state.usual > 0, today / np.maximum(state.usual, 1e-300), 1.0)
    share = np.clip(state.spread * np.clip(lift, 1.0, 5.0), 0.0, 1.0)
    certainty = change.memory_worth(docs, pairs.n_docs, share, 1.0 / state.doc_doubt)
    p_terms = change.emergence_p(docs, pairs.n_docs, share, certainty)
    met = docs > 0
    rejected = np.zeros(n_terms, bool)
    rejected[met] = change.reject_hypotheses(p_terms[met], p.level)
    return p_terms, rejected & (docs > RISEN * share * pairs.n_docs)


def memory_weights(state: TrackerState, judged: SliceEvidence, tokens: F64) -> F64:
    """Pseudo-tokens that the memory of each topic is worth in a slice, by how little the topic changes.

    The error of a slice of N tokens is its divergence by chance, e. The error of a memory worth M tokens is
    its sampling error e N / M plus the change of the topic, which is the divergence beyond both. Weights are
    inverse errors, so the memory is worth N e / (e N / M + change) tokens.
    """
    chance, noise = judged.drift.expected, tokens * state.doubt
    changed = np.maximum(judged.drift.value - chance * (1.0 + noise), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        worth = tokens * chance / (chance * noise + changed)
    return np.where(np.isfinite(worth), worth, state.strength)


def update_topic_shares(
    state: TrackerState, seen: InferredSlice, rho: float, spared: float
) -> TrackerState:
    """The state with the usual log-odds of topics and the usual share of spare ones after a slice."""
    n = len(state.ids)
    return state._replace(
        spared=(1.0 - rho) * state.spared + rho * spared,
        logit=(1.0 - rho) * state.logit + rho * seen.logit[:n],
        logit_doubt=(1.0 - rho) ** 2 * state.logit_doubt + rho**2 * seen.variance[:n],
    )


def record_scores(state: TrackerState, judged: SliceEvidence, rho: float) -> TrackerState:
    """The state with the scores that the next slices are compared with."""
    most = N_RECENT * len(state.ids)
    return state._replace(
        ratios=np.concatenate([state.ratios, judged.ratios])[-most:],
        swings=np.concatenate([state.swings, judged.swings])[-most:],
        alarmed=np.where(np.isnan(judged.p_drift), state.alarmed, judged.drifted).astype(np.int64),
        leaning=np.where(np.isnan(judged.p_share), state.leaning, judged.swung),
        hot=judged.emerged.astype(np.int64),
        surprise=update_limits(state.surprise, judged.surprise, rho),
    )
