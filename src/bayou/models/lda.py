"""Latent Dirichlet allocation.

    phi_k ~ Dir(beta)      theta_d ~ Dir(alpha)      z_di ~ theta_d      w_di ~ phi_z

theta and phi are integrated out. Four inferences of one posterior:

``fast``      a point estimate: online EM passes, then CVB0 sweeps over distinct (document, term) pairs
              [Asuncion09] or sampled sweeps, scored on held-out documents (`inference.lda.fast`)
``gibbs``     collapsed Gibbs sampling [Griffiths04]: exact, one token after another
``snapshot``  the same conditional with the word counts of the start of the sweep, so that documents are
              independent (AD-LDA [Newman09] with one document per processor)
``mh``        Metropolis-Hastings with term and document proposals [Chen16]: O(1) per token for any K

[Blei03] Blei, Ng, Jordan. Latent Dirichlet allocation. JMLR 3, 2003.
[Griffiths04] Griffiths, Steyvers. Finding scientific topics. PNAS 101, 2004.
[Asuncion09] Asuncion, Welling, Smyth, Teh. On smoothing and inference for topic models. UAI 2009.
[Newman09] Newman, Asuncion, Smyth, Welling. Distributed algorithms for topic models. JMLR 10, 2009.
[Chen16] Chen, Li, Zhu, Chen. WarpLDA: a cache efficient O(1) algorithm for LDA. PVLDB 9, 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from bayou.api.estimator import Estimator, Saved
from bayou.api.params import param, settings
from bayou.api.topics import POSTERIOR, Topics
from bayou.api.training import Path, Training, score_of, training
from bayou.data.checks import MAX_TOPICS
from bayou.data.corpus import Corpus
from bayou.data.schema import Array, Number
from bayou.inference.lda import arrays, documents, fast, prior, sampler, schedule, sweeps
from bayou.inference.lda.arrays import F32, F64, I64, U16, Each
from bayou.inference.spectral import solve as spectral
from bayou.results.posterior import Posterior
from bayou.run.loop import Info

INFERENCES, STARTS = ("fast", "gibbs", "snapshot", "mh"), ("random", "fast", "spectral")
Begin = tuple[F32, F64, float]  # rows, alpha and beta of the topics that a sampler starts from
Fit = tuple[Posterior, int]  # the result, and the number of passes


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
    term_topic: Annotated[F32, Array("terms", "topics")]  # n_vk of the last scored or kept sweep
    alpha: Annotated[F64, Array("topics", gt=0.0)]
    beta: Annotated[float, Number(gt=0.0)]
    kept: Annotated[F32, Array(("terms", 0), "topics")]  # sum of n_vk over kept sweeps
    n_kept: int
    draws: Annotated[F32, Array("draws", "terms", "topics")]  # topics drawn at the last kept sweeps
    burnt: Annotated[int, Number(ge=-1)]  # the sweep that ended burn-in; -1 before
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
    """Draw the topic of every token once. Some sweeps are scored, and after burn-in some are kept."""
    counts, both, step = state.term_topic, (state.alpha, state.beta), state.step + 1
    if p.inference == "gibbs":
        sampler.gibbs(state.tokens, counts, chain, *both, step)
    elif p.inference == "snapshot":
        sampler.snapshot(state.tokens, chain, *both, step, each)
    else:
        sampler.metropolis(state.tokens, chain, *both, step, each)
    is_scored, is_kept = sweeps.is_scored(step, p), sweeps.is_kept(step, state.burnt, p)
    if p.inference != "gibbs" and (is_scored or is_kept):
        counts[:] = 0.0
        sampler.count_terms(state.tokens, chain, p.n_topics, each, counts)
    state = state._replace(step=step)
    if is_kept:
        kept = counts.copy() if state.n_kept == 0 else state.kept + counts
        draws = sampler.add_draw(state.draws, p.n_draws, counts, state.beta, chain, step, each)
        state = state._replace(kept=kept, n_kept=state.n_kept + 1, draws=draws)
    return _score(state, chain, p, each) if is_scored else state


def _score(state: State, chain: sampler.SamplerChain, p: Settings, each: Each) -> State:
    """Score the state, estimate the priors, and decide whether burn-in is over."""
    value = sampler.log_joint(state.tokens, state.term_topic, chain, state.alpha, state.beta)
    scores, steps = np.append(state.scores, value), np.append(state.score_steps, state.step)
    alpha, beta = state.alpha, state.beta
    if p.learn_alpha:
        doc_topic = sampler.count_docs(state.tokens, chain, p.n_topics, each)
        alpha = prior.estimate_alpha(alpha, doc_topic)
    if p.learn_beta:
        beta = prior.estimate_beta(beta, state.term_topic)
    burnt = sweeps.end_of_burn_in(state.step, state.burnt, scores, p)
    return state._replace(scores=scores, score_steps=steps, alpha=alpha, beta=beta, burnt=burnt)


def posterior(counts: F32, state: State | fast.FastState, names: Any, each: Each) -> Posterior:
    """Topics from counts: phi_vk = (n_vk + beta) / (n_k + V beta)."""
    return Posterior(
        rows=arrays.topic_rows(counts, state.beta, each), alpha=state.alpha, beta=state.beta,
        topic_tokens=arrays.topic_totals(counts), scores=state.scores, score_steps=state.score_steps,
        draws=state.draws if isinstance(state, State) and len(state.draws) else None, vocabulary=names,
    )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class LDA(Topics, Estimator):
    """Latent Dirichlet allocation on a corpus that fits in memory.

    Parameters
    ----------
    n_topics : int
        Number of topics [K].
    alpha : float, array (topics,) or None
        Prior of a document's topics. Default: min(0.1, 50 / K).
    beta : float
        Prior of a topic's terms.
    inference : {"fast", "gibbs", "snapshot", "mh"}
        A point estimate, or one of three samplers; see the module's docstring.
    start : {"random", "fast", "spectral"}
        Initialisation: random, the fast point estimate (samplers), or moments (`SpectralLDA`).
    n_sweeps : int or None
        Maximal number of passes over the corpus. Default: 200 for samplers. For the fast inference 100 (121
        from 400 topics on), and up to 100 more if it overfits and a sampler takes over.
    burn_in : int or None
        Sweeps of a sampler before the first is kept. Default: until the joint likelihood no longer rises, at
        most half of all sweeps; then as many sweeps again, at least 50. Every fifth sweep after burn-in is
        kept, and the kept sweeps are averaged.
    n_draws : int
        Number of draws of the topics that a sampler keeps (the last ones), for `sample` and `interval`.
    learn_alpha, learn_beta : bool
        Whether the priors are estimated during training. A learned alpha is asymmetric.
    tol : float
        Least gain in log-likelihood per token from one score to the next. With less, training has converged.
        The fast inference scores every pass (every fifth if it samples), samplers every tenth.
    max_time : float or None
        Seconds after which no further pass starts. The result then depends on the machine.
    random_state : int, RandomState or None
        With an integer, equal data give bit-identical models, for any number of threads.
    n_threads : int or None
        Default: all cores.
    progress : bool
        Whether to show a progress bar on standard error.
    callbacks : callable or sequence of callables, optional
        Called with an `Info` after each pass. Training stops when one returns True.

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
            Fractional counts are weights for the fast inference. Samplers round them.
        y : ignored
        checkpoint : path, optional
            File for the training state, written every `checkpoint_every` passes and when training is
            stopped. If it exists, training resumes; the result is that of an uninterrupted run.
        """
        p = self.resolve()
        corpus = self._corpus(X, reset=True)
        self.seed_ = self._resolve_seed()
        data = corpus.counts.indptr, corpus.counts.indices, corpus.counts.data
        with training(self, lambda: data, checkpoint, checkpoint_every) as run:
            fit = self._fit_fast if p.inference == "fast" else self._fit_chain
            self.posterior_, self.n_iter_ = fit(corpus, p, run)
        return self

    def resolve(self) -> Settings:
        """The parameters of one `fit`, checked."""
        self.check_params()
        alpha, beta = prior.resolve_alpha(self.alpha, self.n_topics), float(self.beta)
        return settings(Settings, self, alpha=alpha, beta=beta)

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed, alone or together."""
        super().check_params()
        prior.resolve_alpha(self.alpha, self.n_topics)
        for_samplers = self.start == "fast" or self.burn_in is not None or self.n_draws
        if self.inference == "fast" and for_samplers:
            raise ValueError(
                "start='fast', burn_in and n_draws belong to the samplers; leave them out with 'fast'"
            )
        most = sweeps.most(self)
        if self.burn_in is not None and self.burn_in >= most:
            raise ValueError(f"burn_in must be under n_sweeps = {most}; got {self.burn_in!r}")

    def _fit_fast(self, corpus: Corpus, p: Settings, run: Training, *, final: bool = True) -> Fit:
        """The point estimate (`inference.lda.fast`)."""
        pairs, shape = documents.pairs_of(corpus.counts), (corpus.n_terms, p.n_topics)
        setup = fast.make_setup(pairs, shape, schedule.schedule_of(p), p.beta, self.seed_, run.each)

        def begin() -> fast.FastState:
            given = None
            if p.start == "spectral":
                given = spectral.lda_start(setup.pairs, *shape, self.seed_)
            return fast.start(setup, p.alpha, p.beta, given)

        def step(state: fast.FastState) -> tuple[fast.FastState, Info | None]:
            if state.phase == fast.DONE:
                return state, None
            phase = fast.PHASES[state.phase]
            state = fast.advance(state, setup)
            n_steps = max(setup.plan.n_passes, state.step)
            return state, Info(state.step, n_steps, phase, score_of(state), 0.0)

        state = run.run(fast.FastState, begin, step, dims=fast.dims_of(setup), final=final)
        counts, state = fast.answer(state, setup)
        return posterior(counts, state, corpus.vocabulary, run.each), state.step

    def _fit_chain(self, corpus: Corpus, p: Settings, run: Training) -> Fit:
        """Sweeps of a sampler, and the average of those that are kept."""
        chain = sampler.make_chain(documents.Tokens(*corpus.tokens()), corpus.n_terms, self.seed_)

        def begin() -> State:
            topics = None if p.start == "random" else self._start_topics(corpus, p, run)
            return init(chain, p, topics, run.each)

        def step(state: State) -> tuple[State, Info | None]:
            if sweeps.is_done(state.step, state.burnt, p):
                return state, None
            state = sweep(state, chain, p, run.each)
            return state, Info(state.step, sweeps.most(p), p.inference, score_of(state), 0.0)

        rules = sampler.resume_rules(chain, p.n_topics, p.inference)
        state = run.run(State, begin, step, **rules, count_init=True)
        counts = sampler.count_terms(state.tokens, chain, p.n_topics, run.each)
        if state.n_kept:
            counts = state.kept / np.float32(state.n_kept)
        return posterior(counts, state, corpus.vocabulary, run.each), state.step

    def _start_topics(self, corpus: Corpus, p: Settings, run: Training) -> Begin:
        """The topics that a sampler starts from."""
        if p.start == "fast":
            first = p._replace(inference="fast", start="random", n_sweeps=None)
            found = self._fit_fast(corpus, first, run, final=False)[0]
            return found.rows, found.alpha, found.beta
        pairs = documents.pairs_of(corpus.counts)
        counts = spectral.lda_start(pairs, corpus.n_terms, p.n_topics, self.seed_)
        return arrays.topic_rows(counts, p.beta, run.each), p.alpha, p.beta
