"""State and settings of online max-margin learning: q(phi) q(w) = prod_k Dir(Delta_k) prod_i N(mu_i, S_i)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data import schema
from bayou.data.errors import ModelFileError
from bayou.data.schema import Array, Number
from bayou.inference.lda import columns
from bayou.inference.lda.arrays import F32, F64, I64
from bayou.inference.margin.batch import TopicPosterior
from bayou.inference.margin.examples import Examples
from bayou.inference.margin.growth import TopicGrowth, expected_sticks
from bayou.inference.margin.loss import Loss

N_BINS = 100  # of probabilities between 0 and 1
N_SCORED = 512  # the latest documents that were scored before they were learned
_MOST = float(np.finfo(np.float64).max)  # NaN is allowed, infinity is not


class OnlineMarginSettings(NamedTuple):
    """The parameters of one run."""

    gibbs: bool  # posterior of the weights: "gibbs" or "averaging"
    loss: Loss  # hinge or insensitive
    width: float  # margin, or half-width of the tube
    variance: float  # of a weight before the first document [sigma^2]
    floor: float  # least lambda in the update of the weights, 0 for none
    shared: bool  # whether all tasks have one precision matrix
    positive: (
        float  # factor on the cost of a positive label; 0: by its rarity, up to `MOST_POSITIVE`
    )
    alpha: F64
    beta: float
    n_rounds: int
    n_sweeps: int
    burn_in: int
    ghosts: float  # copies that each document counts as
    decay: float  # share of a document that is left after the next document
    tf: str
    idf: bool
    growth: TopicGrowth | None = None  # how topics are born; None: their number is fixed
    refit: bool = False  # whether weights of a second stage are learned too
    fresh: bool = True  # whether the documents are new: the second stage learns from no others
    cost: float = 1.0  # of a document of weight one [c]
    batch_size: int = 64
    shuffle: bool = True  # whether tokens are drawn in random order within a document
    draw_seed: int | None = (
        None  # of topics and weights that predictions draw; None: by their means
    )
    separate: bool = False  # whether each task has topics of its own, `len(alpha)` of them

    @property
    def phase(self) -> str:
        """What progress reports call a step."""
        return "gibbs" if self.gibbs else "averaging"


class OnlineMarginState(NamedTuple):
    """What the next mini-batch needs."""

    step: int  # mini-batches so far
    n_seen: int  # documents so far
    mass: float  # documents so far, after decay
    seen_in: Annotated[F64, Array("terms")]  # documents that each term was in
    # Delta = beta + scale raw; in double precision once it is large
    raw: Annotated[F32 | F64, Array("terms", "topics")]
    scale: Annotated[float, Number(gt=0.0)]
    topic: Annotated[F64, Array("topics")]  # sum over terms of Delta - beta
    # weights have a column per topic; of "one-vs-all", per topic of one task
    mean: Annotated[F64, Array("tasks", "weights", ge=None)]  # [mu]
    # precisions: none, one for all tasks, or one per task
    precision: Annotated[F64, Array("matrices", "weights", "weights", ge=None)]
    linear: Annotated[F64, Array((0, "tasks"), "weights", ge=None)]  # P mu; no rows unless "gibbs"
    told: int  # documents with a response
    yes: Annotated[F64, Array("tasks")]  # documents with the label
    # number, mean and squared deviations of targets; no columns for classes
    moments: Annotated[F64, Array(3, "targets", ge=None)]
    scores: Annotated[F64, Array(N_SCORED, "tasks", ge=None)]  # before the document was learned
    # the true responses (signs times weights), NaN where not known
    truths: Annotated[F64, Array(N_SCORED, "tasks", ge=-_MOST, le=_MOST, finite=False)]
    n_scored: int
    # tables so far, and one of each topic at the start; none if topics are not born
    tables: Annotated[F64, Array((0, "topics"))]
    # numbers of topics, each given once; none if topics are not born
    ids: Annotated[I64, Array((0, "topics"), distinct=True)]
    n_born: int
    course: Annotated[I64, Array("course", gt=0.0)]  # number of topics after each recent mini-batch
    # sums of the second stage; no rows without one
    gram: Annotated[F64, Array("grams", "refit topics", "refit topics", ge=None)]
    # its weights; for numbers, the sums that they follow from
    refitted: Annotated[F64, Array("refitted", "refit topics", ge=None)]
    bend: Annotated[F64, Array("refitted")]  # sum of p (1 - p) per task
    curve: Annotated[F64, Array(4, N_BINS)]  # results of thresholds on probabilities
    lessons: float  # documents that the second stage has learned from

    def check_relations(self) -> None:
        """Refuse matrices of a file that no sum of squares gives."""
        schema.check_squares("precision", self.precision, 0.0)
        schema.check_squares("gram", self.gram, -1e-6)


def init(n_terms: int, n_tasks: int, p: OnlineMarginSettings) -> OnlineMarginState:
    """The prior: no document seen."""
    size = len(p.alpha)
    n_topics = size * n_tasks if p.separate else size
    n_matrices = (1 if p.shared else n_tasks) if p.gibbs else 0
    n_targets = 0 if p.loss.classifies else n_tasks
    n_born = 0 if p.growth is None else n_topics
    n_refitted = n_tasks if p.refit else 0
    n_grams = min(1 if p.loss.classifies else n_targets, n_refitted)
    return OnlineMarginState(
        step=0, n_seen=0, mass=0.0, seen_in=np.zeros(n_terms),
        raw=np.zeros((n_terms, n_topics), np.float32), scale=1.0, topic=np.zeros(n_topics),
        mean=np.zeros((n_tasks, size)),
        precision=np.tile(np.eye(size) / p.variance, (n_matrices, 1, 1)),
        linear=np.zeros((n_tasks if p.gibbs else 0, size)),
        told=0, yes=np.zeros(n_tasks), moments=np.zeros((3, n_targets)),
        scores=np.zeros((N_SCORED, n_tasks)), truths=np.full((N_SCORED, n_tasks), np.nan),
        n_scored=0, tables=np.ones(n_born), ids=np.arange(n_born), n_born=n_born,
        course=np.zeros(0, np.int64), gram=np.zeros((n_grams, n_topics, n_topics)),
        refitted=np.zeros((n_refitted, n_topics)), bend=np.zeros(n_refitted),
        curve=np.zeros((4, N_BINS)), lessons=0.0,
    )  # fmt: skip


def topic_posterior(state: OnlineMarginState, p: OnlineMarginSettings) -> TopicPosterior:
    """q(phi) as expected counts."""
    return TopicPosterior(state.raw, state.scale, state.topic, p.beta)


def document_prior(state: OnlineMarginState, p: OnlineMarginSettings) -> F64:
    """Prior of a document's topics: alpha, or alpha times the expected sticks."""
    if p.growth is None:
        return p.alpha
    return p.growth.alpha * expected_sticks(state.tables, p.growth.gamma)


