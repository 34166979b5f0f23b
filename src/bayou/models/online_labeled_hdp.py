"""The labelled hierarchical Dirichlet process on a stream: labelled LDA with a learned prior of labels.

    g ~ Dir(b0 / L)   theta_d ~ DP(b1, g)   z_dn ~ theta_d in Y_d   w_dn ~ phi_z   phi_y ~ Dir(beta)

The hybrid inference of the HDP [Burkhardt17], with labels [Burkhardt18b]: tokens of a mini-batch are sampled
under fixed global counts, where tables are summed out and the weight of a label is (n_dy + b1 g_y) phi_vy.
Then N_vy and the expected tables of the documents, E[m] = x (psi(x + n) - psi(x)) with x = b1 g_y, are
blended in. The root is g_y = (M_y + b0 / L) / (M + b0).

[Burkhardt17] Burkhardt, Kramer. Online sparse collapsed hybrid variational-Gibbs algorithm for hierarchical
Dirichlet process topic models. ECML PKDD 2017.
[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

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
from bayou.inference.labels.state import LabelStreamSettings, LabelStreamState
from bayou.inference.lda.arrays import F64, I64, Each
from bayou.results.label_posterior import LabelPosterior


def update(
    state: LabelStreamState, documents: LabelDocuments, p: LabelStreamSettings, seed: int, each: Each
) -> LabelStreamState:  # fmt: skip
    """One mini-batch M: N <- (1 - rho) N + rho (C_w / |M|_w) N_M, and tables M_y likewise."""
    state, batch = stream.read_batch(state, documents, p, posterior, each)
    if not len(batch.labels):
        return state
    rho = stream.step_size(state.step + 1, p.rate)  # s (tau + t)^-kappa
    after = stream.blend_totals(state, batch, rho)
    if batch.pairs.n_tokens:
        mass = p.concentration * label_state.root(state, p)  # b1 g_y
        # z_dn drawn from (n_dy + b1 g_y) (N_vy + beta) / (N_y + V beta), y in Y_d; greedy: no first factor
        words = stream.share_words(
            state, after, batch, mass[:0] if p.greedy else mass, p, seed, each
        )
        after = stream.blend_words(state, after, words, rho, each)
        tables = stream.mean_tables(words, mass)  # E[m] = x (psi(x + n) - psi(x)), x = b1 g_y
        after = after._replace(tables=(1.0 - rho) * state.tables + rho * tables)
    return after


def posterior(
    state: LabelStreamState, p: LabelStreamSettings, terms: I64 | None = None, vocabulary: Any = None
) -> LabelPosterior:  # fmt: skip
    """Terms of labels now. The prior of labels in a new document is b1 g."""
    alpha = p.concentration * label_state.root(state, p)
    return label_state.freeze(state, p, alpha, terms, vocabulary)


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineLabeledHDP(
    LabelStream, OpenLabels, Streaming, LabelClassifier, Topics, LabelStreamParams, Estimator
):
    """Labelled HDP learned from mini-batches: the prior of labels follows their frequencies.

    Parameters
    ----------
    concentration : float
        How strongly a document's labels follow the root [b1].
    root_concentration : float
        How even the root is over labels [b0].
    beta : float
        Prior of a label's terms.
    greedy : bool
        Take the labels of a training document as equally likely. The root is learned all the same and is the
        prior of new documents. With False, rare labels lose tokens to frequent ones.
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
        Prior share of each label [g].
    state_ : LabelStreamState
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

    concentration: float = param(50.0, ge=1e-12)
    root_concentration: float = param(1.0, ge=1e-12)
    greedy: bool = True
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
            self, sharing=SharingSettings(True, int(self.burn_in), int(self.n_samples)),
            concentration=float(self.concentration), greedy=bool(self.greedy),
            root_concentration=float(self.root_concentration),
        )  # fmt: skip

    @property
    def root_(self) -> F64:
        """Prior share of each label, by the tables of documents so far; sums to one."""
        check_is_fitted(self)
        return label_state.root(self._current(), self.resolve())

    @property
    def uses_chance_(self) -> bool:
        """Whether random numbers had a part in what was learned; documents with one class need none."""
        return self.multi_label_
