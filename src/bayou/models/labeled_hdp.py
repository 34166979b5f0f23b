"""The labelled hierarchical Dirichlet process: labelled LDA with a learned prior of labels.

    g ~ Dir(b0 / L)   theta_d ~ DP(b1, g)   z_dn ~ theta_d in Y_d   w_dn ~ phi_z   phi_y ~ Dir(beta)

theta and phi are integrated out. The label of a token is drawn among those of its document with weight
(n_dy + b1 g_y) (n_vy + beta) / (n_y + V beta); tables are sums of Bernoulli draws given these, and the root g
a Dirichlet draw given tables [Teh06]. New documents may use every label, with the prior b1 g.

Greedy training leaves the first factor out, so that the root does not starve rare labels of their terms; the
root is learned from the labels drawn without it: a cut, in which nothing comes back from above.

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
from bayou.api.label_fitting import Run, Sweeps, Task, learn_and_tune
from bayou.data.checks import check_averaged_sweeps, optional
from bayou.inference.labels import assignments, roots, training
from bayou.inference.labels.roots import Level
from bayou.inference.lda.arrays import F32, F64, I32, I64, Each
from bayou.kernels.labels import stacked
from bayou.results.label_posterior import AUTO, LabelPosterior
from bayou.results.label_response import RULES
from bayou.run.loop import Info


class State(NamedTuple):
    """What the next sweep needs; the first axis of arrays is the chain."""

    step: int
    z: I32  # chains x tokens: place among the labels of the document
    kept: F32  # chains x cells: sum of expected counts over the sweeps that are kept
    root: F64  # chains x labels [g]
    concentrations: F64  # chains x 2: b1, b0
    root_kept: F64  # chains x labels: sum of b1 g


def init(data: assignments.LabelData, p: SimpleNamespace, seed: int, n_chains: int) -> State:
    """Labels at random, roots even."""
    seeds = [training.chain_seed(seed, c) for c in range(n_chains)]
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
    state: State, chains: tuple[assignments.LabelChain, ...], data: assignments.LabelData,
    prior: assignments.LabelPrior, p: SimpleNamespace, seed: int, each: Each,
) -> State:  # fmt: skip
    """Labels of all tokens, then tables, root and concentrations, of every chain on its own."""
    keep = state.step >= p.n_sweeps - p.n_kept

    def work(lo: int, hi: int) -> None:
        for c in range(lo, hi):
            own = training.chain_seed(seed, c)
            level = Level(state.root[c].copy(), *state.concentrations[c].tolist())
            assignments.draw(
                chains[c], data, prior._replace(alpha=level.mass), own, state.step, keep
            )
            level = redrawn(level, state.z[c], data, p, own, state.step)
            state.root[c], state.concentrations[c] = level.root, (level.below, level.above)
            if keep:
                state.root_kept[c] += level.mass

    ends = np.arange(len(chains) + 1, dtype=np.int64) * max(len(data.slots), 1)
    each(work, ends, 10.0 * assignments.CELL_COST)
    return state._replace(step=state.step + 1)


def redrawn(
    level: Level, z: I32, data: assignments.LabelData, p: SimpleNamespace, seed: int, sweep: int
) -> Level:
    """Root and concentrations given the labels of tokens."""
    sizes = np.diff(data.token_ptr)
    counts = document_labels(z, data)
    tables, per_doc = np.zeros(data.n_labels, np.int64), np.zeros(len(sizes), np.int64)
    stacked.entry_tables(
        tables, per_doc, counts, data.label_ptr, data.label_ids, level.mass, seed, sweep
    )
    learn = (p.concentration is None, p.root_concentration is None)
    return roots.redraw_level(level, tables, per_doc, sizes, learn, seed, sweep)


def document_labels(z: I32, data: assignments.LabelData) -> I64:
    """n_dy of each document's own labels, one after the other."""
    at = np.repeat(data.label_ptr[:-1], np.diff(data.token_ptr)) + z
    return np.bincount(at, minlength=len(data.label_ids)).astype(np.int64)


