"""The base of topic models whose topics answer to labels: what follows from a `LabelPosterior`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from bayou.data.corpus import Corpus
from bayou.data.label_forms import MULTI_LABEL, Labels
from bayou.data.supervision import read_labels
from bayou.estimator import Estimator
from bayou.explanation import LabelExplanation
from bayou.kernels.rng import HELD_OUT, key, shuffled
from bayou.label_posterior import LabelPosterior
from bayou.label_response import RULES, LabelResponse, fitted_sigmoid
from bayou.metrics.multilabel import micro_auc
from bayou.parameters import number, one_of, whole
from bayou.parts import features, label_scores, topics
from bayou.parts.topics import F64, I64, Each
from bayou.posterior import Posterior, proportions
from bayou.run import checkpoint as checkpoints
from bayou.run import loop
from bayou.run.loop import Info
from bayou.run.shards import Workers
from bayou.supervised import Classifies
from bayou.thresholds import CardinalityRegression, SCut
from bayou.topic_estimator import TopicEstimator

MIXES = np.linspace(0.0, 1.0, 11)
_FEW = 20  # documents with labels below which none are held out
_MOST_HELD = 2000


@dataclass(kw_only=True, eq=False, repr=False)
class LabelEstimator(Classifies, TopicEstimator, abstract=True):
    """A model of labels: `labels_` says how it scores, `response_` how scores become answers.

    Attributes
    ----------
    labels_ : LabelPosterior
        Terms of labels, sparse, and topics over labels.
    response_ : LabelResponse
    classes_ : array
    posterior_ : Posterior
        Topics over labels as topics over terms, of the first chain; without any, the labels themselves.
    """

    tf: str = "none"
    rule: str = "cardinality"
    validation_share: float = 0.1

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The topics in the form that all topic models have."""
        check_is_fitted(self)
        return self.labels_.dense()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_") and hasattr(self, "response_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def vocabulary_(self) -> Any:
        """The terms by name, or None."""
        check_is_fitted(self)
        return self.labels_.vocabulary

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return self.labels_.n_topics or self.labels_.n_columns

    def _rule(self) -> LabelResponse:
        return self.response_

    def _check_labels(self, p: Any) -> None:
        """The parameters that all models of labels have."""
        one_of("tf", p.tf, features.DAMPINGS)
        one_of("rule", p.rule, RULES)
        number("validation_share", p.validation_share, 0.0, 0.5)

    # -- answers -------------------------------------------------------------------------------

    def _shares(self, X: Any) -> tuple[csr_array, F64]:
        """Documents as counts, and shares of their labels; rows sum to one."""
        check_is_fitted(self)
        counts = features.damped(self._corpus(X, reset=False).counts, self.tf)
        with Workers(self.n_threads) as workers:
            pairs = label_scores.met_pairs(counts, self.labels_)
            found = label_scores.infer(self.labels_, pairs, workers.each)
        return counts, label_scores.label_shares(self.labels_, found)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Share of each label in the documents: rows sum to one, so that documents compare.

        For two classes the log-odds of the second, one number a document.
        """
        shares = self._shares(X)[1]
        return self._rule().decisions(shares)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of classes (rows add up to one) or of labels, each by itself.

        Of labels a sigmoid of the logarithm of `decision_function`, the same for all labels, fitted to
        training documents that were held out.
        """
        shares = self._shares(X)[1]
        return self._rule().probabilities(shares)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each document or, for several labels a document, an indicator (documents, labels).

        How many labels a document gets is decided by `rule`; it gets one at least.
        """
        counts, shares = self._shares(X)
        return self._rule().answers(shares, counts)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Proportions of topics over labels, of the first chain; without any, of labels and free topics.

        Rows sum to one; a row depends on that row alone. Documents without known terms get the prior.
        """
        check_is_fitted(self)
        counts = features.damped(self._corpus(X, reset=False).counts, self.tf)
        post = self.labels_
        with Workers(self.n_threads) as workers:
            pairs = label_scores.met_pairs(counts, post)
            if not post.n_topics:
                return label_scores.infer(post, pairs, workers.each).scores
            return proportions(
                label_scores.member_topics(post, 0, pairs, workers.each), post.link_alpha
            )

    def explain(self, X: Any) -> list[LabelExplanation]:
        """Which terms voted for which labels, and which topics over labels pulled them.

        Returns
        -------
        list of LabelExplanation
            Their parts add up to the shares, `decision_function`.
        """
        check_is_fitted(self)
        corpus, post = self._corpus(X, reset=False), self.labels_
        counts = features.damped(corpus.counts, self.tf)
        pairs = label_scores.met_pairs(counts, post)
        with Workers(self.n_threads) as workers:
            found = label_scores.infer(post, pairs, workers.each)
        shares = label_scores.label_shares(post, found)
        given = np.atleast_2d(self._rule().answers(shares, counts))
        names = self.vocabulary_ or [f"x{v}" for v in range(self.n_features_in_)]
        by_topic = (
            topics.pair_topics(post.topics[0], post.link_alpha, pairs) if post.topics else None
        )
        out = []
        for d in range(corpus.n_docs):
            at = slice(pairs.indptr[d], pairs.indptr[d + 1])
            votes = label_scores.token_votes(post, pairs, d, found)
            mine = np.zeros((len(votes), 0)) if by_topic is None else by_topic[at]
            length = max(float(pairs.counts[at].sum()), 1.0)
            out.append(
                LabelExplanation(
                    classes=self.classes_,
                    terms=tuple(names[v] for v in pairs.terms[at]),
                    counts=pairs.counts[at].astype(np.float64),
                    votes=votes,
                    base=shares[d] - votes.sum(axis=0),
                    shares=mine * pairs.counts[at][:, None] / length,
                    links=post.member_links(0)[:, : post.n_labels],
                    prior=post.link_alpha / max(float(post.link_alpha.sum() + length), 1e-300),
                    n_given=int(given[d].sum()) if self._rule().kind == MULTI_LABEL else 1,
                )
            )
        return out

    # -- files ---------------------------------------------------------------------------------

    def _payload(self) -> dict[str, NDArray[Any]]:
        return {**self.labels_.arrays(), **self.response_.arrays()}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.labels_ = post = LabelPosterior.from_arrays(arrays)
        self.response_ = LabelResponse.from_arrays(arrays, post.n_labels, post.n_terms)

    def _n_columns(self) -> int:
        return self.labels_.n_terms

    # -- learning ------------------------------------------------------------------------------

    @contextmanager
    def _running(self, title: str, task: Task, checkpoint: Any, every: int) -> Iterator[Run]:
        """Threads, progress and checkpoints while `fit` lasts."""
        whole("checkpoint_every", every, 1)
        if checkpoint is not None and self.random_state is None:
            raise ValueError("a checkpoint needs a random_state to go on from; give an integer")

        def describe() -> dict[str, Any]:
            manifest = self._manifest("checkpoint")
            del manifest["learned"]
            counts, of = task.counts, task.labels.indicator
            parts = (counts.indptr, counts.indices, counts.data, of.indptr, of.indices)
            return {**manifest, "data": checkpoints.digest(parts), "seed": self.seed_}

        saver = checkpoints.Saver(checkpoint, every, describe)
        with Workers(self.n_threads) as workers, loop.progress_bar(self.progress, title) as bar:
            yield Run(self, workers.each, [*bar, *self._callbacks()], saver)

    def _read(self, X: Any, y: Any) -> Task:
        """Documents and what is known of their labels."""
        corpus = self._corpus(X, reset=True)
        labels = read_labels(y, corpus.n_docs, corpus=X if isinstance(X, Corpus) else None)
        return Task(features.damped(corpus.counts, self.tf), labels, corpus.vocabulary)


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
    order = known[shuffled(len(known), np.uint64(key(seed, HELD_OUT, 0, 0)))]
    rest = np.setdiff1d(np.arange(task.counts.shape[0]), order[:n_held])
    return rest, np.sort(order[:n_held])


