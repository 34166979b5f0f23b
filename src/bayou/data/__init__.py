"""From files, texts and matrices to a checked `Corpus`; and the one file a model is kept in."""

from bayou.data.container import load, pack_strings, peek, save, unpack_strings
from bayou.data.corpus import Corpus
from bayou.data.errors import (
    BayouError,
    DataError,
    FractionalCountsWarning,
    MissingTargetsWarning,
    ModelFileError,
)
from bayou.data.readers import iter_records, read
from bayou.data.synthetic import Truth, sample_lda
from bayou.data.text import ENGLISH_STOP_WORDS, Vectorizer, tokenize
from bayou.data.vocabulary import Vocabulary

__all__ = [
    "ENGLISH_STOP_WORDS",
    "BayouError",
    "Corpus",
    "DataError",
    "FractionalCountsWarning",
    "MissingTargetsWarning",
    "ModelFileError",
    "Truth",
    "Vectorizer",
    "Vocabulary",
    "iter_records",
    "load",
    "pack_strings",
    "peek",
    "read",
    "sample_lda",
    "save",
    "tokenize",
    "unpack_strings",
]
