"""The stacked hierarchical Dirichlet process: topics over labels over words, as many topics as are needed.

    g ~ Dir(b0 / K)   theta'_d ~ DP(b1, g)   z'_dj ~ theta'_d                      topics of a document
    h ~ Dir(c0 / L)   phi'_k ~ DP(c1, h)     y_dj ~ phi'_z'                        labels of a topic
    phi_y ~ Dir(beta)   words of the document from the phi of its labels           terms of a label

Training is an exact cut: the labels of words are those of greedy labelled LDA, whatever happens above; given
labels, topics are drawn by direct assignment and tables at both levels as sums of Bernoulli draws. (The
supervised step of [Burkhardt18b] leaks from above into the labels of words.) K bounds the topics; how many
are in use, and how strongly documents favour each, is learned. New documents are read with the labels of
tokens summed out, under the prior b1 g of topics.

[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayou.api.label_estimator import LabelEstimator
from bayou.api.label_fitting import Task, learn_and_tune
from bayou.api.label_floors import Floors, Work, check_floors, train_floors
from bayou.api.label_topics import TopicsOverLabels
from bayou.data.checks import check_n_topics, one_of, optional
from bayou.inference.labels import assignments, links, roots, stacked, training
from bayou.inference.labels.roots import Level
from bayou.inference.lda.arrays import F32, F64, I32, U16, Each
from bayou.results.label_posterior import AUTO, SCORES, LabelPosterior
from bayou.results.label_response import RULES

_USED = 1e-3  # share of label tokens from which a topic counts as one


class State(NamedTuple):
    """What the next sweep needs, of both floors."""

    step: int  # sweeps of the words' labels
    z: I32  # chains x tokens
    kept: F32  # chains x cells
    share: F32  # gamma, of CVB0
    moved: float
    link_step: int  # sweeps of the topics over labels
    link_z: U16  # chains x label tokens
    link_kept: F32  # chains x labels x topics: sum of phi' over the sweeps that are kept
    alpha_kept: F64  # chains x topics: the same of b1 g
    topic_root: F64  # chains x topics [g]
    label_root: F64  # chains x labels [h]
    concentrations: F64  # chains x 4: b1, b0, c1, c0


def init(
    data: assignments.LabelData, link: links.LinkData, p: SimpleNamespace, seed: int, n_chains: int,
    each: Each,
) -> State:  # fmt: skip
    """Labels and topics at random, roots even."""
    below = training.begin(data, data.n_labels, p, seed, n_chains, each)
    n_topics, n_labels = len(link.alpha), data.n_labels
    g = roots.start(n_topics, p.concentration, p.root_concentration)
    h = roots.start(n_labels, p.label_concentration, p.root_concentration)
    return State(
        *below,
        0,
        links.start(link, n_chains, seed),
        np.zeros((n_chains, n_labels, n_topics), np.float32),
        np.zeros((n_chains, n_topics)),
        np.tile(g.root, (n_chains, 1)),
        np.tile(h.root, (n_chains, 1)),
        np.tile([g.below, g.above, h.below, h.above], (n_chains, 1)),
    )


def sweep(state: State, work: Work, p: SimpleNamespace, seed: int, each: Each) -> State:
    """One sweep of the words' labels until that is done, then one of the two processes above."""
    if not training.is_over(state, p):
        return training.sweep(state, work.counts, work.data, work.prior, p, seed, each)
    step, keep = state.link_step, state.link_step >= p.n_sweeps - p.n_kept
    learn = (p.concentration is None, p.label_concentration is None, p.root_concentration is None)

    def chains(lo: int, hi: int) -> None:
        for c in range(lo, hi):
            floor, own = work.floors[c], links.link_seed(seed, c)
            if work.link.by_word:
                links.relabel(floor, work.data, work.prior, work.counts, c, seed, step)
            b1, b0, c1, c0 = state.concentrations[c].tolist()
            levels = Level(state.topic_root[c], b1, b0), Level(state.label_root[c], c1, c0)
            chain = stacked.StackedChain(floor.z, floor.label_topic, floor.topic, *levels)
            chain = stacked.sweep(chain, (work.link.indptr, floor.labels), learn, own, step)
            g, h = chain.topics, chain.labels
            state.topic_root[c], state.label_root[c] = g.root, h.root
            state.concentrations[c] = g.below, g.above, h.below, h.above
            if keep:
                floor.kept[:] += stacked.links(chain).T
                state.alpha_kept[c] += g.mass

    size = int(work.link.indptr[-1]) * len(work.link.alpha)
    each(chains, np.arange(len(work.floors) + 1, dtype=np.int64) * max(size, 1), 1.0)
    return state._replace(link_step=step + 1)


