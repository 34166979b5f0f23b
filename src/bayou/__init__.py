"""Topic models that learn from labels and from streams."""

__version__ = "0.1.0"

from bayou.data import Corpus, DataError, ModelFileError, Vectorizer, Vocabulary
from bayou.estimator import load
from bayou.models.lda import LDA

__all__ = [
    "LDA",
    "Corpus",
    "DataError",
    "ModelFileError",
    "Vectorizer",
    "Vocabulary",
    "load",
]
