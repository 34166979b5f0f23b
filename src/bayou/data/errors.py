"""What can go wrong at the door, and how it is named."""


class BayouError(Exception):
    """Base of every error that bayou raises on purpose."""


class DataError(BayouError, ValueError):
    """Input data that cannot be used; the message names the first offending place."""


class ModelFileError(BayouError, ValueError):
    """A model file that is damaged, foreign, hostile or written by a newer bayou."""


class FractionalCountsWarning(UserWarning):
    """Fractional counts were rounded because whole tokens were needed."""
