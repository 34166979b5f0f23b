"""Batch training of label models: reading documents, and `fit` of models with two levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from bayou.api.params import param
from bayou.api.training import Path, Training, training
from bayou.data.corpus import Corpus
from bayou.data.supervision import read_labels
from bayou.inference.labels import assignments, links, tuning
from bayou.inference.labels import training as labels
from bayou.inference.labels.links import LevelPlan, Levels
from bayou.inference.labels.tuning import LabelTask, Tuning
from bayou.inference.lda import features
from bayou.results.label_posterior import AUTO, LabelPosterior
from bayou.results.label_response import RULES
from bayou.run.loop import Info

M = TypeVar("M", bound=Any)


def read_task(model: Any, X: Any, y: Any) -> LabelTask:
    """Documents with damped counts, and their labels."""
    corpus = model._corpus(X, reset=True)
    given = read_labels(y, corpus.n_docs, corpus=X if isinstance(X, Corpus) else None)
    return LabelTask(features.damp_counts(corpus.counts, model.tf), given, corpus.vocabulary)


@dataclass(kw_only=True, eq=False, repr=False)
class LevelParams:
    """The parameters of all batch models with topics over labels; see `FastDependencyLDA`."""

    tf: str = param("none", choices=features.DAMPINGS)
    rule: str = param(AUTO, choices=(AUTO, *RULES))
    validation_share: float = param(0.1, ge=0.0, le=0.5)
    beta: float = param(0.01, gt=0.0)
    inference: str = param("cvb0", choices=labels.INFERENCES)
    mix: float | None = param(None, ge=0.0, le=1.0)
    n_sweeps: int = param(150, ge=1)
    n_kept: int = param(100, ge=1, le="n_sweeps")
    n_chains: int = param(1, ge=1)


class TwoLevels(NamedTuple):
    """The algorithm of a model with topics over labels.

    The state has fields `step`, `link_step`, `link_z` and `link_kept`. The settings have fields `alpha`,
    `beta`, `boost`, `even`, `link_alpha`, `beta_labels`, `dep_tokens`, `greedy`, `scoring` and `n_sweeps`.
    """

    state: type[Any]
    init: Callable[..., Any]  # of plan, settings, each
    sweep: Callable[..., Any]  # of state, levels, settings, each
    posterior: Callable[..., LabelPosterior]  # of state, levels, task, settings


def fit_levels(
    model: M, X: Any, y: Any, given_terms: Any, checkpoint: Path | None, every: int
) -> M:
    """`fit` of a model whose `algorithm` is `TwoLevels`."""
    model.check_params()
    task = read_task(model, X, y)
    model.seed_ = model._resolve_seed()
    n_terms, n_labels = task.counts.shape[1], task.n_labels
    p = model.resolve(n_labels)
    given = labels.label_term_matrix(given_terms, task.labels.classes, 0, n_terms)
    if given is not None and not p.greedy:
        raise ValueError("given_terms need greedy training; set greedy=True")
    prior = labels.label_prior(n_terms, n_labels, p.alpha, p.beta, boost=p.boost, greedy=p.even)
    prior = labels.fix_terms(prior, given)
    with training(model, task.arrays, checkpoint, every) as run:

        def learn(task: LabelTask, n_chains: int, final: bool) -> LabelPosterior:
            own = assignments.own_labels(task.labels.indicator)
            data = assignments.prepare(task.counts, own, given)
            link = links.link_data(data, p.dep_tokens, p.link_alpha, p.beta_labels)
            plan = LevelPlan(data, prior, link, n_chains, model.seed_, not p.greedy, p.blocked)
            state, levels = _train(model.algorithm, plan, p, run, final)
            model.n_iter_ = plan.n_done(state)
            return model.algorithm.posterior(state, levels, task, p)  # type: ignore[no-any-return]

        rules = Tuning(model.validation_share, model.rule, model.n_chains, model.mix, p.scoring)
        found = tuning.learn_and_tune(task, rules, model.seed_, run.each, learn)
    model.labels_, model.response_ = found
    return model


def _train(
    algorithm: TwoLevels, plan: LevelPlan, p: Any, run: Training, final: bool
) -> tuple[Any, Levels]:
    """Sweep until the upper level has made all its sweeps; gives the last state and its counts."""
    first = run.first(
        algorithm.state, lambda: algorithm.init(plan, p, run.each), dims=plan.dims, final=final
    )
    levels = links.count(first, plan, run.each)

    def step(state: Any) -> tuple[Any, Info | None]:
        if state.link_step >= p.n_sweeps:
            return state, None
        state = algorithm.sweep(state, levels, p, run.each)
        phase = "topics over labels" if state.link_step else "labels"
        most = p.n_sweeps * (1 if plan.together else 2)
        return state, Info(plan.n_done(state), most, phase, float("nan"), 0.0)

    return run.repeat(first, step, final=final), levels
