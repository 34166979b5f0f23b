"""Max-margin LDA: topics shaped by labels.

    phi_k ~ Dir(beta)   theta_d ~ Dir(alpha)   z_dn ~ theta_d   w_dn ~ phi_z   eta_i ~ N(0, s I)
    zbar_d = sum_n rho_n e_z,   f_di = eta_i . zbar_d,   times exp(-2c loss(y_di, f_di))

theta and phi are integrated out. Weights eta, topics z and the variables that make the loss Gaussian are
drawn in turn. Tasks are the classes (one against the rest, with shared topics), the labels, or the targets.
Two samplers of the same posterior: Gibbs, O(K) per token [Zhu14], and Metropolis-Hastings in O(1) steps
[Zheng15]. After the chain the weights are refitted to leave-one-out features (`inference.margin.refit`).

[Zhu14] Zhu, Chen, Perkins, Zhang. Gibbs max-margin topic models with data augmentation. JMLR 15, 2014.
[Zheng15] Zheng, Yu, Xing. Linear time samplers for supervised topic models using compositional proposals.
KDD 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from bayou.api.classifier import RESPONSE, Classifier
from bayou.api.estimator import Estimator, Saved
from bayou.api.fixed_topics import FixedTopics
from bayou.api.params import param
from bayou.api.regressor import Regressor
from bayou.api.sampling import Chains, Sampling, chain_settings, read_classes, read_numbers
from bayou.api.topics import POSTERIOR, Topics
from bayou.data.checks import one_of
from bayou.data.schema import Array
from bayou.inference.lda.arrays import F32, F64, I64, U16, Each
from bayou.inference.lda.features import DAMPINGS
from bayou.inference.margin import augment, chains, features, gibbs, weights
from bayou.inference.margin.loss import CLASSIFICATION_LOSSES, INSENSITIVE, smooth_loss
from bayou.inference.margin.setup import MarginChain, MarginChainState, MarginData, MarginSettings
from bayou.inference.margin.tasks import MarginTask

CHECK = 10  # sweeps between two scores
PLAIN: dict[str, Any] = {
    "tf": "none", "idf": False, "refit": False, "word_residual": 0.0, "n_kept": 1, "beta": 0.01,
    "exact": True, "n_topics": 40, "positive_cost": 1.0, "sampler": "gibbs", "prediction": "sampled",
}  # fmt: skip
PUBLISHED: dict[str, dict[str, Any]] = {  # alpha is that of all topics together
    "gibbs": {"alpha": 1.0, "margin": 64.0, "n_sweeps": 40},
    "light": {"alpha": 6.4, "cost": 1.6, "margin": 64.0, "n_sweeps": 25, "sampler": "light"},
    "logistic": {"alpha": 5.6, "cost": 204.8, "loss": "logistic", "n_sweeps": 40},
}


class State(NamedTuple):
    """All chains after ``step`` sweeps; the first axis is the chain unless declared otherwise."""

    step: int
    z: Annotated[U16, Array("chains", "tokens", below="topics")]
    counts: Annotated[F32, Array("chains", "terms", "topics")]  # n_vk
    topic: Annotated[F64, Array("chains", "topics")]  # n_k
    omega: Annotated[F32, Array("chains", "docs", "tasks")]
    kappa: Annotated[F32, Array("chains", "docs", "tasks", ge=None)]
    eta: Annotated[F32, Array("chains", "tasks", "topics", ge=None)]  # the last draw
    mean: Annotated[F64, Array("chains", "tasks", "topics", ge=None)]  # its conditional mean
    kept: Annotated[F32, Array("chains", "terms", "topics")]  # sum of n_vk over kept sweeps
    kept_mean: Annotated[F64, Array("chains", "tasks", "topics", ge=None)]
    n_kept: int
    draws: Annotated[F32, Array("draws", "chains", "tasks", "topics", ge=None)]
    scores: Annotated[F64, Array("scores", ge=None, finite=False)]  # ln p(w, z) per token
    score_steps: Annotated[I64, Array("scores")]


def init(data: MarginData, p: MarginSettings, each: Each) -> State:
    """Every chain at random topics, or at topics drawn under those of an earlier fit; lambda = 1."""
    made = [
        gibbs.start(chain, seed, each, p.begin[i] if p.begin else None)
        for i, (chain, seed) in enumerate(zip(data.chains, data.seeds, strict=True))
    ]
    stack = {name: np.stack([getattr(s, name) for s in made]) for name in MarginChainState._fields}
    return State(
        step=0, **stack, kept=np.zeros_like(stack["counts"]), kept_mean=np.zeros_like(stack["mean"]),
        n_kept=0, draws=np.zeros((0, *stack["mean"].shape), np.float32), scores=np.zeros(0),
        score_steps=np.zeros(0, np.int64),
    )  # fmt: skip


def sweep(state: State, data: MarginData, p: MarginSettings, each: Each) -> State:
    """One sweep of every chain, in the arrays of ``state``; the last ``n_kept`` are averaged."""
    step = state.step + 1

    def member(i: int, each: Each) -> None:
        mine = MarginChainState(*(getattr(state, name)[i] for name in MarginChainState._fields))
        sweep_chain(mine, data.chains[i], data.seeds[i], step, each)

    chains.run_members(len(data.chains), member, each)
    state = state._replace(step=step)
    if step > p.n_sweeps - p.n_kept:
        state.kept[...] += state.counts
        state.kept_mean[...] += state.mean
        draws = np.concatenate([state.draws, state.eta[None]])
        state = state._replace(n_kept=state.n_kept + 1, draws=draws)
    if step % CHECK == 0 or step == p.n_sweeps:
        score = chains.log_joint(state.z[0], state.counts[0], data.chains[0])
        scores, steps = np.append(state.scores, score), np.append(state.score_steps, step)
        state = state._replace(scores=scores, score_steps=steps)
    return state


def sweep_chain(s: MarginChainState, chain: MarginChain, seed: int, step: int, each: Each) -> None:
    """Gibbs sweep of one chain, in place.   [Zhu14] Algorithm 1"""
    n_topics, indptr = len(s.topic), chain.tokens.indptr
    zbar = features.token_zbar(s.z, chain.rho, indptr, n_topics, each)
    # eq. 9: eta_i ~ N(P^-1 b, P^-1), P = I / variance + sum_d omega zbar zbar', b = sum_d kappa zbar
    weights.draw(s, zbar, chain, seed, step, each)  # light: one coordinate after the other
    # eq. 10 without the token: p(z = k) ~ (n_dk + alpha_k) (n_vk + beta) / (n_k + V beta) exp(g_k), g_k in
    # `kernels.margin.tilt`. Unless ``exact``, n_vk and n_k rest within a block. Light: steps of [Zheng15]
    draw_topics = gibbs.sweep_light if chain.light else gibbs.sweep_full
    draw_topics(s, chain, seed, step, each)
    # eq. 12, hinge: 1 / lambda ~ IG(1 / (c |l - y f|), 1), omega = c^2 / lambda, kappa = c y + omega y l
    zbar = features.token_zbar(s.z, chain.rho, indptr, n_topics, each)
    augment.draw(s, zbar, chain, seed, step, each)  # all losses: `kernels.margin.response`


def results(
    state: State, data: MarginData, task: MarginTask, p: MarginSettings, each: Each
) -> dict[str, Any]:
    """Topics from averaged counts, and weights refitted to leave-one-out features."""
    n = state.n_kept
    counts, mean, draws = state.counts, state.mean, state.eta[None]
    if n:
        counts, mean, draws = state.kept / np.float32(n), state.kept_mean / n, state.draws
    last, scores = (state.z, state.counts, state.topic), (state.scores, state.score_steps)
    found = chains.SampledChains(*last, counts, mean, draws, *scores)
    sampler = "light" if data.chains[0].light else "gibbs"
    return {"sampler_": sampler, **chains.results(found, data, task, p, each)}


@dataclass(kw_only=True, eq=False, repr=False)
class MedLDAClassifier(Classifier, FixedTopics, Sampling, Topics, Estimator):
    """Max-margin topic model for classes, or for several labels per document.

    Parameters
    ----------
    n_topics : int or None
        Number of topics [K]. Default: 20 for two classes (and in each chain of one-vs-all). Otherwise four
        times the classes, or the number of labels, from 40 to 400.
    alpha : float, array of one number per topic, or None
        Prior of a document's topics. Default: 20 / K.
    beta : float
        Prior of a topic's terms.
    loss : {"hinge", "logistic", "smooth-hinge"}
        Loss of a score on the wrong side of the margin. "smooth-hinge" is the hinge loss with a round corner.
    cost : float
        Weight of the loss against the words [c]. Keep ``cost * margin`` at 16 or more: with less, labels are
        too weak to break the symmetry of the topics.
    margin : float or None
        Distance of a score from the border below which it costs [l]; not for the logistic loss. Default: 164
        for two classes and for one-vs-all, otherwise 16. ``cost``, ``margin`` and ``variance`` are not
        independent: (c, l, s) is the model (c l, 1, s / l**2), with the same ``smoothing``.
    smoothing : float or None
        Width of the corner of "smooth-hinge" in margins, from 0.001 to 1000: its loss is
        r l log(1 + exp((l - y f) / (r l))). Other losses refuse it. Default: 1 / 16.
    variance : float
        Prior variance of weights [s].
    positive_cost : float or None
        Factor on the cost of labels that a document has. Default: 4 for several labels per document, else 1.
    multi_class : {"shared", "one-vs-all"}
        One chain whose topics serve all classes, or one chain with its own topics per class.
    tf : {"log", "none", "binary"}
        How counts are damped first.
    idf : bool
        Whether rare terms have more weight in a document's average topics.
    sampler : {"auto", "gibbs", "light"}
        Weights of all topics for every token, or Metropolis-Hastings steps. "auto" takes the faster one.
    exact : bool
        Update word counts after every token, as the exact sampler does, on one thread. Otherwise they are
        updated sixteen times per sweep.
    proposals : {"mixed", "cyclic", "document", "word", "label"}
        Light sampler: the three kinds of proposal at random, in turn, or one kind only.
    n_proposals, n_weight_passes : int
        Light sampler: Metropolis-Hastings steps per token, and passes over the weights, per sweep.
    n_sweeps, n_kept : int
        Number of sweeps, and how many of the last ones are averaged.
    n_chains : int
        Number of chains with different random numbers whose scores are averaged.
    refit : bool
        Refit the weights to leave-one-out features of the training documents after the chain.
    word_residual : float or "auto"
        Weight of words beside the topics [q]; 0 for none. "auto" chooses it inside the training set; it is 0
        without `refit`.
    prediction : {"mean", "sampled"}
        "mean": average topics by CVB0 under mean topics, and mean weights. "sampled": as published, one draw
        of the topics and of the weights, and average topics from Gibbs sweeps; needs ``refit=False``. Draws
        are keyed by the seed and a document's words. `transform` and `explain` use mean topics.
    warm_start : bool
        Whether `fit` starts at the topics of the previous fit.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    classes_, weights_
        As in `bayou.api.classifier.Classifier`.
    response_ : Response
        ``response_.draws`` are posterior draws of the weights, ``response_.share`` is the share of topics in
        the margins.
    sampler_ : str
        The sampler that was used.

    Examples
    --------
    >>> from bayou import MedLDAClassifier
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=2, seed=1)
    >>> model = MedLDAClassifier(n_topics=4, random_state=0).fit(corpus)
    >>> model.score(corpus) > 0.8
    True
    """

    loss: str = param("hinge", choices=CLASSIFICATION_LOSSES)
    margin: float | None = param(None, ge=1e-8, le=1e8)
    smoothing: float | None = param(None, ge=1e-3, le=1e3)
    positive_cost: float | None = param(None, gt=0.0)
    multi_class: str = param("shared", choices=("shared", "one-vs-all"))

    algorithm: ClassVar[Chains] = Chains(State, read_classes, init, sweep, results)
    saved: ClassVar[tuple[Saved, ...]] = (POSTERIOR, RESPONSE)

    @classmethod
    def published(cls, source: str = "gibbs", **settings: Any) -> Self:
        """The model of a paper, without later improvements; ``settings`` change single parameters.

        "gibbs": [Zhu14] for several classes. "light": LightMedLDA of [Zheng15]. "logistic": its Gibbs sLDA.
        """
        one_of("source", source, tuple(PUBLISHED))
        own = {**PLAIN, **PUBLISHED[source]}
        own["alpha"] /= int(settings.get("n_topics", own["n_topics"]))
        return cls(**{**own, **settings})

    def resolve(self, task: MarginTask) -> MarginSettings:
        """The parameters of one `fit`, with defaults that depend on the responses."""
        separate = self.multi_class == "one-vs-all" and task.n_tasks > 1
        alone, per_class = separate or task.kind == "binary", 1 if task.kind == "multi-label" else 4
        n_topics = 20 if alone else int(np.clip(per_class * task.n_tasks, 40, 400))
        return chain_settings(
            self, task, self.n_topics or n_topics, 20.0, loss=smooth_loss(self.loss, self.smoothing),
            width=float(self.margin or (164.0 if alone else 16.0)), separate=separate,
            n_chains=task.n_tasks if separate else self.n_chains,
        )  # fmt: skip

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed, alone or together."""
        super().check_params()
        smooth_loss(self.loss, self.smoothing)
        if self.multi_class == "one-vs-all" and self.n_chains != 1:
            raise ValueError("one-vs-all has a chain for each class; leave n_chains at 1")


