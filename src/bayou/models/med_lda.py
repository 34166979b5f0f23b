"""Max-margin LDA: topics that labels have shaped.

    phi_k ~ Dir(beta)   theta_d ~ Dir(alpha)   z_dn ~ theta_d   w_dn ~ phi_z   eta_i ~ N(0, s I)
    zbar_d = sum_n rho_n e_z,   f_di = eta_i . zbar_d,   times exp(-2c loss(y_di, f_di))

theta and phi are integrated out; weights eta, topics z and the variables that make the loss Gaussian are
drawn in turn (`parts.margin`). Tasks are the classes (one against the rest, topics shared by all), the
labels, or the targets. Samplers of the same posterior: Gibbs, O(K) a token [Zhu14], and
Metropolis-Hastings in O(1) steps [Zheng15]. After the chain the weights are fitted once more to
leave-one-out features (`parts.second_stage`).

[Zhu14] Zhu, Chen, Perkins, Zhang. Gibbs max-margin topic models with data augmentation. JMLR 15, 2014.
[Zheng15] Zheng, Yu, Xing. Linear time samplers for supervised topic models using compositional proposals.
KDD 2015.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bayou.data.corpus import Corpus
from bayou.data.errors import DataError
from bayou.data.supervision import read_labels, read_targets, signs
from bayou.parameters import check_parameters, number, one_of, resolve_alpha, whole
from bayou.parts import chains, features, second_stage
from bayou.parts.topics import F32, F64
from bayou.run import checkpoint as checkpoints
from bayou.run import loop
from bayou.run.loop import Info
from bayou.run.shards import Workers
from bayou.supervised import SupervisedEstimator, TopicClassifier, TopicRegressor, weights_of

SAMPLERS = ("auto", "gibbs", "light")
_MOST_COST = 1e8  # kernels square it in single precision


@dataclass(kw_only=True, eq=False, repr=False)
class _MedLDA(SupervisedEstimator, abstract=True):
    """What the classifier and the regressor share: fields, checks, and the run of the chains."""

    n_topics: int | None = None
    alpha: float | ArrayLike | None = None
    idf: bool = True
    sampler: str = "auto"
    exact: bool = False
    n_sweeps: int = 40
    n_kept: int = 10
    n_chains: int = 1
    refit: bool = True
    word_residual: float = 0.0
    warm_start: bool = False

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        counts = ("n_topics", "n_sweeps", "n_kept", "n_chains")
        given = SimpleNamespace(
            **{**vars(p), "n_topics": p.n_topics if p.n_topics is not None else 1}
        )
        check_parameters(given, counts, ("beta", "max_time", "cost", "variance"))
        one_of("tf", p.tf, features.DAMPINGS)
        one_of("sampler", p.sampler, SAMPLERS)
        number("word_residual", p.word_residual, 0.0, 1e6)
        number("variance", p.variance, 1e-12, 1e12)
        if p.n_kept > p.n_sweeps:
            raise ValueError(f"n_kept must be at most n_sweeps = {p.n_sweeps}; got {p.n_kept}")
        if p.alpha is not None:
            size = p.n_topics if p.n_topics is not None else np.size(p.alpha)
            resolve_alpha(p.alpha, max(int(size), 1))
        return p

    def _run(
        self, corpus: Corpus, y: F64, cost: F64, p: SimpleNamespace, checkpoint: Any, every: int
    ) -> tuple[chains.State, chains.Data, second_stage.Evidence]:
        """All sweeps of all chains, and what the second stage learns from."""
        whole("checkpoint_every", every, 1)
        if checkpoint is not None and self.random_state is None:
            raise ValueError("a checkpoint needs a random_state to go on from; give an integer")
        if cost.max() > _MOST_COST:
            raise ValueError(
                f"cost times sample_weight must be at most {_MOST_COST:g}; got {cost.max():g}"
            )
        data = chains.prepare(corpus, y, cost, p, self.seed_)
        begin = self._begin(p) if p.warm_start else None
        with Workers(self.n_threads) as workers, loop.progress_bar(self.progress, "MedLDA") as bar:
            each = workers.each
            saved = checkpoints.Saver(checkpoint, every, lambda: self._describe(corpus, y, cost))
            state = saved.read(chains.State) or chains.init(data, each, begin)

            def step(state: chains.State) -> tuple[chains.State, Info | None]:
                if state.step >= p.n_sweeps:
                    return state, None
                state = chains.sweep(state, data, p, each)
                fresh = len(state.scores) and state.score_steps[-1] == state.step
                score = float(state.scores[-1]) if fresh else float("nan")
                kind = "light" if data.chains[0].light else "gibbs"
                return state, Info(state.step, p.n_sweeps, kind, score, 0.0)

            callbacks = [*bar, *self._callbacks()]
            state = loop.run(
                state, step, callbacks=callbacks, after=saved.after, stopped=saved.stopped,
                max_time=p.max_time,
            )  # fmt: skip
            self.posterior_ = chains.posterior(state, data, each)
            evidence = chains.evidence(state, data, p, each)
        self.n_iter_ = state.step
        self.sampler_ = "light" if data.chains[0].light else "gibbs"
        return state, data, evidence

    def _begin(self, p: SimpleNamespace) -> list[F32] | None:
        """Topics of the fit before, where there was one on the same terms with as many topics."""
        if not self.__sklearn_is_fitted__():
            return None
        rows = [rows for rows, _ in self._members()]
        fits = rows[0].shape == (self.n_features_in_, p.n_topics) and len(rows) == p.n_members
        if not fits:
            raise ValueError(
                f"warm_start needs the terms, topics and chains of the fit before ({len(rows)} chains of "
                f"{rows[0].shape[1]} topics on {len(rows[0])} terms); set warm_start=False"
            )
        return rows

    def _describe(self, corpus: Corpus, y: F64, cost: F64) -> dict[str, Any]:
        """What a checkpoint must agree with: parameters, seed and the data themselves."""
        manifest = self._manifest("checkpoint")
        del manifest["learned"]
        counts = corpus.counts
        parts = (counts.indptr, counts.indices, counts.data, y, cost)
        return {**manifest, "data": checkpoints.digest(parts), "seed": self.seed_}


@dataclass(kw_only=True, eq=False, repr=False)
class MedLDAClassifier(TopicClassifier, _MedLDA):
    """Max-margin topic model for classes, or for several labels a document.

    Parameters
    ----------
    n_topics : int or None
        Number of topics [K]. None: 20 for two classes (and in each chain of one against all), else the larger
        of 40 and four times the classes (once the labels), 400 at most.
    alpha : float, array of one number a topic, or None
        Prior of a document's topics; None is 20 / K.
    beta : float
        Prior of a topic's terms.
    loss : {"hinge", "logistic"}
        What a wrong side of the margin costs.
    cost : float
        Weight of the loss against the words [c]. Keep ``cost * margin`` at 16 or more: below, labels are too
        weak to break the symmetry of the topics.
    margin : float or None
        How far on the right side a score must be [l]; of the hinge loss alone. None: 164 for two classes and
        for one against all, else 16. ``cost``, ``margin`` and ``variance`` are not independent: (c, l, s) is
        the model (c l, 1, s / l**2).
    variance : float
        Prior variance of weights.
    positive_cost : float or None
        Factor on the cost of labels that a document has. None: 4 for several labels a document, else 1.
    multi_class : {"shared", "one-vs-all"}
        One chain whose topics serve all classes, or a chain with topics of its own for each.
    tf : {"log", "none", "binary"}
        How counts are damped before anything else.
    idf : bool
        Whether rare terms weigh more in a document's average topics.
    sampler : {"auto", "gibbs", "light"}
        All topics of every token looked at, or Metropolis-Hastings steps; "auto" takes the faster one.
    exact : bool
        Keep word counts live token after token, as the exact sampler has it, on one thread. Otherwise they
        are brought up to date sixteen times a sweep.
    n_sweeps, n_kept : int
        Sweeps in all, and the last of them that topics and weights are averaged over.
    n_chains : int
        Chains with other random numbers whose scores are averaged.
    refit : bool
        Fit the weights once more, to leave-one-out features of the training documents.
    word_residual : float
        Weight of words beside the topics [q]; 0 for none, 2 for the best accuracy.
    warm_start : bool
        Let `fit` begin at the topics of the fit before.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    classes_ : array
    weights_ : float64 array (topics, tasks)
        Two classes are one task, which speaks for the second.
    response_ : Response
        ``response_.draws`` are posterior draws of the weights, ``response_.share`` the topics' part of the
        margins.
    sampler_ : str
        The sampler that was used.

    Examples
    --------
    >>> from bayou import MedLDAClassifier
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=2, seed=1)
    >>> model = MedLDAClassifier(n_topics=4, random_state=0).fit(corpus)
    >>> model.score(corpus) > 0.8
    True
    """

    beta: float = 0.03
    loss: str = "hinge"
    cost: float = 1.0
    margin: float | None = None
    variance: float = 1.0
    positive_cost: float | None = None
    multi_class: str = "shared"

    @classmethod
    def published(cls, source: str = "gibbs", **settings: Any) -> Self:
        """The settings of the papers, without what was found to help since.

        Parameters
        ----------
        source : {"gibbs", "light", "logistic"}
            [Zhu14] Gibbs MedLDA for several classes, [Zheng15] LightMedLDA, or its Gibbs sLDA.
        **settings
            Whatever should be otherwise.
        """
        one_of("source", source, ("gibbs", "light", "logistic"))
        plain = {"tf": "none", "idf": False, "refit": False, "n_kept": 1, "beta": 0.01}
        plain |= {"exact": True, "n_topics": 40, "positive_cost": 1.0, "sampler": "gibbs"}
        n_topics = int(settings.get("n_topics", 40))
        own: dict[str, dict[str, Any]] = {
            "gibbs": {"alpha": 1.0 / n_topics, "margin": 64.0, "n_sweeps": 40},
            "light": {
                "alpha": 6.4 / n_topics, "cost": 1.6, "margin": 64.0, "n_sweeps": 25, "sampler": "light",
            },
            "logistic": {
                "alpha": 5.6 / n_topics, "cost": 204.8, "loss": "logistic", "n_sweeps": 40,
            },
        }  # fmt: skip
        return cls(**{**plain, **own[source], **settings})

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Learn topics and weights from documents with classes or labels.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : vector, label lists, indicator matrix, or None
            None takes the corpus' labels. None or NaN for a document: nothing is known of it, and its words
            still shape the topics. See `bayou.data.supervision.read_labels`.
        sample_weight : array (documents,), optional
            Factors on the cost of documents; their words count as before.
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        p = self._checked_parameters()
        corpus = self._corpus(X, reset=True)
        labels = read_labels(y, corpus.n_docs, corpus=X if isinstance(X, Corpus) else None)
        multi = labels.kind == "multi-label"
        n_tasks = 1 if labels.kind == "binary" else len(labels.classes)
        p.separate = p.multi_class == "one-vs-all" and n_tasks > 1
        alone = p.separate or labels.kind == "binary"
        p.n_topics = p.n_topics or (20 if alone else _default_topics(multi, n_tasks))
        p.alpha = resolve_alpha(20.0 / p.n_topics if p.alpha is None else p.alpha, p.n_topics)
        p.n_members = n_tasks if p.separate else p.n_chains
        p.width = p.margin or (164.0 if alone else 16.0)
        truth = signs(labels).astype(np.float64)
        factor = p.positive_cost or (4.0 if multi else 1.0)
        cost = np.where(truth > 0, factor, 1.0) * p.cost * (truth != 0)
        cost *= weights_of(sample_weight, corpus.n_docs)[:, None]
        self.seed_ = self._resolve_seed()
        _, data, seen = self._run(corpus, truth, cost, p, checkpoint, checkpoint_every)
        plan = second_stage.Plan(
            p.refit,
            1.0 / max(1.0, p.word_residual**2),
            p.word_residual,
            p.loss == "logistic",
            self.seed_,
        )
        self.response_ = second_stage.classify(seen, labels, data.order, plan)
        return self

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        one_of("loss", p.loss, ("hinge", "logistic"))
        one_of("multi_class", p.multi_class, ("shared", "one-vs-all"))
        if p.margin is not None:
            number("margin", p.margin, 1e-8, 1e8)
        if p.positive_cost is not None:
            number("positive_cost", p.positive_cost, 1e-30)
        if p.multi_class == "one-vs-all" and p.n_chains != 1:
            raise ValueError("one-vs-all has a chain for each class; leave n_chains at 1")
        return p


def _default_topics(multi: bool, n_tasks: int) -> int:
    return int(np.clip(n_tasks if multi else 4 * n_tasks, 40, 400))


@dataclass(kw_only=True, eq=False, repr=False)
class MedLDARegressor(TopicRegressor, _MedLDA):
    """Max-margin topic model for numbers, one or several a document.

    Targets are brought to mean 0 and deviation 1 for the chain, so that ``cost``, ``epsilon`` and
    ``variance`` mean the same for all of them.

    Parameters
    ----------
    n_topics : int or None
        Number of topics [K]; None is 10.
    alpha : float, array of one number a topic, or None
        Prior of a document's topics; None is 1 / K.
    beta : float
        Prior of a topic's terms.
    cost : float
        Weight of the loss against the words [c].
    epsilon : float
        Half-width of the tube in which a prediction costs nothing, in deviations of the target.
    variance : float
        Prior variance of weights.
    tf, idf, sampler, exact, n_sweeps, n_kept, n_chains, refit, word_residual, warm_start
        As in `MedLDAClassifier`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Examples
    --------
    >>> from bayou import MedLDARegressor
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=0, seed=1)
    >>> model = MedLDARegressor(n_topics=4, random_state=0).fit(corpus)
    >>> model.score(corpus) > 0.3
    True
    """

    tf: str = "none"
    idf: bool = False
    beta: float = 0.01
    cost: float = 10.0
    epsilon: float = 1e-3
    variance: float = 1.0

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Learn topics and weights from documents with numbers.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : array (documents,) or (documents, targets), or None
            None takes the corpus' targets. NaN: nothing is known, and the words still shape the topics.
        sample_weight : array (documents,), optional
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        p = self._checked_parameters()
        corpus = self._corpus(X, reset=True)
        values = read_targets(y, corpus.n_docs, corpus=X if isinstance(X, Corpus) else None)
        weight = weights_of(sample_weight, corpus.n_docs)
        known = ~np.isnan(values) & (weight[:, None] > 0)
        mean, deviation = _scale(values, known, weight)
        truth = np.where(known, (values - mean) / deviation, 0.0)
        p.n_topics = p.n_topics or 10
        p.alpha = resolve_alpha(1.0 / p.n_topics if p.alpha is None else p.alpha, p.n_topics)
        p.separate, p.n_members, p.loss, p.width = False, p.n_chains, "insensitive", p.epsilon
        self.seed_ = self._resolve_seed()
        cost = p.cost * known * weight[:, None]
        _, _, seen = self._run(corpus, truth, cost, p, checkpoint, checkpoint_every)
        strength = 1.0 / second_stage.RIDGE if p.word_residual == 0 else 1.0
        plan = second_stage.Plan(p.refit, strength, p.word_residual, False, self.seed_)
        names = np.arange(values.shape[1])
        self.response_ = second_stage.regress(seen, names, (mean, deviation), plan)
        return self

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        number("epsilon", p.epsilon, 0.0, 1e8)
        return p

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _scale(values: F64, known: Any, weight: F64) -> tuple[F64, F64]:
    """Mean and deviation of each target over the documents that are learned from."""
    if not known.any(axis=0).all():
        raise DataError("no document with a target has a sample_weight above zero; give some")
    share = known * weight[:, None]
    share = share / share.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        plain = np.where(known, values, 0.0)
        mean = (share * plain).sum(axis=0)
        deviation = np.sqrt((share * (plain - mean) ** 2).sum(axis=0))
    if not (np.isfinite(mean) & np.isfinite(deviation)).all():
        raise DataError("targets are too large to be squared; scale them down")
    return mean, np.where(deviation > 0, deviation, 1.0)
