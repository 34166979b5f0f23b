"""The parameters of a vectoriser as a model file holds them."""

from dataclasses import fields
from typing import Any

import numpy as np

from bayou.data.counting import check_limits
from bayou.data.errors import DataError, ModelFileError
from bayou.data.table import Columns
from bayou.data.text import Vectorizer, tokenize


def parameters(vectorizer: Vectorizer) -> dict[str, Any]:
    """Everything a vectoriser was made with as JSON; collections of words in order."""
    return {f.name: _plain(getattr(vectorizer, f.name)) for f in fields(Vectorizer)}


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return [item.item() if isinstance(item, np.generic) else item for item in value]


def columns(value: Any) -> dict[str, str] | None:
    """What a file says of the columns that `bayou fit` read, or None where it says nothing."""
    if value is None:
        return None
    known = {*Columns._fields, "label_separator"}
    if not isinstance(value, dict) or set(value) - known:
        raise ModelFileError("the model file's columns are not those of documents; save it again")
    if not all(isinstance(name, str) and name for name in value.values()):
        raise ModelFileError("the model file's columns are not named by text; save it again")
    return value


def restore_vectorizer(given: Any) -> Vectorizer:
    """The vectoriser whose `parameters` these are; it is not fitted."""
    known = {f.name for f in fields(Vectorizer)}
    if not isinstance(given, dict) or set(given) - known:
        raise ModelFileError("the vectoriser's parameters in the file are not those of bayou")
    try:
        made = Vectorizer(**given | {"ngrams": tuple(given.get("ngrams", (1, 1)))})
        check_limits(made.min_df, made.max_df, made.max_features)
        tokenize(
            "", min_length=made.min_length, ngrams=made.ngrams, token_pattern=made.token_pattern
        )
    except (DataError, TypeError) as error:
        raise ModelFileError(f"the vectoriser in the file cannot be used: {error}") from None
    return made
