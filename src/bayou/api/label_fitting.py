"""How models of labels are fitted: documents held out, what is decided with them, who is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.sparse import csr_array

from bayou.api.estimator import Estimator
from bayou.data.label_forms import MULTI_LABEL, Labels
from bayou.inference.labels import scores
from bayou.inference.lda.arrays import F64, I64, Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.thresholds import CardinalityRegression, SCut
from bayou.inference.thresholds.rule import top_labels
from bayou.kernels.rng import HELD_OUT, key, permutation
from bayou.metrics.multilabel import macro_scores, micro_auc, micro_scores
from bayou.results.label_posterior import AUTO, SCORES, LabelPosterior
from bayou.results.label_response import LabelResponse, fit_sigmoid
from bayou.run import checkpoint as checkpoints
from bayou.run import loop
from bayou.run.loop import Info

MIXES = np.linspace(0.0, 1.0, 11)
_FEW = 20  # documents with labels below which none are held out
_MOST_HELD = 2000
_MOST_RANKED = 2_000_000  # shares of labels that a mixture is judged by, about
_MOST_SIZED = 2500  # documents that the number of labels is learned from
_MARGIN = (
    0.005  # of micro-F1: thresholds lose a little when the model has learned from all documents
)


class Task(NamedTuple):
    """What there is to learn from."""

    counts: csr_array
    labels: Labels
    vocabulary: Any

    def only(self, docs: I64) -> Task:
        """Some of the documents."""
        of = self.labels
        codes = of.codes[docs] if len(of.codes) else of.codes
        indicator, known = csr_array(of.indicator[docs]), of.known[docs]
        kept = of._replace(codes=codes, indicator=indicator, known=known)
        return self._replace(counts=csr_array(self.counts[docs]), labels=kept)

    def label_docs(self) -> F64:
        """Documents of each label."""
        return np.bincount(
            self.labels.indicator.indices, minlength=len(self.labels.classes)
        ).astype(np.float64)


def held_out(task: Task, share: float, seed: int) -> tuple[I64, I64]:
    """Documents to learn from and, with labels, to decide with; none of those where there are few."""
    known = np.flatnonzero(np.diff(task.labels.indicator.indptr) > 0)
    n_held = min(int(share * len(known)), _MOST_HELD) if len(known) >= _FEW else 0
    order = known[permutation(len(known), np.uint64(key(seed, HELD_OUT, 0, 0)))]
    rest = np.setdiff1d(np.arange(task.counts.shape[0]), order[:n_held])
    return rest, np.sort(order[:n_held])


def tuned(
    post: LabelPosterior, task: Task, each: Each, mix: float | None, scoring: str = ""
) -> tuple[F64, LabelPosterior]:
    """Shares of documents that a model has not seen, and the model with the best mixture for them.

    With ``scoring="auto"`` also what scores are made of: the document (S2) where its labels are clearly
    better, as many first ones as a document has, else the tokens (S1).
    """
    several = post.n_topics and task.labels.kind == MULTI_LABEL
    use = np.flatnonzero(np.diff(task.labels.indicator.indptr) > 0) if several else np.zeros(0, int)
    pairs = scores.pairs_with_labels(task.counts, post)
    ways, truth = SCORES if scoring == AUTO and len(use) else (post.score,), task.labels.indicator
    found = [_mixed(post.with_mix(0.0, way), pairs, each, mix, truth, use) for way in ways]
    if len(found) == 1:
        return found[0]
    right = [_right_first(csr_array(truth[use]), shares[use]) for shares, _ in found]
    return found[1] if right[1] > right[0] + _MARGIN else found[0]


def _mixed(
    post: LabelPosterior, pairs: Pairs, each: Each, mix: float | None, truth: csr_array, use: I64
) -> tuple[F64, LabelPosterior]:
    """Shares with the given mixture, or with the one that ranks labels of documents best."""
    found = scores.infer(post, pairs, each)
    use = use[
        np.linspace(0, len(use) - 1, min(len(use), _MOST_RANKED // truth.shape[1] + 1)).astype(int)
    ]
    some, few = csr_array(truth[use]), scores.LabelScores(*(x[use] for x in found))

    def auc(w: float) -> float:
        return float(micro_auc(some, scores.label_shares(post.with_mix(w), few)))

    if mix is None:
        ranked = len(use) and 0 < some.nnz < np.prod(some.shape)
        mix = float(max(MIXES, key=auc)) if ranked else 0.0
    post = post.with_mix(mix)
    return scores.label_shares(post, found), post


def _right_first(truth: csr_array, shares: F64) -> float:
    """The mean of micro- and macro-F1 of the first labels of documents, as many as they have.

    Either alone is blind: micro-F1 to rare labels, macro-F1 to how many documents are right.
    """
    given = top_labels(shares, np.diff(truth.indptr))
    there = np.unique(truth.indices)
    macro = macro_scores(truth[:, there], given[:, there]).f1
    return 0.5 * float(micro_scores(truth, given).f1 + macro)


def respond(task: Task, rule: str, shares: F64, judged: Task) -> LabelResponse:
    """How scores become answers, from training documents and from shares of documents held out.

    With "auto" thresholds where they have the clearly better micro-F1 for the documents held out, fitted to
    one half of them and judged on the other. The training documents must not be those held out then.
    """
    of, none = task.labels, np.zeros(0)
    if of.kind != MULTI_LABEL:
        return LabelResponse(kind=of.kind, classes=of.classes, thresholds=none, term_weights=none)
    truth = judged.labels.indicator
    slope, offset = fit_sigmoid(shares, truth)
    plain = LabelResponse(
        kind=of.kind,
        classes=of.classes,
        thresholds=none,
        term_weights=none,
        slope=slope,
        offset=offset,
    )
    if rule == "scut":
        return _by_thresholds(plain, shares, truth)
    sized = _by_size(plain, task)
    if rule == "cardinality":
        return sized
    f1 = _micro_f1(sized, shares, judged)
    halves = [np.arange(i, len(shares), 2) for i in (0, 1)]
    other = [
        _micro_f1(_by_thresholds(plain, shares[a], csr_array(truth[a])), shares[b], judged.only(b))
        for a, b in (halves, halves[::-1])
    ]
    better = float(np.mean(other)) > f1 + _MARGIN
    return _by_thresholds(plain, shares, truth) if better else sized


def _by_thresholds(plain: LabelResponse, shares: F64, truth: csr_array) -> LabelResponse:
    """A threshold for each label."""
    return replace(plain, rule="scut", thresholds=SCut().fit(shares, truth).thresholds_)


def _by_size(plain: LabelResponse, task: Task) -> LabelResponse:
    """As many labels as a regression on the words of the training documents says."""
    use = np.flatnonzero(task.labels.known)
    sizes, X = csr_array(task.labels.indicator[use]), csr_array(task.counts[use])
    blank = csr_array(sizes.shape, dtype=np.float64)
    model = CardinalityRegression(max_docs=_MOST_SIZED).fit(blank, sizes, X).model_
    weights = np.asarray(model.coef_, np.float64).ravel()
    intercept = float(np.ravel(model.intercept_)[0])
    return replace(plain, rule="cardinality", term_weights=weights, intercept=intercept)


def _micro_f1(response: LabelResponse, shares: F64, judged: Task) -> float:
    return float(micro_scores(judged.labels.indicator, response.answers(shares, judged.counts)).f1)


Learn = Callable[[Task, int, bool], LabelPosterior]


def learn_and_tune(
    task: Task, p: Any, run: Run, learn: Learn
) -> tuple[LabelPosterior, LabelResponse]:
    """Learn from most documents, decide with the others, then learn from all of them.

    ``learn(task, n_chains, last)`` gives a posterior; the last time progress is shown.
    """
    several, each = task.labels.kind == MULTI_LABEL, run.each
    rest, held = held_out(task, p.validation_share if several else 0.0, run.seed)
    mix, scoring = getattr(p, "mix", 0.0), getattr(p, "scoring", "")
    if not len(held):
        post = learn(task, p.n_chains, True)
        judged = task.only(np.flatnonzero(np.diff(task.labels.indicator.indptr) > 0))
        shares, post = tuned(post, judged, each, 0.0 if mix is None else mix)
        return post, respond(task, "cardinality" if p.rule == AUTO else p.rule, shares, judged)
    trial = learn(task.only(rest), 1, False)
    judged = task.only(held)
    shares, trial = tuned(trial, judged, each, mix, scoring)
    post = learn(task, p.n_chains, True).with_mix(trial.mix, trial.score)
    return post, respond(task.only(rest) if p.rule == AUTO else task, p.rule, shares, judged)


S = TypeVar("S", bound=tuple[Any, ...])
Sweeps = Callable[[S], tuple[S, Info | None]]


class Run:
    """One call of `fit`: its threads, who is told, where it is kept."""

    def __init__(
        self, model: Estimator, each: Each, callbacks: list[loop.Callback], saver: checkpoints.Saver
    ) -> None:
        self.each, self.seed = each, model.seed_
        self._callbacks, self._saver, self._max_time = callbacks, saver, model.max_time

    def train(
        self, kind: type[S], begin: Callable[[], S], sweeps: Callable[[S], Sweeps[S]], last: bool
    ) -> S:
        """All sweeps from the beginning, or from a checkpoint.

        ``sweeps`` makes, from the state to begin with, what gives the next state and what is told of it.
        """
        saver = self._saver if last else checkpoints.Saver()
        state = saver.read(kind) or begin()
        state = loop.run(
            state,
            sweeps(state),
            callbacks=self._callbacks if last else (),
            after=saver.after,
            stopped=saver.save_on_stop,
            max_time=self._max_time,
        )
        return state
