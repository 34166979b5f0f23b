"""What max-margin topic models share that learn from all documents at once: the door, the run, the end."""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from bayou.api.supervised import SupervisedEstimator, TopicClassifier, TopicRegressor
from bayou.data.checks import (
    check_averaged_sweeps,
    check_parameters,
    number,
    one_of,
    optional,
    whole,
)
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError
from bayou.data.supervision import document_weights, read_labels, read_targets, signs
from bayou.inference.lda import features
from bayou.inference.lda.arrays import F64, Each
from bayou.inference.margin import chains
from bayou.inference.margin import refit as second_stage
from bayou.results.posterior import Posterior
from bayou.run import checkpoint as checkpoints
from bayou.run import loop
from bayou.run.loop import Info
from bayou.run.shards import Workers

_MOST_COST = 1e8  # kernels square it in single precision


@dataclass(kw_only=True, eq=False, repr=False)
class MarginEstimator(SupervisedEstimator, abstract=True):
    """Chains over topics and weights, whatever they know of the number of topics."""

    idf: bool = True
    n_sweeps: int = 40
    n_kept: int = 10
    refit: bool = True
    word_residual: float = 0.0

    # -- what a model says about itself --------------------------------------------------------

    def _state_kind(self) -> type[Any]:
        """The class of the state of its chains."""
        raise TypeError(f"{type(self).__name__} does not say what its state is")

    def _settle(self, p: SimpleNamespace, kind: str, n_tasks: int) -> None:
        """Set topics, priors and chains, once it is known what kind of responses there are."""
        raise TypeError(f"{type(self).__name__} does not say how it is to be run")

    def _start(self, data: chains.MarginData, p: SimpleNamespace, each: Each) -> Any:
        """The state before the first sweep."""
        raise TypeError(f"{type(self).__name__} does not say where it begins")

    def _sweep(self, state: Any, data: chains.MarginData, p: SimpleNamespace, each: Each) -> Any:
        """The state after one more sweep."""
        raise TypeError(f"{type(self).__name__} does not say what a sweep is")

    def _read_off(
        self, state: Any, data: chains.MarginData, p: SimpleNamespace, each: Each
    ) -> tuple[Posterior, second_stage.RefitEvidence]:
        """The topics that were learned, and what the second stage learns from."""
        raise TypeError(f"{type(self).__name__} does not say what it has learned")

    # -- the door and the run ------------------------------------------------------------------

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        counts = ("n_topics", "n_sweeps", "n_kept")
        given = SimpleNamespace(
            **{**vars(p), "n_topics": p.n_topics if p.n_topics is not None else 1}
        )
        check_parameters(given, counts, ("beta", "max_time", "cost", "variance"))
        one_of("tf", p.tf, features.DAMPINGS)
        number("word_residual", p.word_residual, 0.0, 1e6)
        number("variance", p.variance, 1e-12, 1e12)
        check_averaged_sweeps(p)
        return p

    def _run(
        self, corpus: Corpus, y: F64, cost: F64, p: SimpleNamespace, checkpoint: Any, every: int
    ) -> tuple[chains.MarginData, second_stage.RefitEvidence]:
        """All sweeps of all chains, and what the second stage learns from."""
        whole("checkpoint_every", every, 1)
        if checkpoint is not None and self.random_state is None:
            raise ValueError("a checkpoint needs a random_state to go on from; give an integer")
        if cost.max() > _MOST_COST:
            raise ValueError(
                f"cost times sample_weight must be at most {_MOST_COST:g}; got {cost.max():g}"
            )
        data = chains.prepare(corpus, y, cost, p, self.seed_)
        kind, name = "light" if data.chains[0].light else "gibbs", type(self).__name__
        with Workers(self.n_threads) as workers, loop.progress_bar(self.progress, name) as bar:
            each = workers.each
            saved = checkpoints.Saver(checkpoint, every, lambda: self._describe(corpus, y, cost))
            state = saved.read(self._state_kind()) or self._start(data, p, each)

            def step(state: Any) -> tuple[Any, Info | None]:
                if state.step >= p.n_sweeps:
                    return state, None
                state = self._sweep(state, data, p, each)
                fresh = len(state.scores) and state.score_steps[-1] == state.step
                score = float(state.scores[-1]) if fresh else float("nan")
                return state, Info(state.step, p.n_sweeps, kind, score, 0.0)

            callbacks = [*bar, *self._callbacks()]
            state = loop.run(
                state, step, callbacks=callbacks, after=saved.after, stopped=saved.save_on_stop,
                max_time=p.max_time,
            )  # fmt: skip
            self.posterior_, evidence = self._read_off(state, data, p, each)
        self.n_iter_ = state.step
        return data, evidence

    def _describe(self, corpus: Corpus, y: F64, cost: F64) -> dict[str, Any]:
        """What a checkpoint must agree with: parameters, seed and the data themselves."""
        manifest = self._manifest("checkpoint")
        del manifest["learned"]
        counts = corpus.counts
        parts = (counts.indptr, counts.indices, counts.data, y, cost)
        return {**manifest, "data": checkpoints.digest(parts), "seed": self.seed_}


