"""Topic models that learn from labels and from streams."""

from typing import TYPE_CHECKING

from bayou import lazy
from bayou._version import __version__
from bayou.homes import HOMES

if TYPE_CHECKING:
    from bayou.api.files import load
    from bayou.data.corpus import Corpus
    from bayou.data.errors import DataError, ModelFileError
    from bayou.data.text import Vectorizer
    from bayou.data.vocabulary import Vocabulary
    from bayou.data.vocabulary_growth import Growth
    from bayou.models.author_topic import AuthorTopicModel
    from bayou.models.bayes_pa import BayesPAClassifier
    from bayou.models.bayes_pa_regressor import BayesPARegressor
    from bayou.models.dependency_lda import DependencyLDA, FastDependencyLDA
    from bayou.models.hdp import HDP
    from bayou.models.labeled_hdp import LabeledHDP
    from bayou.models.labeled_lda import LabeledLDA
    from bayou.models.lda import LDA
    from bayou.models.med_hdp import MedHDPClassifier, MedHDPRegressor
    from bayou.models.med_lda import MedLDAClassifier, MedLDARegressor
    from bayou.models.mixture_em import IncrementalEM, StepwiseEM
    from bayou.models.online_dependency_lda import OnlineDependencyLDA
    from bayou.models.online_hdp import OnlineHDP
    from bayou.models.online_labeled_hdp import OnlineLabeledHDP
    from bayou.models.online_labeled_lda import OnlineLabeledLDA
    from bayou.models.online_lda import OnlineLDA
    from bayou.models.online_med_hdp import OnlineMedHDPClassifier, OnlineMedHDPRegressor
    from bayou.models.online_med_lda import OnlineMedLDAClassifier
    from bayou.models.online_med_lda_regressor import OnlineMedLDARegressor
    from bayou.models.spectral_lda import SpectralLDA
    from bayou.models.spectral_leader import SpectralLeader
    from bayou.models.stacked_hdp import StackedHDP
    from bayou.models.topic_tracker import TopicTracker
    from bayou.multilabel.block_chain import BlockChainEnsemble, BlockClassifierChain
    from bayou.multilabel.thresholded import ThresholdedClassifier
    from bayou.results.explanation import Explanation
    from bayou.text_model import TextModel

_MODULES = (
    "data",
    "datasets",
    "metrics",
    "models",
    "multilabel",
    "report",
    "results",
    "testing",
)

__getattr__, __dir__ = lazy.attributes(__name__, HOMES, _MODULES)

__all__ = [
    "HDP",
    "LDA",
    "AuthorTopicModel",
    "BayesPAClassifier",
    "BayesPARegressor",
    "BlockChainEnsemble",
    "BlockClassifierChain",
    "Corpus",
    "DataError",
    "DependencyLDA",
    "Explanation",
    "FastDependencyLDA",
    "Growth",
    "IncrementalEM",
    "LabeledHDP",
    "LabeledLDA",
    "MedHDPClassifier",
    "MedHDPRegressor",
    "MedLDAClassifier",
    "MedLDARegressor",
    "ModelFileError",
    "OnlineDependencyLDA",
    "OnlineHDP",
    "OnlineLDA",
    "OnlineLabeledHDP",
    "OnlineLabeledLDA",
    "OnlineMedHDPClassifier",
    "OnlineMedHDPRegressor",
    "OnlineMedLDAClassifier",
    "OnlineMedLDARegressor",
    "SpectralLDA",
    "SpectralLeader",
    "StackedHDP",
    "StepwiseEM",
    "TextModel",
    "ThresholdedClassifier",
    "TopicTracker",
    "Vectorizer",
    "Vocabulary",
    "__version__",
    "load",
]
