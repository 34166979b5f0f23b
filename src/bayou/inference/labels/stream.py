"""Labelled topics that follow a stream: N <- (1 - rho) N + rho (C / |M|) (what mini-batch M shows).

Layer 1 shares a document's tokens out among its labels; layer 2 is LDA with labels for words. Each round is
made under what the round before would give, the first under what is known: with one batch of everything and
rho = 1 that is expectation-maximisation, and with one round a batch stochastic collapsed variational Bayes.

[Foulds13] Foulds, Boyles, DuBois, Smyth, Welling. Stochastic collapsed variational Bayesian inference for
latent Dirichlet allocation. KDD 2013.
[Burkhardt18] Burkhardt, Kramer. Online multi-label dependency topic models for text classification.
Machine Learning 107, 2018.
"""

from __future__ import annotations

import numpy as np

from bayou.inference.hdp.tables import expected_tables
from bayou.inference.labels import cells as label_cells
from bayou.inference.labels.cells import Cells, EntryLayout, LabelBatch
from bayou.inference.labels.state import (
    LABELS,
    WORDS,
    LabelStreamSettings,
    LabelStreamState,
    factors,
    label_prior,
    step_size,
    table_mass,
)
from bayou.inference.lda.arrays import F32, F64, Each
from bayou.inference.lda.documents import PairIndex, Pairs, index_pairs
from bayou.kernels.draw import draw_exponential
from bayou.kernels.lda import em as em_kernels
from bayou.kernels.rng import LABEL_NOISE, key

_FOLD = 1e-6  # scale below which it is multiplied into the cells
_STEPS = 10  # of expectation-maximisation on the labels of a document


def learn(
    state: LabelStreamState, batch: LabelBatch, how: LabelStreamSettings, seed: int, each: Each
) -> LabelStreamState:
    """One mini-batch: local inference under what is known, then the blend. Arrays are made anew."""
    n_words, n_labels = batch.pairs.n_tokens, float(len(batch.labels))
    if not n_labels:
        return state
    rho = step_size(state.step + 1, how.rate)
    sizes = np.array([n_words, n_labels, float(batch.n_docs)])
    left = state.left * np.array([[1.0 - rho if n_words else 1.0], [1.0 - rho]])
    seen = np.bincount(batch.labels, minlength=state.n_labels) / n_labels
    after = state._replace(
        step=state.step + 1, doubt=_doubt(state, sizes, rho), left=left,
        lengths=(1.0 - rho) * state.lengths + rho * sizes[:2] / sizes[2],
        shares=(1.0 - rho) * state.shares + rho * seen,
    )  # fmt: skip
    if n_words:
        after = _learn_words(state, after, batch, how, rho, seed, each)
    if state.topics.shape[2]:
        after = after._replace(topics=_learn_labels(state, after, batch, how, rho, seed, each))
    return after


def _doubt(state: LabelStreamState, sizes: F64, rho: float) -> F64:
    """Shares are means of batches with weights w_t: as good as those of 1 / sum w_t^2 / |M_t| tokens."""
    more = np.divide(rho**2, sizes, out=np.zeros(3), where=sizes > 0.0)
    keep = np.where(sizes > 0.0, (1.0 - rho) ** 2, 1.0)
    return np.asarray(keep * state.doubt + more, np.float64)


# -- layer 1: words of labels ------------------------------------------------------------------


def _learn_words(
    state: LabelStreamState,
    after: LabelStreamState,
    batch: LabelBatch,
    how: LabelStreamSettings,
    rho: float,
    seed: int,
    each: Each,
) -> LabelStreamState:
    """Rounds of sharing out the batch's tokens, each under what the round before would give."""
    n_terms = len(state.cell_ptr) - 1
    lay = label_cells.lay_out(batch, n_terms, state.n_labels)
    old = label_cells.gather_entries(state.cells, lay, each)
    known = state.scale * label_cells.column_totals(state.cells, state.n_labels)
    gain = rho / batch.pairs.n_tokens
    local = how.local._replace(prior=label_prior(state, how).astype(np.float32))
    fresh, total, mix = lay.empty(), known, (state.scale, 0.0)
    factor = factors(state, WORDS, how.n_docs)
    entry = held = fresh
    for i in range(how.n_rounds):
        if i:
            fresh = label_cells.pool_entries(entry, lay, each)
            total = (1.0 - rho) * known + gain * label_cells.label_sums(entry, lay)
            mix, factor = ((1.0 - rho) * state.scale, gain), factors(after, WORDS, how.n_docs)
        weight = label_cells.weigh_entries(
            (old, fresh), mix, factor, total, how.beta, lay, n_terms, each
        )
        keys = (seed, state.step * how.n_rounds + i)
        entry, held = label_cells.share_tokens(weight, lay, local, keys, each)
    cells, scale = _decay_cells(state, rho)
    after = after.with_cells(
        label_cells.merge_entries(cells, entry, lay, gain / scale, each), scale
    )
    if how.root is not None:
        found = _tables(held, table_mass(state, how), lay)
        after = after._replace(tables=(1.0 - rho) * state.tables + rho * found)
    return after


