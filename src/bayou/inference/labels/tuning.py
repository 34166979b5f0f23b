"""Documents held out while a label model is trained, and the choices that are made with them.

A first model learns from most documents. The others decide the mixture of scores, the way to score, the rule
for label sets and the probabilities. The second model learns from all documents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayou.data.label_forms import MULTI_LABEL, Labels
from bayou.data.memory import check_memory
from bayou.inference.labels import scores
from bayou.inference.lda.arrays import F64, I64, Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.thresholds import CardinalityRegression, SCut
from bayou.inference.thresholds.rule import top_labels
from bayou.kernels.rng import HELD_OUT, key, permutation
from bayou.metrics.multilabel import macro_scores, micro_auc, micro_scores
from bayou.results.label_posterior import AUTO, SCORES, LabelPosterior
from bayou.results.label_response import LabelResponse, fit_sigmoid

MIXES = np.linspace(0.0, 1.0, 11)
_FEW = 20  # labelled documents below which none are held out
_MOST_HELD_OUT = 2000
_MOST_RANKED = 2_000_000  # approximate number of label scores that a mixture is measured on
_MOST_SIZED = 2500  # documents that the number of labels is learned from
_MARGIN = 0.005  # gain in F1 that the less robust choice must show


class LabelTask(NamedTuple):
    """Documents with labels to learn from."""

    counts: csr_array
    labels: Labels
    vocabulary: Any

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.labels.classes)

    @property
    def docs_with_labels(self) -> I64:
        """The documents that have a label."""
        return np.flatnonzero(np.diff(self.labels.indicator.indptr) > 0)

    def take(self, docs: I64) -> LabelTask:
        """Some of the documents."""
        of = self.labels
        codes = of.codes[docs] if len(of.codes) else of.codes
        indicator, known = csr_array(of.indicator[docs]), of.known[docs]
        some = of._replace(codes=codes, indicator=indicator, known=known)
        return self._replace(counts=csr_array(self.counts[docs]), labels=some)

    def label_docs(self) -> F64:
        """Number of documents of each label."""
        labels = self.labels.indicator.indices
        return np.bincount(labels, minlength=self.n_labels).astype(np.float64)

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays whose contents a checkpoint must agree with."""
        counts, of = self.counts, self.labels.indicator
        return counts.indptr, counts.indices, counts.data, of.indptr, of.indices


class Tuning(NamedTuple):
    """What is decided on held-out documents, and with how many chains the final model is trained."""

    validation_share: float
    rule: str  # "auto", "cardinality" or "scut"
    n_chains: int
    mix: float | None = 0.0  # None: the mixture that ranks labels best
    scoring: str = SCORES[0]  # "auto": the better one of `SCORES`


Learn = Callable[[LabelTask, int, bool], LabelPosterior]


def learn_and_tune(
    task: LabelTask, p: Tuning, seed: int, each: Each, learn: Learn
) -> tuple[LabelPosterior, LabelResponse]:
    """Learn from most documents, decide with the others, then learn from all documents.

    ``learn(task, n_chains, final)`` gives a posterior; users see the progress of the final one.
    """
    share = p.validation_share if task.labels.kind == MULTI_LABEL else 0.0
    rest, held = split_held_out(task, share, seed)
    n_scored, n_labels = len(held) or len(task.docs_with_labels), task.labels.indicator.shape[1]
    check_memory(
        24.0 * n_scored * n_labels,
        f"a table of scores of {n_scored:,} documents for each of {n_labels:,} labels",
        "give fewer labels, or a smaller validation_share",
    )
    if not len(held):
        post = learn(task, p.n_chains, True)
        known = task.take(task.docs_with_labels)
        shares, post = tune_scores(post, known, each, p.mix or 0.0)
        return post, fit_response(task, "cardinality" if p.rule == AUTO else p.rule, shares, known)
    trial = learn(task.take(rest), 1, False)
    validation = task.take(held)
    shares, trial = tune_scores(trial, validation, each, p.mix, p.scoring)
    post = learn(task, p.n_chains, True).with_mix(trial.mix, trial.score)
    sized = task.take(rest) if p.rule == AUTO else task
    return post, fit_response(sized, p.rule, shares, validation)


def split_held_out(task: LabelTask, share: float, seed: int) -> tuple[I64, I64]:
    """Documents to learn from, and labelled documents to decide with; the latter may be none."""
    known = task.docs_with_labels
    n_held = min(int(share * len(known)), _MOST_HELD_OUT) if len(known) >= _FEW else 0
    order = known[permutation(len(known), np.uint64(key(seed, HELD_OUT, 0, 0)))]
    rest = np.setdiff1d(np.arange(task.counts.shape[0]), order[:n_held])
    return rest, np.sort(order[:n_held])


# -- scores ------------------------------------------------------------------------------------


