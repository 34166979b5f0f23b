"""Settings of online max-margin learning from the parameters of an estimator."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayou.inference.lda.prior import resolve_alpha
from bayou.inference.margin.growth import TopicGrowth, check_bounds
from bayou.inference.margin.loss import Loss
from bayou.inference.margin.online_state import OnlineMarginSettings

FLOOR = 1000.0 / 164.0  # of lambda, in units of cost x margin
_OUT_OF_REACH = 4.0  # in the same units: no document is that far from its margin
MOST_ENTRIES = (
    1_000_000  # tasks x topics^2 up to which "gibbs" is the default: a precision per task
)


class OnlineDefaults(NamedTuple):
    """Values of parameters that are None, for one posterior of the weights."""

    alpha: Any  # one number, or one per topic
    cost: float
    width: float  # margin or epsilon
    variance: float
    batch_size: int
    n_rounds: int
    n_sweeps: int
    n_topics: int = 10
    gamma: float = 1.0


class OnlineTask(NamedTuple):
    """What a classifier or a regressor resolves by itself."""

    name: str  # of the parameter that selects the posterior
    posterior: str  # "gibbs" or "averaging"
    loss: Loss
    width: float | None  # margin or epsilon as given
    refit: bool


def resolve_refit(model: Any, default: bool) -> bool:
    """Whether a second stage is learned; none by default if predictions draw the first stage's weights."""
    if model.prediction == "mean":
        return default if model.refit is None else bool(model.refit)
    if model.refit:
        raise ValueError(
            "refit=True needs prediction='mean': its weights have no posterior to draw from"
        )
    return False


def choose_posterior(model: Any, n_tasks: int, n_topics: int) -> str:
    """The posterior of a classifier's weights: as given, as the stream began, or by the number of entries."""
    if model.loss == "logistic":
        if model.classifier == "averaging" or model.weight_floor is not None:
            raise ValueError("loss='logistic' needs classifier='gibbs' and no weight_floor")
        return "gibbs"
    if model.classifier is not None:
        return str(model.classifier)
    if model.weight_floor is not None:
        return "gibbs"
    if hasattr(model, "state_"):
        return "gibbs" if len(model.state_.linear) else "averaging"
    return "gibbs" if n_tasks * n_topics**2 <= MOST_ENTRIES else "averaging"


def select_defaults(
    table: dict[str, OnlineDefaults],
    posterior: str,
    floor: float | str | None,
    *,
    logistic: bool = False,
) -> OnlineDefaults:
    """The defaults of a posterior; the logistic loss, and "gibbs" with a floor, have their own."""
    if logistic:
        return table["logistic"]
    return table["floor" if posterior == "gibbs" and floor is not None else posterior]


def resolve(
    model: Any, task: OnlineTask, defaults: OnlineDefaults, n_topics: int | None = None
) -> OnlineMarginSettings:
    """The settings of one run.

    Parameters
    ----------
    model : estimator
        Has the parameters of `api.online_margin.OnlineMarginParameters`.
    task : OnlineTask
    defaults : OnlineDefaults
    n_topics : int, optional
        Number of topics of the stream so far. Default: the parameter, or its default.
    """
    p = fill(model, defaults)
    gibbs = task.posterior == "gibbs"
    if model.burn_in >= p.n_sweeps:
        raise ValueError(f"burn_in must be below n_sweeps = {p.n_sweeps}; got {model.burn_in}")
    width = float(defaults.width if task.width is None else task.width)
    unit = p.cost * (width if task.loss.classifies else 1.0)  # cost of the score 0
    floor = _floor(model.weight_floor, unit, task)
    if n_topics is None:
        n_topics = len(p.alpha) if np.ndim(p.alpha) and model.n_topics is None else p.n_topics
    return OnlineMarginSettings(
        gibbs=gibbs, loss=task.loss, width=width, variance=float(p.variance), floor=float(floor),
        shared=bool(gibbs and task.loss.classifies and floor >= _OUT_OF_REACH * unit), positive=1.0,
        alpha=resolve_alpha(p.alpha, n_topics), beta=float(model.beta),
        n_rounds=int(p.n_rounds), n_sweeps=int(p.n_sweeps), burn_in=int(model.burn_in),
        ghosts=float(model.ghost_factor), decay=float(model.decay), tf=model.tf, idf=bool(model.idf),
        refit=task.refit, cost=float(p.cost), batch_size=int(p.batch_size),
        shuffle=model.token_order == "random",
        draw_seed=int(getattr(model, "seed_", 0)) if model.prediction == "sampled" else None,
    )  # fmt: skip


def fill(model: Any, defaults: OnlineDefaults) -> OnlineDefaults:
    """The defaults, replaced by the parameters of the model that are not None."""
    given = {name: getattr(model, name, None) for name in defaults._fields}
    return defaults._replace(**{name: x for name, x in given.items() if x is not None})


def resolve_growth(model: Any, defaults: OnlineDefaults) -> TopicGrowth:
    """How topics are born, from the parameters of a model whose number of topics changes."""
    p = fill(model, defaults)
    check_bounds(p.n_topics, model.max_topics)
    return TopicGrowth(
        float(p.alpha),
        float(p.gamma),
        int(model.max_topics),
        float(model.min_tokens),
        bool(model.weight_level),
    )


def positive_factor(
    given: float | None, p: OnlineMarginSettings, *, multi_label: bool, refit_factor: float = 1.0
) -> float:
    """Factor on the cost of a positive label; 0: by its rarity."""
    if given is not None or not multi_label:
        return float(given or 1.0)
    if p.gibbs:
        return 0.0
    return refit_factor if p.refit else 1.0


def _floor(given: float | str | None, unit: float, task: OnlineTask) -> float:
    """The number that `weight_floor` stands for; 0 for none."""
    if given is None:
        return 0.0
    if isinstance(given, str):
        return FLOOR * unit if task.posterior == "gibbs" else 0.0
    if task.posterior != "gibbs":
        raise ValueError(f"weight_floor belongs to {task.name}='gibbs'; leave it at 'auto'")
    return float(given)
