"""Topics of topics: two stacked hierarchical Dirichlet processes, without labels.

    g ~ Dir(b0 / S)   theta_d ~ DP(b1, g)     s_dn ~ theta_d       super-topic of a token
    h ~ Dir(c0 / K)   phi'_s ~ DP(c1, h)      z_dn ~ phi'_s        sub-topic of a token
    phi_k ~ Dir(beta)                         w_dn ~ phi_z         its term

S and K are upper bounds; super-topics and sub-topics that are not needed stay empty. theta, phi' and phi are
integrated out. Super-topic and sub-topic of a token are drawn together by direct assignment, tables at both
levels as sums of Bernoulli draws, then roots and concentrations [Teh06]. This is the unsupervised form of the
stacked HDP [Burkhardt18b]; with labels in the place of sub-topics it is `StackedHDP`.

[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.estimator import Estimator, Saved
from bayou.api.params import param, settings
from bayou.api.topics import POSTERIOR, Topics
from bayou.api.training import Path, training
from bayou.data.checks import MAX_TOPICS, whole
from bayou.data.schema import Array
from bayou.inference.labels import roots, stacked
from bayou.inference.labels.roots import Level
from bayou.inference.labels.stacked import StackedChain
from bayou.inference.lda.arrays import F32, F64, I64, U16, U32
from bayou.kernels.labels import stacked_topics as kernels
from bayou.results.posterior import Posterior, check_arrays
from bayou.run.loop import Info

_USED = 1e-3  # share of tokens from which a topic counts as used


class Settings(NamedTuple):
    """The parameters of one `fit`."""

    n_topics: int
    n_subtopics: int
    concentration: float | None
    subtopic_concentration: float | None
    root_concentration: float | None
    beta: float
    n_sweeps: int
    n_kept: int


class State(NamedTuple):
    """What the next sweep needs, and sums over the kept sweeps."""

    step: int
    upper: Annotated[U16, Array("tokens", below="topics")]  # super-topic of each token
    lower: Annotated[U16, Array("tokens", below="subtopics")]  # sub-topic of each token
    roots: Annotated[F64, Array("both")]  # g, then h
    concentrations: Annotated[F64, Array(4)]  # b1, b0, c1, c0
    term_kept: Annotated[F32, Array("terms", "subtopics")]  # n_vk
    link_kept: Annotated[F64, Array("topics", "subtopics")]  # phi'
    alpha_kept: Annotated[F64, Array("topics")]  # b1 g
    size_kept: Annotated[F64, Array("topics")]  # n_s


class TokenCounts(NamedTuple):
    """Counts that follow from a state; sweeps keep them up to date."""

    term_lower: F32  # n_vk
    lower: F64  # n_k
    lower_upper: F32  # n_ks
    upper: F64  # n_s


class StackedPosterior(NamedTuple):
    """Super-topics over terms, sub-topics over terms, and super-topics over sub-topics."""

    posterior: Posterior
    subtopics: F64
    links: F64


def init(tokens: tuple[I64, U32], n_terms: int, p: Settings, seed: int) -> State:
    """Super-topics and sub-topics of tokens at random, even roots."""
    indptr, terms = tokens
    upper, lower = (np.zeros(len(terms), np.uint16) for _ in range(2))
    kernels.start_pairs(upper, lower, indptr, p.n_topics, p.n_subtopics, seed)
    g = roots.start(p.n_topics, p.concentration, p.root_concentration)
    h = roots.start(p.n_subtopics, p.subtopic_concentration, p.root_concentration)
    return State(
        0, upper, lower, np.concatenate([g.root, h.root]),
        np.array([g.below, g.above, h.below, h.above]),
        np.zeros((n_terms, p.n_subtopics), np.float32), np.zeros((p.n_topics, p.n_subtopics)),
        np.zeros(p.n_topics), np.zeros(p.n_topics),
    )  # fmt: skip


def count(state: State, terms: U32) -> TokenCounts:
    """The counts that follow from a state."""
    term_lower = np.zeros_like(state.term_kept)
    lower_upper = np.zeros(state.link_kept.shape[::-1], np.float32)
    kernels.count_pairs(term_lower, lower_upper, terms, state.upper, state.lower)
    totals = (term_lower.sum(axis=0, dtype=float), lower_upper.sum(axis=0, dtype=float))
    return TokenCounts(term_lower, totals[0], lower_upper, totals[1])


def chain_of(state: State, counts: TokenCounts) -> StackedChain:
    """The state as the two stacked processes see it, sub-topics in the place of labels."""
    b1, b0, c1, c0 = state.concentrations.tolist()
    n = len(counts.upper)
    return StackedChain(
        state.upper, counts.lower_upper, counts.upper, Level(state.roots[:n], b1, b0),
        Level(state.roots[n:], c1, c0),
    )  # fmt: skip


def sweep(
    state: State, counts: TokenCounts, tokens: tuple[I64, U32], p: Settings, seed: int
) -> State:
    """Super-topic s and sub-topic k of every token, then roots and concentrations.

    p(s, k | rest) ~ (n_ds + b1 g_s) (n_sk + c1 h_k) / (n_s + c1) (n_vk + beta) / (n_k + V beta)
    """
    chain = chain_of(state, counts)
    g, h = chain.topics, chain.labels
    kernels.pair_sweep(
        state.upper, state.lower, tokens, counts.term_lower, counts.lower,
        (counts.lower_upper, counts.upper), (g.mass, h.mass, h.below), p.beta, seed, state.step,
    )  # fmt: skip
    learn = (
        p.concentration is None,
        p.subtopic_concentration is None,
        p.root_concentration is None,
    )
    chain = stacked.redraw_levels(chain, tokens[0], learn, seed, state.step)
    g, h = chain.topics, chain.labels
    if state.step >= p.n_sweeps - p.n_kept:
        state.term_kept[:] += counts.term_lower
        state.link_kept[:] += stacked.link_rows(chain)
        state.alpha_kept[:] += g.mass
        state.size_kept[:] += counts.upper
    return state._replace(
        step=state.step + 1, roots=np.concatenate([g.root, h.root]),
        concentrations=np.array([g.below, g.above, h.below, h.above]),
    )  # fmt: skip


def posterior(state: State, counts: TokenCounts, p: Settings, vocabulary: Any) -> StackedPosterior:
    """Means over the kept sweeps, or the last sweep; a super-topic's terms have sub-topics summed out."""
    n_kept = state.step - (p.n_sweeps - p.n_kept)
    chain = chain_of(state, counts)
    last = (counts.term_lower, stacked.link_rows(chain), chain.topics.mass, counts.upper)
    sums = (state.term_kept, state.link_kept, state.alpha_kept, state.size_kept)
    found = [np.asarray(x, np.float64) / max(n_kept, 1) for x in (sums if n_kept > 0 else last)]
    terms, links, alpha, sizes = found
    phi = (terms + p.beta) / (terms.sum(axis=0) + p.beta * len(terms))
    links = links / links.sum(axis=1, keepdims=True)
    post = Posterior(
        rows=np.ascontiguousarray(phi @ links.T, np.float32), alpha=alpha, beta=p.beta,
        vocabulary=vocabulary, topic_tokens=sizes, scores=np.zeros(0),
        score_steps=np.zeros(0, np.int64),
    )  # fmt: skip
    return StackedPosterior(post, np.ascontiguousarray(phi.T), links)


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    return {"stacked.subtopics": model.subtopics_, "stacked.links": model.links_}


