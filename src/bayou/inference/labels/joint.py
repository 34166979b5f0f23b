"""Both levels of an online label model at once: words, labels and topics over labels of a mini-batch.

    lambda_yk ~ (N_vy + beta) / (N_y + V beta) (N'_yk + b) / (N'_k + L b) (n_dk + a_k),   y in Y_d

Greedy training (`stream`) leaves the topics out of the labels of words. Here they take part: Algorithm 6 of
[Burkhardt18b], with the documents' n_d by expectation-maximisation. Tokens of both levels are words. The
upper counts keep the mass of label tokens C_l, so that adding, removing or merging labels works as in greedy
training: a word of a mini-batch counts as |M|_l / |M|_w label tokens there.

Several chains share the terms of labels: N_vy is blended with the mean of their expected tokens. With one
chain this is exactly Algorithm 6.

[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from bayou.inference.labels import cells as label_cells
from bayou.inference.labels import stream
from bayou.inference.labels.cells import EntryLayout, LabelBatch
from bayou.inference.labels.state import (
    LABELS,
    WORDS,
    LabelStreamSettings,
    LabelStreamState,
    factors,
)
from bayou.inference.lda.arrays import F32, F64, Each
from bayou.kernels.labels import joint as kernels

_STEPS = 10  # of expectation-maximisation on a document
_CELL = 1.5  # approximate nanoseconds per entry and topic


def share_both(
    state: LabelStreamState, after: LabelStreamState, batch: LabelBatch, p: LabelStreamSettings,
    seed: int, each: Each,
) -> tuple[stream.BatchWords, F64]:  # fmt: skip
    """Rounds over the batch: tokens of its (document, term, label) entries, and the topics after the step.

    Every round uses the counts of both levels that the round before would give.
    """
    rho, n_terms, n_words = (
        stream.step_size(after.step, p.rate),
        state.n_terms,
        batch.pairs.n_tokens,
    )
    lay = label_cells.lay_out(batch, n_terms, state.n_labels)
    old = label_cells.gather_entries(state.cells, lay, each)
    known = state.scale * label_cells.column_totals(state.cells, state.n_labels)
    upper = factors(after, LABELS, p.n_docs)[:, None]
    topics, entry, fresh = state.topics, lay.empty(), lay.empty()
    for i in range(p.n_rounds):
        total, mix, factor = known, (state.scale, 0.0), factors(state, WORDS, p.n_docs)
        if i:
            fresh = label_cells.pool_entries(entry, lay, each)
            total = (1.0 - rho) * known + rho / n_words * label_cells.label_sums(entry, lay)
            mix = ((1.0 - rho) * state.scale, rho / n_words)
            factor = factors(after, WORDS, p.n_docs)
        weight = label_cells.weigh_entries(
            (old, fresh), mix, factor, total, p.beta, lay, n_terms, each
        )
        entry, new = lay.empty(), np.empty_like(state.topics)
        for c in range(len(topics)):
            now = stream.counts_with_noise(state, p, seed, c) if i == 0 else upper * topics[c]
            mine, seen = _share_chain(weight, link_rows(now, p.link_beta), lay, p, each)
            entry += mine / np.float32(len(topics))
            new[c] = (1.0 - rho) * state.topics[c] + rho * seen / n_words
        topics = new
    return stream.BatchWords(entry, entry[:0], lay), topics


def link_rows(counts: F64 | F32, beta: float) -> F32:
    """phi'_yk = (N'_yk + b) / (N'_k + L b) as (labels, topics)."""
    mass = counts.astype(np.float64) + beta
    return np.asarray(mass / mass.sum(axis=0), np.float32)


def _share_chain(
    weight: F32, links: F32, lay: EntryLayout, p: LabelStreamSettings, each: Each
) -> tuple[F32, F64]:
    """Tokens of the entries, and of (label, topic) pairs, under the topics of one chain."""
    batch, n_topics = lay.batch, len(p.alpha)
    entry, cross = lay.empty(), np.empty((len(batch.labels), n_topics), np.float32)
    alpha, pairs = p.alpha.astype(np.float32), tuple(batch.pairs)

    def work(lo: int, hi: int) -> None:
        kernels.joint_docs(
            entry, cross, pairs, lo, hi, weight, lay.own, lay.entryptr, links, alpha, _STEPS
        )

    each(work, batch.pairs.indptr, _CELL * n_topics * (_STEPS + 5))
    of = csr_array(
        (np.ones(len(batch.labels)), (batch.labels, np.arange(len(batch.labels)))),
        (lay.n_labels, len(batch.labels)),
    )
    return entry, np.asarray(of @ cross.astype(np.float64))
