"""Topics that keep their identity over slices of time.

    phi_tk ~ Dir(beta + S m_tk)      theta_d ~ Dir(alpha)      z_di ~ theta_d      w_di ~ phi_tz

Slice after slice is LDA whose topics have the memory m of the slices before as their prior; then
m_t+1,k = (1 - rho) m_tk + rho (n_tk + S m_tk) / (N_tk + S). theta and phi are integrated out. A slice is
read, measured against the memory, learned and thrown away.

The thesis writes beta_t = (1 - rho) beta_t-1 + rho phi_t-1 without saying on which scale: normalised, the
prior stays without effect, so counts are meant (``scale="counts"``), and then its strength follows the size
of the slices. Here strength and memory are two parameters.

[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018,
chapter 6.
[AlSumait08] AlSumait, Barbara, Domeniconi. On-line LDA: adaptive topic models for mining text streams with
applications to topic detection and tracking. ICDM 2008.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.params import param
from bayou.api.tracked import TrackedTopics
from bayou.data.calendar import parse_width
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError
from bayou.data.intake import DueSlice, Intake, with_times
from bayou.data.stream_terms import Terms
from bayou.inference.lda.arrays import Each
from bayou.inference.tracking import history, record, settings
from bayou.inference.tracking import state as slots
from bayou.inference.tracking.history import Alert
from bayou.inference.tracking.state import TrackerState
from bayou.results.posterior import unpack_vocabulary
from bayou.run import checkpoint, loop
from bayou.run.loop import Info
from bayou.run.shards import Workers


@dataclass(kw_only=True, eq=False, repr=False)
class TopicTracker(TrackedTopics):
    """Topics through time: the same topic keeps its number while its words and its share move.

    Documents are learned slice after slice, once, and forgotten. What changes beyond chance is told by
    `alerts`; topics are born, split, merge, fall asleep, wake and die, and no number is given twice.

    Parameters
    ----------
    n_topics : int
        Topics of the first slice [K], beside those that are fixed.
    slice_by : None, int or str
        What a slice is: so many documents, or "day", "week" (from Monday), "month", "quarter", "year",
        "5 years". None makes one slice of each call.
    alpha : float, array of one number a topic, or None
        Prior of a document's topics; None learns one number for all of them in the first slice.
    beta : float or None
        Prior of a topic's terms beside its memory. None learns it in every slice, by its evidence.
    inference : {"fast", "snapshot", "gibbs"}
        A few CVB0 passes and the mean of a few sampled sweeps; or sampled alone, documents against the
        counts of the sweep before or, exact, one token after the other.
    n_sweeps : int or None
        Most CVB0 passes over a slice, or sweeps of a sampler. None is 4 passes, 32 over the first slice;
        100 sweeps.
    burn_in : int or None
        Sweeps of a sampler before any is kept (None: half), in which alpha and beta are learned. Every
        fifth after them is kept.
    start : {"random", "spectral"}
        Where the first slice starts: anywhere, or at topics solved for from its moments (`SpectralLDA`).
    n_starts : int
        Times that the first slice is learned; the best one is kept. All later slices rest on it.
    weight : float
        Share of an average topic's estimate that is memory [omega], in [0, 1).
    strength : float, "estimate" or None
        The memory in pseudo-tokens a topic instead [S], or as the evidence of the slice before has it.
    rho : float
        How fast the memory moves, from 0 (never) to 1 (the last slice alone).
    scale : {"strength", "counts"}
        "counts" is the form of the thesis: beta + C, C <- (1 - rho) C + rho n. It has no strength.
    window : int or None
        Remember the mean of so many slices instead (on-line LDA).
    n_spare : int
        Topics without memory in every slice, for what fits nowhere; one that holds enough is born.
    max_topics : int or None
        The most topics at a time, fixed ones apart; None is twice `n_topics`.
    dead_after : int or None
        Slices of sleep after which a topic dies and gives up its place.
    fixed : mapping or None
        Topics that stay as they are: name -> {term: weight}, or name -> weights of all columns.
    fixed_strength : float or None
        Pseudo-tokens of the fixed topics; None holds them fast.
    learn_alpha : bool
        Whether alpha follows the slices.
    level, min_effect, min_tokens : float
        A change is told if it is among those rejected at this false discovery rate, its divergence is so
        many bits beyond that of slices without change, and the topic has so many tokens in the slice.
    warm_up : int
        Slices at the start in which lives of topics are told and nothing else: memories are still forming.
    grace : int
        Later slices for which a calendar slice is held open for documents that come late.
    late : {"next", "drop"}
        What becomes of a document whose slice is over: it joins the oldest open one, or is left out.
    min_docs : int
        Documents that a new term must be in before it gets a column. Terms must have names. With 1, all
        terms of the first call get one, as they stand; otherwise columns are given slice by slice, in the
        order of the names, and how documents are cut into calls makes no difference.
    max_terms : int or None
        The most columns; the least frequent terms make room.
    forget_after : int or None
        Slices without a term after which it loses its column.
    on_alert : callable, optional
        Called with every `Alert` when its slice is over.
    random_state, max_time, n_threads, progress, callbacks
        As in `LDA`; time is looked at, and callbacks are called, after each slice.

    Attributes
    ----------
    topic_ids_ : int64 array (topics,)
        The permanent number of each row of `components_`.
    topic_shares_ : float64 array (topics,)
        Share of the words of each in the last slice that had any.
    slices_, courses_ : Slices, Courses
        One entry a slice, and one a topic and slice.
    lineage_ : list of Alert
    dropped_ : Dropped
        What the vocabulary has left out.
    state_ : State

    Examples
    --------
    >>> from bayou import TopicTracker
    >>> from bayou.datasets import make_news
    >>> corpus, news = make_news(n_slices=6, docs_per_slice=60, seed=1)
    >>> model = TopicTracker(n_topics=6, slice_by="week", n_sweeps=40, random_state=0).fit(corpus)
    >>> [(alert.date, alert.kind) for alert in model.alerts("born")]
    [('2024-01-29', 'born')]
    """

    n_topics: int = 20
    slice_by: int | str | None = None
    alpha: float | ArrayLike | None = None
    beta: float | None = None
    inference: str = "fast"
    n_sweeps: int | None = None
    burn_in: int | None = None
    start: str = "random"
    n_starts: int = 3
    weight: float = 0.2
    strength: float | str | None = None
    rho: float = 0.3
    scale: str = "strength"
    window: int | None = None
    n_spare: int = 1
    max_topics: int | None = None
    dead_after: int | None = 12
    fixed: Mapping[str, Any] | None = None
    fixed_strength: float | None = None
    learn_alpha: bool = False
    level: float = 0.05
    min_effect: float = 0.02
    min_tokens: float = 200
    warm_up: int = 2
    grace: int = 0
    late: str = "next"
    min_docs: int = 1
    max_terms: int | None = None
    forget_after: int | None = None
    on_alert: Callable[[Alert], Any] | None = param(None, runtime=True)

    def fit(self, X: Any, y: Any = None, *, time: Any = None) -> Self:
        """Learn from documents in the order of time; everything learned before is forgotten.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms)
        y : ignored
        time : one time a document, optional
            ISO strings, dates, datetime64, pandas timestamps, years or seconds since 1970; None takes
            those of a Corpus.
        """
        p = self._checked_parameters()
        self._begin(p)
        self.seed_ = self._resolve_seed()
        corpus = self._documents(X, reset=True)
        self._intake.take(with_times(corpus, time))
        self._learn(p, all=True)
        if not hasattr(self, "state_"):
            raise DataError("no slice that was read has a word; give documents that have some")
        return self

    def partial_fit(self, X: Any, y: Any = None, *, time: Any = None) -> Self:
        """Learn the slices that are over; documents of slices that are still open wait (`n_waiting_`)."""
        p = self._checked_parameters()
        first = not hasattr(self, "_intake")
        if first:
            self._begin(p)
            self.seed_ = self._resolve_seed()
        try:
            corpus = self._documents(X, reset=first)
            self._intake.take(with_times(corpus, time))
        except Exception:
            if first:
                del self._intake
            raise
        return self._learn(p)

    def flush(self) -> Self:
        """Learn the slices that are still open: the stream has ended, or no more is to be waited for."""
        if not hasattr(self, "_intake"):
            check_is_fitted(self)
        return self._learn(self._checked_parameters(), all=True)

    # -- learning ------------------------------------------------------------------------------

    def _begin(self, p: SimpleNamespace) -> None:
        for name in ("state_", "feature_names_in_"):
            if name in vars(self):
                delattr(self, name)
        self._intake = Intake(parse_width(p.slice_by), p.grace, p.late)
        self._terms, self._trail = Terms(), history.Trail()

    def _documents(self, X: Any, *, reset: bool) -> Corpus:
        """Documents with their own terms where those have names, else in the columns of the model."""
        if isinstance(X, Corpus) and X.vocabulary is not None and (reset or self._terms.named):
            if X.n_docs == 0 or (reset and X.n_terms == 0):
                raise DataError("the corpus has no documents or no terms; give at least one")
            if reset:
                self._terms.named = True
                self._terms.names = X.vocabulary if self.min_docs == 1 else None
            return X
        corpus = self._corpus(X, reset=reset)
        if reset:
            self._terms.names = corpus.vocabulary
        return corpus

    def _learn(self, p: SimpleNamespace, *, all: bool = False) -> Self:
        with Workers(self.n_threads) as workers, loop.progress_bar(self.progress, "Tracker") as bar:

            def step(n: int) -> tuple[int, Info | None]:
                due = self._intake.due(all=all)
                if due is None:
                    return n, None
                self._learn_slice(due, p, workers.each)
                done = self.state_.step if hasattr(self, "state_") else 0
                left = len(self._intake.waiting)
                return n + 1, Info(done, done + left, "slice", self._last_score(), 0.0)

            loop.run(0, step, callbacks=[*bar, *self._callbacks()], max_time=p.max_time)
        return self

    def _last_score(self) -> float:
        """Log-likelihood a token of the last slice under the memory before it."""
        surprise = self._trail.slices.surprise
        return -float(surprise[-1]) if len(surprise) else math.nan

    def _learn_slice(self, due: DueSlice, p: SimpleNamespace, each: Each) -> None:
        state: TrackerState | None = getattr(self, "state_", None)
        both = self._terms, self._trail
        done = record.learn_slice(state, due, *both, p, self.seed_, each)
        if done is None:
            return  # nothing has been said yet
        self.state_, alerts = done
        self.n_features_in_, self.n_iter_ = len(self.state_.memory), self.state_.step
        if callable(self.on_alert):
            for alert in alerts:
                self.on_alert(alert)

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        settings.check(p)
        return p

    # -- files ---------------------------------------------------------------------------------

    def _payload(self) -> dict[str, NDArray[Any]]:
        kept = checkpoint.arrays_of(self.state_)
        return {**kept, **self._terms.arrays(), **self._trail.arrays(), **self._intake.arrays()}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        state = checkpoint.state_of(TrackerState, arrays)
        slots.check(state)
        self._begin(self._parameters())
        self._terms.names = unpack_vocabulary(arrays.get("vocabulary"), len(state.memory))
        for part in (self._terms, self._trail, self._intake):
            part.restore(arrays)
        self.state_ = state

    def _n_columns(self) -> int:
        return len(self.state_.memory)
