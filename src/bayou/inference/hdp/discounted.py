"""A mini-batch of the online HDP whose documents are Pitman-Yor processes, under frozen topics.

    G_d ~ PY(a, b1, G0)      p(z_d, m_d) ~ prod_{i < m_d} (b1 + i a) prod_k g_k^m_dk S^n_dk_m_dk

Tables cannot be summed out as with a = 0, so they are sampled (`kernels.hdp.frozen_tables`). G0 stays a
Dirichlet distribution over the slots. One thread, O(slots) per token.
"""

from __future__ import annotations

import numpy as np

from bayou.inference.hdp import tables
from bayou.inference.lda import hybrid
from bayou.inference.lda.arrays import F64, Each
from bayou.inference.lda.documents import Tokens
from bayou.inference.lda.stream import BatchSettings, StreamCounts, update_totals
from bayou.kernels.hdp import frozen_tables

_SWEEPS = 65_536  # keys of one mini-batch
_ROWS, _COLUMNS = (
    4096,
    64,
)  # of the table of Stirling ratios; ratios beyond it are computed when needed


def step(
    g: StreamCounts,
    root: tuple[F64, float, float],
    tokens: Tokens,
    p: BatchSettings,
    rates: tuple[float, float],
    each: Each,
) -> tuple[StreamCounts, F64, float]:
    """Chains over the documents, then the blend; also returns tables and powers of b1 in the batch.

    ``root`` = (g, b1, a). ``rates`` = (rho, gain). The powers are the expected numbers of factors b1 in
    prod_{i < m_d} (b1 + i a), which are the data about b1.
    """
    f = hybrid.freeze_topics(g, tokens, p._replace(alpha=root[0]), each)
    slot = np.zeros(len(g.raw), np.int64)
    slot[f.by_term.terms] = np.arange(len(f.by_term.terms))
    longest = min(int(np.diff(tokens.indptr).max(initial=1)), _ROWS)
    stirling = (
        tables.ratios(longest, _COLUMNS, root[2]),
        tables.factors(longest, _COLUMNS, root[2]),
    )
    counts, opened, powers = np.zeros(f.rows.shape), np.zeros(len(root[0])), np.zeros(1)
    frozen_tables.seat_docs(
        counts, opened, powers, (tokens.indptr, slot[tokens.terms]), f.rows.astype(np.float64), f.own,
        root, stirling, (p.burn_in + p.n_samples, p.n_samples), (p.seed, p.step * _SWEEPS),
    )  # fmt: skip
    rho, gain = rates
    scale, share = g.scale * (1.0 - rho), rho * gain / p.n_samples
    g.raw[f.by_term.terms] += (share / scale * counts).astype(np.float32)
    g = update_totals(g, share * counts.sum(axis=0), rho, scale, each)
    return g, opened / p.n_samples, float(powers[0]) / p.n_samples
