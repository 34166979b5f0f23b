"""Documents that the topics of a tracker explain badly: surprise, -ln p(w_d) / N_d, under the memory."""

from __future__ import annotations

import numpy as np

from bayou.inference.lda.arrays import F32, F64, Each, pad_columns
from bayou.inference.lda.documents import Pairs
from bayou.inference.lda.fold_in import expected_counts, log_likelihoods
from bayou.inference.tracking import change
from bayou.inference.tracking.state import TrackerState
from bayou.kernels.tracking import quiet

N_RECENT = 4  # slices whose scores the next ones are compared with
FEWEST = 3  # slices with scores before documents can be called surprising
AT_REST = 0.03  # share of a document's tokens that move in a step; below, its likelihood is known
UPPER = 0.05  # least share of documents that are called surprising in usual slices


def topic_shares(doc_topic: F32, alpha: F64) -> F32:
    """theta_dk = (n_dk + alpha_k) / sum_k (n_dk + alpha_k)."""
    theta = doc_topic + alpha.astype(np.float32)
    return np.asarray(theta / theta.sum(axis=1, keepdims=True), np.float32)


def surprise_p(state: TrackerState, pairs: Pairs, before: F32, each: Each) -> tuple[F64, float]:
    """-ln p(w_d) / N_d under the memory, and P(at least as many documents over the usual limit)."""
    rows, alpha = pad_columns(before[:, : len(state.ids)]), state.alpha
    alpha = np.append(alpha, np.zeros(rows.shape[1] - len(alpha)))
    rows = np.ascontiguousarray(rows)
    theta = topic_shares(expected_counts(rows, alpha, pairs, each, tol=AT_REST), alpha)
    out = log_likelihoods(rows, theta, pairs, each)
    ends = np.concatenate([[0.0], np.cumsum(pairs.counts, dtype=np.float64)])[pairs.indptr]
    lengths = np.diff(ends)
    surprise = np.where(lengths > 0, -out / np.maximum(lengths, 1e-12), np.nan)
    scores = surprise[np.isfinite(surprise)]
    if len(state.surprise) < 2 + FEWEST or not len(scores):
        return surprise, float("nan")
    over = int((scores > state.surprise[1]).sum())
    # the limit is itself a quantile of about as many documents
    certainty, share = 1.0 / state.doc_doubt, usual_share_over_limit(state)
    shape = np.array([share * certainty]), np.array([(1.0 - share) * certainty])
    tail, at = np.ones(1), np.zeros(1, np.int64)
    quiet.upper_tails(tail, at, np.array([float(over)]), len(scores), *shape)
    return surprise, float(tail[0]) if over else 1.0


def usual_share_over_limit(state: TrackerState) -> float:
    """Share of documents that are usually over the limit.

    While the vocabulary of a stream grows, its documents are more surprising than the limit expects. So the
    recent share over the limit is taken into account.
    """
    recent = state.surprise[2:]
    return max(UPPER, min(change.median(recent), 1.0 - UPPER)) if len(recent) else UPPER


def update_limits(surprise: F64, scores: F64, rho: float) -> F64:
    """(usual mean, usual upper limit, recent shares over the limit), after the ``scores`` of a slice."""
    scores = scores[np.isfinite(scores)]
    if not len(scores):
        return surprise
    now = np.array([scores.mean(), change.quantile(np.sort(scores), 1.0 - UPPER)])
    if not len(surprise):
        return now
    recent = np.append(surprise[2:], (scores > surprise[1]).mean())[-N_RECENT:]
    return np.concatenate([(1.0 - rho) * surprise[:2] + rho * now, recent])
