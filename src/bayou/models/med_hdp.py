"""Max-margin topics whose number is learned: MedLDA with an HDP in place of its prior.

    pi ~ GEM(gamma)   phi_k ~ Dir(beta)   eta_ik ~ N(level_i, s)
    theta_d ~ Dir(alpha pi)   z_dn ~ theta_d   w_dn ~ phi_z
    zbar_d = sum_n rho_n e_z,   f_di = eta_i . zbar_d,   times exp(-2c loss(y_di, f_di))

theta and phi are integrated out. Weights eta and their level, topics z, the variables that make the loss
Gaussian, tables and sticks pi are drawn in turn. Topics are born and die while z is drawn. After the chain
the weights are refitted to leave-one-out features (`inference.margin.refit`).

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
[Zhu14] Zhu, Chen, Perkins, Zhang. Gibbs max-margin topic models with data augmentation. JMLR 15, 2014.
[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from bayou.api.classifier import RESPONSE, Classifier
from bayou.api.estimator import Estimator, Saved
from bayou.api.params import param, settings
from bayou.api.regressor import Regressor
from bayou.api.sampling import Chains, Sampling, read_classes, read_numbers
from bayou.api.topic_course import TOPIC_COURSE, TopicCourse
from bayou.api.topics import POSTERIOR, Topics
from bayou.data.schema import Array, Number
from bayou.inference.lda.arrays import F32, F64, I64, U16, Each
from bayou.inference.lda.features import DAMPINGS
from bayou.inference.margin import augment, chains, features, first_pass, growing, growth, tilted
from bayou.inference.margin.growth import TopicGrowth
from bayou.inference.margin.loss import CLASSIFICATION_LOSSES, INSENSITIVE, smooth_loss
from bayou.inference.margin.setup import MarginChain, MarginData, MarginSettings
from bayou.inference.margin.tasks import MarginTask

CHECK = 10  # sweeps between two scores


class State(NamedTuple):
    """The chain after ``step`` sweeps. Arrays over topics have a column per topic, then free ones."""

    step: int
    z: Annotated[U16, Array("tokens", below="columns")]
    counts: Annotated[F32, Array("terms", "columns")]  # n_vk
    topic: Annotated[F64, Array("columns")]  # n_k
    omega: Annotated[F32, Array("docs", "tasks")]
    kappa: Annotated[F32, Array("docs", "tasks", ge=None)]
    eta: Annotated[F32, Array("tasks", "columns", ge=None)]  # the last draw
    mean: Annotated[F64, Array("tasks", "columns", ge=None)]  # its conditional mean
    level: Annotated[F64, Array("tasks", ge=None)]  # what weights have in common
    stick: Annotated[F64, Array("columns")]
    rest: Annotated[float, Number(ge=None)]  # the stick of all topics to be born
    ids: Annotated[I64, Array("columns", ge=-1)]  # never given twice; -1 of free columns
    n_born: int
    kept: Annotated[F32, Array("terms", "columns")]  # sum of n_vk over kept sweeps
    kept_mean: Annotated[F64, Array("tasks", "columns", ge=None)]  # over those with the topic
    n_kept: Annotated[I64, Array("columns")]  # number of kept sweeps with the topic
    n_draws: int
    draws: Annotated[F32, Array("draws", "tasks", "columns", ge=None)]
    course: Annotated[I64, Array("sweeps")]  # topics after each sweep
    scores: Annotated[F64, Array("scores", ge=None, finite=False)]  # ln p(w, z) per token
    score_steps: Annotated[I64, Array("scores")]

    @property
    def n_topics(self) -> int:
        """Number of topics in use."""
        return int((self.ids >= 0).sum())


def init(data: MarginData, p: MarginSettings, each: Each) -> State:
    """Tokens under the topics of one pass of the online model; of a regression, at random."""
    begin = first_pass.random_topics(data.corpus.n_terms, p.n_topics)
    if p.loss.classifies:
        begin = first_pass.first_topics(data, p, each)
    return init_chain(data.chains[0], begin, p.growth, data.seeds[0], each)


def init_chain(
    chain: MarginChain, begin: tuple[F32, F64], by: TopicGrowth, seed: int, each: Each
) -> State:
    """Tokens drawn under the topics ``begin`` = (terms x topics, tables of topics)."""
    s, stick, ids = growing.start(chain, begin, by, seed, each)
    none = np.zeros(0, np.int64)
    state = State(
        step=0, **s._asdict(), level=np.zeros(len(s.eta)), stick=stick, rest=float(1.0 - stick.sum()),
        ids=ids, n_born=len(begin[1]), kept=np.zeros_like(s.counts), kept_mean=np.zeros(s.eta.shape),
        n_kept=np.zeros(len(ids), np.int64), n_draws=0,
        draws=np.zeros((0, *s.eta.shape), np.float32), course=none, scores=np.zeros(0), score_steps=none,
    )  # fmt: skip
    return State(*growing.order_columns(state, by))


def sweep(state: State, data: MarginData, p: MarginSettings, each: Each) -> State:
    """One sweep; the last ``n_kept`` are averaged."""
    chain = data.chains[0]
    state = sweep_chain(state, chain, p.growth, data.seeds[0], each)
    if state.step > p.n_sweeps - p.n_kept:
        state = growing.keep(state)
    if state.step % CHECK == 0 or state.step == p.n_sweeps:
        n = state.n_topics
        alpha = np.maximum(p.growth.alpha * state.stick[:n], 1e-30)
        chain = chain._replace(prior=chain.prior._replace(alpha=alpha))
        score = chains.log_joint(state.z, np.ascontiguousarray(state.counts[:, :n]), chain)
        scores, steps = np.append(state.scores, score), np.append(state.score_steps, state.step)
        state = state._replace(scores=scores, score_steps=steps)
    return state


def sweep_chain(state: State, chain: MarginChain, by: TopicGrowth, seed: int, each: Each) -> State:
    """Gibbs sweep; arrays of tokens and weights change in place.   [Zhu14] Algorithm 1, [Teh06] 5.3"""
    step, s, beta = state.step + 1, growing.chain_arrays(state), chain.prior.beta
    # level_i | eta ~ N(mean of eta_i, s / K);  eta_i | level, z as in MedLDA, around the level
    level = growing.draw_levels(
        s.eta, state.ids >= 0, chain.variance, seed, step if by.level else 1
    )
    growing.draw_weights(s, level, chain, seed, step, each)
    # z | eta, pi: (n_dk + alpha pi_k) (n_vk + beta) / (n_k + V beta) exp(g_k); new: alpha rest / V exp(g)
    live = growing.live_documents(s, chain, (state.stick, state.rest), by)
    tilt = tilted.Tilt(s.omega, s.kappa, s.eta)
    growth.sweep(live, tilt, by, (beta, chain.n_terms * beta), seed, step)
    # omega, kappa | z, eta
    zbar = features.token_zbar(s.z, chain.rho, chain.tokens.indptr, len(s.topic), each)
    augment.draw(s, zbar, chain, seed, step, each)
    # tables | z, pi;  (pi, rest) | tables ~ Dir(tables, gamma)
    growth.renew_sticks(live, np.zeros(len(s.topic)), by, seed, step)
    roots = live.roots
    new = np.flatnonzero(roots.born | ~roots.in_use)  # columns of other topics than before
    state.kept[:, new], state.kept_mean[:, new], state.n_kept[new] = 0.0, 0.0, 0
    state.draws[..., new], state.ids[new] = level[:, None], -1
    state = state._replace(step=step, level=level, stick=roots.stick, rest=float(roots.rest[0]))
    return State(*growing.order_columns(state, by))


def results(
    state: State, data: MarginData, task: MarginTask, p: MarginSettings, each: Each
) -> dict[str, Any]:
    """Topics from averaged counts, and weights refitted to leave-one-out features."""
    found, prior = growing.sample_of(state, data.chains[0], p.growth)
    data = data._replace(chains=[data.chains[0]._replace(prior=prior)])
    learned = {"n_topics_course_": state.course, "topic_ids_": state.ids[: state.n_topics].copy()}
    return learned | chains.results(found, data, task, p, each)


@dataclass(kw_only=True, eq=False, repr=False)
class MedHDPClassifier(Classifier, Sampling, TopicCourse, Topics, Estimator):
    """Max-margin topic model for classes or labels that learns the number of topics.

    Parameters
    ----------
    n_topics : int or None
        Number of topics at the start; `n_topics_` is the number at the end. Default: 20, or the number of
        labels if documents have several and there are more than 20. At most `max_topics`.
    alpha : float
        Concentration of a document's topics around the sticks, summed over topics.
    gamma : float
        Concentration of the sticks: with a larger value more topics are born.
    max_topics : int
        Largest number of topics at a time.
    beta, loss, cost, smoothing, variance, positive_cost
        As in `MedLDAClassifier`.
    weight_level : bool
        Whether weights vary around one level per task. False: around zero, as published.
    margin : float or None
        As in `MedLDAClassifier`. Default: 164 for two classes, otherwise 16.
    tf, idf, n_sweeps, n_kept, refit, word_residual
        As in `MedLDAClassifier`. All classes share the topics of one chain.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`. Tokens are drawn one after the other; the other steps use threads.

    Attributes
    ----------
    n_topics_, n_topics_course_, topic_ids_
        As in `bayou.api.topic_course.TopicCourse`.
    classes_, weights_
        As in `bayou.api.classifier.Classifier`.
    response_ : Response
        ``response_.draws`` are posterior draws of the weights.

    Examples
    --------
    >>> from bayou import MedHDPClassifier
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=2, seed=1)
    >>> model = MedHDPClassifier(n_topics=2, random_state=0).fit(corpus)
    >>> model.score(corpus) > 0.8
    True
    >>> model.n_topics_ == len(model.components_)
    True
    """

    alpha: float = param(5.0, gt=0.0)
    gamma: float = param(1.0, ge=1e-6, le=1e6)
    max_topics: int = param(400, ge=1)
    weight_level: bool = True
    loss: str = param("hinge", choices=CLASSIFICATION_LOSSES)
    margin: float | None = param(None, ge=1e-8, le=1e8)
    smoothing: float | None = param(None, ge=1e-3, le=1e3)
    positive_cost: float | None = param(None, gt=0.0)

    algorithm: ClassVar[Chains] = Chains(State, read_classes, init, sweep, results)
    saved: ClassVar[tuple[Saved, ...]] = (POSTERIOR, RESPONSE, TOPIC_COURSE)

    def resolve(self, task: MarginTask) -> MarginSettings:
        """The parameters of one `fit`, with defaults that depend on the responses."""
        n_topics = max(task.n_tasks, 20) if task.kind == "multi-label" else 20
        width = float(self.margin or (164.0 if task.kind == "binary" else 16.0))
        loss = smooth_loss(self.loss, self.smoothing)
        return _resolve(self, task, n_topics, loss=loss, width=width)

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed, alone or together."""
        super().check_params()
        smooth_loss(self.loss, self.smoothing)
        growth.check_bounds(self.n_topics, self.max_topics)


@dataclass(kw_only=True, eq=False, repr=False)
class MedHDPRegressor(Regressor, Sampling, TopicCourse, Topics, Estimator):
    """Max-margin topic model for numbers that learns the number of topics.

    Parameters
    ----------
    n_topics : int or None
        Number of topics at the start. Default: 10.
    alpha, gamma, max_topics
        As in `MedHDPClassifier`.
    beta, cost, epsilon, variance
        As in `MedLDARegressor`.
    weight_level : bool
        As in `MedHDPClassifier`.
    n_sweeps, n_kept : int
        As in `MedLDAClassifier`. Default: 60 and 20, since the number of topics changes for longer.
    tf, idf, refit, word_residual
        As in `MedLDAClassifier`.
    max_time, random_state, n_threads, progress, callbacks
        As in `MedHDPClassifier`.

    Examples
    --------
    >>> from bayou import MedHDPRegressor
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=0, seed=1)
    >>> model = MedHDPRegressor(n_topics=4, random_state=0).fit(corpus)
    >>> model.score(corpus) > 0.3
    True
    """

    alpha: float = param(1.0, gt=0.0)
    gamma: float = param(0.1, ge=1e-6, le=1e6)
    max_topics: int = param(400, ge=1)
    weight_level: bool = True
    beta: float = param(0.1, gt=0.0)
    cost: float = param(10.0, gt=0.0)
    epsilon: float = param(1e-3, ge=0.0, le=1e8)
    tf: str = param("none", choices=DAMPINGS)
    idf: bool = False
    n_sweeps: int = param(60, ge=1)
    n_kept: int = param(20, ge=1, le="n_sweeps")

    algorithm: ClassVar[Chains] = Chains(State, read_numbers, init, sweep, results)
    saved: ClassVar[tuple[Saved, ...]] = (POSTERIOR, RESPONSE, TOPIC_COURSE)

    def resolve(self, task: MarginTask) -> MarginSettings:
        """The parameters of one `fit`."""
        return _resolve(self, task, 10, loss=INSENSITIVE, width=float(self.epsilon))

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed, alone or together."""
        super().check_params()
        growth.check_bounds(self.n_topics, self.max_topics)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # on scikit-learn's data, which are not counts
        return tags


def _resolve(model: Any, task: MarginTask, n_topics: int, **own: Any) -> MarginSettings:
    level = bool(model.weight_level)
    by = TopicGrowth(float(model.alpha), float(model.gamma), int(model.max_topics), 0.0, level)
    return settings(
        MarginSettings, model, multi_label=task.kind == "multi-label",
        n_topics=model.n_topics or min(n_topics, by.most), alpha=np.zeros(0), growth=by,
        beta=float(model.beta), variance=float(model.variance),
        sampler="gibbs", exact=True, n_chains=1, separate=False, begin=None, **own,
    )  # fmt: skip
