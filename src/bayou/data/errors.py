"""What can go wrong at the door, and how it is named."""

import difflib
from collections.abc import Iterable


class BayouError(Exception):
    """Base of every error that bayou raises on purpose."""


class DataError(BayouError, ValueError):
    """Input data that cannot be used; the message names the first offending place."""


class ModelFileError(BayouError, ValueError):
    """A model file that is damaged, foreign, hostile or written by a newer bayou."""


class DamagedFileError(ModelFileError):
    """A model file that was cut short or changed after it was written."""


class FractionalCountsWarning(UserWarning):
    """Fractional counts were rounded because whole tokens were needed."""


class MissingTargetsWarning(UserWarning):
    """Some documents came without a number to predict; they teach nothing about it."""


class DoubtWarning(UserWarning):
    """The data do not support what was asked for; the model says what it made of them."""


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """The end of an error message about a name that is not known: the nearest one that is.

    Examples
    --------
    >>> did_you_mean("txt", ["id", "text"]), did_you_mean("q", ["id", "text"])
    ("; did you mean 'text'?", '')
    """
    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(given.lower(), names, 1)
    return f"; did you mean {names[near[0]]!r}?" if near else ""


def several(n: float, what: str) -> str:
    """A number of things, for a sentence.

    Examples
    --------
    >>> several(1, "dead letter"), several(1604, "document")
    ('1 dead letter', '1,604 documents')
    """
    return f"{n:,.0f} {what}" if n == 1 else f"{n:,.0f} {what}s"