def posterior(state: State, work: Work, task: Task, p: SimpleNamespace) -> LabelPosterior:
    """Terms of labels from all chains together, topics over labels of each chain by itself."""
    n_kept = state.link_step - (p.n_sweeps - p.n_kept)
    alpha = (
        state.alpha_kept / n_kept if n_kept > 0 else state.concentrations[:, :1] * state.topic_root
    )
    found = []
    for floor in work.floors:
        mean = (floor.kept if n_kept > 0 else floor.label_topic + p.beta).astype(np.float64)
        found.append((mean / mean.sum(axis=0)).T)
    return LabelPosterior(
        term_label=training.expected_counts(state, work.counts, work.data, p),
        beta=work.prior.beta, alpha=work.prior.alpha, n_labels=len(task.labels.classes),
        label_docs=task.label_docs(), links=np.ascontiguousarray(np.vstack(found)),
        link_alpha=alpha[0].copy(), member_alpha=alpha, n_members=len(found), strength=-1.0,
        score=SCORES[0] if p.scoring == AUTO else p.scoring, vocabulary=task.vocabulary,
    )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class StackedHDP(TopicsOverLabels, LabelEstimator):
    """Topics over labels over words; how many topics, and how common each is, is learned.

    Parameters
    ----------
    n_topics : int
        Room for topics over labels [K]; those that are not needed stay empty.
    concentration : float or None
        How strongly documents follow the common distribution of topics [b1]; None is learned.
    label_concentration : float or None
        How strongly topics follow the common distribution of labels [c1]; None is learned. Large values rank
        labels better over all documents, small ones pick the first label better.
    root_concentration : float or None
        How even the common distributions are [b0 and c0]; None is learned.
    beta : float
        Prior of a label's terms.
    dep_tokens : {"label", "word"}
        What topics are learned from: each label of a document once, or the label of each of its words.
    inference : {"cvb0", "gibbs"}
        Of the labels of words: iterate probabilities (no chance in it), or draw.
    scoring, mix, n_sweeps, n_kept, n_chains
        As in `FastDependencyLDA`.
    tf, rule, validation_share
        As in `LabeledLDA`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    links_ : float64 array (topics, labels)
        Topics over labels [phi'] of the first chain.
    n_used_ : int
        Topics of the first chain that have more than a thousandth of what the prior expects.
    components_ : float64 array (topics, terms)
        The same topics as terms, labels summed out.
    labels_ : LabelPosterior
        Terms of labels, sparse, and the topics of all chains.

    Examples
    --------
    >>> from bayou import StackedHDP
    >>> texts = [[3, 1, 0, 0], [0, 0, 2, 2], [2, 1, 1, 2], [4, 0, 0, 1]] * 10
    >>> given = [["pets"], ["cars"], ["cars", "pets"], ["pets"]] * 10
    >>> model = StackedHDP(n_topics=5, n_sweeps=20, n_kept=10, random_state=0).fit(texts, given)
    >>> model.predict_labels([[5, 1, 0, 0]])
    [['pets']]
    """

    n_topics: int = 100
    rule: str = AUTO
    concentration: float | None = 1.0
    label_concentration: float | None = 10.0
    root_concentration: float | None = None
    beta: float = 0.01
    dep_tokens: str = "label"
    inference: str = "cvb0"
    scoring: str = AUTO
    mix: float | None = None
    n_sweeps: int = 150
    n_kept: int = 100
    n_chains: int = 1

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Learn the terms of labels, and topics over labels, from documents with labels.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : label lists, indicator matrix, vector of classes, or None
            None takes the corpus' labels. Documents of which no label is known are left out.
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        p = self._checked_parameters()
        p.alpha = None
        task = self._read(X, y)
        self.seed_ = self._resolve_seed()
        n_labels, n_terms = len(task.labels.classes), task.counts.shape[1]
        with self._running("StackedHDP", task, checkpoint, checkpoint_every) as run:

            def learn(task: Task, n_chains: int, last: bool) -> LabelPosterior:
                prior = training.priors(n_terms, n_labels, p, boost=0.0, greedy=True)
                data = assignments.prepare(
                    task.counts, assignments.own_labels(task.labels.indicator)
                )
                link = links.plan(data, p, np.ones(p.n_topics))
                how = Floors(State, init, sweep)
                state, work = train_floors(how, (data, prior, link), p, n_chains, run, last)
                self.n_iter_ = state.step + state.link_step
                return posterior(state, work, task, p)

            self.labels_, self.response_ = learn_and_tune(task, p, run, learn)
        return self

    @property
    def n_used_(self) -> int:
        """Topics of the first chain that the prior expects in more than a thousandth of label tokens."""
        check_is_fitted(self)
        alpha = self.labels_.link_alpha
        return int((alpha > _USED * alpha.sum()).sum())

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        self._check_labels(p, (AUTO, *RULES))
        p.alpha = None
        check_n_topics(p.n_topics)
        check_floors(p)
        for name in ("concentration", "label_concentration", "root_concentration"):
            optional(name, getattr(p, name), 1e-12)
        one_of("dep_tokens", p.dep_tokens, links.TOKENS)
        one_of("scoring", p.scoring, (AUTO, *SCORES))
        p.greedy = True
        p.beta_labels = p.beta  # the floors' counts are smoothed by the roots instead
        return p
