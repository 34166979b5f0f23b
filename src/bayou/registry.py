"""The list of models: the only one that is kept by hand.

`bayou` itself, the command line, model files, README and the documentation are made from it. After a change
run ``make registry``, which writes the files that hold generated text.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple, TypeVar

C = TypeVar("C", bound=type)


class ModelEntry(NamedTuple):
    """One public estimator. All fields are plain data: reading the registry imports no model."""

    module: str  # that defines the class
    task: str  # a key of TASKS
    labels: str  # what it learns from beside words, a key of LABELS
    streaming: bool  # whether it has `partial_fit`
    page: str  # of docs/
    paper: str  # a key of PAPERS; empty for none
    description: str  # one sentence
    alias: str = ""  # another name on the command line


TASKS = {
    "topics": "Topics",
    "time": "Topics through time",
    "margin": "Topics that predict",
    "labels": "Many labels per document",
    "linear": "Linear models, without topics",
    "wrapper": "Wrappers around any classifier",
}
LABELS = {
    "": "words",
    "classes": "a class or several labels",
    "labels": "several labels",
    "numbers": "numbers",
}
PAPERS = {
    "Anandkumar14": "Anandkumar, Ge, Hsu, Kakade, Telgarsky. Tensor decompositions for learning latent "
    "variable models. JMLR 15, 2014.",
    "Blei03": "Blei, Ng, Jordan. Latent Dirichlet allocation. JMLR 3, 2003.",
    "Burkhardt17": "Burkhardt, Kramer. Online sparse collapsed hybrid variational-Gibbs algorithm for "
    "hierarchical Dirichlet process topic models. ECML PKDD 2017.",
    "Burkhardt18": "Burkhardt, Kramer. Online multi-label dependency topic models for text classification. "
    "Machine Learning 107, 2018.",
    "Burkhardt18b": "Burkhardt. Online multi-label text classification using topic models. PhD thesis, "
    "Mainz, 2018.",
    "Cappe09": "Cappe, Moulines. On-line expectation-maximization algorithm for latent data models. "
    "JRSS B 71, 2009.",
    "Dembczynski10": "Dembczynski, Cheng, Huellermeier. Bayes optimal multilabel classification via "
    "probabilistic classifier chains. ICML 2010.",
    "Foulds13": "Foulds, Boyles, DuBois, Smyth, Welling. Stochastic collapsed variational Bayesian inference "
    "for latent Dirichlet allocation. KDD 2013.",
    "Godbole04": "Godbole, Sarawagi. Discriminative methods for multi-labeled classification. PAKDD 2004.",
    "Hoffman10": "Hoffman, Blei, Bach. Online learning for latent Dirichlet allocation. NIPS 2010.",
    "Neal98": "Neal, Hinton. A view of the EM algorithm that justifies incremental, sparse, and other "
    "variants. In Learning in Graphical Models, 1998.",
    "Ramage09": "Ramage, Hall, Nallapati, Manning. Labeled LDA. EMNLP 2009.",
    "Read11": "Read, Pfahringer, Holmes, Frank. Classifier chains for multi-label classification. "
    "Machine Learning 85, 2011.",
    "RosenZvi04": "Rosen-Zvi, Griffiths, Steyvers, Smyth. The author-topic model for authors and documents. "
    "UAI 2004.",
    "Rubin12": "Rubin, Chambers, Smyth, Steyvers. Statistical topic models for multi-label document "
    "classification. Machine Learning 88, 2012.",
    "Shi17": "Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.",
    "Teh06": "Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.",
    "Yu18": "Yu, Kveton, Wen, Bui, Mengshoel. SpectralLeader: online spectral learning for single topic "
    "models. ECML PKDD 2018.",
    "Zhu14": "Zhu, Chen, Perkins, Zhang. Gibbs max-margin topic models with data augmentation. "
    "JMLR 15, 2014.",
}

# fmt: off
MODELS: dict[str, ModelEntry] = {
    "LDA": ModelEntry(
        "bayou.models.lda", "topics", "", False, "lda", "Blei03",
        "Latent Dirichlet allocation: a fast point estimate, or samplers for posterior draws."),
    "OnlineLDA": ModelEntry(
        "bayou.models.online_lda", "topics", "", True, "lda", "Hoffman10",
        "Latent Dirichlet allocation from mini-batches, in constant memory."),
    "HDP": ModelEntry(
        "bayou.models.hdp", "topics", "", False, "hdp", "Teh06",
        "Hierarchical Dirichlet process: samples the number of topics, with an interval over chains."),
    "OnlineHDP": ModelEntry(
        "bayou.models.online_hdp", "topics", "", True, "online_hdp", "Burkhardt17",
        "Hierarchical Dirichlet process from mini-batches: topics are born and die below a ceiling."),
    "StackedTopics": ModelEntry(
        "bayou.models.stacked_topics", "topics", "", False, "online_labels", "Burkhardt18b",
        "Topics of topics: two stacked hierarchical Dirichlet processes without labels."),
    "SpectralLDA": ModelEntry(
        "bayou.models.spectral_lda", "topics", "", True, "spectral", "Anandkumar14",
        "Latent Dirichlet allocation solved from moments of two and three tokens, without a random start."),
    "SpectralLeader": ModelEntry(
        "bayou.models.spectral_leader", "topics", "", True, "spectral", "Yu18",
        "Mixture of multinomials solved from moments, in one pass and without a step size.",
        alias="spectral"),
    "StepwiseEM": ModelEntry(
        "bayou.models.mixture_em", "topics", "", True, "spectral", "Cappe09",
        "Mixture of multinomials by stepwise EM, in constant memory."),
    "IncrementalEM": ModelEntry(
        "bayou.models.mixture_em", "topics", "", False, "spectral", "Neal98",
        "Mixture of multinomials by incremental EM."),
    "TopicTracker": ModelEntry(
        "bayou.models.topic_tracker", "time", "", True, "tracking", "Burkhardt18b",
        "Tracks topics under stable ids through time and reports significant changes."),
    "MedLDAClassifier": ModelEntry(
        "bayou.models.med_lda", "margin", "classes", False, "med_lda", "Zhu14",
        "Max-margin topic model that predicts classes or labels and explains its predictions."),
    "MedLDARegressor": ModelEntry(
        "bayou.models.med_lda", "margin", "numbers", False, "med_lda", "Zhu14",
        "Max-margin topic model that predicts numbers and explains its predictions."),
    "OnlineMedLDAClassifier": ModelEntry(
        "bayou.models.online_med_lda", "margin", "classes", True, "online_med_lda", "Shi17",
        "Max-margin topic model for classes or labels from mini-batches, in constant memory."),
    "OnlineMedLDARegressor": ModelEntry(
        "bayou.models.online_med_lda_regressor", "margin", "numbers", True, "online_med_lda", "Shi17",
        "Max-margin topic model for numbers from mini-batches, in constant memory."),
    "MedHDPClassifier": ModelEntry(
        "bayou.models.med_hdp", "margin", "classes", False, "med_hdp", "Shi17",
        "Max-margin topic model for classes or labels that learns the number of topics."),
    "MedHDPRegressor": ModelEntry(
        "bayou.models.med_hdp", "margin", "numbers", False, "med_hdp", "Shi17",
        "Max-margin topic model for numbers that learns the number of topics."),
    "OnlineMedHDPClassifier": ModelEntry(
        "bayou.models.online_med_hdp", "margin", "classes", True, "med_hdp", "Shi17",
        "Max-margin topic model for classes or labels from mini-batches that learns the number of topics."),
    "OnlineMedHDPRegressor": ModelEntry(
        "bayou.models.online_med_hdp", "margin", "numbers", True, "med_hdp", "Shi17",
        "Max-margin topic model for numbers from mini-batches that learns the number of topics."),
    "LabeledLDA": ModelEntry(
        "bayou.models.labeled_lda", "labels", "labels", False, "labeled_lda", "Ramage09",
        "Labeled LDA: one topic per label."),
    "DependencyLDA": ModelEntry(
        "bayou.models.dependency_lda", "labels", "labels", False, "labeled_lda", "Rubin12",
        "Topics over labels as a prior on the labels of words."),
    "FastDependencyLDA": ModelEntry(
        "bayou.models.dependency_lda", "labels", "labels", False, "labeled_lda", "Burkhardt18",
        "Topics over labels, which generate the label of each word directly."),
    "LabeledHDP": ModelEntry(
        "bayou.models.labeled_hdp", "labels", "labels", False, "online_labels", "Burkhardt18b",
        "Labeled LDA that learns how frequent each label is."),
    "StackedHDP": ModelEntry(
        "bayou.models.stacked_hdp", "labels", "labels", False, "online_labels", "Burkhardt18b",
        "Topics over labels; learns how frequent each topic is."),
    "AuthorTopicModel": ModelEntry(
        "bayou.models.author_topic", "labels", "labels", False, "labeled_lda", "RosenZvi04",
        "Topics over words, and a distribution over topics per author or label."),
    "OnlineLabeledLDA": ModelEntry(
        "bayou.models.online_labeled_lda", "labels", "labels", True, "online_labels", "Foulds13",
        "Labeled LDA from mini-batches; labels can be added, removed, merged and split."),
    "OnlineDependencyLDA": ModelEntry(
        "bayou.models.online_dependency_lda", "labels", "labels", True, "online_labels", "Burkhardt18",
        "Dependency LDA from mini-batches; labels can be added, removed, merged and split."),
    "OnlineLabeledHDP": ModelEntry(
        "bayou.models.online_labeled_hdp", "labels", "labels", True, "online_labels", "Burkhardt18b",
        "Labeled HDP from mini-batches: learns how frequent each label is."),
    "BayesPAClassifier": ModelEntry(
        "bayou.models.bayes_pa", "linear", "classes", True, "bayes_pa", "Shi17",
        "Online Bayesian passive-aggressive linear classifier."),
    "BayesPARegressor": ModelEntry(
        "bayou.models.bayes_pa_regressor", "linear", "numbers", True, "bayes_pa", "Shi17",
        "Online Bayesian passive-aggressive linear regression."),
    "BlockClassifierChain": ModelEntry(
        "bayou.multilabel.block_chain", "wrapper", "labels", False, "multi_label", "Read11",
        "Classifier chain over blocks of labels."),
    "BlockChainEnsemble": ModelEntry(
        "bayou.multilabel.chain_ensemble", "wrapper", "labels", False, "multi_label", "Burkhardt18b",
        "Ensemble of block classifier chains in different label orders."),
    "ProbabilisticChain": ModelEntry(
        "bayou.multilabel.probabilistic_chain", "wrapper", "labels", False, "multi_label", "Dembczynski10",
        "Classifier chain that predicts the most probable set of labels, by beam search."),
    "LabelStacking": ModelEntry(
        "bayou.multilabel.label_stacking", "wrapper", "labels", False, "multi_label", "Godbole04",
        "Second classifier per label on the cross-validated probabilities of all labels."),
    "ThresholdedClassifier": ModelEntry(
        "bayou.multilabel.thresholded", "wrapper", "labels", False, "multi_label", "",
        "Replaces a classifier's threshold with a rule fitted to held-out scores."),
}
# fmt: on

OTHERS = {  # public names that are not models, and their modules
    "Corpus": "bayou.data.corpus",
    "DataError": "bayou.data.errors",
    "Explanation": "bayou.results.explanation",
    "Growth": "bayou.data.vocabulary_growth",
    "ModelFileError": "bayou.data.errors",
    "TextModel": "bayou.text_model",
    "Vectorizer": "bayou.data.text",
    "Vocabulary": "bayou.data.vocabulary",
    "load": "bayou.api.files",
}
PACKAGES = (
    "data", "datasets", "metrics", "models", "multilabel", "registry", "report", "results", "testing"
)  # fmt: skip

HOMES = {**{name: model.module for name, model in MODELS.items()}, **OTHERS}
"""Every public name of `bayou` with the module that defines it."""

_registered: dict[str, type] = {}


def register(kind: C) -> C:
    """Let model files name an estimator class that is defined outside bayou; usable as a decorator.

    Raises
    ------
    ValueError
        If the name belongs to a model of bayou.
    """
    if kind.__name__ in MODELS:
        raise ValueError(f"{kind.__name__} is a model of bayou; give the class another name")
    _registered[kind.__name__] = kind
    return kind


def find_class(name: str) -> Any:
    """Import the class that a model file names; None if there is no such model.

    Wrappers are not found: they make no files.
    """
    if name in MODELS and MODELS[name].task != "wrapper":
        return getattr(importlib.import_module(MODELS[name].module), name)
    return _registered.get(name)
