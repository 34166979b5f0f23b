"""The parameters of a vectoriser, as stored in a model file."""

from dataclasses import fields
from typing import Any

import numpy as np

from bayou.data.counting import check_limits
from bayou.data.errors import DataError, ModelFileError
from bayou.data.stop_words import has_file
from bayou.data.table import Columns
from bayou.data.text import Vectorizer, tokenize


def parameters(vectorizer: Vectorizer) -> dict[str, Any]:
    """All parameters of a vectoriser as JSON; sets of words are sorted.

    Stop words from files are stored as words: a model file names no other files.
    """
    found = {f.name: _plain(getattr(vectorizer, f.name)) for f in fields(Vectorizer)}
    if isinstance(vectorizer.stop_words, str) and has_file(vectorizer.stop_words):
        found["stop_words"] = sorted(vectorizer.stop_words_ or ())
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return [item.item() if isinstance(item, np.generic) else item for item in value]


def columns(value: Any) -> dict[str, str] | None:
    """The column names that `bayou fit` stored in a file, or None if it stored none."""
    if value is None:
        return None
    known = {*Columns._fields, "label_separator"}
    if not isinstance(value, dict) or set(value) - known:
        raise ModelFileError("the model file's columns are not fields of documents; save it again")
    if not all(isinstance(name, str) and name for name in value.values()):
        raise ModelFileError("the model file's columns are not named by strings; save it again")
    return value


def restore_vectorizer(given: Any) -> Vectorizer:
    """The vectoriser with these `parameters`, not fitted."""
    known = {f.name for f in fields(Vectorizer)}
    if not isinstance(given, dict) or set(given) - known:
        raise ModelFileError("the model file holds unknown parameters of the vectoriser")
    try:
        made = Vectorizer(**given | {"ngrams": tuple(given.get("ngrams", (1, 1)))})
        if type(made.lowercase) is not bool:
            raise DataError(f"lowercase must be true or false, got {made.lowercase!r:.40}")
        for words in (made.stop_words, made.vocabulary):
            is_list = isinstance(words, list) and all(isinstance(word, str) for word in words)
            if words is not None and not isinstance(words, str) and not is_list:
                raise DataError(f"words must be strings, got {words!r:.40}")
        if isinstance(made.stop_words, str) and has_file(made.stop_words):
            raise DataError(f"stop words must not name a file, got {made.stop_words!r:.80}")
        check_limits(made.min_df, made.max_df, made.max_features)
        tokenize(
            "", min_length=made.min_length, ngrams=made.ngrams, token_pattern=made.token_pattern
        )
    except (DataError, TypeError) as error:
        raise ModelFileError(f"the vectoriser in the file cannot be used: {error}") from None
    return made
