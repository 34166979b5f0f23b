"""Labels that depend on each other: topics over labels over words.

    phi'_k ~ Dir(b)   theta'_d ~ Dir(gamma)   z'_dj ~ theta'_d   y_dj ~ phi'_z'        labels of a document
    phi_y ~ Dir(beta)   words of the document from the phi of its labels               terms of a label

Everything but z and z' is integrated out. In Dependency-LDA [Rubin12] the labels give a prior of the words'
labels, eta pi_d + alpha. In Fast-Dependency-LDA [Burkhardt18] the words' labels are the topics' tokens.
Training is greedy: labelled LDA of the words, then LDA of the labels. New documents are scored with the
labels of tokens summed out (`labels.scores`): the alternating sampler of the papers mixes badly there.

[Rubin12] Rubin, Chambers, Smyth, Steyvers. Statistical topic models for multi-label document classification.
Machine Learning 88, 2012.
[Burkhardt18] Burkhardt, Kramer. Online multi-label dependency topic models for text classification. Machine
Learning 107, 2018.
[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from bayou.api.estimator import Estimator, Saved
from bayou.api.label_classifier import LABELS, LabelClassifier, TopicsOverLabels
from bayou.api.label_training import LevelParams, TwoLevels, fit_levels
from bayou.api.params import param, settings
from bayou.api.topics import Topics
from bayou.api.training import Path
from bayou.data.checks import MAX_TOPICS
from bayou.data.schema import Array
from bayou.inference.labels import links
from bayou.inference.labels import training as labels
from bayou.inference.labels.links import LevelPlan, Levels
from bayou.inference.labels.tuning import LabelTask
from bayou.inference.lda.arrays import F32, F64, I32, U16, Each
from bayou.results.label_posterior import AUTO, SCORES, LabelPosterior


class Settings(NamedTuple):
    """The parameters of one `fit` of either model."""

    beta: float
    beta_labels: float
    inference: str
    n_sweeps: int
    first_kept: int  # sweeps from here on are averaged
    alpha: float | None  # prior of each label in a training document
    boost: float  # tokens that the labels of a training document add to this prior [eta]
    even: bool  # whether the labels of a training document are equally likely
    link_alpha: F64  # prior of a document's topics [gamma]
    dep_tokens: str
    greedy: bool
    blocked: bool  # not greedy: label and topic of a token in one draw
    scoring: str
    strength: float  # tokens that the topics' prior of a new document counts as; -1: its length


class State(NamedTuple):
    """What the next sweep needs, of both levels."""

    step: int  # sweeps of the words' labels
    z: Annotated[I32, Array(("chains", 0), ("tokens", 0), below="places")]
    kept: Annotated[F32, Array(("chains", 0), ("cells", 0))]
    share: Annotated[F32, Array(("entries", 0))]  # gamma, of CVB0
    moved: float
    link_step: int  # sweeps of the topics over labels
    link_z: Annotated[U16, Array("chains", "label_tokens", below="topics")]
    link_kept: Annotated[F32, Array("chains", "labels", "topics")]


def init(plan: LevelPlan, p: Settings, each: Each) -> State:
    """Labels and topics of tokens at random."""
    data = plan.data
    lower = labels.init(data, data.n_labels, p.inference, plan.n_chains, plan.seed, each)
    kept = np.zeros((plan.n_chains, data.n_labels, len(p.link_alpha)), np.float32)
    return State(*lower, 0, links.start(plan), kept)


def sweep(state: State, levels: Levels, p: Settings, each: Each) -> State:
    """One sweep of the words' labels until they are done, then one of the topics over labels.

    z:   (n_vy + beta) / (n_y + V beta) (n_dy + eta / |Y_d| + alpha), y in Y_d      [Burkhardt18b] (2.40)
         Fast-Dependency-LDA, greedy: no last factor                                (3.5)
    z':  (n_yk + b) / (n_k + L b) (n_dk + gamma_k), y the label of the token        (2.41), (3.4)
    not greedy: z and z' of a token together, the product of (3.5) and (3.4)        (3.2)
                or z given z', (3.5) times (n_yk + b), then z' given z              (3.3), (3.4)
    """
    plan, seed = levels.plan, levels.plan.seed
    if p.greedy and not labels.is_done(state, p.n_sweeps):
        return labels.sweep(state, levels.counts, plan.data, plan.prior, p.first_kept, seed, each)
    step, keep = state.link_step, state.link_step >= p.first_kept

    def work(lo: int, hi: int) -> None:
        for c in range(lo, hi):
            chain, own = levels.chains[c], links.link_seed(seed, c)
            if not p.greedy:
                links.block_sweep(chain, levels.counts.chains[c], plan, keep, own, step)
                continue
            if plan.link.by_word:
                links.draw_word_labels(levels, c, step)
            links.sweep(chain, plan.link, keep, own, step)

    links.each_chain(work, levels, each)
    return state._replace(link_step=step + 1, step=state.step + (0 if p.greedy else 1))


def posterior(state: State, levels: Levels, task: LabelTask, p: Settings) -> LabelPosterior:
    """Terms of labels from all chains together, topics over labels of each chain by itself."""
    plan = levels.plan
    n_kept = state.link_step - p.first_kept
    return LabelPosterior(
        term_label=labels.expected_counts(state, levels.counts, plan.data, p.first_kept),
        beta=plan.prior.beta, alpha=plan.prior.alpha, n_labels=task.n_labels,
        label_docs=task.label_docs(), links=links.link_rows(levels.chains, n_kept, p.beta_labels),
        link_alpha=p.link_alpha, n_members=len(levels.chains), strength=p.strength,
        score=SCORES[0] if p.scoring == AUTO else p.scoring, vocabulary=task.vocabulary,
    )  # fmt: skip


def topic_prior(n_topics: int | None, n_labels: int, each: float | None, mass: float) -> F64:
    """Prior of a document's topics: ``each`` per topic, or ``mass`` in all."""
    n = min(links.MOST_TOPICS, n_labels) if n_topics is None else int(n_topics)
    return np.full(n, mass / n if each is None else float(each))


