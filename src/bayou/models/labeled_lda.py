"""Labelled LDA: every topic is a label, and a document uses its own labels only.

    phi_y ~ Dir(beta)   theta_d ~ Dir(alpha on Y_d)   z_dn ~ theta_d in Y_d   w_dn ~ phi_z

theta and phi are integrated out. The labels z of tokens are drawn (collapsed Gibbs sampling) or their
probabilities iterated (CVB0). Greedy training takes the labels of a document as equally likely (alpha at
infinity), which gives better terms of labels for prediction [Burkhardt18b]. New documents may use every
label, with a prior that is flat or follows label frequencies.

With free topics beside the labels, documents without known labels are learned too: labelled documents use
their labels and the free topics, the others use everything [Ramage11].

[Ramage09] Ramage, Hall, Nallapati, Manning. Labeled LDA. EMNLP 2009.
[Ramage11] Ramage, Manning, Dumais. Partially labeled topic models for interpretable text mining. KDD 2011.
[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from bayou.api.estimator import Estimator, Saved
from bayou.api.label_classifier import LABELS, LabelClassifier
from bayou.api.label_training import read_task
from bayou.api.params import param, settings
from bayou.api.topics import Topics
from bayou.api.training import Path, Training, training
from bayou.inference.labels import assignments, tuning
from bayou.inference.labels import training as labels
from bayou.inference.labels.assignments import LabelData, LabelPrior
from bayou.inference.labels.training import LabelCounts
from bayou.inference.labels.training import LabelTrainingState as State
from bayou.inference.labels.tuning import LabelTask, Tuning
from bayou.inference.lda import features
from bayou.inference.lda.arrays import Each
from bayou.results.label_posterior import AUTO, LabelPosterior
from bayou.results.label_response import RULES
from bayou.run.loop import Info


class Settings(NamedTuple):
    """The parameters of one `fit`."""

    alpha: float | None
    beta: float
    greedy: bool
    frequency_weight: float  # tokens that label frequencies add to the prior of a new document
    inference: str
    n_free_topics: int
    n_sweeps: int
    first_kept: int  # sweeps from here on are averaged


def init(
    task: LabelTask, data: LabelData, p: Settings, n_chains: int, seed: int, each: Each
) -> State:
    """Labels of tokens at random (Gibbs), or equally likely (CVB0)."""
    return labels.init(data, task.n_labels, p.inference, n_chains, seed, each)


def sweep(
    state: State, counts: LabelCounts, data: LabelData, prior: LabelPrior, p: Settings, seed: int, each: Each
) -> State:  # fmt: skip
    """The labels of all tokens, drawn (Gibbs) or as probabilities (CVB0) [Ramage09].

    p(z_dn = y | rest) ~ 1[y in Y_d] (n_vy + beta) / (n_y + V beta) (n_dy + alpha_y); greedy: no last factor.
    """
    return labels.sweep(state, counts, data, prior, p.first_kept, seed, each)


def posterior(cells: csr_array, task: LabelTask, p: Settings, prior: LabelPrior) -> LabelPosterior:
    """Terms of labels, and the prior of labels in a new document."""
    docs = task.label_docs()
    alpha = labels.add_frequencies(prior.alpha, docs, p.frequency_weight)
    return LabelPosterior(
        term_label=cells, beta=prior.beta, alpha=alpha, n_labels=len(docs), label_docs=docs,
        links=np.zeros((0, len(alpha))), link_alpha=np.zeros(0), vocabulary=task.vocabulary,
    )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class LabeledLDA(LabelClassifier, Topics, Estimator):
    """Labelled LDA: one topic per label, for documents with several labels.

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
        Iterate the probabilities of labels (without random numbers), or draw labels.
    n_free_topics : int
        Topics beside the labels, which all documents may use. With some, documents without known labels are
        learned too; without, they are left out.
    n_sweeps, n_kept : int
        Sweeps in all, and the last of them that Gibbs sampling averages over. CVB0 ends when it converges.
    n_chains : int
        Gibbs samplers with other random numbers whose counts are averaged, in parallel on threads.
    tf : {"none", "log", "binary"}
        How counts are damped before anything else.
    rule : {"auto", "cardinality", "scut"}
        How many labels `predict` gives: as many as a regression on the words predicts, those above a
        threshold per label, or the better of the two on held-out documents.
    validation_share : float
        Part of the documents, at most 2000, that are held out at first to fit thresholds and probabilities.
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

    tf: str = param("none", choices=features.DAMPINGS)
    rule: str = param(AUTO, choices=(AUTO, *RULES))
    validation_share: float = param(0.1, ge=0.0, le=0.5)
    alpha: float | None = param(None, gt=0.0)
    beta: float = param(0.01, gt=0.0)
    greedy: bool = True
    prior: str = param("frequency", choices=labels.PRIORS)
    eta: float = param(50.0, ge=0.0)
    inference: str = param("cvb0", choices=labels.INFERENCES)
    n_free_topics: int = param(0, ge=0)
    n_sweeps: int = param(40, ge=1)
    n_kept: int = param(20, ge=1)
    n_chains: int = param(1, ge=1)

    saved: ClassVar[tuple[Saved, ...]] = (LABELS,)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        given_terms: Any = None,
        checkpoint: Path | None = None,
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
        p = self.resolve()
        task = read_task(self, X, y)
        self.seed_ = self._resolve_seed()
        n_terms, classes = task.counts.shape[1], task.labels.classes
        given = labels.label_term_matrix(given_terms, classes, p.n_free_topics, n_terms)
        tuned = Tuning(self.validation_share, self.rule, self.n_chains)
        with training(self, task.arrays, checkpoint, checkpoint_every) as run:

            def learn(task: LabelTask, n_chains: int, final: bool) -> LabelPosterior:
                return self._learn(task, p, given, n_chains, run, final)

            found = tuning.learn_and_tune(task, tuned, self.seed_, run.each, learn)
        self.labels_, self.response_ = found
        return self

    def _learn(
        self, task: LabelTask, p: Settings, given: csr_array | None, n_chains: int, run: Training, final: bool
    ) -> LabelPosterior:  # fmt: skip
        """All sweeps of all chains."""
        n_columns, seed, each = task.n_labels + p.n_free_topics, self.seed_, run.each
        prior = labels.label_prior(
            task.counts.shape[1], n_columns, p.alpha, p.beta, greedy=p.greedy
        )
        prior = labels.fix_terms(prior, given)
        of = task.labels
        own = assignments.allowed_labels(of.indicator, of.known, p.n_free_topics)
        data = assignments.prepare(task.counts, own, given)
        dims = labels.dims(data, n_chains)
        state = run.first(
            State, lambda: init(task, data, p, n_chains, seed, each), dims=dims, final=final
        )
        counts = labels.count(state, data, prior, each)

        def step(state: State) -> tuple[State, Info | None]:
            if labels.is_done(state, p.n_sweeps):
                return state, None
            state = sweep(state, counts, data, prior, p, seed, each)
            return state, Info(state.step, p.n_sweeps, p.inference, float("nan"), 0.0)

        state = run.repeat(state, step, final=final)
        self.n_iter_ = state.step
        return posterior(labels.expected_counts(state, counts, data, p.first_kept), task, p, prior)

    def resolve(self) -> Settings:
        """The parameters of one `fit`, checked."""
        self.check_params()
        weight = self.eta if self.prior == "frequency" else 0.0
        first = self.n_sweeps - self.n_kept
        return settings(
            Settings, self, greedy=bool(self.greedy), frequency_weight=weight, first_kept=first
        )

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed, alone or together."""
        super().check_params()
        if self.inference == "gibbs" and self.n_kept > self.n_sweeps:
            raise ValueError(
                f"n_kept must be at most n_sweeps = {self.n_sweeps}; got {self.n_kept}"
            )

    @property
    def uses_chance_(self) -> bool:
        """Whether random numbers had a part in what was learned; documents with one class need none."""
        check_is_fitted(self)
        drawn = self.inference == "gibbs" and self.response_.kind == "multi-label"
        return drawn or self.n_free_topics > 0
