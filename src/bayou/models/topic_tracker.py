"""Topics that keep their identity over slices of time.

    phi_tk ~ Dir(beta + S m_tk)      theta_d ~ Dir(alpha)      z_di ~ theta_d      w_di ~ phi_tz

Every slice is LDA, with the memory m of earlier slices as the prior of its topics. After the slice
m_t+1,k = (1 - rho) m_tk + rho (n_tk + S m_tk) / (N_tk + S). theta and phi are integrated out. `next_slice` is
the step of one slice. Its documents are compared with the memory, learned and discarded.

The thesis writes beta_t = (1 - rho) beta_t-1 + rho phi_t-1 without the scale of phi. If phi is normalised,
the prior has no effect. So counts are meant (``scale="counts"``), and the strength of the prior follows the
size of the slices. Here strength and memory are two parameters.

[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018,
chapter 6.
[AlSumait08] AlSumait, Barbara, Domeniconi. On-line LDA: adaptive topic models for mining text streams with
applications to topic detection and tracking. ICDM 2008.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from bayou.api.estimator import Estimator, Saved
from bayou.api.params import param, settings
from bayou.api.topics import Topics
from bayou.api.tracked import TRACKED, Tracked
from bayou.data.calendar import parse_width
from bayou.data.checks import MAX_TOPICS
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError
from bayou.data.intake import DueSlice, Intake, with_times
from bayou.data.stream_terms import Terms
from bayou.inference.lda.arrays import Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.tracking import cvb0, evidence, history, lineage, memory_update, prior, record
from bayou.inference.tracking import slice as parts
from bayou.inference.tracking import state as states
from bayou.inference.tracking.history import Alert
from bayou.inference.tracking.settings import INFERENCES, complete
from bayou.inference.tracking.settings import TrackerSettings as Settings
from bayou.inference.tracking.slice import SliceResult
from bayou.inference.tracking.state import TrackerState as State
from bayou.run import loop
from bayou.run.loop import Info
from bayou.run.shards import Workers


def next_slice(state: State, pairs: Pairs, p: Settings, seed: int, each: Each) -> SliceResult:
    """One slice after the first (`slice.first_slice`). [Burkhardt18b] chapter 6, with tests and a lineage."""
    here = prior.slice_documents(pairs, len(state.memory))
    if not len(here.tokens.terms):
        return parts.empty_slice(state, pairs)
    # prior: phi_k ~ Dir(beta + S m_k) for topics with a memory m_k, Dir(beta) for spare topics
    state = state._replace(strength=memory_update.strength(state, pairs.n_tokens, p))
    topic_prior, alpha = parts.memory_prior(state, here, p)
    # z | w: passes or sweeps that start from the memory; beta is learned if it is not given
    remembered = evidence.smooth_memory(state, here, len(alpha))
    infer = cvb0.infer if p.inference == "fast" else prior.infer
    how, slice_seed = parts.slice_settings(alpha, p), parts.slice_seed(seed, state.step)
    found, topic_prior = infer(here, topic_prior, how, remembered, slice_seed, each)
    state = state._replace(beta=topic_prior.beta)
    # tests: words against the memory (after an alarm: the last slice), shares against the usual ones
    seen = evidence.measure_shares(found, here)
    judged = evidence.judge(state, seen, remembered, p, seed, each)
    # memory: m <- (1 - rho) m + rho (n + S m) / (N + S), or `scale`, `window`; usual shares move by rho
    after = memory_update.advance_state(state, seen, judged, p)
    after = evidence.record_scores(after, judged, p.rho)  # recent scores calibrate the next tests
    # lineage: spare topics are born, split or revived; topics become dormant, die, or are merged into others
    after, events, born = lineage.update_topics(state, after, seen.measures, p)
    return SliceResult(after, state, seen.measures, judged, found.doc_topic, events, born)


@dataclass(kw_only=True, eq=False, repr=False)
class TopicTracker(Tracked, Topics, Estimator):
    """Topics through time: a topic keeps its id while its words and its share change.

    Documents are learned slice by slice, once, and discarded. `alerts` reports significant changes. Topics
    are born, split, merge, become dormant, are revived and die. No id is given twice.

    Parameters
    ----------
    n_topics : int
        Topics of the first slice [K], without the fixed ones.
    slice_by : None, int or str
        What a slice is: a number of documents, or "day", "week" (from Monday), "month", "quarter", "year",
        "5 years". None makes one slice of each call.
    alpha : float, array of one number per topic, or None
        Prior of a document's topics. None learns one number for all topics in the first slice.
    beta : float or None
        Prior of a topic's terms beside its memory. None learns it in every slice, by its evidence.
    inference : {"fast", "snapshot", "gibbs"}
        A few CVB0 passes and the mean of a few sampled sweeps; or sampling, given the counts of the last
        sweep ("snapshot") or exact ("gibbs").
    n_sweeps : int or None
        Most passes over a slice. Default: 4 CVB0 passes (32 over the first slice) or 100 sampled sweeps.
    burn_in : int or None
        Sweeps of a sampler before any is kept, in which alpha and beta are learned. Every fifth later
        sweep is kept. Default: half of the sweeps.
    start, n_starts : {"random", "spectral"} and int
        The first slice starts at random or from moments (`SpectralLDA`). The best of several starts is kept.
    weight : float
        Weight of the memory in the estimate of an average topic [omega], in [0, 1).
    strength : float, "estimate" or None
        Pseudo-tokens per topic of the memory [S], instead of a weight. "estimate" maximises the evidence.
    rho : float
        How fast the memory changes, from 0 (never) to 1 (the last slice only).
    scale : {"strength", "counts"}
        "counts" is the form of the thesis: beta + C, C <- (1 - rho) C + rho n. It has no strength.
    window : int or None
        Number of slices whose mean is the memory instead (on-line LDA).
    n_spare : int
        Spare topics without memory in every slice. A spare topic with enough tokens becomes a topic.
    max_topics : int or None
        The most topics at a time, without the fixed ones. Default: twice `n_topics`.
    dead_after : int or None
        Dormant slices after which a topic dies and loses its column.
    fixed, fixed_strength : mapping and float, or None
        Topics that do not change: name -> {term: weight}, or name -> weights of all columns. Their strength
        in pseudo-tokens; None keeps them exactly as given.
    learn_alpha : bool
        Whether alpha follows the slices.
    level, min_effect, min_tokens : float
        A change is reported if it is significant at this false discovery rate, its divergence exceeds the
        expected one by this number of bits, and the topic has this number of tokens in the slice.
    warm_up : int
        Slices at the start in which only lineage events are reported, while memories are still forming.
    grace, late : int and {"next", "drop"}
        Later slices for which a calendar slice stays open for late documents. A document whose slice is over
        joins the oldest open slice ("next") or is left out ("drop").
    min_docs : int
        Documents that a new term must be in before it gets a column. Terms must have names. With 1, all
        terms of the first call get one. Otherwise terms get columns slice by slice, in the order of their
        names, and the result does not depend on how documents are cut into calls.
    max_terms, forget_after : int or None
        The most columns; the least frequent terms lose theirs. Slices without a term after which it does.
    on_alert : callable, optional
        Called with every `Alert` when its slice is over.
    random_state, max_time, n_threads, progress, callbacks
        As in `LDA`; time is checked and callbacks are called after each slice.

    Attributes
    ----------
    topic_ids_, topic_shares_ : arrays (topics,)
        The permanent id of each row of `components_`, and its share in the last slice that had tokens.
    slices_, courses_, lineage_ : Slices, Courses, list of Alert
        One entry per slice, one per topic and slice, and one per birth, split, merger or death of a topic.

    Examples
    --------
    >>> from bayou import TopicTracker
    >>> from bayou.datasets import make_news
    >>> corpus, news = make_news(n_slices=6, docs_per_slice=60, seed=1)
    >>> model = TopicTracker(n_topics=6, slice_by="week", n_sweeps=40, random_state=0).fit(corpus)
    >>> [(alert.date, alert.kind) for alert in model.alerts("born")]
    [('2024-01-29', 'born')]
    """

    n_topics: int = param(20, ge=1, le=MAX_TOPICS)
    slice_by: int | str | None = None
    alpha: float | ArrayLike | None = None
    beta: float | None = param(None, gt=0.0)
    inference: str = param("fast", choices=INFERENCES)
    n_sweeps: int | None = param(None, ge=1)
    burn_in: int | None = param(None, ge=0)
    start: str = param("random", choices=("random", "spectral"))
    n_starts: int = param(3, ge=1)
    weight: float = param(0.2, ge=0.0, le=1.0 - 1e-9)
    strength: float | str | None = param(None, ge=0.0, choices=("estimate",))
    rho: float = param(0.3, ge=0.0, le=1.0)
    scale: str = param("strength", choices=("strength", "counts"))
    window: int | None = param(None, ge=1)
    n_spare: int = param(1, ge=0)
    max_topics: int | None = param(None, ge=1)
    dead_after: int | None = param(12, ge=1)
    fixed: Mapping[str, Any] | None = None
    fixed_strength: float | None = param(None, ge=0.0)
    learn_alpha: bool = False
    level: float = param(0.05, ge=0.0, le=1.0)
    min_effect: float = param(0.02, ge=0.0, le=1.0)
    min_tokens: float = param(200, ge=0.0)
    warm_up: int = param(2, ge=0)
    grace: int = param(0, ge=0)
    late: str = param("next", choices=("next", "drop"))
    min_docs: int = param(1, ge=1)
    max_terms: int | None = param(None, ge=1)
    forget_after: int | None = param(None, ge=1)
    on_alert: Callable[[Alert], Any] | None = param(None, runtime=True)

    saved: ClassVar[tuple[Saved, ...]] = (TRACKED,)

    def fit(self, X: Any, y: Any = None, *, time: Any = None) -> Self:
        """Learn from documents in the order of time. Everything learned before is discarded.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms)
        y : ignored
        time : one time per document, optional
            ISO strings, dates, datetime64, pandas timestamps, years or seconds since 1970. Default: the
            times of the Corpus.
        """
        p = self.resolve()
        self._begin()
        self._take(X, time, reset=True)
        self._learn(p, all=True)
        if not hasattr(self, "state_"):
            raise DataError("no slice that was read has a word; give documents that have some")
        return self

    def partial_fit(self, X: Any, y: Any = None, *, time: Any = None) -> Self:
        """Learn the slices that are over. Documents of open slices wait (`n_waiting_`)."""
        p, first = self.resolve(), not hasattr(self, "_intake")
        if first:
            self._begin()
        try:
            self._take(X, time, reset=first)
        except Exception:
            if first:
                del self._intake
            raise
        return self._learn(p)

    def flush(self) -> Self:
        """Learn the slices that are still open, at the end of a stream."""
        check_is_fitted(self, "_intake")
        return self._learn(self.resolve(), all=True)

    def resolve(self) -> Settings:
        """The parameters of one run, checked, alone and together."""
        super().check_params()
        own = {"width": parse_width(self.slice_by), "learns_alpha": self.alpha is None}
        return complete(settings(Settings, self, n_first_sweeps=0, **own))

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed, alone or together."""
        self.resolve()

    # -- learning ------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Discard what was learned before."""
        for name in {"state_", "feature_names_in_"} & {*vars(self)}:
            delattr(self, name)
        self._intake = Intake(parse_width(self.slice_by), self.grace, self.late)
        self._terms, self._trail = Terms(), history.Trail()

    def _take(self, X: Any, time: Any, *, reset: bool) -> None:
        """Sort documents into slices, with their own terms if these have names."""
        if reset:
            self.seed_ = self._resolve_seed()
        named = isinstance(X, Corpus) and X.vocabulary is not None and (reset or self._terms.named)
        if named and (X.n_docs == 0 or (reset and X.n_terms == 0)):
            raise DataError("the corpus has no documents or no terms; give at least one")
        corpus: Corpus = X if named else self._corpus(X, reset=reset)
        if reset:
            self._terms.named = named
            self._terms.names = None if named and self.min_docs > 1 else corpus.vocabulary
        self._intake.take(with_times(corpus, time))

    def _learn(self, p: Settings, *, all: bool = False) -> Self:
        """Learn the slices that are over, or ``all`` slices."""
        with Workers(self.n_threads) as workers, loop.progress_bar(self.progress, "Tracker") as bar:

            def step(n: int) -> tuple[int, Info | None]:
                due = self._intake.due(all=all)
                if due is None:
                    return n, None
                self._learn_slice(due, p, workers.each)
                done = self.state_.step if hasattr(self, "state_") else 0
                n_all = done + len(self._intake.waiting)
                return n + 1, Info(done, n_all, "slice", self._trail.last_score, 0.0)

            loop.run(0, step, callbacks=[*bar, *self._callbacks()], max_time=self.max_time)
        return self

    def _learn_slice(self, due: DueSlice, p: Settings, each: Each) -> None:
        """New terms, the slice step, history and alerts, old terms."""
        state: State | None = getattr(self, "state_", None)
        terms, trail = self._terms, self._trail
        n_new = record.add_terms(terms, due.corpus, 0 if state is None else state.step, p)
        if terms.named and not terms.names:
            return  # no document has had a word yet
        pairs, n_terms = record.pairs_of(due.corpus, terms)
        if state is None or not state.usual.any():  # no slice has had a token yet
            fixed = states.topics_from_weights(p.fixed, terms.names, n_terms)
            done = parts.first_slice(state, pairs, fixed, p, self.seed_, each)
        else:
            done = next_slice(states.grow_terms(state, n_new), pairs, p, self.seed_, each)
        alerts = record.record_slice(done, due, pairs, terms, trail, p)
        self.state_, n_lost = record.drop_terms(done.state, terms, p)
        trail.slices.n_new_terms[-1], trail.slices.n_lost_terms[-1] = n_new, n_lost
        self.n_features_in_, self.n_iter_ = len(self.state_.memory), self.state_.step
        if callable(self.on_alert):
            for alert in alerts:
                self.on_alert(alert)
