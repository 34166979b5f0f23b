"""Labels that depend on each other: topics over labels above labels over words.

    phi'_k ~ Dir(b)   theta'_d ~ Dir(gamma)   z'_dj ~ theta'_d   y_dj ~ phi'_z'        labels of a document
    phi_y ~ Dir(beta)   words of the document from the phi of its labels               terms of a label

All but z and z' is integrated out. In Dependency-LDA [Rubin12] the labels shape a prior of the words' labels,
eta pi_d + alpha; in Fast-Dependency-LDA [Burkhardt18] the words' labels are what the topics draw, one step
for both. Training is greedy, one floor after the other: labelled LDA of the words, LDA of the labels. New
documents are read with the labels of tokens summed out (`labels.scores`), not with the alternating
sampler of the papers: that hardly mixes once the topics stand still.

[Rubin12] Rubin, Chambers, Smyth, Steyvers. Statistical topic models for multi-label document classification.
Machine Learning 88, 2012.
[Burkhardt18] Burkhardt, Kramer. Online multi-label dependency topic models for text classification. Machine
Learning 107, 2018.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np

from bayou.api.label_estimator import LabelEstimator
from bayou.api.label_fitting import Task, learn_and_tune
from bayou.api.label_floors import Floors, Work, check_floors, train_floors
from bayou.api.label_topics import TopicsOverLabels
from bayou.data.checks import number, one_of, optional
from bayou.inference.labels import assignments, links, training
from bayou.inference.lda.arrays import F32, I32, U16, Each
from bayou.results.label_posterior import AUTO, SCORES, LabelPosterior
from bayou.results.label_response import RULES

MOST_TOPICS = 100  # over labels, unless more are asked for


class State(NamedTuple):
    """What the next sweep needs, of both floors."""

    step: int  # sweeps of the words' labels
    z: I32  # chains x tokens
    kept: F32  # chains x cells
    share: F32  # gamma, of CVB0
    moved: float
    link_step: int  # sweeps of the topics over labels
    link_z: U16  # chains x tokens upstairs
    link_kept: F32  # chains x labels x topics


def init(
    data: assignments.LabelData,
    link: links.LinkData,
    p: SimpleNamespace,
    seed: int,
    n_chains: int,
    each: Each,
) -> State:
    """Labels and topics at random."""
    below = training.begin(data, data.n_labels, p, seed, n_chains, each)
    kept = np.zeros((n_chains, data.n_labels, len(link.alpha)), np.float32)
    return State(*below, 0, links.start(link, n_chains, seed), kept)


def sweep(state: State, work: Work, p: SimpleNamespace, seed: int, each: Each) -> State:
    """One sweep of the words' labels until that is done, then one of the topics over labels."""
    if p.greedy and not training.is_over(state, p):
        return training.sweep(state, work.counts, work.data, work.prior, p, seed, each)
    step, keep = state.link_step, state.link_step >= p.n_sweeps - p.n_kept

    def chain(lo: int, hi: int) -> None:
        for c in range(lo, hi):
            own = links.link_seed(seed, c)
            if not p.greedy:
                links.block_sweep(
                    work.floors[c],
                    work.counts.chains[c],
                    work.data,
                    work.prior,
                    work.link,
                    keep,
                    own,
                    step,
                )
                continue
            if work.link.by_word:
                links.relabel(work.floors[c], work.data, work.prior, work.counts, c, seed, step)
            links.sweep(work.floors[c], work.link, keep, own, step)

    size = int(work.link.indptr[-1]) * len(work.link.alpha)
    each(chain, np.arange(len(work.floors) + 1, dtype=np.int64) * max(size, 1), 1.0)
    both = 0 if p.greedy else 1
    return state._replace(link_step=step + 1, step=state.step + both)