@dataclass(kw_only=True, eq=False, repr=False)
class FastDependencyLDA(TopicsOverLabels, LabelClassifier, Topics, LevelParams, Estimator):
    """Topics over labels over words: labels that occur together help each other [Burkhardt18].

    Parameters
    ----------
    n_topics : int or None
        Number of topics over labels [K]. None is 100, or the number of labels if that is smaller: with one
        topic per label, labels are independent, and more topics add nothing.
    alpha : float or None
        Prior of a document's topics; None is 10 / K for label tokens, 30 / K for word tokens.
    beta, beta_labels : float
        Priors of a label's terms, and of a topic's labels [b].
    dep_tokens : {"label", "word"}
        What topics are learned from: each label of a document once, or the label of each of its words.
    greedy : bool
        Learn the labels' terms first and then the topics over them, without feedback. False draws both in
        one sweep, for comparison; it needs ``inference="gibbs"`` and ``dep_tokens="word"``.
    blocked : bool
        Without `greedy`: draw label and topic of a token together, or (False) one given the other, faster.
    inference : {"cvb0", "gibbs"}
        Of the labels of words: iterate probabilities (without random numbers), or draw.
    scoring : {"auto", "tokens", "document"}
        How the prior from topics is used. "tokens" infers the label of every token with it (S1), which is
        faster and ranks slightly better. "document" runs labelled LDA with it (S2), which finds rare labels
        that S1 misses. "auto" takes S2 if its first labels of held-out documents are clearly better by
        micro-F1 and macro-F1 together, else S1.
    mix : float or None
        Part of a score that comes from the topics alone [omega]. None: the best on held-out documents. It is
        larger for shorter documents and for more labels per document.
    n_sweeps, n_kept : int
        Sweeps in all, and the last of them that are averaged.
    n_chains : int
        Chains with topics of their own, in parallel on threads. Their priors of labels are averaged.
    tf, rule, validation_share
        As in `LabeledLDA`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    links_ : float64 array (topics, labels)
        Topics over labels [phi'] of the first chain.
    components_ : float64 array (topics, terms)
        The same topics as terms, labels summed out.
    labels_ : LabelPosterior
        Terms of labels, sparse, and the topics of all chains.

    Examples
    --------
    >>> from bayou import FastDependencyLDA
    >>> texts = [[3, 1, 0, 0], [0, 0, 2, 2], [2, 1, 1, 2], [4, 0, 0, 1]] * 10
    >>> given = [["pets"], ["cars"], ["cars", "pets"], ["pets"]] * 10
    >>> model = FastDependencyLDA(n_topics=2, random_state=0).fit(texts, given)
    >>> model.predict_labels([[5, 1, 0, 0], [1, 0, 4, 3]])
    [['pets'], ['cars', 'pets']]
    """

    n_topics: int | None = param(None, ge=1, le=MAX_TOPICS)
    beta_labels: float = param(0.01, gt=0.0)
    alpha: float | None = param(None, gt=0.0)
    dep_tokens: str = param("label", choices=links.TOKENS)
    greedy: bool = True
    blocked: bool = True
    scoring: str = param(AUTO, choices=(AUTO, *SCORES))

    algorithm: ClassVar[TwoLevels] = TwoLevels(State, init, sweep, posterior)
    saved: ClassVar[tuple[Saved, ...]] = (LABELS,)

    def fit(
        self, X: Any, y: Any = None, *, given_terms: Any = None, checkpoint: Path | None = None,
        checkpoint_every: int = 10,
    ) -> Self:  # fmt: skip
        """Learn the terms of labels, and topics over labels, from documents with labels.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : label lists, indicator matrix, vector of classes, or None
            None takes the corpus' labels. Documents without known labels are left out.
        given_terms : mapping from labels to arrays (terms,), optional
            Distributions over terms that are known beforehand: these labels keep them.
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        return fit_levels(self, X, y, given_terms, checkpoint, checkpoint_every)

    def resolve(self, n_labels: int) -> Settings:
        """The parameters of one `fit`, checked."""
        self.check_params()
        mass, first = 10.0 if self.dep_tokens == "label" else 30.0, self.n_sweeps - self.n_kept
        return settings(
            Settings, self, first_kept=first, alpha=None, boost=0.0, even=True, strength=-1.0,
            link_alpha=topic_prior(self.n_topics, n_labels, self.alpha, mass),
        )  # fmt: skip

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed, alone or together."""
        super().check_params()
        if not self.greedy and (self.inference, self.dep_tokens) != ("gibbs", "word"):
            raise ValueError(
                "greedy=False draws labels and topics of words together; "
                "set inference='gibbs' and dep_tokens='word' too"
            )
        if self.greedy and not self.blocked:
            raise ValueError("blocked=False needs greedy=False; set that too")