def tuned(
    post: LabelPosterior, task: Task, each: Each, mix: float | None
) -> tuple[F64, LabelPosterior]:
    """Shares of documents that a model has not seen, and the model with the best mixture for them."""
    found = label_scores.infer(post, label_scores.met_pairs(task.counts, post), each)
    if mix is None and post.n_topics and task.labels.kind == MULTI_LABEL:
        use = np.flatnonzero(np.diff(task.labels.indicator.indptr) > 0)
        truth = csr_array(task.labels.indicator[use])

        def auc(w: float) -> float:
            shares = label_scores.label_shares(replace(post, mix=float(w)), found)
            return float(micro_auc(truth, shares[use]))

        mix = (
            float(max(MIXES, key=auc)) if len(use) and 0 < truth.nnz < np.prod(truth.shape) else 0.0
        )
    post = replace(post, mix=mix or 0.0)
    return label_scores.label_shares(post, found), post


def respond(task: Task, rule: str, shares: F64, truth: csr_array) -> LabelResponse:
    """How scores become answers, from the training documents and from shares of some held out."""
    of, none = task.labels, np.zeros(0)
    if of.kind != MULTI_LABEL:
        return LabelResponse(kind=of.kind, classes=of.classes, thresholds=none, term_weights=none)
    slope, offset = fitted_sigmoid(shares, truth)
    how: dict[str, Any] = {"thresholds": none, "term_weights": none}
    if rule == "cardinality":
        use = np.flatnonzero(of.known)
        sizes, X = csr_array(of.indicator[use]), csr_array(task.counts[use])
        blank = csr_array(sizes.shape, dtype=np.float64)
        model = CardinalityRegression(max_docs=4000).fit(blank, sizes, X).model_
        how["term_weights"] = np.asarray(model.coef_, np.float64).ravel()
        how["intercept"] = float(np.ravel(model.intercept_)[0])
    else:
        how["thresholds"] = SCut().fit(shares, truth).thresholds_
    return LabelResponse(
        kind=of.kind, classes=of.classes, rule=rule, slope=slope, offset=offset, **how
    )


Learn = Callable[[Task, int, bool], LabelPosterior]


def learn_and_tune(
    task: Task, p: Any, run: Run, learn: Learn
) -> tuple[LabelPosterior, LabelResponse]:
    """Learn from most documents, decide with the others, then learn from all of them.

    ``learn(task, n_chains, last)`` gives a posterior; the last time progress is shown.
    """
    several, each = task.labels.kind == MULTI_LABEL, run.each
    rest, held = held_out(task, p.validation_share if several else 0.0, run.seed)
    mix = getattr(p, "mix", 0.0)
    if not len(held):
        post = learn(task, p.n_chains, True)
        judged = task.only(np.flatnonzero(np.diff(task.labels.indicator.indptr) > 0))
        shares, post = tuned(post, judged, each, 0.0 if mix is None else mix)
        return post, respond(task, p.rule, shares, judged.labels.indicator)
    trial = learn(task.only(rest), 1, False)
    judged = task.only(held)
    shares, trial = tuned(trial, judged, each, mix)
    post = replace(learn(task, p.n_chains, True), mix=trial.mix)
    return post, respond(task, p.rule, shares, judged.labels.indicator)


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
            stopped=saver.stopped,
            max_time=self._max_time,
        )
        return state
