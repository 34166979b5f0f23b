"""Labelled LDA on a stream of documents.

    phi_y ~ Dir(beta)   theta_d ~ Dir(alpha on Y_d)   z_dn ~ theta_d in Y_d   w_dn ~ phi_z

The terms of labels are kept as expected counts n_vy, sparse. A mini-batch's tokens are shared out among the
labels of their documents under the counts as they are, and blended in (`labels.stream`), in two ways:

``scvb0``   expected tokens: stochastic collapsed variational Bayes [Foulds13]
``hybrid``  sampled tokens: a few Gibbs sweeps of each document under fixed terms of labels [Burkhardt18]

Greedy training takes the labels of a document as equally likely, alpha at infinity; nothing is then random in
``scvb0``. New documents may use every label.

[Foulds13] Foulds, Boyles, DuBois, Smyth, Welling. Stochastic collapsed variational Bayesian inference for
latent Dirichlet allocation. KDD 2013.
[Burkhardt18] Burkhardt, Kramer. Online multi-label dependency topic models for text classification.
Machine Learning 107, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from bayou.api.online_labels import OnlineLabelEstimator
from bayou.data.checks import one_of, optional, whole
from bayou.inference.labels import state as label_state
from bayou.inference.labels.cells import SharingSettings
from bayou.inference.labels.state import LABELS, LabelStreamSettings, LabelStreamState
from bayou.inference.labels.training import MASS, check_prior, label_prior
from bayou.inference.lda.arrays import F64

INFERENCES = ("scvb0", "hybrid")


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineLabeledLDA(OnlineLabelEstimator):
    """Labelled LDA learned from mini-batches: one topic a label, labels that come and go.

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
    inference : {"scvb0", "hybrid"}
        Expected labels of tokens, or drawn ones; drawing needs whole counts and rounds fractional ones.
    burn_in, n_samples : int
        Passes over each document before its labels count, and after. One greedy pass of "scvb0" is all.
    batch_size : int
        Documents that are learned together.
    n_passes : int
        Passes of `fit` over its documents; `partial_fit` makes one.
    n_rounds : int
        Rounds over each mini-batch, each under the counts that the one before would give.
    n_docs : int or None
        Documents with labels that what is known stands for, which sets how strong counts are against their
        prior; None is those given to `fit`, and on a stream as many as the step sizes remember.
    step_scale, tau, kappa : float
        Step sizes step_scale (tau + t)^-kappa, but 1, 1/2, 1/3 .. as long as those are larger.
    tf : {"none", "log", "binary"}
        How counts are damped before anything else.
    rule : {"scut", "cardinality"}
        How many labels `predict` gives: those above a threshold, the one that would have been best for the
        stream so far; or as many as a regression on the words says.
    validation_share : float
        Part of each mini-batch that is scored before it is learned, for that threshold and for probabilities.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    classes_ : array
    labels_ : LabelPosterior
        ``labels_.term_label`` holds the sparse counts of terms in labels.
    state_ : State
        Everything the next mini-batch needs; saved with the model, which goes on as if never away.
    label_ids_ : int64 array (labels,)

    Examples
    --------
    >>> from bayou import OnlineLabeledLDA
    >>> texts = [[3, 1, 0, 0], [0, 0, 2, 2], [2, 1, 1, 2], [4, 0, 0, 1]] * 10
    >>> given = [["pets"], ["cars"], ["cars", "pets"], ["pets"]] * 10
    >>> model = OnlineLabeledLDA(batch_size=8)
    >>> for start in range(0, 40, 10):
    ...     model = model.partial_fit(texts[start : start + 10], given[start : start + 10])
    >>> model.predict_labels([[5, 1, 0, 0], [1, 0, 4, 3]])
    [['pets'], ['cars']]
    """

    alpha: float | None = None
    greedy: bool = True
    prior: str = "frequency"
    eta: float = 50.0
    inference: str = "scvb0"
    burn_in: int = 3
    n_samples: int = 5

    @property
    def uses_chance_(self) -> bool:
        """Whether random numbers had a part in what was learned; documents with one class need none."""
        return self.inference == "hybrid" and self.multi_label_

    def _how(self, p: SimpleNamespace, n_docs: float | None = None) -> LabelStreamSettings:
        none = np.zeros(0, np.float32)
        local = SharingSettings(none, p.inference == "hybrid", int(p.burn_in), int(p.n_samples))
        prior = None
        if not p.greedy:
            prior = MASS / max(self.state_.n_labels, 1) if p.alpha is None else float(p.alpha)
        return LabelStreamSettings(
            float(p.beta), 1.0, np.zeros(0), local, prior, None, int(p.n_rounds), 1, self._rate(p), n_docs
        )  # fmt: skip

    def _label_prior(self, state: LabelStreamState, how: LabelStreamSettings) -> F64:
        n = max(state.n_labels, 1)
        alpha = np.full(n, MASS / n if self.alpha is None else float(self.alpha))
        found = state.shares * label_state.birth_correction(state.left[LABELS])
        return label_prior(alpha, found, self)

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        check_prior(p)
        one_of("inference", p.inference, INFERENCES)
        optional("alpha", p.alpha, 1e-30)
        whole("burn_in", p.burn_in, 0)
        whole("n_samples", p.n_samples, 1)
        return p