@dataclass(kw_only=True, eq=False, repr=False)
class DependencyLDA(TopicsOverLabels, LabelClassifier, Topics, LevelParams, Estimator):
    """Topics over labels as a prior of the labels of words [Rubin12].

    Parameters
    ----------
    n_topics : int or None
        Number of topics over labels [K]. None is 100, or the number of labels if that is smaller.
    alpha : float or None
        Prior of each label in a document, beside the topics' prior. None is 30 divided by the number of
        labels.
    gamma : float or None
        Prior of a document's topics; None is 10 / K.
    eta : float
        Tokens that the labels of a document count as in the prior of its words' labels.
    strength : {"eta", "length"}
        Tokens that the prior of a new document counts as: eta, or the document's length.
    beta, beta_labels, inference, mix, n_sweeps, n_kept, n_chains
        As in `FastDependencyLDA`.
    tf, rule, validation_share
        As in `LabeledLDA`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    links_, components_, labels_
        As in `FastDependencyLDA`.

    Examples
    --------
    >>> from bayou import DependencyLDA
    >>> texts = [[3, 1, 0, 0], [0, 0, 2, 2], [2, 1, 1, 2], [4, 0, 0, 1]] * 10
    >>> given = [["pets"], ["cars"], ["cars", "pets"], ["pets"]] * 10
    >>> model = DependencyLDA(n_topics=2, random_state=0).fit(texts, given)
    >>> model.predict_labels([[5, 1, 0, 0], [1, 0, 4, 3]])
    [['pets'], ['cars', 'pets']]
    """

    n_topics: int | None = param(None, ge=1, le=MAX_TOPICS)
    beta_labels: float = param(0.01, gt=0.0)
    alpha: float | None = param(None, gt=0.0)
    gamma: float | None = param(None, gt=0.0)
    eta: float = param(100.0, ge=0.0)
    strength: str = param("eta", choices=("eta", "length"))

    algorithm: ClassVar[TwoLevels] = TwoLevels(State, init, sweep, posterior)
    saved: ClassVar[tuple[Saved, ...]] = (LABELS,)

    def fit(
        self, X: Any, y: Any = None, *, given_terms: Any = None, checkpoint: Path | None = None,
        checkpoint_every: int = 10,
    ) -> Self:  # fmt: skip
        """Learn the terms of labels, and topics over labels; parameters as in `FastDependencyLDA.fit`."""
        return fit_levels(self, X, y, given_terms, checkpoint, checkpoint_every)

    def resolve(self, n_labels: int) -> Settings:
        """The parameters of one `fit`, checked."""
        self.check_params()
        eta, first = float(self.eta), self.n_sweeps - self.n_kept
        return settings(
            Settings, self, first_kept=first, boost=eta, even=False, dep_tokens="label", greedy=True,
            blocked=True, scoring="document", strength=eta if self.strength == "eta" else -1.0,
            link_alpha=topic_prior(self.n_topics, n_labels, self.gamma, 10.0),
        )  # fmt: skip
