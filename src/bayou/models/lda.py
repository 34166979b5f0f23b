"""Latent Dirichlet allocation.

    phi_k ~ Dir(beta)      theta_d ~ Dir(alpha)      z_di ~ theta_d      w_di ~ phi_z

theta and phi are integrated out. Four inferences of the same posterior:

``fast``      a point estimate: online EM passes, then CVB0 sweeps on distinct (document, term) pairs
              [Asuncion09], or sampled ones, watched by documents kept out (`inference.lda.fast`)
``gibbs``     collapsed Gibbs sampling [Griffiths04]: exact, one token after the other
``snapshot``  the same conditional with word counts as they were when the sweep began, so that documents
              do not wait for each other (AD-LDA [Newman09] with one document a processor)
``mh``        Metropolis-Hastings with term and document proposals [Chen16]: O(1) a token for any K

[Blei03] Blei, Ng, Jordan. Latent Dirichlet allocation. JMLR 3, 2003.
[Griffiths04] Griffiths, Steyvers. Finding scientific topics. PNAS 101, 2004.
[Asuncion09] Asuncion, Welling, Smyth, Teh. On smoothing and inference for topic models. UAI 2009.
[Newman09] Newman, Asuncion, Smyth, Welling. Distributed algorithms for topic models. JMLR 10, 2009.
[Chen16] Chen, Li, Zhu, Chen. WarpLDA: a cache efficient O(1) algorithm for LDA. PVLDB 9, 2016.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bayou.api.estimator import Estimator, Saved
from bayou.api.params import param, settings
from bayou.api.topics import POSTERIOR, Topics
from bayou.api.training import Path, Training, score_of, training
from bayou.data.checks import MAX_TOPICS
from bayou.data.corpus import Corpus
from bayou.data.schema import Array, Number
from bayou.inference.lda import arrays, documents, fast, prior, sampler, schedule
from bayou.inference.lda.arrays import F32, F64, I64, U16, Each
from bayou.inference.spectral import solve as spectral
from bayou.results.posterior import Posterior
from bayou.run.loop import Info

INFERENCES, STARTS = ("fast", "gibbs", "snapshot", "mh"), ("random", "fast", "spectral")
CHECK = 10  # sweeps between two scores of a sampler
APART = 5  # sweeps between two that are kept
SWEEPS = 200  # default number of sweeps of a sampler

Begin = tuple[F32, F64, float]  # rows, alpha and beta of the topics that a sampler starts from


class Settings(NamedTuple):
    """The parameters of one `fit`."""

    n_topics: int
    alpha: F64
    beta: float
    inference: str
    start: str
    n_sweeps: int | None
    burn_in: int | None
    n_draws: int
    learn_alpha: bool
    learn_beta: bool
    tol: float


class State(NamedTuple):
    """The chain of a sampler. The fast inference has its own (`fast.FastState`)."""

    step: int
    tokens: Annotated[U16, Array("tokens", "columns", below="topics")]  # topic, then proposals
    term_topic: Annotated[
        F32, Array("terms", "topics")
    ]  # n_vk; as of the last scored or kept sweep
    alpha: Annotated[F64, Array("topics", gt=0.0)]
    beta: Annotated[float, Number(gt=0.0)]
    kept: Annotated[F32, Array(("terms", 0), "topics")]  # sum of n_vk over kept sweeps
    n_kept: int
    draws: Annotated[F32, Array("draws", "terms", "topics")]  # topics drawn at the last kept sweeps
    burnt: Annotated[int, Number(ge=-1)]  # the sweep that ended burn-in, -1 before
    scores: Annotated[F64, Array("scores", ge=None, finite=False)]  # ln p(w, z) per token
    score_steps: Annotated[I64, Array("scores")]


def init(chain: sampler.SamplerChain, p: Settings, begin: Begin | None, each: Each) -> State:
    """Tokens at random topics, or at topics drawn from a point estimate."""
    n_proposals = sampler.N_PROPOSALS if p.inference == "mh" else 0
    if begin is None:
        tokens = sampler.start(chain, p.n_topics, n_proposals, each)
        alpha, beta = p.alpha, p.beta
    else:
        rows, alpha, beta = begin
        tokens = sampler.start_from_topics(chain, rows, alpha, n_proposals, each)
    counts = sampler.count_terms(tokens, chain, p.n_topics, each)
    return State(
        step=0, tokens=tokens, term_topic=counts, alpha=alpha, beta=beta,
        kept=np.zeros((0, p.n_topics), np.float32), n_kept=0,
        draws=np.zeros((0, chain.n_terms, p.n_topics), np.float32),
        burnt=0 if p.burn_in == 0 else -1, scores=np.zeros(0), score_steps=np.zeros(0, np.int64),
    )  # fmt: skip


def sweep(state: State, chain: sampler.SamplerChain, p: Settings, each: Each) -> State:
    """Draw the topic of every token once; keep and score some of the sweeps after burn-in."""
    counts, step = state.term_topic, state.step + 1
    if p.inference == "gibbs":
        sampler.gibbs(state.tokens, counts, chain, state.alpha, state.beta, step)
    elif p.inference == "snapshot":
        sampler.snapshot(state.tokens, chain, state.alpha, state.beta, step, each)
    else:
        sampler.metropolis(state.tokens, chain, state.alpha, state.beta, step, each)
    last = step == (p.n_sweeps or SWEEPS)
    is_scored = step % CHECK == 0 or last or step == p.burn_in
    is_kept = state.burnt >= 0 and ((step - state.burnt) % APART == 0 or last)
    if p.inference != "gibbs" and (is_scored or is_kept):
        counts[:] = 0.0
        sampler.count_terms(state.tokens, chain, p.n_topics, each, counts)
    state = state._replace(step=step)
    if is_kept:
        state = _keep(state, chain, p, each)
    return _score(state, chain, p, each) if is_scored else state


def _keep(state: State, chain: sampler.SamplerChain, p: Settings, each: Each) -> State:
    """Add the counts of this sweep to the average, and draw topics if any are asked for."""
    counts = state.term_topic
    kept = counts.copy() if state.n_kept == 0 else state.kept + counts
    state = state._replace(kept=kept, n_kept=state.n_kept + 1)
    if not p.n_draws:
        return state
    drawn = sampler.draw_topics(counts, state.beta, chain.seed, state.step, each)
    older = state.draws[max(len(state.draws) - p.n_draws + 1, 0) :]
    return state._replace(draws=np.concatenate([older, drawn[None]]))


def _score(state: State, chain: sampler.SamplerChain, p: Settings, each: Each) -> State:
    """Score the state, estimate the priors, and decide whether burn-in is over.

    Burn-in ends after `burn_in` sweeps or, if that is None, when the scores no longer rise, after half of
    all sweeps at the latest.
    """
    value = sampler.log_joint(state.tokens, state.term_topic, chain, state.alpha, state.beta)
    scores, steps = np.append(state.scores, value), np.append(state.score_steps, state.step)
    state = state._replace(scores=scores, score_steps=steps)
    if p.learn_alpha:
        doc_topic = sampler.count_docs(state.tokens, chain, p.n_topics, each)
        state = state._replace(alpha=prior.estimate_alpha(state.alpha, doc_topic))
    if p.learn_beta:
        state = state._replace(beta=prior.estimate_beta(state.beta, state.term_topic))
    flat = len(scores) > 5 and scores[-1] - scores[-6] < 5 * p.tol
    half = state.step >= (p.n_sweeps or SWEEPS) // 2
    over = state.step >= p.burn_in if p.burn_in is not None else flat or half
    return state._replace(burnt=state.step) if over and state.burnt < 0 else state


def is_done(state: State, p: Settings) -> bool:
    """Whether all sweeps are made, or after an early end of burn-in as many again (at least 50)."""
    if state.step >= (p.n_sweeps or SWEEPS):
        return True
    early = p.burn_in is None and state.burnt >= 0
    return early and state.step >= state.burnt + max(state.burnt, 50)


def posterior(
    term_topic: F32, state: State | fast.FastState, vocabulary: Any, each: Each
) -> Posterior:
    """Topics from counts: phi_vk = (n_vk + beta) / (n_k + V beta)."""
    return Posterior(
        draws=state.draws if isinstance(state, State) and len(state.draws) else None,
        rows=arrays.topic_rows(term_topic, state.beta, each),
        alpha=state.alpha,
        beta=state.beta,
        topic_tokens=arrays.topic_totals(term_topic),
        scores=state.scores,
        score_steps=state.score_steps,
        vocabulary=vocabulary,
    )


@dataclass(kw_only=True, eq=False, repr=False)
class LDA(Topics, Estimator):
    """Latent Dirichlet allocation on a corpus that fits in memory.

    Parameters
    ----------
    n_topics : int
        Number of topics [K].
    alpha : float, array of one number a topic, or None
        Prior of a document's topics; None is min(0.1, 50 / K).
    beta : float
        Prior of a topic's terms.
    inference : {"fast", "gibbs", "snapshot", "mh"}
        A point estimate, or one of three samplers; see the head of this module.
    start : {"random", "fast", "spectral"}
        Where training starts: anywhere; for a sampler, at the fast inference's point estimate; or at topics
        solved for from moments (`SpectralLDA`).
    n_sweeps : int or None
        The most passes over the corpus. None is 200 for samplers, and for the fast inference 100 (121
        from 400 topics on) and up to 100 more where it overfits and a sampler has to take over.
    burn_in : int or None
        Sweeps of a sampler before any is kept. None: until the joint likelihood has come to rest, half
        of all sweeps at most; then as many sweeps again, 50 at least. Every fifth sweep after burn-in is
        kept, and the kept ones are averaged.
    n_draws : int
        How many draws of the topics a sampler keeps (the last ones), for `sample` and `interval`.
    learn_alpha, learn_beta : bool
        Whether the priors are fitted to the counts along the way (alpha becomes asymmetric).
    tol : float
        Gain in log-likelihood per token, from one score to the next, below which training has come to
        rest. The fast inference scores after each pass (every fifth where it samples), samplers after
        every tenth.
    max_time : float or None
        Seconds after which no further pass is begun. A model cut short this way depends on the machine.
    random_state : int, RandomState or None
        With an integer, equal data give equal models, to the last bit, for any number of threads.
    n_threads : int or None
        None is every core.
    progress : bool
        Show a progress bar on standard error.
    callbacks : callable or sequence of callables, optional
        Called with an `Info` after each pass; training stops when one returns True.

    Attributes
    ----------
    scores_ : float64 array
        Held-out (fast) or joint (samplers) log-likelihood per token where it was measured.

    Examples
    --------
    >>> from bayou import LDA
    >>> from bayou.data.synthetic import sample_lda
    >>> corpus, truth = sample_lda(n_docs=200, n_topics=3, n_terms=30, seed=1)
    >>> model = LDA(n_topics=3, random_state=0).fit(corpus)
    >>> model.transform(corpus).shape, model.components_.shape
    ((200, 3), (3, 30))
    """

    n_topics: int = param(50, ge=1, le=MAX_TOPICS)
    alpha: float | ArrayLike | None = None
    beta: float = param(0.01, gt=0.0)
    inference: str = param("fast", choices=INFERENCES)
    start: str = param("random", choices=STARTS)
    n_sweeps: int | None = param(None, ge=1)
    burn_in: int | None = param(None, ge=0)
    n_draws: int = param(0, ge=0)
    learn_alpha: bool = False
    learn_beta: bool = False
    tol: float = param(5e-4, ge=0.0)

    saved: ClassVar[tuple[Saved, ...]] = (POSTERIOR,)

    def fit(
        self, X: Any, y: Any = None, *, checkpoint: Path | None = None, checkpoint_every: int = 10
    ) -> Self:
        """Learn topics from documents.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
            Fractional counts are weights for the fast inference; samplers round them.
        y : ignored
        checkpoint : path, optional
            File for training state, written every `checkpoint_every` passes and when a callback or `max_time`
            stops training. If it exists, training resumes. The result equals that of an uninterrupted run.
        """
        p = self.resolve()
        corpus = self._corpus(X, reset=True)
        self.seed_ = self._resolve_seed()
        counts = corpus.counts
        data = (counts.indptr, counts.indices, counts.data)
        with training(self, lambda: data, checkpoint, checkpoint_every) as run:
            fit = self._fit_fast if p.inference == "fast" else self._fit_chain
            self.posterior_, self.n_iter_ = fit(corpus, p, run)
        return self

    def resolve(self) -> Settings:
        """The parameters of one `fit`, checked."""
        self.check_params()
        alpha = prior.resolve_alpha(self.alpha, self.n_topics)
        return settings(Settings, self, alpha=alpha, beta=float(self.beta))

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed, alone or together."""
        super().check_params()
        prior.resolve_alpha(self.alpha, self.n_topics)
        if self.inference == "fast" and (
            self.start == "fast" or self.burn_in is not None or self.n_draws
        ):
            raise ValueError(
                "start='fast', burn_in and n_draws belong to the samplers; leave them out with 'fast'"
            )
        if self.burn_in is not None and self.burn_in >= (self.n_sweeps or SWEEPS):
            raise ValueError(
                f"burn_in must be under n_sweeps = {self.n_sweeps or SWEEPS}; got {self.burn_in!r}"
            )

    def _fit_fast(
        self, corpus: Corpus, p: Settings, run: Training, *, final: bool = True
    ) -> tuple[Posterior, int]:
        """The point estimate (`inference.lda.fast`)."""
        learn, pairs = (p.learn_alpha, p.learn_beta), documents.pairs_of(corpus.counts)
        plan = partial(
            schedule.make_schedule, p.n_topics, n_sweeps=p.n_sweeps, tol=p.tol, learn=learn
        )
        shape = corpus.n_terms, p.n_topics
        setup = fast.make_setup(pairs, shape, plan, p.beta, self.seed_, run.each)
        most = setup.plan.online + setup.plan.sampled + setup.plan.cavity

        def begin() -> fast.FastState:
            given = None
            if p.start == "spectral":
                given = spectral.lda_start(setup.pairs, corpus.n_terms, p.n_topics, self.seed_)
            return fast.start(setup, p.alpha, p.beta, given)

        def step(state: fast.FastState) -> tuple[fast.FastState, Info | None]:
            if state.phase == fast.DONE:
                return state, None
            phase = fast.PHASES[state.phase]
            state = fast.advance(state, setup)
            return state, Info(state.step, max(most, state.step), phase, score_of(state), 0.0)

        dims = {"terms": corpus.n_terms, "topics": p.n_topics, "docs": setup.pairs.n_docs}
        dims["tokens"] = round(setup.pairs.n_tokens)
        state = run.run(fast.FastState, begin, step, dims=dims, final=final)
        counts, alpha, beta = fast.answer(state, setup)
        state = state._replace(alpha=alpha, beta=beta)
        return posterior(counts, state, corpus.vocabulary, run.each), state.step

    def _fit_chain(self, corpus: Corpus, p: Settings, run: Training) -> tuple[Posterior, int]:
        """Sweeps of a sampler, and the average of those that are kept."""
        started = time.monotonic()
        tokens = documents.Tokens(*corpus.tokens())
        chain = sampler.make_chain(tokens, corpus.n_terms, self.seed_)
        most = p.n_sweeps or SWEEPS

        def begin() -> State:
            state = init(chain, p, self._start_topics(corpus, p, run), run.each)
            if run.max_time is not None:
                run.max_time -= time.monotonic() - started
            return state

        def step(state: State) -> tuple[State, Info | None]:
            if is_done(state, p):
                return state, None
            state = sweep(state, chain, p, run.each)
            return state, Info(state.step, most, p.inference, score_of(state), 0.0)

        dims = {"terms": corpus.n_terms, "topics": p.n_topics, "tokens": len(tokens.terms)}
        state = run.run(State, begin, step, dims=dims)
        counts = sampler.count_terms(state.tokens, chain, p.n_topics, run.each)
        if state.n_kept:
            counts = state.kept / np.float32(state.n_kept)
        return posterior(counts, state, corpus.vocabulary, run.each), state.step

    def _start_topics(self, corpus: Corpus, p: Settings, run: Training) -> Begin | None:
        """The topics that a sampler starts from; None starts at random."""
        if p.start == "fast":
            first = p._replace(inference="fast", start="random", n_sweeps=None)
            found = self._fit_fast(corpus, first, run, final=False)[0]
            return found.rows, found.alpha, found.beta
        if p.start == "random":
            return None
        pairs = documents.pairs_of(corpus.counts)
        counts = spectral.lda_start(pairs, corpus.n_terms, p.n_topics, self.seed_)
        return arrays.topic_rows(counts, p.beta, run.each), p.alpha, p.beta

    @property
    def scores_(self) -> F64:
        """Log-likelihood per token at the passes where it was measured."""
        check_is_fitted(self)
        return self.posterior_.scores
