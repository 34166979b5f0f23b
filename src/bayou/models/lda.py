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

import math
import os
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from bayou.api.topic_estimator import TopicEstimator
from bayou.data.checks import check_parameters, number, one_of, whole
from bayou.data.corpus import Corpus
from bayou.data.errors import ModelFileError
from bayou.inference.lda import arrays, documents, fast, prior, sampler, schedule
from bayou.inference.lda.arrays import F32, F64, I64, U16, Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.lda.prior import resolve_alpha
from bayou.inference.spectral import solve
from bayou.metrics.likelihood import completion_halves
from bayou.results.posterior import Posterior
from bayou.run import checkpoint as checkpoints
from bayou.run import loop
from bayou.run.loop import Callback, Info
from bayou.run.shards import Workers

CHECK = 10  # sweeps between two scores of a sampler
APART = 5  # sweeps between two that are kept
SWEEPS = 200  # of a sampler, unless told


class State(NamedTuple):
    """A sampler's chain. The fast inference has its own (`fast.FastState`)."""

    step: int
    tokens: U16  # tokens x (1 + proposals): topic, then proposals
    term_topic: F32  # n_vk; live for gibbs, else as of the last sweep that was scored or kept
    alpha: F64
    beta: float
    kept: F32  # sum of n_vk over kept sweeps, no rows before the first
    n_kept: int
    draws: F32  # topics drawn at the last kept sweeps, draws x terms x topics
    burnt: int  # the sweep at which burn-in was over, -1 before
    scores: F64  # ln p(w, z) per token
    score_steps: I64


def init(
    chain: sampler.SamplerChain, p: SimpleNamespace, each: Each, begin: Posterior | None
) -> State:
    """Tokens at random topics, or at topics drawn from a point estimate."""
    n_proposals = sampler.N_PROPOSALS if p.inference == "mh" else 0
    alpha, beta = resolve_alpha(p.alpha, p.n_topics), float(p.beta)
    if begin is None:
        tokens = sampler.start(chain, p.n_topics, n_proposals, each)
    else:
        tokens = sampler.start_from_topics(chain, begin.rows, begin.alpha, n_proposals, each)
        alpha, beta = begin.alpha, begin.beta
    counts = sampler.count_terms(tokens, chain, p.n_topics, each)
    none = np.zeros((0, p.n_topics), np.float32)
    no_draws = np.zeros((0, chain.n_terms, p.n_topics), np.float32)
    burnt = 0 if p.burn_in == 0 else -1
    return State(
        0, tokens, counts, alpha, beta, none, 0, no_draws, burnt, np.zeros(0), np.zeros(0, np.int64)
    )


def sweep(state: State, p: SimpleNamespace, chain: sampler.SamplerChain, each: Each) -> State:
    """One sweep over all tokens; after burn-in some are kept, and now and then one is scored."""
    counts, both, step = state.term_topic, (state.alpha, state.beta), state.step + 1
    if p.inference == "gibbs":
        sampler.gibbs(state.tokens, counts, chain, *both, step)
    elif p.inference == "snapshot":
        sampler.snapshot(state.tokens, chain, *both, step, each)
    else:
        sampler.metropolis(state.tokens, chain, *both, step, each)
    last = step == (p.n_sweeps or SWEEPS)
    check = step % CHECK == 0 or last or step == p.burn_in
    keep = state.burnt >= 0 and ((step - state.burnt) % APART == 0 or last)
    if p.inference != "gibbs" and (check or keep):
        counts[:] = 0.0
        sampler.count_terms(state.tokens, chain, p.n_topics, each, counts)
    state = state._replace(step=step)
    if keep:
        kept = counts.copy() if state.n_kept == 0 else state.kept + counts
        state = state._replace(kept=kept, n_kept=state.n_kept + 1)
        if p.n_draws:
            drawn = sampler.draw_topics(counts, state.beta, chain.seed, step, each)
            older = state.draws[max(len(state.draws) - p.n_draws + 1, 0) :]
            state = state._replace(draws=np.concatenate([older, drawn[None]]))
    return _checked(state, p, chain, each) if check else state