@dataclass(kw_only=True, eq=False, repr=False)
class MarginClassifier(TopicClassifier, MarginEstimator, abstract=True):
    """Topics that classes or labels have shaped."""

    beta: float = 0.03
    loss: str = "hinge"
    cost: float = 1.0
    margin: float | None = None
    variance: float = 1.0
    positive_cost: float | None = None

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Learn topics and weights from documents with classes or labels.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : vector, label lists, indicator matrix, or None
            None takes the corpus' labels. None or NaN for a document: nothing is known of it, and its words
            still shape the topics. See `bayou.data.supervision.read_labels`.
        sample_weight : array (documents,), optional
            Factors on the cost of documents; their words count as before.
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        p = self._checked_parameters()
        corpus = self._corpus(X, reset=True)
        labels = read_labels(y, corpus.n_docs, corpus=X if isinstance(X, Corpus) else None)
        multi = labels.kind == "multi-label"
        n_tasks = 1 if labels.kind == "binary" else len(labels.classes)
        self._settle(p, labels.kind, n_tasks)
        p.width = p.margin or (164.0 if p.separate or labels.kind == "binary" else 16.0)
        truth = signs(labels).astype(np.float64)
        factor = p.positive_cost or (4.0 if multi else 1.0)
        cost = np.where(truth > 0, factor, 1.0) * p.cost * (truth != 0)
        cost *= document_weights(sample_weight, corpus.n_docs)[:, None]
        self.seed_ = self._resolve_seed()
        data, seen = self._run(corpus, truth, cost, p, checkpoint, checkpoint_every)
        plan = second_stage.RefitPlan(
            p.refit,
            1.0 / max(1.0, p.word_residual**2),
            p.word_residual,
            p.loss == "logistic",
            self.seed_,
        )
        self.response_ = second_stage.classify(seen, labels, data.order, plan)
        return self

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        one_of("loss", p.loss, ("hinge", "logistic"))
        optional("margin", p.margin, 1e-8, 1e8)
        optional("positive_cost", p.positive_cost, 1e-30)
        return p


@dataclass(kw_only=True, eq=False, repr=False)
class MarginRegressor(TopicRegressor, MarginEstimator, abstract=True):
    """Topics that numbers have shaped."""

    tf: str = "none"
    idf: bool = False
    beta: float = 0.01
    cost: float = 10.0
    epsilon: float = 1e-3
    variance: float = 1.0

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Learn topics and weights from documents with numbers.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : array (documents,) or (documents, targets), or None
            None takes the corpus' targets. NaN: nothing is known, and the words still shape the topics.
        sample_weight : array (documents,), optional
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        p = self._checked_parameters()
        corpus = self._corpus(X, reset=True)
        values = read_targets(y, corpus.n_docs, corpus=X if isinstance(X, Corpus) else None)
        weight = document_weights(sample_weight, corpus.n_docs)
        known = ~np.isnan(values) & (weight[:, None] > 0)
        mean, deviation = _scale(values, known, weight)
        truth = np.where(known, (values - mean) / deviation, 0.0)
        self._settle(p, "regression", values.shape[1])
        p.loss, p.width = "insensitive", p.epsilon
        self.seed_ = self._resolve_seed()
        cost = p.cost * known * weight[:, None]
        apart = second_stage.held_out_mask(known, self.seed_, p.refit)
        shown = np.where(apart[:, None], 0.0, cost)
        data, seen = self._run(corpus, truth, shown, p, checkpoint, checkpoint_every)
        strength = 1.0 / second_stage.RIDGE if p.word_residual == 0 else 1.0
        plan = second_stage.RefitPlan(p.refit, strength, p.word_residual, False, self.seed_)
        names = np.arange(values.shape[1])
        seen = seen._replace(cost=cost[data.order].astype(np.float32))
        self.response_ = second_stage.regress(
            seen, names, (mean, deviation), plan, apart[data.order]
        )
        return self

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        number("epsilon", p.epsilon, 0.0, 1e8)
        return p

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _scale(values: F64, known: Any, weight: F64) -> tuple[F64, F64]:
    """Mean and deviation of each target over the documents that are learned from."""
    if not known.any(axis=0).all():
        raise DataError("no document with a target has a sample_weight above zero; give some")
    share = known * weight[:, None]
    share = share / share.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        plain = np.where(known, values, 0.0)
        mean = (share * plain).sum(axis=0)
        deviation = np.sqrt((share * (plain - mean) ** 2).sum(axis=0))
    if not (np.isfinite(mean) & np.isfinite(deviation)).all():
        raise DataError("targets are too large to be squared; scale them down")
    return mean, np.where(deviation > 0, deviation, 1.0)
