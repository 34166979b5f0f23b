"""From moments to topics: whiten the second moment, decompose the third, map the components to terms.

Under the model the whitened third moment is sum_k lambda_k v_k (x) v_k (x) v_k with orthonormal v_k, which
determines weights and topics. If documents do not follow the model, or K is too large, the same numbers show
it: `Diagnosis`.

[Anandkumar14] Anandkumar, Ge, Hsu, Kakade, Telgarsky. Tensor decompositions for learning latent variable
models. JMLR 15, 2014.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from bayou.data.schema import Array, Number
from bayou.inference.lda.arrays import F32, F64, I64
from bayou.inference.lda.documents import Pairs, select
from bayou.inference.spectral import moments, tensor
from bayou.inference.spectral.blas import one_thread
from bayou.inference.spectral.mixture import random_start
from bayou.inference.spectral.moments import Moments
from bayou.kernels.rng import SHUFFLE, key, permutation

LEAST = 1e-3  # eigenvalues below this fraction of the first are noise
FAINT = 1e-9  # weight of a topic that the data do not support
NEAR = 2.0  # least ratio of the last eigenvalue in use to the next one
FAR = 0.2  # how far from 1 sums may be before they are reported
MANY = 256  # topics from which the tensor is not computed if the documents are available

AnyFloat = Annotated[float, Number(ge=None, finite=False)]


class Diagnosis(NamedTuple):
    """How well the moments fit the model."""

    eigenvalues: Annotated[F64, Array("values", ge=None)]  # of the second moment, largest first
    rank: int  # number of eigenvalues that are above the noise; at most n_topics
    residual: (
        AnyFloat  # share of the third moment that the topics do not explain; NaN if not computed
    )
    weight_sum: AnyFloat  # sum of the weights before they are normalised
    column_sums: Annotated[F64, Array("found", ge=None)]  # of the topics before they are normalised
    negative: AnyFloat  # largest share of a topic that was negative
    n_docs: int
    n_short: int
    n_bursty: int

    @property
    def gap(self) -> float:
        """The smallest eigenvalue in use over the next one; large is good, infinite if there is none."""
        if not 0 < self.rank < len(self.eigenvalues):
            return float("inf") if self.rank else float("nan")
        after = max(float(self.eigenvalues[self.rank]), 0.0)
        return float(self.eigenvalues[self.rank - 1]) / after if after else float("inf")

    def doubts(self, n_topics: int, weights: F64) -> list[str]:
        """Reasons not to trust the solution, as sentences."""
        out = []
        if self.n_docs == 0:
            return ["no document has three tokens; give longer documents"]
        if self.rank < n_topics:
            out.append(
                f"the documents support {self.rank} topics, not {n_topics}: the other topics are the "
                "distribution of all terms; use fewer topics or give more documents"
            )
        elif self.gap < NEAR:
            out.append(
                f"the last of {n_topics} directions is only {self.gap:.2f} times as strong as the "
                "next: there may be fewer topics, or many more"
            )
        if abs(self.weight_sum - 1.0) > FAR:
            out.append(
                f"the weights sum to {self.weight_sum:.2f} before they are normalised: "
                "too many topics, too few documents, or documents with several topics"
            )
        far = int((np.abs(self.column_sums - 1.0) > FAR).sum())
        if far:
            out.append(
                f"{far} topics do not sum to 1 before they are normalised; do not trust them"
            )
        if self.residual > 0.5:
            out.append(
                f"{self.residual:.0%} of the third moment is not explained by any {n_topics} topics"
            )
        if self.n_bursty > 0.1 * (self.n_bursty + self.n_docs):
            out.append(
                f"{self.n_bursty} documents are mostly one term and were left out; "
                "if they are correct, set max_share=None"
            )
        small = int((weights < 0.1 / n_topics).sum()) - (n_topics - self.rank)
        if small > 0:
            out.append(f"{small} topics are very small; a few unusual documents may be the cause")
        return out


class Solution(NamedTuple):
    """Weights and topics, both normalised, before any smoothing."""

    weights: F64  # topics
    rows: F64  # terms x topics
    diagnosis: Diagnosis


def solve(
    sums: Moments, n_topics: int, method: str, seed: int, alpha0: float = 0.0,
    documents: tuple[Pairs, F64] | None = None,
) -> Solution:  # fmt: skip
    """Weights and topics; ``alpha0`` > 0 for LDA, whose weights are then alpha_k / alpha0.

    Linear algebra runs on one thread, because several threads change the order of sums. With ``documents``
    and their weights the tensor of very many topics is not computed.
    """
    with one_thread():
        return _solve(sums, n_topics, method, seed, alpha0, documents)


def _solve(
    sums: Moments, n_topics: int, method: str, seed: int, alpha0: float,
    documents: tuple[Pairs, F64] | None,
) -> Solution:  # fmt: skip
    if sums.weight <= 0.0 or sums.basis.shape[1] == 0:
        return nothing(sums, n_topics)
    seen = moments.second_moment(sums, alpha0)
    values, vectors = np.linalg.eigh(seen.second)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = min(int((values > max(LEAST * values[0], 0.0)).sum()), n_topics)
    whiten = vectors[:, :rank] / np.sqrt(values[:rank])
    if documents is not None and rank >= MANY and alpha0 == 0.0 and method == "symmetric":
        third = None
        product = tensor.implicit(*documents, sums.basis @ whiten)
    else:
        third = moments.third_moment(sums, whiten, alpha0)
        product = tensor.dense(third)
    parts = tensor.decompose(product, rank, method, seed, third)
    left = float("nan") if third is None else tensor.residual(third, parts)
    weights, columns = _parameters(parts, seen.back @ whiten, alpha0)
    return _finish(sums, n_topics, values, left, weights, columns)


def _parameters(parts: tensor.TensorParts, back: F64, alpha0: float) -> tuple[F64, F64]:
    """Weights and topics from lambda and v; under the single-topic model lambda is at least 1."""
    if alpha0 > 0.0:
        lam = np.maximum(parts.values, 1e-6)
        alpha = 4.0 * alpha0 * (alpha0 + 1.0) / ((alpha0 + 2.0) ** 2 * lam**2)
        return alpha / alpha0, 0.5 * (alpha0 + 2.0) * lam * (back @ parts.vectors)
    lam = np.maximum(parts.values, 1.0)
    return lam**-2.0, lam * (back @ parts.vectors)


def _finish(
    sums: Moments, n_topics: int, values: F64, left: float, weights: F64, columns: F64
) -> Solution:
    """Clip to the simplex, order by weight, and add unigram topics up to ``n_topics``."""
    rank = len(weights)
    column_sums = columns.sum(axis=0)
    clipped = np.maximum(columns, 0.0)
    mass = clipped.sum(axis=0)
    negative = float(np.max((mass - column_sums) / np.maximum(mass, 1e-300), initial=0.0))
    unigram = sums.once[:, 2] / sums.weight
    rows = np.repeat(unigram[:, None], n_topics, axis=1)
    good = mass > 0
    rows[:, :rank][:, good] = clipped[:, good] / mass[good]
    total = float(weights.sum())
    filled = np.full(n_topics, FAINT)
    filled[:rank] = np.maximum(weights / total, FAINT)
    order = np.argsort(-filled, kind="stable")
    diagnosis = Diagnosis(
        values.copy(), rank, left, total, column_sums, negative,
        sums.n_docs, sums.n_short, sums.n_bursty,
    )  # fmt: skip
    return Solution(filled[order] / filled.sum(), rows[:, order], diagnosis)


def nothing(sums: Moments, n_topics: int) -> Solution:
    """The solution without moments: every topic is the distribution of all terms."""
    n_terms = len(sums.basis)
    once = sums.once[:, 2]
    unigram = once / once.sum() if once.sum() > 0 else np.full(n_terms, 1.0 / n_terms)
    none = np.zeros(0)
    diagnosis = Diagnosis(none, 0, 0.0, 0.0, none, 0.0, sums.n_docs, sums.n_short, sums.n_bursty)
    rows = np.repeat(unigram[:, None], n_topics, axis=1)
    return Solution(np.full(n_topics, 1.0 / n_topics), rows, diagnosis)


def from_documents(
    pairs: Pairs, weights: F64, n_terms: int, rank: int, sample: I64 | None, seed: int
) -> Moments:
    """Moments of documents, in the main directions of all documents or of a sample."""
    some = (pairs, weights) if sample is None else (select(pairs, sample), weights[sample])
    with one_thread():
        basis = moments.main_directions(*some, n_terms, min(rank, n_terms), seed)
    return moments.add(moments.empty(basis), pairs, weights)


def sample_of(n_docs: int, most: int, seed: int) -> I64 | None:
    """A keyed sample of ``most`` documents in rising order; None if there are no more than that."""
    if n_docs <= most:
        return None
    return np.sort(permutation(n_docs, np.uint64(key(seed, SHUFFLE, 0, 1)))[:most])


def lda_start(pairs: Pairs, n_terms: int, n_topics: int, seed: int, alpha0: float = 1.0) -> F32:
    """Counts n_vk to start LDA from: spectral topics mixed with a fifth of the distribution of all terms.

    Topics that the documents do not support start as noise around that distribution.
    """
    whole = pairs._replace(counts=np.rint(pairs.counts))
    weights = moments.document_weights(whole, True, 0.4)
    sample = sample_of(pairs.n_docs, max(10_000, 1_000 * n_topics), seed)
    sums = from_documents(whole, weights, n_terms, 2 * n_topics, sample, seed)
    answer = solve(sums, n_topics, "symmetric", seed, alpha0)
    unigram = np.bincount(pairs.terms, weights=pairs.counts, minlength=n_terms)
    total = max(float(unigram.sum()), 1.0)
    mixed = 0.8 * answer.rows + 0.2 * (unigram / total)[:, None]
    rank = answer.diagnosis.rank
    noise = (unigram / total)[:, None] * random_start(n_terms, n_topics - rank, seed)
    mixed[:, rank:] = noise / np.maximum(noise.sum(axis=0), 1e-300)
    share = np.maximum(answer.weights, 0.1 / n_topics)
    return np.asarray(total * share / share.sum() * mixed, np.float32)