def _checked(state: State, p: SimpleNamespace, chain: sampler.SamplerChain, each: Each) -> State:
    """Score the state, learn the priors, and see whether burn-in is over.

    It is over after `burn_in` sweeps or, where that was left open, when the scores have come to
    rest, after half of all sweeps at the latest.
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


def done(state: State, p: SimpleNamespace) -> bool:
    """Whether all sweeps were made, or after an early end of burn-in as many again (50 at least)."""
    if state.step >= (p.n_sweeps or SWEEPS):
        return True
    early = p.burn_in is None and state.burnt >= 0
    return early and state.step >= state.burnt + max(state.burnt, 50)


def posterior(
    term_topic: F32, state: State | fast.FastState, corpus: Corpus, each: Each
) -> Posterior:
    """Topics from counts, with what prediction and reports need."""
    return Posterior(
        draws=state.draws if isinstance(state, State) and len(state.draws) else None,
        rows=arrays.topic_rows(term_topic, state.beta, each),
        alpha=state.alpha,
        beta=state.beta,
        topic_tokens=arrays.topic_totals(term_topic),
        scores=state.scores,
        score_steps=state.score_steps,
        vocabulary=corpus.vocabulary,
    )


@dataclass(kw_only=True, eq=False, repr=False)
class LDA(TopicEstimator):
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

    n_topics: int = 50
    alpha: float | ArrayLike | None = None
    beta: float = 0.01
    inference: str = "fast"
    start: str = "random"
    n_sweeps: int | None = None
    burn_in: int | None = None
    n_draws: int = 0
    learn_alpha: bool = False
    learn_beta: bool = False
    tol: float = 5e-4

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Learn topics from documents.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
            Fractional counts are weights for the fast inference; samplers round them.
        y : ignored
        checkpoint : path, optional
            Training is written there every `checkpoint_every` passes and when a callback or
            `max_time` stops it, and goes on from there if the file exists: the result is that of an
            uninterrupted run, bit for bit.
        """
        p = self._checked_parameters()
        whole("checkpoint_every", checkpoint_every, 1)
        if checkpoint is not None and self.random_state is None:
            raise ValueError("a checkpoint needs a random_state to go on from; give an integer")
        corpus = self._corpus(X, reset=True)
        self.seed_ = self._resolve_seed()
        saved = checkpoints.Saver(checkpoint, checkpoint_every, lambda: self._describe(corpus))
        with Workers(self.n_threads) as workers, loop.progress_bar(self.progress, "LDA") as bar:
            callbacks = [*bar, *self._callbacks()]
            if p.inference == "fast":
                self.posterior_, self.n_iter_ = self._fit_fast(
                    corpus, p, callbacks, saved, workers.each
                )
            else:
                self._fit_chain(corpus, p, callbacks, saved, workers.each)
        return self

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        check_parameters(p, ("n_topics", "n_sweeps"), ("beta", "max_time"))
        resolve_alpha(p.alpha, p.n_topics)
        one_of("inference", p.inference, ("fast", "gibbs", "snapshot", "mh"))
        one_of("start", p.start, ("random", "fast", "spectral"))
        whole("n_draws", p.n_draws, 0)
        if p.inference == "fast" and (p.start == "fast" or p.burn_in is not None or p.n_draws):
            raise ValueError(
                "start='fast', burn_in and n_draws belong to the samplers; leave them out with 'fast'"
            )
        number("tol", p.tol, 0.0)
        if p.burn_in is not None:
            whole("burn_in", p.burn_in, 0)
            if p.burn_in >= (p.n_sweeps or SWEEPS):
                raise ValueError(
                    f"burn_in must be under n_sweeps = {p.n_sweeps or SWEEPS}; got {p.burn_in!r}"
                )
        return p

    def _fit_fast(
        self,
        corpus: Corpus,
        p: SimpleNamespace,
        callbacks: list[Callback],
        saved: checkpoints.Saver,
        each: Each,
    ) -> tuple[Posterior, int]:
        setup = prepared(corpus, p, self.seed_, each)
        sizes = setup.pairs.n_docs, round(setup.pairs.n_tokens), 0
        begin = self._resumed(fast.FastState, corpus, saved, sizes)
        if begin is None:
            given = _spectral_counts(setup.pairs, corpus.n_terms, p, self.seed_)
            begin = fast.start(setup, resolve_alpha(p.alpha, p.n_topics), float(p.beta), given)
        state = begin
        most = setup.plan.online + setup.plan.sampled + setup.plan.cavity

        def step(state: fast.FastState) -> tuple[fast.FastState, Info | None]:
            if state.phase == fast.DONE:
                return state, None
            phase = fast.PHASES[state.phase]
            return _told(fast.advance(state, setup), most, phase)

        state = loop.run(
            state, step, callbacks=callbacks, after=saved.after, stopped=saved.save_on_stop,
            max_time=p.max_time,
        )  # fmt: skip
        counts, alpha, beta = fast.answer(state, setup)
        state = state._replace(alpha=alpha, beta=beta)
        return posterior(counts, state, corpus, each), state.step

    def _fit_chain(
        self,
        corpus: Corpus,
        p: SimpleNamespace,
        callbacks: list[Callback],
        saved: checkpoints.Saver,
        each: Each,
    ) -> None:
        begun = time.monotonic()
        chain = sampler.make_chain(documents.Tokens(*corpus.tokens()), corpus.n_terms, self.seed_)
        n_tokens = len(chain.tokens.terms)
        state = self._resumed(State, corpus, saved, (0, n_tokens, n_tokens))
        if state is None:
            begin = None
            if p.start == "spectral":
                begin = _spectral_posterior(corpus, p, self.seed_, each)
            elif p.start == "fast":
                first = SimpleNamespace(**{**vars(p), "inference": "fast", "n_sweeps": None})
                begin, _ = self._fit_fast(corpus, first, [], checkpoints.Saver(), each)
            state = init(chain, p, each, begin)
        n_sweeps = p.n_sweeps or SWEEPS

        def step(state: State) -> tuple[State, Info | None]:
            if done(state, p):
                return state, None
            return _told(sweep(state, p, chain, each), n_sweeps, p.inference)

        left = None if p.max_time is None else p.max_time - (time.monotonic() - begun)
        state = loop.run(
            state,
            step,
            callbacks=callbacks,
            after=saved.after,
            stopped=saved.save_on_stop,
            max_time=left,
        )
        counts = sampler.count_terms(state.tokens, chain, p.n_topics, each)
        if state.n_kept:
            counts = state.kept / np.float32(state.n_kept)
        self.posterior_ = posterior(counts, state, corpus, each)
        self.n_iter_ = state.step

    @property
    def scores_(self) -> F64:
        """Log-likelihood per token at the passes where it was measured."""
        check_is_fitted(self)
        return self.posterior_.scores

    def _describe(self, corpus: Corpus) -> dict[str, Any]:
        """What a checkpoint must agree with: parameters, seed and the data themselves."""
        counts = corpus.counts
        data = checkpoints.digest((counts.indptr, counts.indices, counts.data))
        manifest = {**self._manifest("checkpoint"), "data": data}
        del manifest["learned"]
        return {**manifest, "seed": self.seed_}

    def _resumed(
        self, kind: Any, corpus: Corpus, saved: checkpoints.Saver, sizes: tuple[int, int, int]
    ) -> Any:
        state = saved.read(kind)
        if state is not None and not _fits(state, corpus.n_terms, self.n_topics, *sizes):
            raise ModelFileError(
                f"the checkpoint {saved.path} holds impossible numbers; begin again"
            )
        return state


