"""Rules that need only scores and labels: SCut, RCut and proportional cuts [Yang01].

[Yang01] Yang. A study of thresholding strategies for text categorization. SIGIR 2001.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from bayou.data.checks import number, one_of, whole
from bayou.inference.lda.arrays import F64, I64
from bayou.inference.thresholds.levels import Levels, best_level, levels, threshold_at
from bayou.inference.thresholds.rule import Rule, above, top_documents, top_labels
from bayou.metrics.multilabel.auc import positive_scores
from bayou.metrics.multilabel.inputs import Scores, dense, is_sparse, largest, row_chunks


def _parts(scores: Scores) -> Iterator[tuple[F64, int]]:
    """All scores in parts, each part with its multiplicity."""
    if is_sparse(scores):
        yield scores.data, 1
        yield np.zeros(1), scores.shape[0] * scores.shape[1] - scores.nnz
        return
    for rows in row_chunks(*scores.shape):
        yield scores[rows].ravel(), 1


def _shared_threshold(scores: Scores, truth: csr_array) -> float:
    """One threshold for all labels, with the best micro-F1."""
    of = levels(positive_scores(truth, scores), _parts(scores))
    best = float(of.level[best_level(of)])
    # among all pairs the next score below is close to the level, so it is not searched for
    return float(scores.max()) if np.isinf(best) else float(np.nextafter(best, -np.inf))


def best_together(each: list[Levels], start: float) -> list[int]:
    """The level of every label for which the pooled F1 is best.

    Pooled F1 is a ratio of sums, 2 sum tp / sum (found + true). For a value f of it, taking the level with
    the largest 2 tp - f (found + true) of each label gives a ratio of at least f. Repeated from there, the
    ratio rises to its maximum [Dinkelbach67].

    [Dinkelbach67] Dinkelbach. On nonlinear fractional programming. Management Science 13, 1967.
    """
    f = start
    while True:
        chosen = [int(np.argmax(2 * of.tp - f * of.found)) for of in each]
        tp = sum(int(of.tp[i]) for of, i in zip(each, chosen, strict=True))
        size = sum(int(of.found[i]) + of.n_true for of, i in zip(each, chosen, strict=True))
        better = 2 * tp / size if size else 0.0
        if better <= f + 1e-12:
            return chosen
        f = better


@dataclass(kw_only=True, eq=False, repr=False)
class SCut(Rule):
    """One threshold per label, the best one on validation data (SCut) [Yang01].

    Parameters
    ----------
    measure : {"f1", "micro"}
        Each label's own F1, or the micro-F1 of the labels that have a threshold of their own.
    min_positives : int
        A label with fewer positive documents takes the threshold that is best for all labels together, since
        its own would be unreliable.
    min_f1 : float
        With ``measure="f1"``, a label whose best F1 is lower takes its highest validation score as threshold
        (SCutFBR.1). Otherwise a label whose positives all have the lowest score would go to every document.

    Attributes
    ----------
    thresholds_ : float64 array (labels,)
        A label is given if its score is above.
    shared_threshold_ : float

    Examples
    --------
    >>> rule = SCut(min_positives=1).fit([[0.9, 0.2], [0.1, 0.1], [0.3, 0.3]], [[1, 1], [0, 0], [1, 1]])
    >>> rule.thresholds_.round(2).tolist()
    [0.2, 0.15]
    """

    measure: str = "f1"
    min_positives: int = 5
    min_f1: float = 0.1

    def _learn(self, scores: Scores, truth: csr_array) -> None:
        one_of("measure", self.measure, ("f1", "micro"))
        whole("min_positives", self.min_positives, 0)
        number("min_f1", self.min_f1, 0.0, 1.0)
        self.shared_threshold_ = _shared_threshold(scores, truth)
        self.thresholds_ = np.full(truth.shape[1], self.shared_threshold_)
        true, given = csc_array(truth), csc_array(scores) if is_sparse(scores) else scores
        own = np.flatnonzero(np.diff(true.indptr) >= max(1, self.min_positives)).tolist()

        def column(label: int) -> F64:
            return np.asarray(dense(given[:, [label]]), np.float64).ravel()

        each = []
        for label in own:
            values = column(label)
            rows = true.indices[true.indptr[label] : true.indptr[label + 1]]
            each.append(levels(values[rows], [(values, 1)]))
        together = self.measure == "micro"
        chosen = best_together(each, 0.0) if together else [self._own_level(of) for of in each]
        for label, of, i in zip(own, each, chosen, strict=True):
            self.thresholds_[label] = threshold_at(float(of.level[i]), column(label))

    def _own_level(self, of: Levels) -> int:
        best = best_level(of)
        f1 = 2 * int(of.tp[best]) / (int(of.found[best]) + of.n_true)
        return best if f1 >= self.min_f1 else 0

    def _choose(self, scores: Scores) -> csr_array:
        return above(scores, self.thresholds_)


@dataclass(kw_only=True, eq=False, repr=False)
class RCut(Rule):
    """The k best labels of every document (RCut) [Yang01].

    Parameters
    ----------
    k : int, optional
        Labels per document. Default: the number with the best micro-F1, at most the largest in training.

    Attributes
    ----------
    k_ : int

    Examples
    --------
    >>> RCut().fit([[0.9, 0.2, 0.1], [0.1, 0.1, 0.4]], [[1, 1, 0], [0, 1, 1]]).k_
    2
    """

    k: int | None = None

    def _learn(self, scores: Scores, truth: csr_array) -> None:
        if self.k is not None:
            whole("k", self.k, 1)
            self.k_ = min(int(self.k), truth.shape[1])
            return
        most = max(1, int(np.diff(truth.indptr).max()))
        hits = np.zeros(most, np.int64)
        for rows in row_chunks(*scores.shape):
            best = largest(np.asarray(dense(scores[rows]), np.float64), most)
            hits += np.take_along_axis(truth[rows].toarray(), best, axis=1).sum(axis=0)
        size = truth.shape[0] * np.arange(1, most + 1) + truth.nnz
        self.k_ = 1 + int(np.argmax(2 * np.cumsum(hits) / size))

    def _choose(self, scores: Scores) -> csr_array:
        return top_labels(scores, np.full(scores.shape[0], self.k_, np.int64))


def _round_half_up(values: Any) -> I64:
    """To the nearest whole number, halves up."""
    return np.floor(np.asarray(values, np.float64) + 0.5).astype(np.int64)


@dataclass(kw_only=True, eq=False, repr=False)
class ProportionalCut(Rule):
    """Give each label to its best documents, as often as in training (PCut) [Yang01].

    The labels of a document depend on the other documents: give the whole test set at once. Not for streams.

    Attributes
    ----------
    shares_ : float64 array (labels,)
        Share of documents that have the label.

    Examples
    --------
    >>> rule = ProportionalCut().fit([[0.9], [0.2], [0.1]], [[1], [0], [0]])
    >>> rule.predict([[0.1], [0.2], [0.3], [0.4], [0.5], [0.6]]).ravel()
    array([0, 0, 0, 0, 1, 1])
    """

    def _learn(self, scores: Scores, truth: csr_array) -> None:
        counts = np.bincount(truth.indices, minlength=truth.shape[1])
        self.shares_ = counts / truth.shape[0]

    def _choose(self, scores: Scores) -> csr_array:
        return top_documents(scores, _round_half_up(scores.shape[0] * self.shares_))