def _decay_cells(state: LabelStreamState, rho: float) -> tuple[Cells, float]:
    """All cells times 1 - rho, which costs nothing: it goes into the scale while that is not too small."""
    scale = state.scale * (1.0 - rho)
    if rho == 1.0:
        return label_cells.no_cells(len(state.cell_ptr) - 1), 1.0
    if scale < _FOLD:
        return state.cells._replace(raw=state.raw * np.float32(scale)), 1.0
    return state.cells, scale


def _tables(held: F32, mass: F64, lay: EntryLayout) -> F64:
    """Expected tables a document of each label, the mean of the kept sweeps: E[m | n] under x = b1 g."""
    labels = lay.batch.labels
    x = mass[labels]
    found = np.mean([_expected_tables(row, x) for row in held], axis=0)
    return np.bincount(labels, found, lay.n_labels) / lay.batch.n_docs


def _expected_tables(counts: F32, mass: F64) -> F64:
    """E[m] of single counts under masses of their own."""
    out = np.zeros(len(counts))
    for n in np.unique(counts[counts > 0]):  # few distinct counts, many labels
        at = np.flatnonzero(counts == n)
        out[at] = expected_tables(np.full((1, len(at)), float(n)), mass[at])[0]
    return out


# -- layer 2: labels of topics -----------------------------------------------------------------


def _learn_labels(
    state: LabelStreamState,
    after: LabelStreamState,
    batch: LabelBatch,
    how: LabelStreamSettings,
    rho: float,
    seed: int,
    each: Each,
) -> F64:
    """LDA of label tokens, chain by chain, in rounds as the words."""
    out = np.empty_like(state.topics)
    pairs = Pairs(batch.label_ptr, batch.labels, np.ones(len(batch.labels), np.float32))
    index = index_pairs(pairs, 0, pairs.n_docs, state.n_labels)
    factor = factors(after, LABELS, how.n_docs)[:, None]
    for c in range(len(out)):
        now = _with_noise(state, how, seed, c)
        for i in range(how.n_label_rounds):
            if i:
                now = (factor * out[c]).astype(np.float32)
            seen = _label_step(now, pairs, index, how, each)
            out[c] = (1.0 - rho) * state.topics[c] + rho * seen / len(batch.labels)
    return out


def _with_noise(state: LabelStreamState, how: LabelStreamSettings, seed: int, chain: int) -> F32:
    """N'_yk; labels that never came have a token's worth of noise, or all topics would stay alike."""
    now = factors(state, LABELS, how.n_docs)[:, None] * state.topics[chain]
    n_topics, stream = now.shape[1], np.empty(1, np.uint64)
    for y in np.flatnonzero(state.left[LABELS] == 1.0):
        stream[0] = key(seed, LABEL_NOISE, chain, state.ids[y])
        now[y] = [draw_exponential(stream) / n_topics for _ in range(n_topics)]
    return np.asarray(now, np.float32)


def _label_step(
    now: F32, pairs: Pairs, index: PairIndex, how: LabelStreamSettings, each: Each
) -> F32:
    """Expected label tokens of the batch in each topic, given N' (labels x topics)."""
    n_labels, n_topics = now.shape
    inverse = 1.0 / (now.sum(axis=0, dtype=np.float64) + n_labels * how.link_beta)
    level = (np.diff(pairs.indptr) / n_topics).astype(np.float32)
    doc_topic = np.repeat(level[:, None], n_topics, axis=1)
    theta, ratio = np.empty_like(doc_topic), np.empty(len(pairs.terms), np.float32)
    both = (how.alpha.astype(np.float32), inverse.astype(np.float32))
    one, b32 = np.float32(1.0), np.float32(how.link_beta)

    def docs(lo: int, hi: int) -> None:
        em_kernels.plain_docs(
            doc_topic, theta, ratio, tuple(pairs), 0, lo, hi, now, one, b32, both, _STEPS
        )

    each(docs, pairs.indptr, 1.5 * n_topics * _STEPS)
    out = np.zeros_like(now)

    def terms(lo: int, hi: int) -> None:
        em_kernels.plain_terms(out, tuple(index), lo, hi, theta, ratio, now, one, b32, one)

    each(terms, index.termptr, 0.3 * n_topics)
    return out
