"""Exceptions and warnings of bayou, and parts of their messages."""

import difflib
from collections.abc import Iterable


class BayouError(Exception):
    """Base class of all errors that bayou raises."""


class DataError(BayouError, ValueError):
    """Input data that cannot be used; the message names the first invalid place."""


class ModelFileError(BayouError, ValueError):
    """A model file that is damaged, of another type, malicious, or from a newer bayou."""


class DamagedFileError(ModelFileError):
    """A model file that was truncated or changed after it was written."""


class FractionalCountsWarning(UserWarning):
    """Fractional counts were rounded, because the model needs whole tokens."""


class MissingTargetsWarning(UserWarning):
    """Some documents have no target value; the model does not learn targets from them."""


class LongTokensWarning(UserWarning):
    """Tokens of more than 1,000 characters were dropped."""


class DoubtWarning(UserWarning):
    """The data do not support the requested settings; the message says what the model used instead."""


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """The end of an error message about an unknown name: the closest known name.

    Examples
    --------
    >>> did_you_mean("txt", ["id", "text"]), did_you_mean("q", ["id", "text"])
    ("; did you mean 'text'?", '')
    """
    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(given.lower(), names, 1)
    return f"; did you mean {names[near[0]]!r}?" if near else ""


def reason_of(error: OSError) -> str:
    """The reason of a system error, as part of a message."""
    return (error.strerror or str(error)).lower()


def several(n: float, what: str) -> str:
    """A number with its noun, in singular or plural.

    Examples
    --------
    >>> several(1, "dead letter"), several(1604, "document")
    ('1 dead letter', '1,604 documents')
    """
    return f"{n:,.0f} {what}" if n == 1 else f"{n:,.0f} {what}s"
