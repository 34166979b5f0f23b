"""A corpus with responses as batch max-margin chains work on it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayou.data.corpus import Corpus
from bayou.inference.lda import features as lda_features
from bayou.inference.lda.arrays import F32, F64, I32, I64, U16, U64
from bayou.inference.lda.documents import Tokens
from bayou.inference.margin import features
from bayou.inference.margin.growth import TopicGrowth
from bayou.inference.margin.loss import Loss
from bayou.inference.margin.tasks import MarginTask
from bayou.inference.margin.tilted import WeightedTokens
from bayou.kernels.margin import light_sweep, tilted_sweep
from bayou.kernels.rng import MEMBER, ORDER, key, permutation

FIXED_TOPICS = TopicGrowth(0.0, 0.0, 0, 0.0)  # no topic is ever born
AUTO = "auto"  # word_residual that is chosen by `residual`
PREDICTIONS = ("mean", "sampled")
PROPOSALS = {  # kinds of proposal of the light sampler
    "mixed": (light_sweep.DOCUMENT, light_sweep.WORD, light_sweep.LABEL),
    "cyclic": (light_sweep.DOCUMENT, light_sweep.WORD, light_sweep.LABEL),
    "document": (light_sweep.DOCUMENT,),
    "word": (light_sweep.WORD,),
    "label": (light_sweep.LABEL,),
}
N_BLOCKS = 16  # per sweep; from 8 on no difference from live counts was seen


class LightSteps(NamedTuple):
    """How the light sampler moves: one entry per parameter of the same name."""

    proposals: str = "mixed"  # of `PROPOSALS`
    n_proposals: int = 6  # Metropolis-Hastings steps per token, as published
    n_weight_passes: int = 2  # over the coordinates of the weights, per sweep

    def for_kernel(self) -> tuple[I64, I64, bool, int]:
        """Kinds of proposal with and without labels, whether they take turns, and the number of steps."""
        kinds = np.array(PROPOSALS[self.proposals], np.int64)
        plain = kinds[kinds != light_sweep.LABEL]  # no label prefers a topic
        return kinds, plain if len(plain) else kinds, self.proposals == "cyclic", self.n_proposals


class MarginSettings(NamedTuple):
    """The parameters of one `fit`."""

    multi_label: bool  # several labels per document
    n_topics: int
    alpha: F64  # prior of a document's topics; empty if topics are born
    beta: float
    loss: Loss
    width: float  # margin, or half-width of the tube
    variance: float  # prior variance of a weight
    tf: str
    idf: bool
    n_sweeps: int
    n_kept: int
    refit: bool
    word_residual: float | str  # q, or `AUTO`
    sampler: str = "gibbs"
    exact: bool = True
    n_chains: int = 1
    separate: bool = False  # whether each task has a chain of its own
    begin: tuple[F32, ...] | None = None  # topics that chains start from (terms x topics)
    growth: TopicGrowth = FIXED_TOPICS
    positive_cost: float | None = None  # as given; None leaves it to the model
    steps: LightSteps = LightSteps()
    prediction: str = "mean"  # of `PREDICTIONS`


class MarginPrior(NamedTuple):
    """Dirichlet parameters of documents' topics and topics' terms."""

    alpha: F64
    beta: float


class MarginChain(NamedTuple):
    """What chains on one corpus share and never change. Documents and their tokens are shuffled."""

    tokens: Tokens
    ids: U64  # numbers of the documents in the corpus
    rho: F32  # a weight per token; those of a document sum to one
    termptr: I64  # each term's tokens are at[termptr[v] : termptr[v + 1]]; empty for Gibbs sampling
    at: I32
    cuts: I64  # documents at which blocks start
    y: F32  # documents x tasks: +1 and -1, or numbers
    cost: F32  # c of each document and task, 0 where nothing is known
    loss: Loss
    width: float  # margin, or half-width of the tube
    variance: float  # prior variance of a weight
    prior: MarginPrior
    n_terms: int
    light: bool  # Metropolis-Hastings steps rather than Gibbs sampling
    exact: bool  # word counts follow every token
    steps: LightSteps = LightSteps()

    @property
    def docs(self) -> WeightedTokens:
        """The documents as a sampler of topics needs them."""
        return WeightedTokens(self.tokens, self.ids, self.rho)


class MarginChainState(NamedTuple):
    """What a sweep of one chain changes, in place."""

    z: U16
    counts: F32  # n_vk, terms x topics
    topic: F64  # n_k
    omega: F32  # documents x tasks
    kappa: F32
    eta: F32  # tasks x topics, the last draw
    mean: F64  # its expectation given the rest


class MarginData(NamedTuple):
    """The corpus of one `fit`, and a chain on it for each member."""

    corpus: Corpus
    damped: csr_array
    term_weight: F32
    order: I64  # documents in the order of the chains
    chains: list[MarginChain]
    seeds: list[int]


def member_seed(seed: int, member: int) -> int:
    """The seed of one of several chains; the first has the seed of the model."""
    return seed if member == 0 else int(key(seed, MEMBER, 0, member)) & 0xFFFFFFFF


def prepare(corpus: Corpus, task: MarginTask, p: MarginSettings, seed: int) -> MarginData:
    """Tokens in keyed order with their weights, and the chains.

    The order depends on the data only, not on the seed.
    """
    damped = lda_features.damp_counts(corpus.counts, p.tf)
    tokens, order = order_tokens(Tokens(*replace(corpus, counts=damped).tokens()), 0)
    weight = np.ones(corpus.n_terms, np.float32)
    if p.idf:
        weight = lda_features.inverse_frequency(damped)
    base = _base_chain(tokens, order, task, p, weight)
    chains = [base] * p.n_chains
    if p.separate:
        chains = [
            base._replace(
                y=np.ascontiguousarray(base.y[:, i : i + 1]),
                cost=np.ascontiguousarray(base.cost[:, i : i + 1]),
            )
            for i in range(task.n_tasks)
        ]
    seeds = [member_seed(seed, i) for i in range(len(chains))]
    return MarginData(corpus, damped, weight, order, chains, seeds)


def _base_chain(
    tokens: Tokens, order: I64, task: MarginTask, p: MarginSettings, weight: F32
) -> MarginChain:
    """A chain for all tasks."""
    light = p.sampler == "light"
    if p.sampler == "auto":
        mean_length = len(tokens.terms) / max(tokens.n_docs, 1)
        light = is_light(p.n_topics, 1 if p.separate else task.n_tasks, mean_length)
    termptr, at = np.zeros(1, np.int64), np.zeros(0, np.int32)
    if light:
        termptr, at = index_terms(tokens, len(weight))
    n_blocks = min(N_BLOCKS, max(tokens.n_docs, 1))
    return MarginChain(
        tokens, order.astype(np.uint64), features.token_weights(tokens, weight), termptr, at,
        np.linspace(0, tokens.n_docs, n_blocks + 1).astype(np.int64),
        task.y[order].astype(np.float32), task.shown[order].astype(np.float32), p.loss, p.width,
        p.variance, MarginPrior(p.alpha, p.beta), len(weight), light, p.exact,
        p.steps,
    )  # fmt: skip


def order_tokens(tokens: Tokens, seed: int) -> tuple[Tokens, I64]:
    """Tokens shuffled within documents, and documents among themselves, by key; and the order.

    Sweeping documents in the common order of their terms makes markedly worse topics.
    """
    order = permutation(tokens.n_docs, np.uint64(key(seed, ORDER, 0, 0)))
    sizes = np.diff(tokens.indptr)[order]
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    take = np.repeat(tokens.indptr[order] - indptr[:-1], sizes) + np.arange(indptr[-1])
    terms = tokens.terms[take]
    tilted_sweep.shuffle_tokens(terms, indptr, order.astype(np.uint64), seed)
    return Tokens(indptr, terms), order


def index_terms(tokens: Tokens, n_terms: int) -> tuple[I64, I32]:
    """Places of each term's tokens."""
    termptr = np.zeros(n_terms + 1, np.int64)
    np.cumsum(np.bincount(tokens.terms, minlength=n_terms), out=termptr[1:])
    return termptr, np.argsort(tokens.terms, kind="stable").astype(np.int32)


def is_light(n_topics: int, n_tasks: int, mean_length: float) -> bool:
    """Whether Metropolis-Hastings steps cost less than computing the weight of every topic.

    Nanoseconds per token, measured for 1 to 90 tasks, 40 to 400 topics and 30 to 120 tokens per document.
    Gibbs sampling pays for every topic and makes rows of G (about 14) per document. The light sampler pays
    for its steps, more for a larger table of counts, and for one label table per document.
    """
    n = max(mean_length, 1.0)
    gibbs = 120.0 + 1.95 * n_topics + 1.26 * n_tasks * n_topics / n
    light = 400.0 + 1.1 * n_topics + 3.3 * n_tasks + (10.0 + 0.15 * n_tasks) * n_topics / n
    return light < gibbs


def unit_ends(n: int) -> I64:
    """Ends of n pieces of work of equal size."""
    return np.arange(n + 1, dtype=np.int64)
