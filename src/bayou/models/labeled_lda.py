"""Labelled LDA: every topic is a label, and a document uses its own labels alone.

    phi_y ~ Dir(beta)   theta_d ~ Dir(alpha on Y_d)   z_dn ~ theta_d in Y_d   w_dn ~ phi_z

theta and phi are integrated out. The labels z of tokens are drawn (collapsed Gibbs sampling) or their
probabilities iterated (CVB0). Greedy training takes the labels of a document as equally likely, alpha at
infinity: better terms of labels for prediction [Burkhardt18b]. New documents may use every label, with a
prior that is flat or follows how frequent labels are.

Documents of which no label is known can take part when there are free topics beside the labels: those with
labels use them and the free topics, the others everything [Ramage11].

[Ramage09] Ramage, Hall, Nallapati, Manning. Labeled LDA. EMNLP 2009.
[Ramage11] Ramage, Manning, Dumais. Partially labeled topic models for interpretable text mining. KDD 2011.
[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from bayou.api.label_estimator import LabelEstimator
from bayou.api.label_fitting import Run, Sweeps, Task, learn_and_tune
from bayou.data.checks import whole
from bayou.inference.labels import assignments, training
from bayou.inference.labels.training import LabelCounts, LabelTrainingState
from bayou.results.label_posterior import AUTO, LabelPosterior
from bayou.results.label_response import RULES
from bayou.run.loop import Info


def priors(task: Task, p: SimpleNamespace, given: csr_array | None) -> assignments.LabelPrior:
    """beta of the labels' terms, and alpha of labels while training."""
    n_columns = len(task.labels.classes) + int(p.n_free_topics)
    prior = training.priors(task.counts.shape[1], n_columns, p, boost=0.0, greedy=bool(p.greedy))
    return training.fix_terms(prior, given)


def posterior(
    cells: csr_array, task: Task, p: SimpleNamespace, prior: assignments.LabelPrior
) -> LabelPosterior:
    """Terms of labels, and the prior of labels in a new document."""
    docs = task.label_docs()
    alpha = training.label_prior(prior.alpha, docs, p)
    return LabelPosterior(
        term_label=cells, beta=prior.beta, alpha=alpha, n_labels=len(docs), label_docs=docs,
        links=np.zeros((0, len(alpha))), link_alpha=np.zeros(0), vocabulary=task.vocabulary,
    )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class LabeledLDA(LabelEstimator):
    """Labelled LDA: one topic a label, for documents with several labels.

    Parameters
    ----------
    alpha : float or None
        Prior of each label in a document; None is 30 divided by the number of labels.
    beta : float
        Prior of a label's terms.
    greedy : bool
        Take the labels of a training document as equally likely, without counting its other tokens.
    prior : {"frequency", "flat"}
        Of the labels of new documents: alpha and `eta` times the share of each label, or alpha alone.
    eta : float
        Weight of the frequencies.
    inference : {"cvb0", "gibbs"}
        Iterate the probabilities of labels (no chance in it), or draw labels.
    n_free_topics : int
        Topics beside the labels, which all documents may use. With some, documents of which no label is known
        take part; without, they are left out.
    n_sweeps, n_kept : int
        Sweeps in all, and the last of them that Gibbs sampling averages over. CVB0 ends when nothing moves.
    n_chains : int
        Gibbs samplers with other random numbers whose counts are averaged, side by side on threads.
    tf : {"none", "log", "binary"}
        How counts are damped before anything else.
    rule : {"auto", "cardinality", "scut"}
        How many labels `predict` gives: as many as a regression on the words says, those above a threshold
        for each label, or as the better of the two has it for the documents held out.
    validation_share : float
        Part of the documents, 2000 at most, that are held out at first to fit thresholds and probabilities.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    classes_ : array
    labels_ : LabelPosterior
        ``labels_.term_label`` holds the sparse counts of terms in labels.

    Examples
    --------
    >>> from bayou import LabeledLDA
    >>> texts = [[3, 1, 0, 0], [0, 0, 2, 2], [2, 1, 1, 2], [4, 0, 0, 1]] * 10
    >>> given = [["pets"], ["cars"], ["cars", "pets"], ["pets"]] * 10
    >>> model = LabeledLDA(random_state=0).fit(texts, given)
    >>> model.predict_labels([[5, 1, 0, 0], [1, 0, 4, 3]])
    [['pets'], ['cars', 'pets']]
    """

    rule: str = AUTO
    alpha: float | None = None
    beta: float = 0.01
    greedy: bool = True
    prior: str = "frequency"
    eta: float = 50.0
    inference: str = "cvb0"
    n_free_topics: int = 0
    n_sweeps: int = 40
    n_kept: int = 20
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
        """Learn the terms of labels from documents with labels.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : label lists, indicator matrix, vector of classes, or None
            None takes the corpus' labels. See `bayou.data.supervision.read_labels`.
        given_terms : mapping from labels to arrays (terms,), optional
            Distributions over terms that are known beforehand: these labels keep them.
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        p = self._checked_parameters()
        task = self._read(X, y)
        self.seed_ = self._resolve_seed()
        n_free = int(p.n_free_topics)
        given = training.label_term_matrix(
            given_terms, task.labels.classes, n_free, task.counts.shape[1]
        )
        with self._running("LabeledLDA", task, checkpoint, checkpoint_every) as run:

            def learn(task: Task, n_chains: int, last: bool) -> LabelPosterior:
                prior = priors(task, p, given)
                own = assignments.allowed_labels(task.labels.indicator, task.labels.known, n_free)
                data = assignments.prepare(task.counts, own, given)
                state, counts = _train(
                    data, len(task.labels.classes), prior, p, n_chains, run, last
                )
                self.n_iter_ = state.step
                cells = training.expected_counts(state, counts, data, p)
                return posterior(cells, task, p, prior)

            self.labels_, self.response_ = learn_and_tune(task, p, run, learn)
        return self

    @property
    def uses_chance_(self) -> bool:
        """Whether random numbers had a part in what was learned; documents with one class need none."""
        check_is_fitted(self)
        drawn = self.inference == "gibbs" and self.response_.kind == "multi-label"
        return drawn or self.n_free_topics > 0

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        self._check_labels(p, (AUTO, *RULES))
        training.check(p)
        training.check_prior(p)
        whole("n_free_topics", p.n_free_topics, 0)
        return p


def _train(
    data: assignments.LabelData,
    n_labels: int,
    prior: assignments.LabelPrior,
    p: SimpleNamespace,
    n_chains: int,
    run: Run,
    last: bool,
) -> tuple[LabelTrainingState, LabelCounts]:
    """All sweeps of all chains."""
    found: list[LabelCounts] = []

    def sweeps(begin: LabelTrainingState) -> Sweeps[LabelTrainingState]:
        found.append(training.counts_of(begin, data, prior, run.each))

        def step(state: LabelTrainingState) -> tuple[LabelTrainingState, Info | None]:
            if training.is_over(state, p):
                return state, None
            state = training.sweep(state, found[0], data, prior, p, run.seed, run.each)
            return state, Info(state.step, p.n_sweeps, p.inference, float("nan"), 0.0)

        return step

    def begin() -> LabelTrainingState:
        return training.begin(data, n_labels, p, run.seed, n_chains, run.each)

    return run.train(LabelTrainingState, begin, sweeps, last), found[0]