def tune_scores(
    post: LabelPosterior, task: LabelTask, each: Each, mix: float | None, scoring: str = ""
) -> tuple[F64, LabelPosterior]:
    """Label shares of documents that a model has not seen, and the model with the best mixture.

    With ``scoring="auto"`` also the way to score: by document (S2) where its first labels are clearly better,
    as many per document as it has, else by token (S1).
    """
    deep = post.n_topics and task.labels.kind == MULTI_LABEL
    use = task.docs_with_labels if deep else np.zeros(0, int)
    pairs = scores.pairs_with_labels(task.counts, post)
    ways, truth = SCORES if scoring == AUTO and len(use) else (post.score,), task.labels.indicator
    found = [tune_mix(post.with_mix(0.0, way), pairs, each, mix, truth, use) for way in ways]
    if len(found) == 1:
        return found[0]
    first = [_first_labels_f1(csr_array(truth[use]), shares[use]) for shares, _ in found]
    return found[int(first[1] > first[0] + _MARGIN)]


def tune_mix(
    post: LabelPosterior, pairs: Pairs, each: Each, mix: float | None, truth: csr_array, use: I64
) -> tuple[F64, LabelPosterior]:
    """Label shares with the given mixture, or with the one of the largest micro-AUC."""
    found = scores.infer(post, pairs, each)
    n_ranked = min(len(use), _MOST_RANKED // truth.shape[1] + 1)
    use = use[np.linspace(0, len(use) - 1, n_ranked).astype(int)]
    some, few = csr_array(truth[use]), scores.LabelScores(*(x[use] for x in found))

    def auc(weight: float) -> float:
        return float(micro_auc(some, scores.label_shares(post.with_mix(weight), few)))

    if mix is None:
        ranked = len(use) and 0 < some.nnz < np.prod(some.shape)
        mix = float(max(MIXES, key=auc)) if ranked else 0.0
    post = post.with_mix(mix)
    return scores.label_shares(post, found), post


def _first_labels_f1(truth: csr_array, shares: F64) -> float:
    """Mean of micro-F1 and macro-F1 of the first labels of documents, as many as each has.

    Micro-F1 alone ignores rare labels, macro-F1 alone ignores how many documents are right.
    """
    given = top_labels(shares, np.diff(truth.indptr))
    there = np.unique(truth.indices)
    macro = macro_scores(truth[:, there], given[:, there]).f1
    return 0.5 * float(micro_scores(truth, given).f1 + macro)


# -- rules -------------------------------------------------------------------------------------


def fit_response(task: LabelTask, rule: str, shares: F64, validation: LabelTask) -> LabelResponse:
    """How scores become label sets, from training documents and from shares of held-out documents.

    With "auto", thresholds are used where their micro-F1 on held-out documents is clearly better. They are
    fitted to one half and measured on the other. ``task`` must not contain the held-out documents then.
    """
    of, none = task.labels, np.zeros(0)
    plain = LabelResponse(kind=of.kind, classes=of.classes, thresholds=none, term_weights=none)
    if of.kind != MULTI_LABEL:
        return plain
    truth = validation.labels.indicator
    slope, offset = fit_sigmoid(shares, truth)
    plain = replace(plain, slope=slope, offset=offset)
    if rule == "scut":
        return _fit_thresholds(plain, shares, truth)
    by_size = _fit_sizes(plain, task)
    if rule == "cardinality":
        return by_size
    halves = [np.arange(i, len(shares), 2) for i in (0, 1)]
    other = [
        _micro_f1(
            _fit_thresholds(plain, shares[a], csr_array(truth[a])), shares[b], validation.take(b)
        )
        for a, b in (halves, halves[::-1])
    ]
    better = float(np.mean(other)) > _micro_f1(by_size, shares, validation) + _MARGIN
    return _fit_thresholds(plain, shares, truth) if better else by_size


def _fit_thresholds(plain: LabelResponse, shares: F64, truth: csr_array) -> LabelResponse:
    """A threshold for each label."""
    return replace(plain, rule="scut", thresholds=SCut().fit(shares, truth).thresholds_)


def _fit_sizes(plain: LabelResponse, task: LabelTask) -> LabelResponse:
    """A regression of the number of labels on the words of training documents."""
    use = np.flatnonzero(task.labels.known)
    sizes, X = csr_array(task.labels.indicator[use]), csr_array(task.counts[use])
    blank = csr_array(sizes.shape, dtype=np.float64)
    model = CardinalityRegression(max_docs=_MOST_SIZED).fit(blank, sizes, X).model_
    weights = np.asarray(model.coef_, np.float64).ravel()
    intercept = float(np.ravel(model.intercept_)[0])
    return replace(plain, rule="cardinality", term_weights=weights, intercept=intercept)


def _micro_f1(response: LabelResponse, shares: F64, task: LabelTask) -> float:
    return float(micro_scores(task.labels.indicator, response.answers(shares, task.counts)).f1)
