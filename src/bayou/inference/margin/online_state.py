"""What online max-margin learning knows, and how it goes about learning more."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayou.inference.lda.arrays import F32, F64, I64
from bayou.inference.margin.batch import TopicPosterior
from bayou.inference.margin.growth import TopicGrowth, expected_sticks
from bayou.kernels.margin import response

N_BINS = 100  # of probabilities between 0 and 1
N_SCORED = 512  # the latest documents that were scored before they were learned


class OnlineMarginSettings(NamedTuple):
    """The settings of a step."""

    gibbs: bool
    loss: int  # `response.HINGE` or `response.INSENSITIVE`
    width: float  # margin, or half-width of the tube
    variance: float  # of a weight before the first document [sigma^2]
    floor: float  # of lambda in the weights' update, 0 for none
    shared: bool  # whether one precision matrix serves all tasks
    positive: (
        float  # factor on the cost of a yes; 0: as rare as the label is, up to `MOST_POSITIVE`
    )
    alpha: F64
    beta: float
    n_rounds: int
    n_sweeps: int
    burn_in: int
    ghosts: float  # how often a document counts
    decay: float  # what is left of a document when the next has come
    tf: str
    idf: bool
    growth: TopicGrowth | None = None  # how topics are born; None: there are as many as ``alpha``
    refit: bool = False  # whether weights of a second stage are learned too
    fresh: bool = True  # whether the documents are new: a second stage learns from no others
    cost: float = 1.0  # of a document of weight one


class OnlineMarginState(NamedTuple):
    """What the next mini-batch needs."""

    step: int  # mini-batches so far
    n_seen: int  # documents so far
    mass: float  # those that still count
    seen_in: F64  # terms: documents that they were in
    raw: F32 | F64  # terms x topics; Delta = beta + scale raw; in double precision once it is large
    scale: float
    topic: F64  # sum over terms of Delta - beta
    mean: F64  # tasks x topics [mu]
    precision: F64  # matrices x topics x topics: none, one for all tasks, or one each
    linear: F64  # tasks x topics, P mu; no rows unless "gibbs"
    told: int  # documents with a response
    yes: F64  # tasks: those that had the label
    moments: F64  # (3, targets): number, mean, and squares around it; no columns for classes
    scores: F64  # N_SCORED x tasks, before the document was learned
    truths: F64  # the same with what was true (signs times weights), NaN where it is not known
    n_scored: int
    tables: F64  # topics: tables in the documents so far; none where topics are not born
    ids: I64  # topics: numbers that are never given twice; none where topics are not born
    n_born: int
    course: I64  # topics after each of the latest mini-batches; none where topics are not born
    gram: F64  # matrices x topics x topics: sums of the second stage, no rows without one
    refitted: F64  # tasks x topics: its weights; of numbers, the sums that they follow from
    bend: F64  # tasks: sum of p (1 - p)
    curve: F64  # (4, N_BINS): how thresholds would have done
    lessons: float  # documents that it has learned from


def start(n_terms: int, n_tasks: int, how: OnlineMarginSettings) -> OnlineMarginState:
    """The prior: no document seen."""
    n_topics = len(how.alpha)
    n_matrices = (1 if how.shared else n_tasks) if how.gibbs else 0
    n_targets = 0 if how.loss == response.HINGE else n_tasks
    n_born = 0 if how.growth is None else n_topics
    n_refitted = n_tasks if how.refit else 0
    n_grams = min(1 if how.loss == response.HINGE else n_targets, n_refitted)
    return OnlineMarginState(
        step=0, n_seen=0, mass=0.0, seen_in=np.zeros(n_terms),
        raw=np.zeros((n_terms, n_topics), np.float32), scale=1.0, topic=np.zeros(n_topics),
        mean=np.zeros((n_tasks, n_topics)),
        precision=np.tile(np.eye(n_topics) / how.variance, (n_matrices, 1, 1)),
        linear=np.zeros((n_tasks if how.gibbs else 0, n_topics)),
        told=0, yes=np.zeros(n_tasks), moments=np.zeros((3, n_targets)),
        scores=np.zeros((N_SCORED, n_tasks)), truths=np.full((N_SCORED, n_tasks), np.nan),
        n_scored=0, tables=np.zeros(n_born), ids=np.arange(n_born), n_born=n_born,
        course=np.zeros(0, np.int64), gram=np.zeros((n_grams, n_topics, n_topics)),
        refitted=np.zeros((n_refitted, n_topics)), bend=np.zeros(n_refitted),
        curve=np.zeros((4, N_BINS)), lessons=0.0,
    )  # fmt: skip


def topics_of(state: OnlineMarginState, how: OnlineMarginSettings) -> TopicPosterior:
    """The topics as they are."""
    return TopicPosterior(state.raw, state.scale, state.topic, how.beta)


def prior(state: OnlineMarginState, how: OnlineMarginSettings) -> F64:
    """Of a document's topics: as given, or alpha times the sticks that are expected."""
    if how.growth is None:
        return how.alpha
    return how.growth.alpha * expected_sticks(state.tables, how.growth.gamma)


def copy(state: OnlineMarginState) -> OnlineMarginState:
    """A state that may change without this one."""
    fields: dict[str, Any] = {
        name: x.copy() if isinstance(x, np.ndarray) else x for name, x in state._asdict().items()
    }
    return OnlineMarginState(**fields)


def term_weight(mass: float, seen: F64, idf: bool) -> F32:
    """1 + ln((1 + D) / (1 + df)) of terms that ``seen`` of ``mass`` documents hold; or ones."""
    if not idf:
        return np.ones(len(seen), np.float32)
    return np.asarray(1.0 + np.log((1.0 + mass) / (1.0 + seen)), np.float32)


def scaling(state: OnlineMarginState) -> tuple[F64, F64]:
    """Mean and standard deviation of the targets so far; 1 where they have not differed."""
    n, mean, squares = state.moments
    deviation = np.sqrt(squares / np.maximum(n, 1.0))
    return mean, np.where(deviation > 0.0, deviation, 1.0)
