"""The models that are recorded: every public estimator with every choice of its constructor."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from tests.oracle.documents import LABELS, N_TERMS, topics

import bayou


class Variant(NamedTuple):
    """A model, and what it is given to learn."""

    make: Callable[..., Any]  # parameters -> model
    params: dict[str, Any]
    target: str
    fit: dict[str, Any]  # further arguments of `fit`
    form: str  # in which the documents come
    weighted: bool  # whether documents have weights


VARIANTS: dict[str, Variant] = {}


def add(make, name, target="none", fit=None, form="corpus", weighted=False, **params):
    """Add a variant; the name begins with that of the class."""
    owner = make.__self__ if hasattr(make, "__self__") else make
    full = f"{owner.__name__}/{name}"
    if full in VARIANTS:
        raise ValueError(f"there are two variants {full}")
    VARIANTS[full] = Variant(make, params, target, fit or {}, form, weighted)


def _lda():
    k = {"n_topics": 4}
    short = {**k, "n_sweeps": 12}
    uneven = [0.1, 0.2, 0.3, 0.4]
    add(bayou.LDA, "fast", **k)
    add(bayou.LDA, "fast spectral", **k, start="spectral")
    add(bayou.LDA, "fast learned", **k, learn_alpha=True, learn_beta=True)
    add(bayou.LDA, "fast short", **short, alpha=uneven, tol=0.0)
    for inference in ("gibbs", "snapshot", "mh"):
        own = {**short, "inference": inference}
        add(bayou.LDA, inference, **own)
        add(bayou.LDA, f"{inference} draws", **own, n_draws=3, burn_in=4)
        add(bayou.LDA, f"{inference} learned", **own, learn_alpha=True, learn_beta=True)
        add(bayou.LDA, f"{inference} from fast", **own, start="fast")
        add(bayou.LDA, f"{inference} from spectral", **own, start="spectral", alpha=uneven)
    add(bayou.LDA, "fast fractional", **k, form="fractional")
    add(bayou.LDA, "gibbs fractional", **short, inference="gibbs", form="fractional")
    for form in ("dense", "sparse", "frame", "filled"):
        add(bayou.LDA, form, **short, form=form)
    add(bayou.LDA, "refused", **k, start="fast", n_draws=2)
    for inference in ("scvb0", "hybrid"):
        own = {**k, "inference": inference, "batch_size": 16, "n_passes": 2}
        add(bayou.OnlineLDA, inference, **own)
        add(bayou.OnlineLDA, f"{inference} learned", **own, learn_alpha=True, n_docs=500)
        add(bayou.OnlineLDA, f"{inference} from spectral", **own, start="spectral", alpha=uneven)
    add(bayou.OnlineLDA, "own batches", **k, batch_size=None, tau=1.0, kappa=0.9)
    add(bayou.OnlineLDA, "scvb0 fractional", **k, batch_size=16, form="fractional")
    add(bayou.OnlineLDA, "frame", **k, batch_size=16, form="frame")


def _hdp():
    short = {"n_sweeps": 10, "burn_in": 4}
    for sampler in ("alias", "tables", "direct"):
        own = {**short, "sampler": sampler}
        add(bayou.HDP, sampler, **own)
        add(bayou.HDP, f"{sampler} from random", **own, start="random", n_topics=5)
        add(bayou.HDP, f"{sampler} without moves", **own, n_moves=0, n_chains=2)
        add(bayou.HDP, f"{sampler} fixed", **own, learn_alpha=False, learn_gamma=False, alpha=2.0)
        add(bayou.HDP, f"{sampler} discount", **own, discount=0.3)
    own = {"n_topics": 12, "batch_size": 16, "n_passes": 2}
    for inference in ("hybrid", "truncation-free"):
        how = {**own, "inference": inference}
        add(bayou.OnlineHDP, inference, **how)
        add(bayou.OnlineHDP, f"{inference} unmerged", **how, merge=False, n_docs=300)
        fixed = {"learn_alpha": False, "learn_gamma": False, "alpha": 1.5}
        add(bayou.OnlineHDP, f"{inference} fixed", **how, **fixed)
    add(bayou.OnlineHDP, "own batches", n_topics=20, n_passes=2)


def _margin():
    short = {"n_topics": 6, "n_sweeps": 8, "n_kept": 3}
    kind = bayou.MedLDAClassifier
    for target in ("binary", "classes", "labels", "whole", "missing", "some labels", "indicator"):
        add(kind, target, target, **short)
    for sampler in ("gibbs", "light"):
        for target in ("binary", "classes", "labels"):
            own = {**short, "sampler": sampler}
            add(kind, f"{sampler} {target}", target, **own)
            add(kind, f"{sampler} exact {target}", target, **own, exact=True)
        add(kind, f"{sampler} logistic", "classes", **own, loss="logistic")
    add(kind, "one against all", "classes", **short, multi_class="one-vs-all")
    add(kind, "one against all labels", "labels", **short, multi_class="one-vs-all")
    for target in ("binary", "classes", "labels"):
        add(kind, f"logistic {target}", target, **short, loss="logistic", cost=20.0)
        add(kind, f"words {target}", target, **short, word_residual=2.0)
        add(kind, f"plain {target}", target, **short, refit=False, idf=False, tf="none")
        add(kind, f"chains {target}", target, **short, n_chains=2)
    add(kind, "chains words", "classes", **short, n_chains=2, word_residual=1.0, tf="binary")
    add(kind, "weighted", "classes", **short, weighted=True, margin=30.0, variance=0.5)
    add(kind, "positive", "labels", **short, positive_cost=2.0, cost=2.0)
    add(kind, "default topics", "classes", n_sweeps=4, n_kept=1)
    add(kind, "alpha", "binary", n_topics=3, alpha=[0.5, 1.0, 2.0], n_sweeps=6, n_kept=2)
    for source in ("gibbs", "light", "logistic"):
        own = {"source": source, "n_topics": 6, "n_sweeps": 8}
        add(kind.published, f"published {source}", "classes", **own)
    add(kind, "frame", "binary", **short, form="frame")
    add(kind, "dense", "labels", **short, form="dense")
    add(kind, "filled", "labels", **short, form="filled")
    number = bayou.MedLDARegressor
    for target in ("number", "numbers", "holes"):
        add(number, target, target, **short)
        add(number, f"words {target}", target, **short, word_residual=1.0)
    for sampler in ("gibbs", "light"):
        add(number, sampler, "number", **short, sampler=sampler)
        add(number, f"{sampler} exact", "number", **short, sampler=sampler, exact=True)
    add(number, "chains", "numbers", **short, n_chains=2)
    add(number, "plain", "number", **short, refit=False)
    add(number, "damped", "number", **short, tf="log", idf=True, epsilon=0.1)
    add(number, "weighted", "number", **short, weighted=True)
    add(number, "filled", "number", **short, form="filled")
    short = {"n_sweeps": 8, "n_kept": 3, "max_topics": 30}
    kind = bayou.MedHDPClassifier
    for target in ("binary", "classes", "labels", "missing"):
        add(kind, target, target, **short)
    add(kind, "logistic", "classes", **short, loss="logistic", cost=20.0)
    add(kind, "words", "labels", **short, word_residual=2.0)
    add(kind, "plain", "classes", **short, refit=False, idf=False, tf="none", n_topics=5)
    add(kind, "weighted", "binary", **short, weighted=True, alpha=2.0, gamma=0.5)
    number = bayou.MedHDPRegressor
    for target in ("number", "numbers", "holes"):
        add(number, target, target, **short)
    add(number, "words", "number", **short, word_residual=1.0, n_topics=4)
    add(number, "plain", "number", **short, refit=False, weighted=True)


def _online_margin():
    own = {"batch_size": 16, "n_topics": 6}
    for kind in (bayou.OnlineMedLDAClassifier, bayou.OnlineMedHDPClassifier):
        for posterior in ("gibbs", "averaging"):
            how = {**own, "classifier": posterior}
            for target in ("binary", "classes", "labels", "missing"):
                add(kind, f"{posterior} {target}", target, **how)
            add(kind, f"{posterior} refit", "classes", **how, refit=True)
            add(kind, f"{posterior} not refit", "labels", **how, refit=False)
            add(kind, f"{posterior} drifting", "classes", **how, decay=0.98, ghost_factor=2.0)
            add(kind, f"{posterior} weighted", "binary", **how, weighted=True, tf="none")
            sweeps = {"n_rounds": 2, "n_sweeps": 3, "burn_in": 1, "idf": False}
            add(kind, f"{posterior} sweeps", "classes", **how, **sweeps)
            published = {"classifier": posterior, "batch_size": 16}
            add(kind.published, f"published {posterior}", "classes", **published)
        for name, floor in (("no floor", None), ("low floor", 2.0)):
            add(kind, name, "classes", **own, weight_floor=floor)
        add(kind, "default", "some labels")
        add(kind, "filled", "labels", **own, form="filled")
    for kind in (bayou.OnlineMedLDARegressor, bayou.OnlineMedHDPRegressor):
        for posterior in ("gibbs", "averaging"):
            how = {**own, "regressor": posterior}
            for target in ("number", "numbers", "holes"):
                add(kind, f"{posterior} {target}", target, **how)
            add(kind, f"{posterior} refit", "number", **how, refit=True)
            add(kind, f"{posterior} not refit", "number", **how, refit=False, decay=0.99)
            add(kind, f"{posterior} weighted", "number", **how, weighted=True, epsilon=0.2)
        add(kind, "no floor", "numbers", **own, weight_floor=None)
        add(kind, "default", "number")
    growing = {"batch_size": 16, "max_topics": 8, "min_tokens": 2.0, "gamma": 3.0}
    add(bayou.OnlineMedHDPClassifier, "crowded", "classes", **growing)
    add(bayou.OnlineMedHDPRegressor, "crowded", "number", **growing)


def _linear():
    own = {"n_passes": 2, "n_rounds": 20}
    kind = bayou.BayesPAClassifier
    for target in ("binary", "classes", "labels"):
        add(kind, f"averaging {target}", target, **own)
        add(kind, f"diagonal {target}", target, **own, classifier="gibbs", batch_size=8)
        full = {"classifier": "gibbs", "precision": "full"}
        add(kind, f"full {target}", target, **own, **full, batch_size=32)
    add(kind, "mean", "classes", **own, average=True, fit_intercept=False)
    add(kind, "weighted", "binary", **own, weighted=True, margin=2.0, batch_size=5)
    add(kind, "frame", "classes", **own, form="frame")
    kind = bayou.BayesPARegressor
    for target in ("number", "numbers"):
        add(kind, f"averaging {target}", target, **own)
        add(kind, f"diagonal {target}", target, **own, regressor="gibbs", batch_size=8)
        full = {"regressor": "gibbs", "precision": "full"}
        add(kind, f"full {target}", target, **own, **full, batch_size=32)
    add(kind, "mean", "number", **own, average=True, fit_intercept=False)
    add(kind, "weighted", "number", **own, weighted=True, epsilon=5.0)


def _labels():
    short = {"n_sweeps": 10, "n_kept": 4}
    given = {"given_terms": {str(LABELS[2]): topics()[2], str(LABELS[0]): topics()[0]}}
    kind = bayou.LabeledLDA
    for inference in ("cvb0", "gibbs"):
        own = {**short, "inference": inference}
        for target in ("labels", "classes", "binary", "some labels"):
            add(kind, f"{inference} {target}", target, **own)
        add(kind, f"{inference} free", "labels", **own, n_free_topics=2)
        add(kind, f"{inference} open", "labels", **own, greedy=False, prior="flat", tf="log")
        add(kind, f"{inference} chains", "labels", **own, n_chains=2)
        add(kind, f"{inference} given", "labels", **own, fit=given)
        for rule in ("cardinality", "scut"):
            add(kind, f"{inference} {rule}", "labels", **own, rule=rule, validation_share=0.25)
    add(kind, "filled", "labels", **short, form="filled")
    for kind in (bayou.DependencyLDA, bayou.FastDependencyLDA):
        for inference in ("cvb0", "gibbs"):
            own = {**short, "inference": inference, "n_topics": 3}
            add(kind, f"{inference} labels", "labels", **own)
            add(kind, f"{inference} classes", "classes", **own)
            add(kind, f"{inference} chains", "labels", **own, n_chains=2, mix=0.3)
            add(kind, f"{inference} given", "labels", **own, fit=given)
        add(kind, "default topics", "some labels", **short, rule="scut", tf="binary")
    own = {**short, "n_topics": 3}
    add(bayou.DependencyLDA, "length", "labels", **own, strength="length", eta=20.0, gamma=0.5)
    for kind in (bayou.FastDependencyLDA, bayou.StackedHDP):
        for scoring in ("tokens", "document"):
            add(kind, scoring, "labels", **own, scoring=scoring)
            add(kind, f"words {scoring}", "labels", **own, scoring=scoring, dep_tokens="word")
    together = {"greedy": False, "inference": "gibbs", "dep_tokens": "word"}
    add(bayou.FastDependencyLDA, "together", "labels", **own, **together)
    add(bayou.FastDependencyLDA, "refused", "labels", **own, greedy=False)
    kind = bayou.StackedHDP
    for inference in ("cvb0", "gibbs"):
        how = {**own, "inference": inference}
        add(kind, f"{inference} labels", "labels", **how)
        add(kind, f"{inference} classes", "classes", **how)
        add(kind, f"{inference} chains", "labels", **how, n_chains=2, mix=0.4)
        none = {"concentration": None, "label_concentration": None, "root_concentration": 2.0}
        add(kind, f"{inference} learned", "some labels", **how, **none)
    kind = bayou.LabeledHDP
    for target in ("labels", "classes", "some labels"):
        add(kind, target, target, **short)
    add(kind, "open", "labels", **short, greedy=False)
    add(kind, "chains", "labels", **short, n_chains=2, rule="cardinality")
    none = {"concentration": None, "root_concentration": None}
    add(kind, "learned", "labels", **short, **none, tf="log")
    add(bayou.AuthorTopicModel, "authors", "authors", **own)
    add(bayou.AuthorTopicModel, "classes", "classes", **own, alpha=0.5, beta_labels=0.3)
    add(bayou.AuthorTopicModel, "filled", "labels", **own, form="filled")


def _online_labels():
    own = {"batch_size": 16, "n_passes": 2}
    kind = bayou.OnlineLabeledLDA
    for inference in ("scvb0", "hybrid"):
        how = {**own, "inference": inference}
        for target in ("labels", "classes", "some labels"):
            add(kind, f"{inference} {target}", target, **how)
        add(kind, f"{inference} open", "labels", **how, greedy=False, prior="flat", n_docs=400)
    add(kind, "damped", "labels", **own, tf="log", rule="cardinality", n_rounds=3)
    kind = bayou.OnlineLabeledHDP
    for target in ("labels", "classes", "some labels"):
        add(kind, target, target, **own)
    add(kind, "open", "labels", **own, greedy=False)
    add(kind, "learned", "labels", **own, concentration=5.0, root_concentration=3.0, tf="log")
    kind, own = bayou.OnlineDependencyLDA, {**own, "n_topics": 3, "n_chains": 2}
    for target in ("labels", "classes", "some labels"):
        add(kind, target, target, **own)
    add(kind, "tokens", "labels", **own, scoring="tokens", mix=0.3)
    add(kind, "one chain", "labels", **{**own, "n_chains": 1}, strength=20.0, n_label_rounds=2)


def _trackers():
    own = {"n_topics": 4, "slice_by": "week", "min_tokens": 30, "warm_up": 1, "n_sweeps": 12}
    kind = bayou.TopicTracker
    for inference in ("fast", "snapshot", "gibbs"):
        add(kind, inference, form="news", **own, inference=inference)
    add(kind, "spectral", form="news", **own, start="spectral")
    add(kind, "counts", form="news", **own, scale="counts")
    add(kind, "window", form="news", **own, window=2, strength=100.0)
    add(kind, "estimate", form="news", **own, strength="estimate", learn_alpha=True)
    named = {"given": {"term03": 2.0, "term05": 1.0}, "flat": np.ones(N_TERMS).tolist()}
    add(kind, "fixed", form="news", **own, fixed=named)
    add(kind, "held", form="news", **own, fixed=named, fixed_strength=50.0)
    add(kind, "by number", form="news", **{**own, "slice_by": 25}, n_starts=1)
    late = {"grace": 1, "late": "drop", "dead_after": 2, "max_topics": 5, "n_spare": 2}
    add(kind, "late", form="news late", **own, **late)
    add(kind, "late next", form="news late", **own)
    terms = {"min_docs": 2, "max_terms": 36, "forget_after": 2}
    add(kind, "terms", form="news", **own, **terms)


def _moments():
    k = {"n_topics": 4}
    short = {**k, "burn_in": 20, "reservoir": 50}
    for kind in (bayou.SpectralLDA, bayou.SpectralLeader):
        for mode in ("basis", "history", "reservoir"):
            add(kind, mode, **short, mode=mode)
            add(kind, f"{mode} documents", **short, mode=mode, weighting="documents")
        for method in ("deflation", "jacobi", "jennrich"):
            add(kind, method, **short, decomposition=method)
        add(kind, "forgetting", **short, half_life=30)
        add(kind, "history forgetting", **short, half_life=30, mode="history")
        add(kind, "smooth", **short, smoothing=0.5, max_share=None)
    add(bayou.SpectralLDA, "alpha0", **short, alpha0=0.4)
    add(bayou.SpectralLeader, "unpolished", **short, n_polish=0)
    add(bayou.IncrementalEM, "single", **k, n_passes=4)
    add(bayou.IncrementalEM, "batches", **k, n_passes=4, batch_size=16, smoothing=0.1)
    add(bayou.StepwiseEM, "default", **k)
    add(bayou.StepwiseEM, "batches", **k, batch_size=16, n_passes=2, exponent=0.9)
    add(bayou.StepwiseEM, "smooth", **k, batch_size=10, smoothing=0.2)


for part in (_lda, _hdp, _margin, _online_margin, _linear, _labels, _online_labels, _trackers):
    part()
_moments()
