"""Labelled LDA on a stream of documents.

    phi_y ~ Dir(beta)   theta_d ~ Dir(alpha on Y_d)   z_dn ~ theta_d in Y_d   w_dn ~ phi_z

The terms of labels are kept as expected counts N_vy, sparse. The tokens of a mini-batch are shared out among
the labels of their documents under the current counts, and blended in. Two inferences:

``scvb0``   expected tokens: stochastic collapsed variational Bayes [Foulds13]
``hybrid``  Gibbs sweeps of each document under fixed counts [Mimno12], with labels [Burkhardt18b]; the
            conditional probabilities of labels are averaged over the kept sweeps

Greedy training takes the labels of a document as equally likely (alpha at infinity). The conditional
probabilities then do not depend on other tokens, so both inferences are the same and use no random numbers.
New documents may use every label.

[Foulds13] Foulds, Boyles, DuBois, Smyth, Welling. Stochastic collapsed variational Bayesian inference for
latent Dirichlet allocation. KDD 2013.
[Mimno12] Mimno, Hoffman, Blei. Sparse stochastic inference for latent Dirichlet allocation. ICML 2012.
[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayou.api.estimator import Estimator, Saved
from bayou.api.label_classifier import LabelClassifier
from bayou.api.label_stream import LABEL_NAMES, LabelStream, LabelStreamParams, stream_settings
from bayou.api.open_labels import OpenLabels
from bayou.api.params import param
from bayou.api.streaming import STREAM, Stream, Streaming
from bayou.api.topics import Topics
from bayou.inference.labels import open_set, stream
from bayou.inference.labels import state as label_state
from bayou.inference.labels.cells import SharingSettings
from bayou.inference.labels.documents import LabelDocuments
from bayou.inference.labels.state import LABELS, LabelStreamSettings, LabelStreamState
from bayou.inference.labels.training import MASS, PRIORS, add_frequencies
from bayou.inference.lda.arrays import I64, Each
from bayou.results.label_posterior import LabelPosterior


def update(
    state: LabelStreamState, documents: LabelDocuments, p: LabelStreamSettings, seed: int, each: Each
) -> LabelStreamState:  # fmt: skip
    """One mini-batch M: N <- (1 - rho) N + rho (C_w / |M|_w) N_M.   [Foulds13] Algorithm 1"""
    state, batch = stream.read_batch(state, documents, p, posterior, each)
    if not len(batch.labels):
        return state
    rho = stream.step_size(state.step + 1, p.rate)  # s (tau + t)^-kappa
    after = stream.blend_totals(state, batch, rho)
    if batch.pairs.n_tokens:
        # gamma_y ~ (N_vy + beta) / (N_y + V beta) (N_dy + alpha), y in Y_d; greedy: without N_dy + alpha
        alpha = np.full(0 if p.greedy else state.n_labels, each_alpha(state.n_labels, p))
        words = stream.share_words(state, after, batch, alpha, p, seed, each)
        after = stream.blend_words(state, after, words, rho, each)
    return after


def each_alpha(n_labels: int, p: LabelStreamSettings) -> float:
    """Prior of each label: `MASS` divided by the labels so far, which a mini-batch may bring, or as given."""
    return MASS / n_labels if p.new_alpha is None else float(p.new_alpha)


def posterior(
    state: LabelStreamState, p: LabelStreamSettings, terms: I64 | None = None, vocabulary: Any = None
) -> LabelPosterior:  # fmt: skip
    """Terms of labels now. The prior of labels in a new document is alpha, plus eta by frequency."""
    n = max(state.n_labels, 1)
    alpha = np.full(n, each_alpha(n, p))
    frequency = state.shares * label_state.birth_correction(state.left[LABELS])
    alpha = add_frequencies(alpha, frequency, p.frequency_weight)
    return label_state.freeze(state, p, alpha, terms, vocabulary)


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineLabeledLDA(
    LabelStream, OpenLabels, Streaming, LabelClassifier, Topics, LabelStreamParams, Estimator
):
    """Labelled LDA learned from mini-batches: one topic per label; labels may come and go.

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
        Without `greedy`: expected labels of tokens by a variational approximation, or by Gibbs sampling that
        needs whole counts and rounds fractional ones. With `greedy` there is no difference.
    burn_in, n_samples : int
        Passes over each document before its labels count, and after. `greedy` needs none.
    batch_size : int
        Documents that are learned together.
    n_passes : int
        Passes of `fit` over its documents; `partial_fit` makes one.
    n_rounds : int
        Rounds over each mini-batch, each under the counts that the one before would give.
    n_docs : int or None
        Number of labelled documents that counts stand for, which sets how strong they are against their
        prior. None is the number given to `fit`; on a stream, as many as the step sizes remember.
    step_scale, tau, kappa : float
        Step sizes step_scale (tau + t)^-kappa, but 1, 1/2, 1/3 .. as long as those are larger.
    tf : {"none", "log", "binary"}
        How counts are damped before anything else.
    rule : {"scut", "cardinality"}
        How many labels `predict` gives: those above the threshold that was best on the stream so far, or as
        many as a regression on the words predicts.
    validation_share : float
        Part of each mini-batch that is scored before it is learned, for this threshold and probabilities.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    classes_ : array
    labels_ : LabelPosterior
        ``labels_.term_label`` holds the sparse counts of terms in labels.
    state_ : LabelStreamState
        Everything the next mini-batch needs; saved with the model.
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

    alpha: float | None = param(None, gt=0.0)
    greedy: bool = True
    prior: str = param("frequency", choices=PRIORS)
    eta: float = param(50.0, ge=0.0)
    inference: str = param("scvb0", choices=("scvb0", "hybrid"))
    burn_in: int = param(3, ge=0)
    n_samples: int = param(5, ge=1)

    algorithm: ClassVar[Stream] = Stream(
        LabelStreamState, LabelDocuments, update, move_terms=open_set.move_terms, posterior=posterior
    )  # fmt: skip
    saved: ClassVar[tuple[Saved, ...]] = (STREAM, LABEL_NAMES)

    def resolve(self) -> LabelStreamSettings:
        """The parameters of one run, checked."""
        self.check_params()
        return stream_settings(
            self, greedy=bool(self.greedy), new_alpha=self.alpha,
            frequency_weight=self.eta if self.prior == "frequency" else 0.0,
            sharing=SharingSettings(self._samples, self.burn_in, self.n_samples),
        )  # fmt: skip

    @property
    def uses_chance_(self) -> bool:
        """Whether random numbers had a part in what was learned; documents with one class need none."""
        return self._samples and self.multi_label_

    @property
    def _samples(self) -> bool:
        """Whether labels of tokens are sampled."""
        return self.inference == "hybrid" and not self.greedy
