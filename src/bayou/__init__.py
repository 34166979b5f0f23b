"""Topic models that learn from labels and from streams."""

from bayou._version import __version__
from bayou.data import Corpus, DataError, ModelFileError, Vectorizer, Vocabulary
from bayou.estimator import load
from bayou.explanation import Explanation
from bayou.models.bayes_pa import BayesPAClassifier, BayesPARegressor
from bayou.models.lda import LDA
from bayou.models.med_lda import MedLDAClassifier, MedLDARegressor
from bayou.models.online_lda import OnlineLDA
from bayou.text_model import TextModel

__all__ = [
    "LDA",
    "BayesPAClassifier",
    "BayesPARegressor",
    "Corpus",
    "DataError",
    "Explanation",
    "MedLDAClassifier",
    "MedLDARegressor",
    "ModelFileError",
    "OnlineLDA",
    "TextModel",
    "Vectorizer",
    "Vocabulary",
    "__version__",
    "load",
]