def _spectral_counts(pairs: Pairs, n_terms: int, p: SimpleNamespace, seed: int) -> F32 | None:
    """Counts to start from where the start is spectral."""
    if p.start != "spectral":
        return None
    return solve.lda_start(pairs, n_terms, p.n_topics, seed)


def _spectral_posterior(corpus: Corpus, p: SimpleNamespace, seed: int, each: Each) -> Posterior:
    """Topics for a sampler to start under."""
    counts = solve.lda_start(documents.pairs_of(corpus.counts), corpus.n_terms, p.n_topics, seed)
    return Posterior(
        rows=arrays.topic_rows(counts, p.beta, each), alpha=resolve_alpha(p.alpha, p.n_topics),
        beta=float(p.beta), topic_tokens=arrays.topic_totals(counts),
        scores=np.zeros(0), score_steps=np.zeros(0, np.int64),
    )  # fmt: skip


def _fits(
    state: Any, n_terms: int, n_topics: int, n_docs: int, n_tokens: int, least_tokens: int
) -> bool:
    """Whether a state that was read has the shapes and topics that kernels rely on."""
    matrix, vector = (n_terms, n_topics), (n_topics,)
    allowed: dict[str, list[tuple[int, ...]]] = {
        "term_topic": [matrix],
        "doc_topic": [(n_docs, n_topics)],
        "alpha": [vector],
        "answer_alpha": [vector],
        "kept": [matrix, (0, n_topics)],
        "answer": [matrix, (0, n_topics)],
    }
    given = state._asdict()
    shapes = {name: np.shape(value) for name, value in given.items()}
    if any(shapes[name] not in fit for name, fit in allowed.items() if name in shapes):
        return False
    if "draws" in shapes and shapes["draws"][1:] != matrix:
        return False
    if len(shapes["tokens"]) != 2 or shapes["tokens"][0] not in (n_tokens, least_tokens):
        return False
    return int(given["tokens"].max(initial=0)) < n_topics


def _told(state: Any, most: int, phase: str) -> tuple[Any, Info]:
    """The state with a line about it."""
    fresh = len(state.scores) > 0 and state.score_steps[-1] == state.step
    score = float(state.scores[-1]) if fresh else math.nan
    return state, Info(state.step, max(most, state.step), phase, score, 0.0)


def prepared(corpus: Corpus, p: SimpleNamespace, seed: int, each: Each) -> fast.FastSetup:
    """What the fast inference works on: documents in keyed order, and those kept out in halves."""

    def split(guard: Pairs) -> tuple[Pairs, Pairs]:
        matrix = csr_array(
            (guard.counts, guard.terms, guard.indptr), (guard.n_docs, corpus.n_terms)
        )
        observed, scored = completion_halves(matrix)
        return documents.pairs_of(observed), documents.pairs_of(scored)

    def plan(size: schedule.CorpusSize) -> schedule.FastSchedule:
        learn = (p.learn_alpha, p.learn_beta)
        return schedule.make_schedule(p.n_topics, size, p.n_sweeps, p.tol, learn)

    pairs = documents.pairs_of(corpus.counts)
    return fast.make_setup(pairs, corpus.n_terms, p.n_topics, plan, split, p.beta, seed, each)
