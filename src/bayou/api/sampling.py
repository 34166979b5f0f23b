"""Batch max-margin training: responses are read, chains are sampled, weights are refitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from bayou.api.bases import EstimatorBase
from bayou.api.params import param, settings
from bayou.api.training import Path, score_of, training
from bayou.data.checks import MAX_TOPICS
from bayou.data.corpus import Corpus
from bayou.data.supervision import document_weights, read_labels, read_targets, take_labels
from bayou.inference.lda.arrays import F32, F64
from bayou.inference.lda.features import DAMPINGS
from bayou.inference.lda.prior import resolve_alpha
from bayou.inference.lda.resume import check_counts
from bayou.inference.margin import scoring, setup, tasks
from bayou.inference.margin.setup import MarginData, MarginSettings
from bayou.inference.margin.tasks import MarginTask
from bayou.run.loop import Info

MOST_COST = 1e8  # kernels square it in single precision


class Chains(NamedTuple):
    """The algorithm of a model that is sampled: the functions of its file."""

    state: type[Any]
    read: Callable[..., MarginTask]  # `read_classes` or `read_numbers`
    init: Callable[..., Any]  # (data, settings, each): the state before the first sweep
    sweep: Callable[..., Any]  # (state, data, settings, each): the state after one sweep
    results: Callable[..., dict[str, Any]]  # (state, data, task, settings, each): fitted attributes


@dataclass(kw_only=True, eq=False, repr=False)
class Sampling(EstimatorBase):
    """`fit` of a max-margin model whose `algorithm` is a Markov chain over topics and weights.

    The model defines `resolve(task)`, which gives the settings of one `fit`. The parameters that all such
    models share are declared here; regressors have other defaults for some.
    """

    n_topics: int | None = param(None, ge=1, le=MAX_TOPICS)
    beta: float = param(0.03, gt=0.0)
    cost: float = param(1.0, gt=0.0)
    variance: float = param(1.0, ge=1e-12, le=1e12)
    tf: str = param("log", choices=DAMPINGS)
    idf: bool = True
    n_sweeps: int = param(40, ge=1)
    n_kept: int = param(10, ge=1, le="n_sweeps")
    refit: bool = True
    word_residual: float | str = param(setup.AUTO, ge=0.0, le=1e6, choices=(setup.AUTO,))

    algorithm: ClassVar[Chains]

    if TYPE_CHECKING:
        alpha: Any

        def resolve(self, task: MarginTask) -> MarginSettings:
            """The parameters of one `fit`, with defaults that depend on the data."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: Path | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Learn topics and weights from documents with classes, labels or targets.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : array, label lists or None
            Classifiers: a vector of classes, label lists or an indicator matrix; see
            `bayou.data.supervision.read_labels`. Regressors: targets (documents,) or (documents, targets).
            None takes the labels or targets of the corpus. None or NaN for a document: its response is not
            known, and its words still shape the topics.
        sample_weight : array (documents,), optional
            Factors on the cost of documents; their words count once. A document of weight 0 is left out.
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        self.check_params()
        corpus = self._corpus(X, reset=True)
        seed = self._resolve_seed()
        weight = document_weights(sample_weight, corpus.n_docs)
        task = self.algorithm.read(self, X, y, weight, seed)
        p, self.seed_ = self.resolve(task), seed
        if task.shown.max() > MOST_COST:
            raise ValueError(
                f"cost times sample_weight must be at most {MOST_COST:g}; got {task.shown.max():g}"
            )
        data = setup.prepare(corpus if weight.all() else corpus[weight > 0], task, p, seed)
        for name, value in self._sample(data, task, p, checkpoint, checkpoint_every).items():
            setattr(self, name, value)
        return self

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed."""
        super().check_params()
        if self.alpha is not None:
            size = np.size(self.alpha) if self.n_topics is None else self.n_topics
            resolve_alpha(self.alpha, max(int(size), 1))

    def _sample(
        self, data: MarginData, task: MarginTask, p: MarginSettings, path: Path | None, every: int
    ) -> dict[str, Any]:
        """All sweeps of all chains, and the attributes that follow from them."""
        algorithm, counts = self.algorithm, data.corpus.counts
        parts = (counts.indptr, counts.indices, counts.data, task.y, task.shown)
        phase = "light" if data.chains[0].light else "gibbs"
        with training(self, lambda: parts, path, every) as run:

            def step(state: Any) -> tuple[Any, Info | None]:
                if state.step >= p.n_sweeps:
                    return state, None
                state = algorithm.sweep(state, data, p, run.each)
                return state, Info(state.step, p.n_sweeps, phase, score_of(state), 0.0)

            dims = {"terms": data.corpus.n_terms, "tokens": len(data.chains[0].tokens.terms)}
            dims |= {"docs": data.corpus.n_docs, "tasks": data.chains[0].y.shape[1]}
            dims |= {"chains": len(data.chains), "topics": p.n_topics}
            state = run.run(
                algorithm.state,
                lambda: algorithm.init(data, p, run.each),
                step,
                dims=dims,
                check=lambda state: _check_chains(state, data),
            )
            return {"n_iter_": state.step, **algorithm.results(state, data, task, p, run.each)}


def _check_chains(state: Any, data: MarginData) -> None:
    """Refuse a state of a checkpoint whose counts contradict its tokens."""
    several = state.z.ndim == 2
    for i, chain in enumerate(data.chains if several else data.chains[:1]):
        both = (state.counts[i], state.topic[i]) if several else (state.counts, state.topic)
        check_counts(state.z[i] if several else state.z, chain.tokens.terms, *both)


def read_classes(model: Any, X: Any, y: Any, weight: F64, seed: int) -> MarginTask:
    """Classes or labels of the documents of positive weight, with the costs of a classifier.

    Classes of documents of weight 0 keep their names.
    """
    labels = read_labels(y, len(weight), corpus=X if isinstance(X, Corpus) else None)
    use = np.flatnonzero(weight > 0)
    return tasks.class_task(
        take_labels(labels, use), weight[use], model.cost, model.positive_cost,
        hold_out=holdout_part(model), seed=seed,
    )  # fmt: skip


def read_numbers(model: Any, X: Any, y: Any, weight: F64, seed: int) -> MarginTask:
    """Targets of the documents of positive weight, with the costs of a regressor."""
    values = read_targets(y, len(weight), corpus=X if isinstance(X, Corpus) else None)
    use, part = weight > 0, tasks.TWENTIETH if model.refit else 0
    return tasks.number_task(values[use], weight[use], model.cost, hold_out=part, seed=seed)


def holdout_part(model: Any) -> int:
    """One of how many documents a classifier keeps from its chain; 0 for none.

    Held-out documents choose the weight of words and correct probabilities. Topics without words beside them
    lose more by documents without labels, so there fewer are held out.
    """
    if not model.refit:
        return 0
    return tasks.TWENTIETH if model.word_residual == 0 else tasks.TENTH


def chain_settings(
    model: Any, task: MarginTask, n_topics: int, mass: float, **own: Any
) -> MarginSettings:
    """The settings of a model with a fixed number of topics.

    Parameters
    ----------
    model : estimator
    task : MarginTask
    n_topics : int
    mass : float
        Sum of alpha over all topics if the model has no alpha.
    **own
        Settings that are not parameters of the model, or replace one.
    """
    alpha = resolve_alpha(mass / n_topics if model.alpha is None else model.alpha, n_topics)
    own = {"n_chains": model.n_chains, "separate": False, **own}
    begin = _previous_topics(model, n_topics, own["n_chains"]) if model.warm_start else None
    return settings(
        MarginSettings, model, multi_label=task.kind == "multi-label", n_topics=n_topics,
        alpha=alpha, begin=begin, growth=setup.FIXED_TOPICS,
        steps=setup.LightSteps(model.proposals, model.n_proposals, model.n_weight_passes),
        beta=float(model.beta), variance=float(model.variance), **own,
    )  # fmt: skip


def _previous_topics(model: Any, n_topics: int, n_chains: int) -> tuple[F32, ...] | None:
    """Topics of the previous fit, if there was one; they must have the same shape."""
    if not model.__sklearn_is_fitted__():
        return None
    found = scoring.chain_topics(model.posterior_, model.response_.n_members)
    begin = tuple(rows for rows, _ in found)
    if begin[0].shape != (model.n_features_in_, n_topics) or len(begin) != n_chains:
        raise ValueError(
            f"warm_start needs the terms, topics and chains of the fit before ({len(begin)} chains of "
            f"{begin[0].shape[1]} topics on {len(begin[0])} terms); set warm_start=False"
        )
    return begin