@dataclass(kw_only=True, eq=False, repr=False)
class MedLDARegressor(Regressor, FixedTopics, Sampling, Topics, Estimator):
    """Max-margin topic model for numbers, one or several per document.

    Targets are scaled to mean 0 and deviation 1 for the chain, so that ``cost``, ``epsilon`` and ``variance``
    mean the same for all of them.

    Parameters
    ----------
    n_topics : int or None
        Number of topics [K]. Default: 10.
    alpha : float, array of one number per topic, or None
        Prior of a document's topics. Default: 1 / K.
    epsilon : float
        Half-width of the tube in which a prediction costs nothing, in deviations of the target.
    beta, cost, variance, tf, idf, sampler, exact, proposals, n_proposals, n_weight_passes
        As in `MedLDAClassifier`.
    n_sweeps, n_kept, n_chains, refit, word_residual, prediction, warm_start
        As in `MedLDAClassifier`.
    max_time, random_state, n_threads, progress, callbacks
        As in `MedLDAClassifier`.

    Examples
    --------
    >>> from bayou import MedLDARegressor
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=0, seed=1)
    >>> model = MedLDARegressor(n_topics=4, random_state=0).fit(corpus)
    >>> model.score(corpus) > 0.3
    True
    """

    beta: float = param(0.01, gt=0.0)
    cost: float = param(10.0, gt=0.0)
    tf: str = param("none", choices=DAMPINGS)
    idf: bool = False
    epsilon: float = param(1e-3, ge=0.0, le=1e8)

    algorithm: ClassVar[Chains] = Chains(State, read_numbers, init, sweep, results)
    saved: ClassVar[tuple[Saved, ...]] = (POSTERIOR, RESPONSE)

    def resolve(self, task: MarginTask) -> MarginSettings:
        """The parameters of one `fit`."""
        width = float(self.epsilon)
        return chain_settings(self, task, self.n_topics or 10, 1.0, loss=INSENSITIVE, width=width)