def posterior(
    state: State, chains: tuple[assignments.LabelChain, ...], data: assignments.LabelData, task: Task,
    prior: assignments.LabelPrior, p: SimpleNamespace,
) -> LabelPosterior:  # fmt: skip
    """Terms of labels and the prior b1 g, both averaged over all chains."""
    n_kept = state.step - (p.n_sweeps - p.n_kept)
    both = training.LabelTrainingState(
        state.step, state.z, state.kept, np.zeros(0, np.float32), 1.0
    )
    cells = training.expected_counts(both, training.LabelCounts(chains, None), data, p)
    alpha = state.root_kept / n_kept if n_kept > 0 else state.concentrations[:, :1] * state.root
    return LabelPosterior(
        term_label=cells, beta=prior.beta, alpha=alpha.mean(axis=0), n_labels=data.n_labels,
        label_docs=task.label_docs(), links=np.zeros((0, data.n_labels)), link_alpha=np.zeros(0),
        vocabulary=task.vocabulary,
    )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class LabeledHDP(LabelEstimator):
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
        Take the labels of a training document as equally likely. The root is learned all the same and serves
        new documents; without greedy training it starves rare labels of their terms.
    n_sweeps, n_kept : int
        Sweeps in all, and the last of them that are averaged.
    n_chains : int
        Samplers with other random numbers that are averaged, side by side on threads.
    tf, rule, validation_share
        As in `LabeledLDA`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    classes_ : array
    root_ : float64 array (labels,)
        How much each label is expected [g].
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

    rule: str = AUTO
    concentration: float | None = 50.0
    root_concentration: float | None = 1.0
    beta: float = 0.01
    greedy: bool = True
    n_sweeps: int = 40
    n_kept: int = 20
    n_chains: int = 1

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Learn the terms of labels, and how common labels are, from documents with labels.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : label lists, indicator matrix, vector of classes, or None
            None takes the corpus' labels. Documents of which no label is known are left out.
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        p = self._checked_parameters()
        task = self._read(X, y)
        self.seed_ = self._resolve_seed()
        n_labels, n_terms = len(task.labels.classes), task.counts.shape[1]
        prior = training.priors(n_terms, n_labels, p, boost=0.0, greedy=bool(p.greedy))
        with self._running("LabeledHDP", task, checkpoint, checkpoint_every) as run:

            def learn(task: Task, n_chains: int, last: bool) -> LabelPosterior:
                data = assignments.prepare(
                    task.counts, assignments.own_labels(task.labels.indicator)
                )
                state, chains = _train(data, prior, p, n_chains, run, last)
                self.n_iter_ = state.step
                return posterior(state, chains, data, task, prior, p)

            self.labels_, self.response_ = learn_and_tune(task, p, run, learn)
        return self

    @property
    def uses_chance_(self) -> bool:
        """Whether random numbers had a part in labels' terms; documents with one class need none."""
        check_is_fitted(self)
        return self.response_.kind == "multi-label"

    @property
    def root_(self) -> F64:
        """How much each label is expected; sums to one [g]."""
        check_is_fitted(self)
        return np.asarray(self.labels_.alpha / self.labels_.alpha.sum(), np.float64)

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        self._check_labels(p, (AUTO, *RULES))
        p.alpha, p.inference = None, "gibbs"
        training.check(p)
        for name in ("concentration", "root_concentration"):
            optional(name, getattr(p, name), 1e-12)
        check_averaged_sweeps(p)
        return p


def _train(
    data: assignments.LabelData,
    prior: assignments.LabelPrior,
    p: SimpleNamespace,
    n_chains: int,
    run: Run,
    last: bool,
) -> tuple[State, tuple[assignments.LabelChain, ...]]:
    """All sweeps of all chains."""
    found: list[tuple[assignments.LabelChain, ...]] = []

    def sweeps(begin: State) -> Sweeps[State]:
        pairs = zip(begin.z, begin.kept, strict=True)
        found.append(tuple(assignments.chain_counts(z, kept, data, prior) for z, kept in pairs))

        def step(state: State) -> tuple[State, Info | None]:
            if state.step >= p.n_sweeps:
                return state, None
            state = sweep(state, found[0], data, prior, p, run.seed, run.each)
            return state, Info(state.step, p.n_sweeps, "labels", float("nan"), 0.0)

        return step

    state = run.train(State, lambda: init(data, p, run.seed, n_chains), sweeps, last)
    return state, found[0]