def _unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    links = arrays.get("stacked.links", np.zeros((0, 0)))
    subtopics = arrays.get("stacked.subtopics", np.zeros((0, 0)))
    shape = (model.posterior_.n_topics, len(subtopics))
    check_arrays("links", links, np.float64, shape)
    check_arrays("subtopics", subtopics, np.float64, (len(subtopics), model.n_features_in_))
    model.links_, model.subtopics_ = links, subtopics


@dataclass(kw_only=True, eq=False, repr=False)
class StackedTopics(Topics, Estimator):
    """Super-topics over sub-topics over words; how many of both are used is learned.

    The topics of this model, in `components_` and `transform`, are the super-topics.

    Parameters
    ----------
    n_topics, n_subtopics : int
        Largest numbers of super-topics and of sub-topics.
    concentration : float or None
        How strongly documents follow the common distribution of super-topics [b1]; None is learned.
    subtopic_concentration : float or None
        How strongly super-topics follow the common distribution of sub-topics [c1]; None is learned.
    root_concentration : float or None
        How even the common distributions are [b0 and c0]; None is learned.
    beta : float
        Prior of a sub-topic's terms.
    n_sweeps, n_kept : int
        Sweeps in all, and the last of them that are averaged.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`. Sampling uses one thread.

    Attributes
    ----------
    links_ : float64 array (super-topics, sub-topics)
        Sub-topics of each super-topic; rows sum to one [phi'].
    subtopics_ : float64 array (sub-topics, terms)
        Terms of each sub-topic; rows sum to one [phi].
    n_used_ : int
        Super-topics with more than a thousandth of all tokens.

    Examples
    --------
    >>> from bayou import StackedTopics
    >>> texts = [[3, 1, 0, 0], [0, 0, 2, 2], [2, 1, 1, 2], [4, 0, 0, 1]] * 10
    >>> model = StackedTopics(n_topics=3, n_subtopics=4, n_sweeps=20, n_kept=10, random_state=0)
    >>> model.fit(texts).links_.shape
    (3, 4)
    """

    n_topics: int = param(20, ge=1, le=MAX_TOPICS)
    n_subtopics: int = param(50, ge=1, le=MAX_TOPICS)
    concentration: float | None = param(None, ge=1e-12)
    subtopic_concentration: float | None = param(None, ge=1e-12)
    root_concentration: float | None = param(None, ge=1e-12)
    beta: float = param(0.05, gt=0.0)
    n_sweeps: int = param(200, ge=1)
    n_kept: int = param(50, ge=1, le="n_sweeps")

    saved: ClassVar[tuple[Saved, ...]] = (POSTERIOR, Saved(_pack, _unpack))

    def fit(
        self, X: Any, y: Any = None, *, checkpoint: Path | None = None, checkpoint_every: int = 10
    ) -> Self:
        """Learn super-topics and sub-topics.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : ignored
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        p = self.resolve()
        corpus = self._corpus(X, reset=True)
        self.seed_ = self._resolve_seed()
        tokens = corpus.tokens()
        dims = {"tokens": len(tokens[1]), "terms": corpus.n_terms, "topics": p.n_topics}
        dims |= {"subtopics": p.n_subtopics, "both": p.n_topics + p.n_subtopics}
        with training(self, lambda: tokens, checkpoint, checkpoint_every) as run:
            begin = run.first(State, lambda: init(tokens, corpus.n_terms, p, self.seed_), dims=dims)
            counts = count(begin, tokens[1])

            def step(state: State) -> tuple[State, Info | None]:
                if state.step >= p.n_sweeps:
                    return state, None
                state = sweep(state, counts, tokens, p, self.seed_)
                return state, Info(state.step, p.n_sweeps, "gibbs", float("nan"), 0.0)

            state = run.repeat(begin, step)
        found = posterior(state, counts, p, corpus.vocabulary)
        self.posterior_, self.subtopics_, self.links_ = found
        self.n_iter_ = state.step
        return self

    def resolve(self) -> Settings:
        """The parameters of one `fit`, checked."""
        self.check_params()
        return settings(Settings, self)

    @property
    def n_used_(self) -> int:
        """Super-topics with more than a thousandth of all tokens."""
        check_is_fitted(self)
        tokens = self.posterior_.topic_tokens
        return int((tokens > _USED * max(float(tokens.sum()), 1e-300)).sum())

    def top_subtopics(self, n: int = 5) -> list[list[int]]:
        """Numbers of the most probable sub-topics of each super-topic."""
        check_is_fitted(self)
        whole("n", n, 0)
        best: list[list[int]] = np.argsort(-self.links_, axis=1, kind="stable")[:, :n].tolist()
        return best