def posterior(state: State, work: Work, task: Task, p: SimpleNamespace) -> LabelPosterior:
    """Terms of labels from all chains together, topics over labels of each chain by itself."""
    cells = training.expected_counts(state, work.counts, work.data, p)
    n_kept = state.link_step - (p.n_sweeps - p.n_kept)
    return LabelPosterior(
        term_label=cells,
        beta=work.prior.beta,
        alpha=work.prior.alpha,
        n_labels=len(task.labels.classes),
        label_docs=task.label_docs(),
        links=links.links_of(work.floors, n_kept, work.link.beta),
        link_alpha=work.link.alpha,
        n_members=len(work.floors),
        strength=p.strength,
        score=SCORES[0] if p.scoring == AUTO else p.scoring,
        vocabulary=task.vocabulary,
    )


@dataclass(kw_only=True, eq=False, repr=False)
class _Dependency(TopicsOverLabels, LabelEstimator, abstract=True):
    """What the two models share: fields, checks, and the run of the chains."""

    rule: str = AUTO
    n_topics: int | None = None
    beta: float = 0.01
    beta_labels: float = 0.01
    inference: str = "cvb0"
    mix: float | None = None
    n_sweeps: int = 150
    n_kept: int = 100
    n_chains: int = 1

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        given_terms: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Learn the terms of labels, and topics over labels, from documents with labels.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : label lists, indicator matrix, vector of classes, or None
            None takes the corpus' labels. Documents of which no label is known are left out.
        given_terms : mapping from labels to arrays (terms,), optional
            Distributions over terms that are known beforehand: these labels keep them.
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        self._checked_parameters()
        task = self._read(X, y)
        self.seed_ = self._resolve_seed()
        classes, n_terms = task.labels.classes, task.counts.shape[1]
        p = self._settled(len(classes))
        given = training.label_term_matrix(given_terms, classes, 0, n_terms)
        if given is not None and not p.greedy:
            raise ValueError("given_terms need greedy training; set greedy=True")
        with self._running(type(self).__name__, task, checkpoint, checkpoint_every) as run:

            def learn(task: Task, n_chains: int, last: bool) -> LabelPosterior:
                prior = training.priors(n_terms, len(classes), p, boost=p.boost, greedy=p.even)
                prior = training.fix_terms(prior, given)
                data = assignments.prepare(
                    task.counts, assignments.own_labels(task.labels.indicator), given
                )
                link = links.plan(data, p, p.link_alpha)
                how = Floors(State, init, sweep)
                state, work = train_floors(how, (data, prior, link), p, n_chains, run, last)
                self.n_iter_ = state.step + (state.link_step if p.greedy else 0)
                return posterior(state, work, task, p)

            self.labels_, self.response_ = learn_and_tune(task, p, run, learn)
        return self

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        self._check_labels(p, (AUTO, *RULES))
        check_floors(p)
        number("beta_labels", p.beta_labels, 1e-30)
        return p

    def _settled(self, n_labels: int) -> SimpleNamespace:
        """The parameters as both models' functions read them, and the number of topics."""
        p = self._checked_parameters()
        p.n_topics = min(MOST_TOPICS, n_labels) if p.n_topics is None else int(p.n_topics)
        return p


