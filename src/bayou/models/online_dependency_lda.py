"""Labels that depend on each other, on a stream: topics over labels over words.

    phi'_k ~ Dir(b)   theta'_d ~ Dir(gamma)   z'_dj ~ theta'_d   y_dj ~ phi'_z'        labels of a document
    phi_y ~ Dir(beta)   words of the document from the phi of its labels               terms of a label

Stochastic collapsed variational Bayes of both levels [Burkhardt18]. Greedy training shares the tokens of a
document out among its labels, and its labels, one token each, among topics. Joint training shares every word
out among pairs of a label and a topic. Each level is scaled by its own number of tokens. Both are blended in
with every mini-batch, so memory does not grow with the stream. New documents are scored with the labels of
tokens summed out (`bayou.inference.labels.scores`).

[Burkhardt18] Burkhardt, Kramer. Online multi-label dependency topic models for text classification.
Machine Learning 107, 2018.
[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayou.api.estimator import Estimator, Saved
from bayou.api.label_classifier import LabelClassifier, TopicsOverLabels
from bayou.api.label_stream import LABEL_NAMES, LabelStream, LabelStreamParams, stream_settings
from bayou.api.open_labels import OpenLabels
from bayou.api.params import param
from bayou.api.streaming import STREAM, Stream, Streaming
from bayou.api.topics import Topics
from bayou.inference.labels import joint, open_set, stream
from bayou.inference.labels import state as label_state
from bayou.inference.labels.cells import SharingSettings
from bayou.inference.labels.documents import LabelDocuments
from bayou.inference.labels.state import LabelStreamSettings, LabelStreamState
from bayou.inference.labels.training import MASS
from bayou.inference.labels.tuning import MIXES
from bayou.inference.lda.arrays import I64, Each
from bayou.results.label_posterior import SCORES, LabelPosterior

EVEN = np.zeros(0)  # greedy training: the labels of a document are equally likely


def update(
    state: LabelStreamState, documents: LabelDocuments, p: LabelStreamSettings, seed: int, each: Each
) -> LabelStreamState:  # fmt: skip
    """One mini-batch M of SCVB-Dependency: Algorithm 7 of [Burkhardt18b], or 6 if training is not greedy.

    Counts are kept as shares n = N / C of words (lower level) or labels (upper level), and both levels are
    blended by n <- (1 - rho) n + rho n_M / |M|. The algorithms have one round per mini-batch. Further rounds
    (``n_rounds``, ``n_label_rounds``) share the tokens out again under the blended counts.
    """
    # new labels get columns; some documents are scored before they are learned
    state, batch = stream.read_batch(state, documents, p, posterior, each)
    if not len(batch.labels):
        return state
    rho = stream.step_size(state.step + 1, p.rate)  # max(1 / t, s (tau + t)^-kappa), at most 1
    after = stream.blend_totals(state, batch, rho)  # t, the totals C, label frequencies
    if not p.greedy:
        if not batch.pairs.n_tokens:
            return after
        # both levels, every word token: lambda_yk ~ phi_vy phi'_yk (n_dk + gamma), y in Y_d
        words, topics = joint.share_both(state, after, batch, p, seed, each)
        return stream.blend_words(state, after, words, rho, each)._replace(topics=topics)
    if batch.pairs.n_tokens:
        # lower level, every word token: lambda_y ~ (N_vy + beta) / (N_y + V beta), y in Y_d
        words = stream.share_words(state, after, batch, EVEN, p, seed, each)
        after = stream.blend_words(state, after, words, rho, each)
    # upper level, every label of a document: lambda_k ~ (N'_yk + b) / (N'_k + L b) (N'_dk + gamma)
    return after._replace(topics=stream.blend_topics(state, after, batch, p, seed, each))


def posterior(
    state: LabelStreamState, p: LabelStreamSettings, terms: I64 | None = None, vocabulary: Any = None
) -> LabelPosterior:  # fmt: skip
    """Terms of labels and topics over labels now, with a flat prior of labels in new documents."""
    n = max(state.n_labels, 1)
    return label_state.freeze(state, p, np.full(n, MASS / n), terms, vocabulary)


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineDependencyLDA(
    LabelStream, OpenLabels, Streaming, TopicsOverLabels, LabelClassifier, Topics, LabelStreamParams,
    Estimator,
):  # fmt: skip
    """Labels and topics over labels learned from mini-batches; labels may come and go.

    Parameters
    ----------
    n_topics : int
        Topics over labels [K]. Labels may come at any time, so the default does not depend on their number.
        With few labels, use no more topics than labels.
    n_chains : int
        Sets of topics from different random starts, whose scores are averaged. All use the same terms of
        labels.
    gamma : float
        Prior of each topic in a document's labels, and in a new document's words.
    beta : float
        Prior of a label's terms.
    beta_labels : float
        Prior of a topic's labels [b].
    scoring : {"document", "tokens"}
        Of new documents. "document" infers the labels of the document, with the topics as a prior (S2).
        "tokens" infers the label of every token with this prior (S1), which is faster and slightly better for
        rare labels.
    strength : float
        Number of tokens that the topics' prior counts as in ``scoring="document"``. Zero: the document's
        length.
    mix : float or None
        Part of the score that comes from the topics alone, without the words' own labels. None: the part that
        ranked labels best on the stream so far.
    greedy : bool
        Learn the terms of labels without the topics, and topics from the labels of documents, which is faster
        and ranks labels better. Otherwise both together, from words.
    n_label_rounds : int
        As `n_rounds`, for the topics over labels of greedy training.
    batch_size, n_passes, n_rounds, n_docs, step_scale, tau, kappa, tf, rule, validation_share
        As in `OnlineLabeledLDA`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    classes_ : array
    labels_ : LabelPosterior
        ``labels_.term_label`` holds the sparse counts of terms in labels, ``labels_.links`` the topics.
    state_ : LabelStreamState
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

    n_topics: int = param(100, ge=1)
    n_chains: int = param(5, ge=1)
    gamma: float = param(0.1, gt=0.0)
    beta_labels: float = param(0.01, gt=0.0)
    scoring: str = param("document", choices=SCORES)
    strength: float = param(100.0, ge=0.0)
    mix: float | None = param(None, ge=0.0, le=1.0)
    greedy: bool = True
    n_label_rounds: int = param(5, ge=1)

    algorithm: ClassVar[Stream] = Stream(
        LabelStreamState, LabelDocuments, update, move_terms=open_set.move_terms, posterior=posterior
    )  # fmt: skip
    saved: ClassVar[tuple[Saved, ...]] = (STREAM, LABEL_NAMES)

    def resolve(self) -> LabelStreamSettings:
        """The parameters of one run, checked."""
        self.check_params()
        return stream_settings(
            self, sharing=SharingSettings(sampled=False), greedy=bool(self.greedy),
            alpha=np.full(int(self.n_topics), float(self.gamma)), link_beta=float(self.beta_labels),
            n_label_rounds=int(self.n_label_rounds), n_chains=int(self.n_chains),
            score=self.scoring, strength=float(self.strength),
            mixes=MIXES if self.mix is None else np.array([float(self.mix)]),
        )  # fmt: skip

    @property
    def uses_chance_(self) -> bool:
        """Whether random numbers had a part in what was learned."""
        return self.n_topics > 1
