"""Inference for new documents under fixed topics."""

from __future__ import annotations

import numpy as np

from bayou.inference.lda.arrays import F32, F64, TOKEN_COST, U64, Each, writable
from bayou.inference.lda.documents import Pairs, Tokens
from bayou.kernels.lda import fixed_sweep, fold_in
from bayou.kernels.rng import FOLD_IN
from bayou.results.posterior import MAX_STEPS, MOVED, proportions


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


def draw_counts(
    rows: F32,
    alpha: F64,
    tokens: Tokens,
    ids: U64,
    seed: int,
    sweeps: tuple[int, int],
    each: Each,
) -> F32:
    """Posterior draws of n_d with topics fixed: (samples x documents x topics), one sweep apart.

    ``sweeps`` is the number of sweeps before the first draw, and the number of draws.
    """
    burn_in, n_samples = sweeps
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


def draw_proportions(doc_topic: F32, alpha: F64, ids: U64, seed: int, each: Each) -> F64:
    """theta_d ~ Dir(n_d + alpha) given draws of n_d, as (samples x documents x topics)."""
    out = np.empty(doc_topic.shape)

    def work(lo: int, hi: int) -> None:
        for i in range(len(out)):
            fixed_sweep.draw_proportions(out[i], doc_topic[i], ids, lo, hi, alpha, seed, i)

    each(work, np.arange(len(ids) + 1, dtype=np.int64), 50.0 * len(out) * len(alpha))
    return out


def completion(rows: F32, alpha: F64, observed: Pairs, scored: Pairs, each: Each) -> float:
    """Mean log-likelihood of the scored tokens when topic proportions come from the observed ones.

    Documents without scored tokens do not count. NaN without any scored token.
    """
    n_tokens = scored.n_tokens
    if n_tokens == 0:
        return float("nan")
    theta = proportions(expected_counts(rows, alpha, observed, each), alpha).astype(np.float32)
    return float(log_likelihoods(rows, theta, scored, each).sum() / n_tokens)
