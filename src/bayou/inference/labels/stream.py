"""The steps of one mini-batch M of an online label model: N <- (1 - rho) N + rho (C / |M|) N_M.

The lower level shares the tokens of a document out among its labels. The upper level is LDA whose words are
labels. Each round over a mini-batch uses the counts that the round before would give; the first one uses the
state. With one batch of all documents and rho = 1 this is expectation-maximisation. With one round it is
stochastic collapsed variational Bayes.

[Foulds13] Foulds, Boyles, DuBois, Smyth, Welling. Stochastic collapsed variational Bayesian inference for
latent Dirichlet allocation. KDD 2013.
[Burkhardt18] Burkhardt, Kramer. Online multi-label dependency topic models for text classification.
Machine Learning 107, 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayou.inference.hdp.tables import expected_tables
from bayou.inference.labels import cells as label_cells
from bayou.inference.labels import open_set, progress
from bayou.inference.labels.cells import Cells, EntryLayout, LabelBatch
from bayou.inference.labels.documents import LabelDocuments
from bayou.inference.labels.state import (
    LABELS,
    WORDS,
    LabelStreamSettings,
    LabelStreamState,
    factors,
)
from bayou.inference.lda.arrays import F32, F64, I64, Each
from bayou.inference.lda.documents import PairIndex, Pairs, index_pairs
from bayou.kernels.draw import draw_exponential
from bayou.kernels.lda import em as em_kernels
from bayou.kernels.rng import LABEL_NOISE, key
from bayou.results.label_posterior import LabelPosterior

_FOLD = 1e-6  # scale below which it is multiplied into the cells
_STEPS = 10  # of expectation-maximisation on the labels of a document

Freeze = Callable[[LabelStreamState, LabelStreamSettings, I64], LabelPosterior]


def step_size(step: int, rate: tuple[float, float, float]) -> float:
    """rho_t = s (tau + t)^-kappa, but 1, 1/2, 1/3 .. as long as those are larger.

    The first mini-batches are averaged, so that nothing of a random start is ever blended in.
    """
    s, tau, kappa = rate
    return float(min(1.0, max(1.0 / step, s * (tau + step) ** -kappa)))


def read_batch(
    state: LabelStreamState, documents: LabelDocuments, p: LabelStreamSettings, freeze: Freeze,
    each: Each,
) -> tuple[LabelStreamState, LabelBatch]:  # fmt: skip
    """Add columns for new labels, score some of the documents, and lay out those that have labels.

    ``freeze(state, settings, terms)`` gives the posterior that the documents are scored with.
    """
    fresh = np.setdiff1d(documents.label_ids, state.ids)
    state = open_set.add_labels(state, fresh, None if p.multi_label else p.names)
    counts, labels = documents.matrix(state.n_terms), documents.labels(state.ids)
    if p.multi_label:
        state = _score_batch(state, counts, labels, p, freeze, each)
    batch = label_cells.make_batch(counts, labels, whole=p.sharing.sampled)
    return state._replace(n_seen=state.n_seen + documents.n_docs), batch


def _score_batch(
    state: LabelStreamState, counts: csr_array, labels: csr_array, p: LabelStreamSettings,
    freeze: Freeze, each: Each,
) -> LabelStreamState:  # fmt: skip
    """Progressive validation: the first documents with labels are scored before they are learned."""
    use = np.flatnonzero(np.diff(labels.indptr) > 0)
    if not len(use):
        return state
    if state.sizes.shape[1]:
        n_each = np.diff(labels.indptr)[use].astype(np.float64)
        mean = state.lengths[LABELS] or 1.0
        sizes = progress.update_size_weights(state.sizes, mean, csr_array(counts[use]), n_each)
        state = state._replace(sizes=sizes)
    use = use[: int(np.ceil(p.validation_share * len(use)))]
    if not state.step or not len(use):
        return state
    some = csr_array(counts[use])
    post = freeze(state, p, np.unique(some.indices))
    truth = csr_array(labels[use])
    tally = progress.tally_scores(state.scored, p.mixes, post, some, truth, each)
    return state._replace(scored=tally)


def blend_totals(state: LabelStreamState, batch: LabelBatch, rho: float) -> LabelStreamState:
    """The state after one step in all but counts: label frequencies, document lengths and totals."""
    n_words, n_labels = batch.pairs.n_tokens, float(len(batch.labels))
    sizes = np.array([n_words, n_labels, float(batch.n_docs)])
    left = state.left * np.array([[1.0 - rho if n_words else 1.0], [1.0 - rho]])
    seen = np.bincount(batch.labels, minlength=state.n_labels) / n_labels
    return state._replace(
        step=state.step + 1, doubt=_blend_doubt(state.doubt, sizes, rho), left=left,
        lengths=(1.0 - rho) * state.lengths + rho * sizes[:2] / sizes[2],
        shares=(1.0 - rho) * state.shares + rho * seen,
    )  # fmt: skip


def _blend_doubt(doubt: F64, sizes: F64, rho: float) -> F64:
    """1 / C of shares that are means of batches with weights w_t: sum_t w_t^2 / |M_t|."""
    more = np.divide(rho**2, sizes, out=np.zeros(3), where=sizes > 0.0)
    keep = np.where(sizes > 0.0, (1.0 - rho) ** 2, 1.0)
    return np.asarray(keep * doubt + more, np.float64)


# -- lower level: words of labels --------------------------------------------------------------


class BatchWords(NamedTuple):
    """The tokens of a mini-batch, shared out among the labels of their documents."""

    entry: F32  # tokens of each (document, term, label)
    held: F32  # tokens of each label of each document in the kept sweeps
    lay: EntryLayout


def share_words(
    state: LabelStreamState, after: LabelStreamState, batch: LabelBatch, prior: F64,
    p: LabelStreamSettings, seed: int, each: Each,
) -> BatchWords:  # fmt: skip
    """Rounds of sharing out the tokens of the batch: lambda_y ~ (N_vy + beta) / (N_y + V beta) prior_y.

    ``after`` is the state after `blend_totals`. ``prior`` without entries: all labels of a document alike.
    """
    rho, n_terms = step_size(after.step, p.rate), state.n_terms
    lay = label_cells.lay_out(batch, n_terms, state.n_labels)
    old = label_cells.gather_entries(state.cells, lay, each)
    known = state.scale * label_cells.column_totals(state.cells, state.n_labels)
    gain = rho / batch.pairs.n_tokens
    prior32 = prior.astype(np.float32)
    fresh, total, mix = lay.empty(), known, (state.scale, 0.0)
    factor = factors(state, WORDS, p.n_docs)
    entry = held = fresh
    for i in range(p.n_rounds):
        if i:
            fresh = label_cells.pool_entries(entry, lay, each)
            total = (1.0 - rho) * known + gain * label_cells.label_sums(entry, lay)
            mix, factor = ((1.0 - rho) * state.scale, gain), factors(after, WORDS, p.n_docs)
        weight = label_cells.weigh_entries(
            (old, fresh), mix, factor, total, p.beta, lay, n_terms, each
        )
        keys = (seed, state.step * p.n_rounds + i)
        entry, held = label_cells.share_tokens(weight, lay, prior32, p.sharing, keys, each)
    return BatchWords(entry, held, lay)


def blend_words(
    state: LabelStreamState, after: LabelStreamState, words: BatchWords, rho: float, each: Each
) -> LabelStreamState:
    """n_vy <- (1 - rho) n_vy + rho / |M|_w (tokens of term v and label y in the batch), as shares."""
    cells, scale = _decay_cells(state, rho)
    gain = rho / words.lay.batch.pairs.n_tokens
    merged = label_cells.merge_entries(cells, words.entry, words.lay, gain / scale, each)
    return after.with_cells(merged, scale)


def _decay_cells(state: LabelStreamState, rho: float) -> tuple[Cells, float]:
    """All cells times 1 - rho, by the scale alone while that is not too small."""
    scale = state.scale * (1.0 - rho)
    if rho == 1.0:
        return label_cells.no_cells(state.n_terms), 1.0
    if scale < _FOLD:
        return state.cells._replace(raw=state.raw * np.float32(scale)), 1.0
    return state.cells, scale


def mean_tables(words: BatchWords, mass: F64) -> F64:
    """Expected tables per document of each label under x = b1 g, the mean of the kept sweeps."""
    labels = words.lay.batch.labels
    x = mass[labels]
    found = np.mean([_entry_tables(row, x) for row in words.held], axis=0)
    return np.bincount(labels, found, words.lay.n_labels) / words.lay.batch.n_docs


def _entry_tables(counts: F32, mass: F64) -> F64:
    """E[m] = x (psi(x + n) - psi(x)) of single counts n with masses x of their own."""
    out = np.zeros(len(counts))
    for n in np.unique(counts[counts > 0]):  # few distinct counts, many labels
        at = np.flatnonzero(counts == n)
        out[at] = expected_tables(np.full((1, len(at)), float(n)), mass[at])[0]
    return out


# -- upper level: labels of topics -------------------------------------------------------------


def blend_topics(
    state: LabelStreamState, after: LabelStreamState, batch: LabelBatch, p: LabelStreamSettings,
    seed: int, each: Each,
) -> F64:  # fmt: skip
    """n'_yk <- (1 - rho) n'_yk + rho / |M|_l (label tokens of topic k in the batch), as shares.

    Every chain makes rounds of its own over the label tokens of the batch.
    """
    rho, out = step_size(after.step, p.rate), np.empty_like(state.topics)
    pairs = Pairs(batch.label_ptr, batch.labels, np.ones(len(batch.labels), np.float32))
    index = index_pairs(pairs, 0, pairs.n_docs, state.n_labels)
    factor = factors(after, LABELS, p.n_docs)[:, None]
    for c in range(len(out)):
        now = counts_with_noise(state, p, seed, c)
        for i in range(p.n_label_rounds):
            if i:
                now = (factor * out[c]).astype(np.float32)
            seen = expected_topics(now, pairs, index, p, each)
            out[c] = (1.0 - rho) * state.topics[c] + rho * seen / len(batch.labels)
    return out


def counts_with_noise(
    state: LabelStreamState, p: LabelStreamSettings, seed: int, chain: int
) -> F32:
    """N'_yk; a label that is new has one token of noise, since equal topics would stay equal."""
    now = factors(state, LABELS, p.n_docs)[:, None] * state.topics[chain]
    n_topics, stream = now.shape[1], np.empty(1, np.uint64)
    for y in np.flatnonzero(state.left[LABELS] == 1.0):
        stream[0] = key(seed, LABEL_NOISE, chain, state.ids[y])
        now[y] = [draw_exponential(stream) / n_topics for _ in range(n_topics)]
    return np.asarray(now, np.float32)


def expected_topics(
    now: F32, pairs: Pairs, index: PairIndex, p: LabelStreamSettings, each: Each
) -> F32:
    """Expected label tokens of each topic: lambda_k ~ (N'_yk + b) / (N'_k + L b) (n_dk + alpha_k)."""
    n_labels, n_topics = now.shape
    inverse = 1.0 / (now.sum(axis=0, dtype=np.float64) + n_labels * p.link_beta)
    level = (np.diff(pairs.indptr) / n_topics).astype(np.float32)
    doc_topic = np.repeat(level[:, None], n_topics, axis=1)
    theta, ratio = np.empty_like(doc_topic), np.empty(len(pairs.terms), np.float32)
    both = (p.alpha.astype(np.float32), inverse.astype(np.float32))
    one, b32 = np.float32(1.0), np.float32(p.link_beta)

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
