"""What of a slice is beyond chance: divergence of topics, terms, shares, and documents that fit nowhere.

Scores are judged against those of recent slices as well as against theory: inference bends topics towards the
slice, text is burstier than any urn, and both show in slices where nothing happens.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from bayou.inference.lda.arrays import F32, F64, I64, Each, pad_columns, topic_totals
from bayou.inference.lda.fold_in import expected_counts, log_likelihoods
from bayou.inference.tracking import change, lineage, prior
from bayou.inference.tracking.lineage import TopicMeasures
from bayou.inference.tracking.prior import SliceDocuments
from bayou.inference.tracking.state import TrackerState
from bayou.kernels.tracking import quiet

LEAST_SHARE = 1e-4  # log-odds of nothing are not defined
FACTOR = 1.5  # least change of a share, up or down, that is told
RISEN = 1.5  # times as many documents as expected: the least that makes a term emerge
N_RECENT = 4  # slices whose scores judge the next ones
FEWEST = 3  # slices that must have been scored before documents can be called surprising
FEW = 3.0  # standard deviation of log-odds that a single document leaves open
AT_REST = 0.03  # share of a document's tokens that move in a step: then its likelihood is known
UPPER = 0.05  # least share of documents that are called surprising in usual slices


class SliceEvidence(NamedTuple):
    """What was tested in a slice, one entry a topic of the state before it, a term, or a document."""

    drift: change.Drift
    expected: F64  # divergence without change, as slices of this stream have shown it
    p_drift: F64
    drifted: NDArray[np.bool_]
    is_new: NDArray[
        np.bool_
    ]  # drifted, and not just still away from the memory as in the slice before
    p_share: F64
    swung: I64  # -1, 0 or 1
    p_terms: F64
    emerged: NDArray[np.bool_]
    surprise: F64  # NaN for empty documents
    p_surprise: float
    burst: float
    ratios: F64
    swings: F64


def measure_shares(
    found: prior.SliceTopics, here: SliceDocuments
) -> tuple[TopicMeasures, tuple[F64, F64]]:
    """Shares with 95 % intervals; their log-odds, with the variances that documents drawn anew have."""
    share, error = change.shares(found.doc_topic)
    kept = np.clip(share, LEAST_SHARE, 1.0 - LEAST_SHARE)
    spread = (error / (kept * (1.0 - kept))) ** 2 + (FEW / max(here.pairs.n_docs, 1)) ** 2
    odds = _log_odds(share), spread
    tokens = topic_totals(found.term_topic)
    ends = change.interval(share, error)
    return TopicMeasures(found.term_topic, here.terms, here.n_terms, tokens, share, *ends), odds


def likelihood(
    found: prior.SliceTopics, known: prior.SlicePrior, here: SliceDocuments, each: Each
) -> float:
    """ln p(w) of a slice under what was found in it, to choose between starts."""
    rows = prior.topic_rows(found.term_topic, known)
    theta = _shares(found.doc_topic, found.alpha)
    return float(np.nansum(log_likelihoods(rows, theta, here.pairs, each)))


def _shares(doc_topic: F32, alpha: F64) -> F32:
    theta = doc_topic + alpha.astype(np.float32)
    return np.asarray(theta / theta.sum(axis=1, keepdims=True), np.float32)


def _log_odds(share: F64) -> F64:
    kept = np.clip(share, LEAST_SHARE, 1.0 - LEAST_SHARE)
    return np.asarray(np.log(kept / (1.0 - kept)), np.float64)


def smooth_memory(state: TrackerState, here: SliceDocuments, n_all: int) -> F32:
    """The memory of the slice's terms as topics that leave none impossible.

    Further topics up to ``n_all`` know nothing.
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
    state: TrackerState,
    here: SliceDocuments,
    found: prior.SliceTopics,
    seen: TopicMeasures,
    odds: tuple[F64, F64],
    before: F32,
    p: SimpleNamespace,
    key: tuple[int, int],
    each: Each,
) -> SliceEvidence:
    """Test everything in a slice against the memory as it was before; ``key`` = seed and its number.

    ``before`` is the memory of the slice's terms as topics (`smooth_memory`).
    """
    known = change.repeats(found.z, here.tokens, state.memory[here.terms])
    counted = _count_tokens(found, here), here.place
    burst = change.burstiness(known)
    size = known.lengths.sum(axis=1).astype(np.float64)
    enough = (size >= max(p.min_tokens, 1)) & (state.silent == 0)
    tested = state.ids, enough
    gap = change.drift(known, counted, state.memory, burst, tested, key, each)
    expected, p_drift, ratios = _drift_p(gap, size * state.doubt, enough, state)
    excess = gap.value - expected
    drifted = change.reject_hypotheses(np.where(enough, p_drift, np.nan), p.level) & (
        excess > p.min_effect
    )
    again = drifted & (state.alarmed > 0)
    is_new = drifted & ~again
    if again.any():
        step = change.drift(known, counted, state.rows, burst, tested, key, each)
        noise = size / np.maximum(state.tokens, 1.0)
        limits, p_step, _ = _drift_p(step, noise, enough, state)
        is_new |= (
            again & (p_step < p.level / max(enough.sum(), 1)) & (step.value - limits > p.min_effect)
        )
    p_share, swung, swings = _share_p(state, seen, odds, size, p)
    p_terms, emerged = _terms_p(state, here, size, p)
    surprise, p_surprise = _surprise_p(state, here, before, each)
    p_drift = np.where(enough, p_drift, np.nan)
    return SliceEvidence(
        gap, expected, p_drift, drifted, is_new, p_share, swung, p_terms, emerged, surprise, p_surprise,
        burst, ratios, swings,
    )  # fmt: skip


