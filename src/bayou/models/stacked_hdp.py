"""The stacked hierarchical Dirichlet process: topics over labels over words.

    g ~ Dir(b0 / K)   theta'_d ~ DP(b1, g)   z'_dj ~ theta'_d                      topics of a document
    h ~ Dir(c0 / L)   phi'_k ~ DP(c1, h)     y_dj ~ phi'_z'                        labels of a topic
    phi_y ~ Dir(beta)   words of the document from the phi of its labels           terms of a label

Training is an exact cut: the labels of words are those of greedy labelled LDA and do not depend on the
upper level. Given labels, topics are drawn by direct assignment, and tables at both levels as sums of
Bernoulli draws [Teh06]. (In the supervised step of [Burkhardt18b] the upper level changes the labels of
words.) K is the largest number of topics, and the prior share of each is learned. The number in use follows
K. New documents are scored with the labels of tokens summed out, under the prior b1 g of topics.

[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayou.api.estimator import Estimator, Saved
from bayou.api.label_classifier import LABELS, LabelClassifier, TopicsOverLabels
from bayou.api.label_training import LevelParams, TwoLevels, fit_levels
from bayou.api.params import param, settings
from bayou.api.topics import Topics
from bayou.api.training import Path
from bayou.data.checks import MAX_TOPICS
from bayou.data.schema import Array
from bayou.inference.labels import links, roots, stacked
from bayou.inference.labels import training as labels
from bayou.inference.labels.links import LevelPlan, Levels
from bayou.inference.labels.roots import Level
from bayou.inference.labels.tuning import LabelTask
from bayou.inference.lda.arrays import F32, F64, I32, U16, Each
from bayou.results.label_posterior import AUTO, SCORES, LabelPosterior

_USED = 1e-3  # prior share above which a topic counts as used


class Settings(NamedTuple):
    """The parameters of one `fit`."""

    concentration: float | None  # b1
    label_concentration: float | None  # c1
    root_concentration: float | None  # b0 and c0
    beta: float
    dep_tokens: str
    inference: str
    scoring: str
    n_sweeps: int
    first_kept: int  # sweeps from here on are averaged
    link_alpha: F64  # one entry per topic; the root gives the prior
    beta_labels: float
    alpha: None = None  # the words' labels are trained greedily, without a prior
    boost: float = 0.0
    even: bool = True
    greedy: bool = True
    blocked: bool = True


class State(NamedTuple):
    """What the next sweep needs, of both levels."""

    step: int  # sweeps of the words' labels
    z: Annotated[I32, Array(("chains", 0), ("tokens", 0), below="places")]
    kept: Annotated[F32, Array(("chains", 0), ("cells", 0))]
    share: Annotated[F32, Array(("entries", 0))]  # gamma, of CVB0
    moved: float
    link_step: int  # sweeps of the topics over labels
    link_z: Annotated[U16, Array("chains", "label_tokens", below="topics")]
    link_kept: Annotated[F32, Array("chains", "labels", "topics")]  # sum of phi' over kept sweeps
    alpha_kept: Annotated[F64, Array("chains", "topics")]  # sum of b1 g over kept sweeps
    topic_root: Annotated[F64, Array("chains", "topics")]  # g
    label_root: Annotated[F64, Array("chains", "labels")]  # h
    concentrations: Annotated[F64, Array("chains", 4, gt=0.0)]  # b1, b0, c1, c0


def init(plan: LevelPlan, p: Settings, each: Each) -> State:
    """Labels and topics of tokens at random, roots even."""
    data, n_chains, n_topics = plan.data, plan.n_chains, len(plan.link.alpha)
    n_labels = data.n_labels
    lower = labels.init(data, n_labels, p.inference, n_chains, plan.seed, each)
    g = roots.start(n_topics, p.concentration, p.root_concentration)
    h = roots.start(n_labels, p.label_concentration, p.root_concentration)
    kept = np.zeros((n_chains, n_labels, n_topics), np.float32), np.zeros((n_chains, n_topics))
    begin = (g.root, h.root, [g.below, g.above, h.below, h.above])
    return State(*lower, 0, links.start(plan), *kept, *(np.tile(x, (n_chains, 1)) for x in begin))


def sweep(state: State, levels: Levels, p: Settings, each: Each) -> State:
    """One sweep of the words' labels until they are done, then one of the two processes above.

    z':  (n_dk + b1 g_k) (n_ky + c1 h_y) / (n_k + c1), given the label y of the token
    g ~ Dir(M_k + b0 / K), h ~ Dir(M_y + c0 / L), given the tables of documents and of topics
    """
    plan, seed = levels.plan, levels.plan.seed
    if not labels.is_done(state, p.n_sweeps):
        return labels.sweep(state, levels.counts, plan.data, plan.prior, p.first_kept, seed, each)
    step, keep = state.link_step, state.link_step >= p.first_kept
    learn = (p.concentration is None, p.label_concentration is None, p.root_concentration is None)

    def work(lo: int, hi: int) -> None:
        for c in range(lo, hi):
            link = levels.chains[c]
            if plan.link.by_word:
                links.draw_word_labels(levels, c, step)
            b1, b0, c1, c0 = state.concentrations[c].tolist()
            both = Level(state.topic_root[c], b1, b0), Level(state.label_root[c], c1, c0)
            chain = stacked.StackedChain(link.z, link.label_topic, link.topic, *both)
            tokens = (plan.link.indptr, link.labels)
            chain = stacked.sweep(chain, tokens, learn, links.link_seed(seed, c), step)
            g, h = chain.topics, chain.labels
            state.topic_root[c], state.label_root[c] = g.root, h.root
            state.concentrations[c] = g.below, g.above, h.below, h.above
            if keep:
                link.kept[:] += stacked.link_rows(chain).T
                state.alpha_kept[c] += g.mass

    links.each_chain(work, levels, each)
    return state._replace(link_step=step + 1)


def posterior(state: State, levels: Levels, task: LabelTask, p: Settings) -> LabelPosterior:
    """Terms of labels from all chains together, topics over labels of each chain by itself."""
    n_kept, prior = state.link_step - p.first_kept, levels.plan.prior
    alpha = (
        state.alpha_kept / n_kept if n_kept > 0 else state.concentrations[:, :1] * state.topic_root
    )
    found = []
    for chain in levels.chains:
        mean = (chain.kept if n_kept > 0 else chain.label_topic + p.beta).astype(np.float64)
        found.append((mean / mean.sum(axis=0)).T)
    return LabelPosterior(
        term_label=labels.expected_counts(state, levels.counts, levels.plan.data, p.first_kept),
        beta=prior.beta, alpha=prior.alpha, n_labels=task.n_labels, label_docs=task.label_docs(),
        links=np.ascontiguousarray(np.vstack(found)), link_alpha=alpha[0].copy(),
        member_alpha=alpha, n_members=len(found), strength=-1.0,
        score=SCORES[0] if p.scoring == AUTO else p.scoring, vocabulary=task.vocabulary,
    )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class StackedHDP(TopicsOverLabels, LabelClassifier, Topics, LevelParams, Estimator):
    """Topics over labels over words; the prior shares of topics are learned.

    Parameters
    ----------
    n_topics : int
        Largest number of topics over labels [K].
    concentration : float or None
        How strongly documents follow the common distribution of topics [b1]; None is learned.
    label_concentration : float or None
        How strongly topics follow the common distribution of labels [c1]; None is learned. Large values rank
        labels better over all documents, small ones pick the first label better.
    root_concentration : float or None
        How even the common distributions are [b0 and c0]; None is learned.
    beta : float
        Prior of a label's terms.
    dep_tokens : {"label", "word"}
        What topics are learned from: each label of a document once, or the label of each of its words.
    inference : {"cvb0", "gibbs"}
        Of the labels of words: iterate probabilities (without random numbers), or draw.
    scoring, mix, n_sweeps, n_kept, n_chains
        As in `FastDependencyLDA`.
    tf, rule, validation_share
        As in `LabeledLDA`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    links_ : float64 array (topics, labels)
        Topics over labels [phi'] of the first chain.
    n_used_ : int
        Topics of the first chain with a prior share above a thousandth. It follows `n_topics`.
    components_ : float64 array (topics, terms)
        The same topics as terms, labels summed out.
    labels_ : LabelPosterior
        Terms of labels, sparse, and the topics of all chains.

    Examples
    --------
    >>> from bayou import StackedHDP
    >>> texts = [[3, 1, 0, 0], [0, 0, 2, 2], [2, 1, 1, 2], [4, 0, 0, 1]] * 10
    >>> given = [["pets"], ["cars"], ["cars", "pets"], ["pets"]] * 10
    >>> model = StackedHDP(n_topics=5, n_sweeps=20, n_kept=10, random_state=0).fit(texts, given)
    >>> model.predict_labels([[5, 1, 0, 0]])
    [['pets']]
    """

    n_topics: int = param(100, ge=1, le=MAX_TOPICS)
    concentration: float | None = param(1.0, ge=1e-12)
    label_concentration: float | None = param(10.0, ge=1e-12)
    root_concentration: float | None = param(None, ge=1e-12)
    dep_tokens: str = param("label", choices=links.TOKENS)
    scoring: str = param(AUTO, choices=(AUTO, *SCORES))

    algorithm: ClassVar[TwoLevels] = TwoLevels(State, init, sweep, posterior)
    saved: ClassVar[tuple[Saved, ...]] = (LABELS,)

    def fit(
        self, X: Any, y: Any = None, *, checkpoint: Path | None = None, checkpoint_every: int = 10
    ) -> Self:
        """Learn the terms of labels, and topics over labels, from documents with labels.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : label lists, indicator matrix, vector of classes, or None
            None takes the corpus' labels. Documents without known labels are left out.
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        return fit_levels(self, X, y, None, checkpoint, checkpoint_every)

    def resolve(self, n_labels: int) -> Settings:
        """The parameters of one `fit`, checked."""
        self.check_params()
        first, topics = self.n_sweeps - self.n_kept, np.ones(int(self.n_topics))
        return settings(Settings, self, first_kept=first, link_alpha=topics, beta_labels=self.beta)

    @property
    def n_used_(self) -> int:
        """Topics of the first chain with a prior share above a thousandth. It follows `n_topics`."""
        check_is_fitted(self)
        alpha = self.labels_.link_alpha
        return int((alpha > _USED * alpha.sum()).sum())