@dataclass(kw_only=True, eq=False, repr=False)
class FastDependencyLDA(_Dependency):
    """Topics over labels over words: labels that occur together help each other [Burkhardt18].

    Parameters
    ----------
    n_topics : int or None
        Number of topics over labels [K]; None is 100, or as many as there are labels where those are fewer:
        with one topic a label, labels stand alone, and more topics have nothing left to say.
    alpha : float or None
        Prior of a document's topics; None is 10 / K for label tokens, 30 / K for word tokens.
    beta, beta_labels : float
        Priors of a label's terms, and of a topic's labels [beta_Y].
    dep_tokens : {"label", "word"}
        What topics are learned from: each label of a document once, or the label of each of its words.
    greedy : bool
        Learn the labels' terms first and the topics over them afterwards, without a way back. False draws
        both together, for comparison; that takes ``inference="gibbs"`` and ``dep_tokens="word"``.
    inference : {"cvb0", "gibbs"}
        Of the labels of words: iterate probabilities (no chance in it), or draw.
    scoring : {"auto", "tokens", "document"}
        What becomes of the labels that topics expect: each token is asked which of them it speaks for (S1),
        or labelled LDA is run with them as its prior (S2). S1 is quicker and ranks a little better; S2 finds
        rare labels, which S1 leaves in the shade of frequent ones. "auto" takes S2 where its first labels of
        the documents held out are clearly better (micro- and macro-F1 together), and S1 where none are.
    mix : float or None
        Part of a score that comes from the topics alone [omega]. None: the best on documents held out, which
        is more the shorter documents are and the more labels they have.
    n_sweeps, n_kept : int
        Sweeps in all, and the last of them that are averaged.
    n_chains : int
        Chains with topics of their own, side by side on threads. What they expect of a document is averaged.
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

    alpha: float | None = None
    dep_tokens: str = "label"
    greedy: bool = True
    scoring: str = AUTO

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        one_of("dep_tokens", p.dep_tokens, links.TOKENS)
        one_of("scoring", p.scoring, (AUTO, *SCORES))
        if not p.greedy and (p.inference, p.dep_tokens) != ("gibbs", "word"):
            raise ValueError(
                "greedy=False draws labels and topics of words together; "
                "set inference='gibbs' and dep_tokens='word' too"
            )
        return p

    def _settled(self, n_labels: int) -> SimpleNamespace:
        p = super()._settled(n_labels)
        mass = 10.0 if p.dep_tokens == "label" else 30.0
        p.link_alpha = np.full(p.n_topics, mass / p.n_topics if p.alpha is None else float(p.alpha))
        p.alpha, p.boost, p.even, p.strength = None, 0.0, True, -1.0
        return p


@dataclass(kw_only=True, eq=False, repr=False)
class DependencyLDA(_Dependency):
    """Topics over labels as a prior of the labels of words [Rubin12].

    Parameters
    ----------
    n_topics : int or None
        Number of topics over labels [K]; None is 100, or as many as there are labels where those are fewer:
        with one topic a label, labels stand alone, and more topics have nothing left to say.
    alpha : float or None
        Prior of each label in a document, beside what the topics say; None is 30 divided by the number of
        labels.
    gamma : float or None
        Prior of a document's topics; None is 10 / K.
    eta : float
        Tokens that the labels of a document are worth as a prior of its words' labels.
    strength : {"eta", "length"}
        What the prior is worth for a new document: eta, or as many tokens as it has.
    beta, beta_labels, inference, mix, n_sweeps, n_kept, n_chains
        As in `FastDependencyLDA`.
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
    >>> from bayou import DependencyLDA
    >>> texts = [[3, 1, 0, 0], [0, 0, 2, 2], [2, 1, 1, 2], [4, 0, 0, 1]] * 10
    >>> given = [["pets"], ["cars"], ["cars", "pets"], ["pets"]] * 10
    >>> model = DependencyLDA(n_topics=2, random_state=0).fit(texts, given)
    >>> model.predict_labels([[5, 1, 0, 0], [1, 0, 4, 3]])
    [['pets'], ['cars', 'pets']]
    """

    alpha: float | None = None
    gamma: float | None = None
    eta: float = 100.0
    strength: str = "eta"

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        number("eta", p.eta, 0.0)
        one_of("strength", p.strength, ("eta", "length"))
        optional("gamma", p.gamma, 1e-30)
        return p

    def _settled(self, n_labels: int) -> SimpleNamespace:
        p = super()._settled(n_labels)
        p.link_alpha = np.full(p.n_topics, 10.0 / p.n_topics if p.gamma is None else float(p.gamma))
        p.dep_tokens, p.greedy, p.scoring = "label", True, "document"
        p.even = False
        p.boost, p.strength = float(p.eta), float(p.eta) if p.strength == "eta" else -1.0
        return p
