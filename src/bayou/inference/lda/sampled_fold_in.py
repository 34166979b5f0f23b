"""New documents by sampling: topics phi drawn from their posterior, then z of every token by Gibbs sweeps.

Predictions of [Zhu14] and [Shi17]: phi_k ~ Dir(n_k + beta) once, a start at the most probable theta_d, then
p(z_n = k) ~ (n_dk + alpha_k) phi_kv with the token itself removed. With a small alpha the start matters: a
chain that starts token by token stays near its first topics for longer than it runs. Draws are keyed by the
seed and by the content of a document: other documents, threads and calls do not change them.

[Zhu14] Zhu, Chen, Perkins, Zhang. Gibbs max-margin topic models with data augmentation. JMLR 15, 2014.
[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
"""

from __future__ import annotations

import numpy as np

from bayou.inference.lda import fold_in
from bayou.inference.lda.arrays import F32, F64, TOKEN_COST, U64, Each
from bayou.inference.lda.documents import Pairs, tokens_of
from bayou.kernels.lda import fixed_sweep
from bayou.kernels.rng import FOLD_IN

N_BURN, N_KEPT = 10, 10  # sweeps that are discarded, and sweeps whose zbar is averaged


def draw_rows(counts: F32 | F64, beta: float, seed: int, each: Each) -> F32:
    """One draw of the topics (terms x topics), every row scaled to a largest entry of one.

    Only ratios within a row matter to `draw_zbar`, and entries of a small beta would underflow.
    """
    draws = np.empty(counts.shape)
    units = np.arange(len(counts) + 1, dtype=np.int64)

    def work(lo: int, hi: int) -> None:
        fixed_sweep.draw_topics(draws, counts, lo, hi, beta, seed, 0)

    each(work, units, 50.0 * counts.shape[1])
    top = draws.max(axis=0)
    draws -= top + np.log(np.exp(draws - top).sum(axis=0))
    draws -= draws.max(axis=1, keepdims=True)
    return np.exp(draws).astype(np.float32)


def content_ids(pairs: Pairs) -> U64:
    """A number for each document that depends on its terms and counts only."""
    out = np.empty(pairs.n_docs, np.uint64)
    fixed_sweep.content_ids(out, tuple(pairs), 0, pairs.n_docs)
    return out


def draw_zbar(
    rows: F32, alpha: F64, term_weight: F32, pairs: Pairs, seed: int, each: Each, *, n_burn: int = N_BURN,
    n_kept: int = N_KEPT,
) -> F32:  # fmt: skip
    """Average topics of documents (documents x topics) from sampled z; rows sum to one.

    Parameters
    ----------
    rows : float32 array (terms, topics)
        phi up to a factor per term, as `draw_rows` gives it.
    alpha : float64 array (topics,)
    term_weight : float32 array (terms,)
        zbar_k = sum of the weights of the tokens in topic k, over that of all tokens.
    pairs : Pairs
        Documents. An empty one has zbar = alpha / sum(alpha).
    seed : int
    each : Each
    n_burn, n_kept : int
        First sweeps, and sweeps after these whose zbar is averaged.
    """
    ids, tokens, a32 = content_ids(pairs), tokens_of(pairs), alpha.astype(np.float32)
    z, toks = np.empty(len(tokens.terms), np.uint16), tuple(tokens)
    slack, own = np.empty(len(rows), np.float32), np.zeros(len(alpha), np.float32)
    fixed_sweep.slack_terms(slack, rows, 0, len(rows), a32)
    docs = np.repeat(np.arange(pairs.n_docs), np.diff(tokens.indptr))
    rho, out = term_weight[tokens.terms].astype(np.float64), np.zeros((pairs.n_docs, len(alpha)))

    likely = fold_in.expected_counts(rows, alpha, pairs, each)

    def start(lo: int, hi: int) -> None:
        fixed_sweep.start_from_proportions(z, toks, ids, lo, hi, rows, likely, a32, seed, FOLD_IN)

    each(start, tokens.indptr, 2.0 * len(alpha))
    for sweep in range(n_burn + n_kept):

        def work(lo: int, hi: int, sweep: int = sweep) -> None:
            fixed_sweep.sweep_docs(
                z, toks, ids, lo, hi, rows, slack, own, a32, seed, FOLD_IN, sweep + 1
            )

        each(work, tokens.indptr, TOKEN_COST)
        if sweep >= n_burn:
            np.add.at(out, (docs, z), rho)
    total = out.sum(axis=1)
    out[total > 0.0] /= total[total > 0.0, None]
    out[total == 0.0] = alpha / alpha.sum()
    return out.astype(np.float32)
