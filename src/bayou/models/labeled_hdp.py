"""The labelled hierarchical Dirichlet process: labelled LDA with a learned prior of labels.

    g ~ Dir(b0 / L)   theta_d ~ DP(b1, g)   z_dn ~ theta_d in Y_d   w_dn ~ phi_z   phi_y ~ Dir(beta)

theta and phi are integrated out. The label of a token is drawn among those of its document with weight
(n_dy + b1 g_y) (n_vy + beta) / (n_y + V beta). Tables are sums of Bernoulli draws given the labels, and the
root g is a Dirichlet draw given the tables [Teh06]. New documents may use every label, with the prior b1 g.

Greedy training leaves the first factor out, so that rare labels do not lose tokens to frequent ones. The root
is learned from the labels drawn without it: a cut, in which nothing flows back from the root.

[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayou.api.estimator import Estimator, Saved
from bayou.api.label_classifier import LABELS, LabelClassifier
from bayou.api.label_training import read_task
from bayou.api.params import param, settings
from bayou.api.topics import Topics
from bayou.api.training import Path, Training, training
from bayou.data.schema import Array
from bayou.inference.labels import assignments, roots, tuning
from bayou.inference.labels import training as labels
from bayou.inference.labels.assignments import LabelChain, LabelData, LabelPrior
from bayou.inference.labels.roots import Level
from bayou.inference.labels.tuning import LabelTask, Tuning
from bayou.inference.lda import features
from bayou.inference.lda.arrays import F32, F64, I32, I64, Each
from bayou.kernels.labels import stacked
from bayou.results.label_posterior import AUTO, LabelPosterior
from bayou.results.label_response import RULES
from bayou.run.loop import Info


class Settings(NamedTuple):
    """The parameters of one `fit`."""

    concentration: float | None  # b1
    root_concentration: float | None  # b0
    n_sweeps: int
    first_kept: int  # sweeps from here on are averaged


class State(NamedTuple):
    """What the next sweep needs; the first axis of arrays is the chain."""

    step: int
    z: Annotated[I32, Array("chains", "tokens", below="places")]  # place in Y_d
    kept: Annotated[F32, Array("chains", "cells")]  # sum of expected counts over kept sweeps
    root: Annotated[F64, Array("chains", "labels")]  # g
    concentrations: Annotated[F64, Array("chains", 2, gt=0.0)]  # b1, b0
    root_kept: Annotated[F64, Array("chains", "labels")]  # sum of b1 g over kept sweeps


def init(data: LabelData, p: Settings, seed: int, n_chains: int) -> State:
    """Labels of tokens at random, roots even."""
    seeds = [labels.chain_seed(seed, c) for c in range(n_chains)]
    level = roots.start(data.n_labels, p.concentration, p.root_concentration)
    return State(
        0,
        np.stack([assignments.start_chain(data, one) for one in seeds]),
        np.zeros((n_chains, len(data.cell_labels)), np.float32),
        np.tile(level.root, (n_chains, 1)),
        np.tile([level.below, level.above], (n_chains, 1)),
        np.zeros((n_chains, data.n_labels)),
    )


def sweep(
    state: State, chains: tuple[LabelChain, ...], data: LabelData, prior: LabelPrior, p: Settings,
    seed: int, each: Each,
) -> State:  # fmt: skip
    """Labels of all tokens, then tables, root and concentrations, of every chain on its own.

    z:  (n_dy + b1 g_y) (n_vy + beta) / (n_y + V beta), y in Y_d; greedy: no first factor
    m_dy | n_dy: tables, sums of Bernoulli draws;   g ~ Dir(M_y + b0 / L);   b1, b0 given tables
    """
    keep = state.step >= p.first_kept

    def work(lo: int, hi: int) -> None:
        for c in range(lo, hi):
            own = labels.chain_seed(seed, c)
            level = Level(state.root[c].copy(), *state.concentrations[c].tolist())
            weighed = prior._replace(alpha=level.mass)
            assignments.draw(chains[c], data, weighed, own, state.step, keep)
            level = draw_level(level, state.z[c], data, p, own, state.step)
            state.root[c], state.concentrations[c] = level.root, (level.below, level.above)
            if keep:
                state.root_kept[c] += level.mass

    labels.each_chain(work, len(chains), data, each)
    return state._replace(step=state.step + 1)


def draw_level(level: Level, z: I32, data: LabelData, p: Settings, seed: int, sweep: int) -> Level:
    """Draw tables, root and concentrations given the labels of tokens."""
    sizes = np.diff(data.token_ptr)
    counts = document_labels(z, data)
    tables, per_doc = np.zeros(data.n_labels, np.int64), np.zeros(len(sizes), np.int64)
    stacked.entry_tables(
        tables, per_doc, counts, data.label_ptr, data.label_ids, level.mass, seed, sweep
    )
    learn = (p.concentration is None, p.root_concentration is None)
    return roots.redraw_level(level, tables, per_doc, sizes, learn, seed, sweep)


def document_labels(z: I32, data: LabelData) -> I64:
    """n_dy of the labels of each document, documents one after the other."""
    at = np.repeat(data.label_ptr[:-1], np.diff(data.token_ptr)) + z
    return np.bincount(at, minlength=len(data.label_ids)).astype(np.int64)


def posterior(
    state: State, chains: tuple[LabelChain, ...], data: LabelData, task: LabelTask,
    prior: LabelPrior, p: Settings,
) -> LabelPosterior:  # fmt: skip
    """Terms of labels and the prior b1 g, both averaged over all chains."""
    n_kept = state.step - p.first_kept
    alpha = state.root_kept / n_kept if n_kept > 0 else state.concentrations[:, :1] * state.root
    return LabelPosterior(
        term_label=labels.mean_counts(state.kept, n_kept, chains, data), beta=prior.beta,
        alpha=alpha.mean(axis=0), n_labels=data.n_labels, label_docs=task.label_docs(),
        links=np.zeros((0, data.n_labels)), link_alpha=np.zeros(0), vocabulary=task.vocabulary,
    )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class LabeledHDP(LabelClassifier, Topics, Estimator):
    """Labelled LDA with a prior of labels that is learned from the tables of documents.

    Parameters
    ----------
    concentration : float or None
        How strongly a document's labels follow the root [b1]; None is learned.
    root_concentration : float or None
        How even the root is over labels [b0]; None is learned.
    beta : float
        Prior of a label's terms.
    greedy : bool
        Take the labels of a training document as equally likely. The root is learned all the same and is the
        prior of new documents. With False, rare labels lose tokens to frequent ones.
    n_sweeps, n_kept : int
        Sweeps in all, and the last of them that are averaged.
    n_chains : int
        Samplers with other random numbers that are averaged, in parallel on threads.
    tf, rule, validation_share
        As in `LabeledLDA`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    classes_ : array
    root_ : float64 array (labels,)
        Prior share of each label [g].
    labels_ : LabelPosterior
        ``labels_.term_label`` holds the sparse counts of terms in labels.

    Examples
    --------
    >>> from bayou import LabeledHDP
    >>> texts = [[3, 1, 0, 0], [0, 0, 2, 2], [2, 1, 1, 2], [4, 0, 0, 1]] * 10
    >>> given = [["pets"], ["cars"], ["cars", "pets"], ["pets"]] * 10
    >>> model = LabeledHDP(n_sweeps=20, n_kept=10, random_state=0).fit(texts, given)
    >>> model.predict_labels([[5, 1, 0, 0]])
    [['pets']]
    """

    tf: str = param("none", choices=features.DAMPINGS)
    rule: str = param(AUTO, choices=(AUTO, *RULES))
    validation_share: float = param(0.1, ge=0.0, le=0.5)
    concentration: float | None = param(50.0, ge=1e-12)
    root_concentration: float | None = param(1.0, ge=1e-12)
    beta: float = param(0.01, gt=0.0)
    greedy: bool = True
    n_sweeps: int = param(40, ge=1)
    n_kept: int = param(20, ge=1, le="n_sweeps")
    n_chains: int = param(1, ge=1)

    saved: ClassVar[tuple[Saved, ...]] = (LABELS,)

    def fit(
        self, X: Any, y: Any = None, *, checkpoint: Path | None = None, checkpoint_every: int = 10
    ) -> Self:
        """Learn the terms of labels, and their frequencies, from documents with labels.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : label lists, indicator matrix, vector of classes, or None
            None takes the corpus' labels. Documents without known labels are left out.
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        p = self.resolve()
        task = read_task(self, X, y)
        self.seed_ = self._resolve_seed()
        rules = Tuning(self.validation_share, self.rule, self.n_chains)
        with training(self, task.arrays, checkpoint, checkpoint_every) as run:

            def learn(task: LabelTask, n_chains: int, final: bool) -> LabelPosterior:
                return self._learn(task, p, n_chains, run, final)

            found = tuning.learn_and_tune(task, rules, self.seed_, run.each, learn)
        self.labels_, self.response_ = found
        return self

    def _learn(
        self, task: LabelTask, p: Settings, n_chains: int, run: Training, final: bool
    ) -> LabelPosterior:
        """All sweeps of all chains."""
        prior = labels.label_prior(
            task.counts.shape[1], task.n_labels, None, self.beta, greedy=bool(self.greedy)
        )
        data = assignments.prepare(task.counts, assignments.own_labels(task.labels.indicator))
        begin, dims = lambda: init(data, p, self.seed_, n_chains), labels.dims(data, n_chains)
        state = run.first(State, begin, dims=dims, final=final)
        chains = labels.count_chains(state.z, state.kept, data, prior)

        def step(state: State) -> tuple[State, Info | None]:
            if state.step >= p.n_sweeps:
                return state, None
            state = sweep(state, chains, data, prior, p, self.seed_, run.each)
            return state, Info(state.step, p.n_sweeps, "labels", float("nan"), 0.0)

        state = run.repeat(state, step, final=final)
        self.n_iter_ = state.step
        return posterior(state, chains, data, task, prior, p)

    def resolve(self) -> Settings:
        """The parameters of one `fit`, checked."""
        self.check_params()
        return settings(Settings, self, first_kept=self.n_sweeps - self.n_kept)

    @property
    def uses_chance_(self) -> bool:
        """Whether random numbers had a part in labels' terms; documents with one class need none."""
        check_is_fitted(self)
        return self.response_.kind == "multi-label"

    @property
    def root_(self) -> F64:
        """Prior share of each label; sums to one [g]."""
        check_is_fitted(self)
        return np.asarray(self.labels_.alpha / self.labels_.alpha.sum(), np.float64)
