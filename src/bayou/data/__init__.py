"""From files, texts and matrices to a checked `Corpus`; and the one file a model is kept in."""

from bayou.data.corpus import Corpus
from bayou.data.errors import BayouError, DataError, FractionalCountsWarning, ModelFileError
from bayou.data.text import ENGLISH_STOP_WORDS, Vectorizer, tokenize
from bayou.data.vocabulary import Vocabulary

__all__ = [
    "ENGLISH_STOP_WORDS",
    "BayouError",
    "Corpus",
    "DataError",
    "FractionalCountsWarning",
    "ModelFileError",
    "Vectorizer",
    "Vocabulary",
    "tokenize",
]
