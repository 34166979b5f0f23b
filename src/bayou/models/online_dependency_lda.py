"""Labels that depend on each other, on a stream: topics over labels above labels over words.

    phi'_k ~ Dir(b)   theta'_d ~ Dir(gamma)   z'_dj ~ theta'_d   y_dj ~ phi'_z'        labels of a document
    phi_y ~ Dir(beta)   words of the document from the phi of its labels               terms of a label

Stochastic collapsed variational Bayes of both floors, greedily, one after the other [Burkhardt18]: a
document's tokens are shared out among its labels, and its labels, one token each, among topics. Each floor is
scaled by its own tokens. Both are blended in with every mini-batch; memory does not grow with the stream.
New documents are read with the labels of tokens summed out (`bayou.inference.labels.scores`).

[Burkhardt18] Burkhardt, Kramer. Online multi-label dependency topic models for text classification.
Machine Learning 107, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from bayou.api.label_fitting import MIXES
from bayou.api.label_topics import TopicsOverLabels
from bayou.api.online_labels import OnlineLabelEstimator
from bayou.data.checks import number, one_of, optional, whole
from bayou.inference.labels.cells import SharingSettings
from bayou.inference.labels.state import LabelStreamSettings, LabelStreamState
from bayou.inference.labels.training import MASS
from bayou.inference.lda.arrays import F64
from bayou.results.label_posterior import SCORES


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineDependencyLDA(TopicsOverLabels, OnlineLabelEstimator):
    """Labels and topics over labels learned from mini-batches; labels may come and go.

    Parameters
    ----------
    n_topics : int
        Topics over labels [K]. Labels may come at any time, so it does not follow from their number; with few
        labels ask for no more topics than labels.
    n_chains : int
        Sets of topics, from other random starts, whose scores are averaged; the terms of labels are the same.
    gamma : float
        Prior of each topic in a document's labels, and in a new document's words.
    beta : float
        Prior of a label's terms.
    beta_labels : float
        Prior of a topic's labels.
    scoring : {"document", "tokens"}
        Of new documents: the labels of the document are inferred with what the topics say as a prior (S2); or
        every token is asked which label it belongs to, with that prior (S1), which is quicker and a little
        better for rare labels.
    strength : float
        Tokens that the topics' prior is worth in ``scoring="document"``; zero: as many as the document has.
    mix : float or None
        Part of the score that the topics alone have, without the words' own labels; None is the part that
        would have ranked labels best in the stream so far.
    n_label_rounds : int
        As `n_rounds`, for the topics over labels.
    batch_size, n_passes, n_rounds, n_docs, step_scale, tau, kappa, tf, rule, validation_share
        As in `OnlineLabeledLDA`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    classes_ : array
    labels_ : LabelPosterior
        ``labels_.term_label`` holds the sparse counts of terms in labels, ``labels_.links`` the topics.
    state_ : State
    label_ids_ : int64 array (labels,)

    Examples
    --------
    >>> from bayou import OnlineDependencyLDA
    >>> texts = [[3, 1, 0, 0], [0, 0, 2, 2], [2, 1, 1, 2], [4, 0, 0, 1]] * 10
    >>> given = [["pets"], ["cars"], ["cars", "pets"], ["pets"]] * 10
    >>> model = OnlineDependencyLDA(n_topics=2, batch_size=8, random_state=0).fit(texts, given)
    >>> model.add_labels(["boats"]).classes_.tolist()
    ['cars', 'pets', 'boats']
    """

    n_topics: int = 100
    n_chains: int = 5
    gamma: float = 0.1
    beta_labels: float = 0.01
    scoring: str = "document"
    strength: float = 100.0
    mix: float | None = None
    n_label_rounds: int = 5

    @property
    def uses_chance_(self) -> bool:
        """Whether random numbers had a part in what was learned."""
        return self.n_topics > 1

    def _layers(self, p: SimpleNamespace) -> tuple[int, int]:
        return int(p.n_topics), int(p.n_chains)

    def _mixtures(self) -> F64:
        return MIXES if self.mix is None else np.array([float(self.mix)])

    def _scoring(self) -> dict[str, Any]:
        return {"score": self.scoring, "strength": float(self.strength)}

    def _how(self, p: SimpleNamespace, n_docs: float | None = None) -> LabelStreamSettings:
        local = SharingSettings(np.zeros(0, np.float32), False, 0, 1)
        return LabelStreamSettings(
            float(p.beta), float(p.beta_labels), np.full(int(p.n_topics), float(p.gamma)), local, None,
            None, int(p.n_rounds), int(p.n_label_rounds), self._rate(p), n_docs,
        )  # fmt: skip

    def _label_prior(self, state: LabelStreamState, how: LabelStreamSettings) -> F64:
        n = max(state.n_labels, 1)
        return np.full(n, MASS / n)

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        whole("n_topics", p.n_topics, 1)
        whole("n_chains", p.n_chains, 1)
        whole("n_label_rounds", p.n_label_rounds, 1)
        number("gamma", p.gamma, 1e-30)
        number("beta_labels", p.beta_labels, 1e-30)
        number("strength", p.strength, 0.0)
        one_of("scoring", p.scoring, SCORES)
        optional("mix", p.mix, 0.0, 1.0)
        return p
