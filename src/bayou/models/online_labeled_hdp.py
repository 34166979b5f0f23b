"""The labelled hierarchical Dirichlet process on a stream: labelled LDA with a learned prior of labels.

    g ~ Dir(b0 / L)   theta_d ~ DP(b1, g)   z_dn ~ theta_d in Y_d   w_dn ~ phi_z   phi_y ~ Dir(beta)

The hybrid of [Burkhardt18]: tokens of a mini-batch are sampled under fixed globals, where tables are summed
out and the weight of a label is (n_dy + b1 g_y) phi_vy; n_vy and the expected tables of the documents,
E[m] = x (psi(x + n) - psi(x)) with x = b1 g_y, are blended in. g_y = (M_y + b0 / L) / (M + b0).

[Burkhardt18] Burkhardt, Kramer. Online multi-label dependency topic models for text classification.
Machine Learning 107, 2018.
[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from bayou.api.online_labels import OnlineLabelEstimator
from bayou.data.checks import number, whole
from bayou.inference.labels import state as label_state
from bayou.inference.labels.cells import SharingSettings
from bayou.inference.labels.state import LabelStreamSettings, LabelStreamState
from bayou.inference.lda.arrays import F64


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineLabeledHDP(OnlineLabelEstimator):
    """Labelled HDP learned from mini-batches: frequent labels are expected, rare ones may still come.

    Parameters
    ----------
    concentration : float
        How strongly a document's labels follow the root [b1].
    root_concentration : float
        How even the root is over labels [b0].
    beta : float
        Prior of a label's terms.
    greedy : bool
        Take the labels of a training document as equally likely. The root is learned all the same and serves
        new documents; without it, it starves rare labels of their terms.
    burn_in, n_samples : int
        Gibbs sweeps of each document before its labels count, and after. Counts are rounded to whole ones.
    batch_size, n_passes, n_rounds, n_docs, step_scale, tau, kappa, tf, rule, validation_share
        As in `OnlineLabeledLDA`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    classes_ : array
    labels_ : LabelPosterior
    root_ : float64 array (labels,)
        How much each label is expected [g].
    state_ : State
    label_ids_ : int64 array (labels,)

    Examples
    --------
    >>> from bayou import OnlineLabeledHDP
    >>> texts = [[3, 1, 0, 0], [0, 0, 2, 2], [2, 1, 1, 2], [4, 0, 0, 1]] * 10
    >>> given = [["pets"], ["cars"], ["cars", "pets"], ["pets"]] * 10
    >>> model = OnlineLabeledHDP(batch_size=8, random_state=0).fit(texts, given)
    >>> model.root_.round(1).tolist()
    [0.4, 0.6]
    """

    concentration: float = 50.0
    root_concentration: float = 1.0
    greedy: bool = True
    burn_in: int = 3
    n_samples: int = 5

    @property
    def uses_chance_(self) -> bool:
        """Whether random numbers had a part in what was learned; documents with one class need none."""
        return self.multi_label_

    @property
    def root_(self) -> F64:
        """How much each label is expected, by the tables of documents so far."""
        state, how, _ = self._known()
        return label_state.root_of(state, how)

    def _how(self, p: SimpleNamespace, n_docs: float | None = None) -> LabelStreamSettings:
        local = SharingSettings(np.zeros(0, np.float32), True, int(p.burn_in), int(p.n_samples))
        root = (float(p.concentration), float(p.root_concentration))
        return LabelStreamSettings(
            float(p.beta), 1.0, np.zeros(0), local, None if p.greedy else 1.0, root, int(p.n_rounds), 1,
            self._rate(p), n_docs,
        )  # fmt: skip

    def _label_prior(self, state: LabelStreamState, how: LabelStreamSettings) -> F64:
        return float(self.concentration) * label_state.root_of(state, how)

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        number("concentration", p.concentration, 1e-12)
        number("root_concentration", p.root_concentration, 1e-12)
        whole("burn_in", p.burn_in, 0)
        whole("n_samples", p.n_samples, 1)
        return p