def _count_tokens(found: prior.SliceTopics, here: SliceDocuments) -> F32:
    """Tokens of the last sweep by term of the slice and topic."""
    n_terms, n_topics = found.term_topic.shape
    cell = here.tokens.terms.astype(np.int64) * n_topics + found.z
    counts = np.bincount(cell, minlength=n_terms * n_topics)
    return counts.reshape(n_terms, n_topics).astype(np.float32)


def _drift_p(
    gap: change.Drift, noise: F64, enough: NDArray[np.bool_], state: TrackerState
) -> tuple[F64, F64, F64]:
    """The divergence without change, P(at least the divergence seen), and ln(seen / expected).

    ``noise`` is the tokens of the slice over those the reference is worth: its own sampling error adds
    to the divergence in that proportion. What is left is common to all topics and known from recent ones.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.log(gap.value / (gap.expected * (1.0 + noise)))
    pool = np.concatenate([state.ratios, ratios[enough]])
    pool = pool[np.isfinite(pool)]
    centre = max(change.middle(pool), 0.0) if len(pool) else 0.0
    wide = 1.4826 * change.middle(np.abs(pool - centre)) if len(pool) > 4 else change.EXTRA
    within = float(np.nanmean(gap.spread[enough] ** 2)) if enough.any() else 0.0
    between = max(wide**2 - within, change.EXTRA**2)
    z = (ratios - centre) / np.sqrt(gap.spread**2 + between)
    expected = gap.expected * (1.0 + noise) * np.exp(centre)
    return expected, np.asarray(ndtr(-z), np.float64), ratios[enough & np.isfinite(ratios)]


def _share_p(
    state: TrackerState, seen: TopicMeasures, odds: tuple[F64, F64], size: F64, p: SimpleNamespace
) -> tuple[F64, I64, F64]:
    """P-values of the topics' log-odds against what is usual, the direction of those that fall, scores.

    Shares are those among the topics that are awake before and after: where one is born, falls asleep or
    wakes, all others have less or more of the whole, and that is no news of theirs. What spare topics have
    beyond their usual share may be that of a topic whose words are new: a fall must be one with it too.
    """
    n = len(state.ids)
    usual, share = lineage.usual_share(state.logit), seen.share[:n]
    steady = (state.silent == 0) & ~lineage.asleep(usual, share, seen.high[:n])
    whole = max(share[steady].sum(), LEAST_SHARE)
    before = _log_odds(usual / max(usual[steady].sum(), LEAST_SHARE))
    extra = max(float(seen.share[n:].sum()) - state.spared, 0.0)
    now, most = _log_odds(share / whole), _log_odds((share + extra) / whole)
    now = np.where(now < before, np.minimum(most, before), now)
    z = (now - before) / np.sqrt(odds[1][:n] + state.logit_doubt + 1e-6)
    enough = (np.maximum(size, usual * max(size.sum(), 1.0)) >= p.min_tokens) & (state.silent == 0)
    p_share = np.where(enough, change.usual_p(z, state.swings), np.nan)
    far = np.abs(now - before) > np.log(FACTOR)
    swung = np.where(change.reject_hypotheses(p_share, p.level) & far, np.sign(z), 0).astype(
        np.int64
    )
    return p_share, swung, z[enough]


def _terms_p(
    state: TrackerState, here: SliceDocuments, size: F64, p: SimpleNamespace
) -> tuple[F64, NDArray[np.bool_]]:
    """P-values of the terms' numbers of documents, and which of them emerge.

    A term is expected in as many documents as usual, times what the topics' shares of today make of it:
    a topic that grows does not make its terms emerge. Where all terms stray further than documents drawn
    one by one would (those of a slice may have one author), the memory is worth that much less.
    """
    n_terms, pairs = len(state.usual), here.pairs
    docs = here.spread(np.bincount(pairs.terms).astype(np.float64))
    now = size * change.inverse_sums(state.memory) / max(size.sum(), 1.0)
    today = state.memory @ now.astype(np.float32)
    lift = np.where(state.usual > 0, today / np.maximum(state.usual, 1e-300), 1.0)
    share = np.clip(state.spread * np.clip(lift, 1.0, 5.0), 0.0, 1.0)
    certainty = change.worth(docs, pairs.n_docs, share, 1.0 / state.doc_doubt)
    p_terms = change.emerging(docs, pairs.n_docs, share, certainty)
    met = docs > 0
    rejected = np.zeros(n_terms, bool)
    rejected[met] = change.reject_hypotheses(p_terms[met], p.level)
    return p_terms, rejected & (docs > RISEN * share * pairs.n_docs)


def _surprise_p(
    state: TrackerState, here: SliceDocuments, before: F32, each: Each
) -> tuple[F64, float]:
    """-ln p(w_d) / N_d under the memory; P(so many documents over the limit of the usual ones)."""
    pairs, rows = here.pairs, pad_columns(before[:, : len(state.ids)])
    alpha = np.zeros(rows.shape[1])
    alpha[: len(state.ids)] = state.alpha
    rows = np.ascontiguousarray(rows)
    theta = _shares(expected_counts(rows, alpha, pairs, each, tol=AT_REST), alpha)
    out = log_likelihoods(rows, theta, pairs, each)
    ends = np.concatenate([[0.0], np.cumsum(pairs.counts, dtype=np.float64)])[pairs.indptr]
    lengths = np.diff(ends)
    surprise = np.where(lengths > 0, -out / np.maximum(lengths, 1e-12), np.nan)
    spoken = surprise[np.isfinite(surprise)]
    if len(state.surprise) < 2 + FEWEST or not len(spoken):
        return surprise, float("nan")
    over = int((spoken > state.surprise[1]).sum())
    # the limit is itself a quantile of about as many documents
    certainty, share = 1.0 / state.doc_doubt, surprising(state)
    shape = np.array([share * certainty]), np.array([(1.0 - share) * certainty])
    tail, at = np.ones(1), np.zeros(1, np.int64)
    quiet.upper_tails(tail, at, np.array([float(over)]), len(spoken), *shape)
    return surprise, float(tail[0]) if over else 1.0


def surprising(state: TrackerState) -> float:
    """Share of documents that are usually over the limit.

    While the words of a stream become more from slice to slice, its documents are more surprising all along:
    so some slices are awaited, too.
    """
    recent = state.surprise[2:]
    return max(UPPER, min(change.middle(recent), 1.0 - UPPER)) if len(recent) else UPPER


def memory_weights(state: TrackerState, judged: SliceEvidence, tokens: F64) -> F64:
    """Pseudo-tokens that the memory of each topic is worth beside a slice, by how still it has stood.

    A slice of N tokens is off by what it diverges by chance, e; the memory by its own sampling error,
    e N / M where it is worth M tokens, and by what the topic has changed: the divergence beyond both. Each
    counts by one over its error, so the memory is N e / (e N / M + change) tokens.
    """
    chance, noise = judged.drift.expected, tokens * state.doubt
    changed = np.maximum(judged.drift.value - chance * (1.0 + noise), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        worth = tokens * chance / (chance * noise + changed)
    return np.where(np.isfinite(worth), worth, state.strength)


def usual(state: TrackerState, odds: tuple[F64, F64], rho: float, spared: float) -> TrackerState:
    """The usual log-odds of the topics, and the share of spare ones, after a slice."""
    n = len(state.ids)
    logit, doubt = odds[0][:n], odds[1][:n]
    return state._replace(
        spared=(1.0 - rho) * state.spared + rho * spared,
        logit=(1.0 - rho) * state.logit + rho * logit,
        logit_doubt=(1.0 - rho) ** 2 * state.logit_doubt + rho**2 * doubt,
    )


def record_scores(state: TrackerState, judged: SliceEvidence, rho: float) -> TrackerState:
    """The state with the scores that the next slices are judged by."""
    most = N_RECENT * len(state.ids)
    spoken = judged.surprise[np.isfinite(judged.surprise)]
    surprise = state.surprise
    if len(spoken):
        now = np.array([spoken.mean(), change.between(np.sort(spoken), 1.0 - UPPER)])
        if len(surprise):
            recent = np.append(surprise[2:], (spoken > surprise[1]).mean())[-N_RECENT:]
            now = np.concatenate([(1.0 - rho) * surprise[:2] + rho * now, recent])
        surprise = now
    return state._replace(
        ratios=np.concatenate([state.ratios, judged.ratios])[-most:],
        swings=np.concatenate([state.swings, judged.swings])[-most:],
        alarmed=np.where(np.isnan(judged.p_drift), state.alarmed, judged.drifted).astype(np.int64),
        leaning=np.where(np.isnan(judged.p_share), state.leaning, judged.swung),
        hot=judged.emerged.astype(np.int64),
        surprise=surprise,
    )
