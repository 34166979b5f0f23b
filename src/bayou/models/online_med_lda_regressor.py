"""Max-margin LDA of numbers on a stream: topics and weights of a regression, learned together.

    phi_k ~ Dir(beta)   theta_d ~ Dir(alpha)   z_dn ~ theta_d   w_dn ~ phi_z   w_i ~ N(0, sigma^2 I)
    zbar_d = sum_n rho_n e_z,   f_di = w_i . zbar_d,   times exp(-2c (|y_di - f_di| - epsilon)_+)

As `online_med_lda`, which explains the two posteriors of the weights, with a tube in place of the margin.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
[Zhu14] Zhu, Chen, Perkins, Zhang. Gibbs max-margin topic models with data augmentation. JMLR 15, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayou.api.online_regressor import OnlineRegressor

_NUMBERS: dict[str, dict[str, Any]] = {
    "gibbs": {
        "alpha": 0.5, "cost": 164.0, "epsilon": 1e-3, "variance": 4e-5, "batch_size": 64,
        "n_rounds": 1, "n_sweeps": 1,
    },
    "averaging": {
        "alpha": 0.16, "cost": 1000.0, "epsilon": 0.5, "variance": 4e-5, "batch_size": 8,
        "n_rounds": 2, "n_sweeps": 2,
    },
}  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineMedLDARegressor(OnlineRegressor):
    """Max-margin topic model for numbers, one or several a document, that learns from a stream.

    Targets are brought to mean 0 and deviation 1 by those that have come so far, so that ``cost``,
    ``epsilon`` and ``variance`` mean the same for all of them. They pull on the topics of the documents that
    weights are learned from, and nothing pulls on those of a new document: predictions are made by weights
    of a second stage, which see topics that no target has pulled on. Without one (``refit``) they are
    corrected by a line fitted to what was predicted of the latest documents before they were learned.

    Parameters
    ----------
    regressor : {"gibbs", "averaging"}
        The posterior of the weights, as ``classifier`` of `OnlineMedLDAClassifier`.
    n_topics : int or None
        Number of topics [K]; None is 10.
    alpha : float, array of one number a topic, or None
        Prior of a document's topics; None is 0.5 or 0.16.
    cost : float or None
        Weight of the loss against the words [c]; None is 164 or 1000.
    epsilon : float or None
        Half-width of the tube in which a prediction costs nothing, in deviations of the target; None is 0.001
        or 0.5. "averaging" comes to rest only if there is a tube to rest in.
    variance : float or None
        Variance of a weight before the first document [sigma^2]; None is 0.00004.
    weight_floor : float, "auto" or None
        As in `OnlineMedLDAClassifier`, "auto" being 6.1 x cost; precision matrices are one a target.
    batch_size : int or None
        Documents that are learned together; None is 64 or 8.
    refit : bool or None
        Whether predictions are by weights of a second stage, a ridge regression along the stream on topics
        that no target has shaped: those of each document by its words alone, before it is learned. None
        is yes.
    beta, tf, idf, n_passes, n_rounds, n_sweeps, burn_in, ghost_factor, decay
        As in `OnlineMedLDAClassifier`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Examples
    --------
    >>> from bayou import OnlineMedLDARegressor
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=0, seed=1)
    >>> model = OnlineMedLDARegressor(n_topics=4, random_state=0).fit(corpus)
    >>> model.score(corpus) > 0.3
    True
    """

    def _defaults(self) -> dict[str, Any]:
        return _NUMBERS[self.regressor]

    def _default_topics(self) -> int:
        return 10