def term_weight(mass: float, seen: F64, idf: bool) -> F32:
    """1 + ln((1 + D) / (1 + df)) of terms that ``seen`` of ``mass`` documents hold; or ones."""
    if not idf:
        return np.ones(len(seen), np.float32)
    return np.asarray(1.0 + np.log((1.0 + mass) / (1.0 + seen)), np.float32)


def target_scale(state: OnlineMarginState) -> tuple[F64, F64]:
    """Mean and standard deviation of the targets so far; deviation 1 for targets that are all equal."""
    n, mean, squares = state.moments
    deviation = np.sqrt(squares / np.maximum(n, 1.0))
    return mean, np.where(deviation > 0.0, deviation, 1.0)


def regroup(state: OnlineMarginState, source: NDArray[np.intp], sign: F64) -> OnlineMarginState:
    """Tasks made of earlier ones: task i was task ``source[i]``, times ``sign[i]``."""
    swapped = sign < 0.0
    if state.mean.shape[1] != len(state.topic):  # "one-vs-all": at least two tasks
        columns = (source[:, None] * state.mean.shape[1] + np.arange(state.mean.shape[1])).ravel()
        state = state._replace(raw=state.raw[:, columns].copy(), topic=state.topic[columns])
    return state._replace(
        mean=state.mean[source] * sign[:, None],
        linear=state.linear[source] * sign[:, None] if len(state.linear) else state.linear,
        precision=state.precision[source] if len(state.precision) > 1 else state.precision,
        yes=np.where(swapped, float(state.n_seen > 0), state.yes[source]),
        scores=state.scores[:, source] * sign,
        truths=state.truths[:, source] * sign,
        refitted=state.refitted[source] * sign[:, None] if len(state.bend) else state.refitted,
        bend=state.bend[source] if len(state.bend) else state.bend,
    )


def move_terms(state: OnlineMarginState, keep: I64, n_new: int) -> tuple[OnlineMarginState, float]:
    """Columns ``keep``, then ``n_new`` that have the prior only; and the tokens of the other columns."""
    gone = columns.counts_of(state.raw, state.scale, columns.others(keep, len(state.raw)))
    topic, tables = np.maximum(state.topic - gone, 0.0), state.tables
    state = state._replace(
        raw=columns.move_rows(state.raw, keep, n_new), topic=topic,
        seen_in=columns.move_rows(state.seen_in, keep, n_new),
        tables=columns.limit_tables(tables, state.topic, topic) if len(tables) else tables,
    )  # fmt: skip
    return state, float(gone.sum())


def check_state(state: OnlineMarginState, p: OnlineMarginSettings) -> None:
    """Refuse parameters that a state was not made for."""
    n_matrices = (1 if p.shared else len(state.mean)) if p.gibbs else 0
    same = len(state.precision) == n_matrices and bool(len(state.bend)) == p.refit
    n_topics = len(p.alpha) * (len(state.mean) if p.separate else 1)
    same &= len(state.topic) == n_topics and bool(state.tables.size) == bool(p.growth)
    same &= state.mean.shape[1] == len(p.alpha)
    if not same:
        raise ValueError(
            "n_topics, multi_class, refit, the posterior and what its precision depends on (weight_floor, "
            "cost, margin) cannot change within a stream; begin another model"
        )


def check_arrays(state: OnlineMarginState, pending: Examples, p: OnlineMarginSettings) -> None:
    """Refuse arrays of a file that are valid one by one but do not fit each other or the parameters."""
    check_state(state, p)
    n_tasks, n_topics = len(state.mean), len(state.topic)
    n_targets, n_grams = state.moments.shape[1], len(state.gram)
    right = n_tasks > 0 and n_topics > 0 and n_targets == (0 if p.loss.classifies else n_tasks)
    right &= len(state.linear) == (n_tasks if len(state.precision) else 0)
    if len(state.bend):
        right &= len(state.bend) == n_tasks and state.gram.shape[1] == n_topics
        right &= n_grams == (n_targets or 1)
    else:
        right &= n_grams == 0
    right &= len(state.ids) == len(state.tables) and state.ids.max(initial=-1) < state.n_born
    right &= bool((np.diagonal(state.precision, axis1=1, axis2=2) > 0.0).all())
    right &= pending.y.shape[1] == n_tasks and bool((pending.data >= 0.0).all())
    right &= (pending.y.dtype == np.int8) == p.loss.classifies and pending.has_valid_signs
    if not right:
        raise ModelFileError("the model file's arrays do not fit each other; save it again")
