"""Input data as a checked `Corpus`: readers for files, texts and matrices; the model file format."""

from typing import TYPE_CHECKING

from bayou import lazy

if TYPE_CHECKING:
    from bayou.data.container import load, pack_strings, peek, save, unpack_strings
    from bayou.data.corpus import Corpus
    from bayou.data.english import ENGLISH_LONG_STOP_WORDS, ENGLISH_STOP_WORDS
    from bayou.data.errors import (
        BayouError,
        DataError,
        DoubtWarning,
        FractionalCountsWarning,
        LongTokensWarning,
        MissingTargetsWarning,
        ModelFileError,
    )
    from bayou.data.readers import iter_records, read
    from bayou.data.synthetic import Truth, sample_hdp, sample_lda, sample_mixture
    from bayou.data.text import Vectorizer, tokenize
    from bayou.data.vocabulary import Vocabulary
    from bayou.data.vocabulary_growth import Growth

_MODULE_OF = {  # the imports above again, for lazy loading
    "BayouError": "bayou.data.errors",
    "Corpus": "bayou.data.corpus",
    "DataError": "bayou.data.errors",
    "DoubtWarning": "bayou.data.errors",
    "ENGLISH_LONG_STOP_WORDS": "bayou.data.english",
    "ENGLISH_STOP_WORDS": "bayou.data.english",
    "LongTokensWarning": "bayou.data.errors",
    "FractionalCountsWarning": "bayou.data.errors",
    "Growth": "bayou.data.vocabulary_growth",
    "MissingTargetsWarning": "bayou.data.errors",
    "ModelFileError": "bayou.data.errors",
    "Truth": "bayou.data.synthetic",
    "Vectorizer": "bayou.data.text",
    "Vocabulary": "bayou.data.vocabulary",
    "iter_records": "bayou.data.readers",
    "load": "bayou.data.container",
    "pack_strings": "bayou.data.container",
    "peek": "bayou.data.container",
    "read": "bayou.data.readers",
    "sample_hdp": "bayou.data.synthetic",
    "sample_lda": "bayou.data.synthetic",
    "sample_mixture": "bayou.data.synthetic",
    "save": "bayou.data.container",
    "tokenize": "bayou.data.text",
    "unpack_strings": "bayou.data.container",
}

_MODULES = (
    "container",
    "corpus",
    "errors",
    "readers",
    "records",
    "synthetic",
    "text",
    "vocabulary",
)

__getattr__, __dir__ = lazy.attributes(__name__, _MODULE_OF, _MODULES)

__all__ = [
    "ENGLISH_LONG_STOP_WORDS",
    "ENGLISH_STOP_WORDS",
    "BayouError",
    "Corpus",
    "DataError",
    "DoubtWarning",
    "FractionalCountsWarning",
    "Growth",
    "LongTokensWarning",
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
    "sample_hdp",
    "sample_lda",
    "sample_mixture",
    "save",
    "tokenize",
    "unpack_strings",
]
