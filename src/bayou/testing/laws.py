"""All laws by name, and the one call that checks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bayou.data.corpus import Corpus
from bayou.testing import inputs, parameters, purity, repeats
from bayou.testing.cases import Case, small_corpus

Law = Callable[[Case], None]

LAWS: tuple[Law, ...] = (*parameters.LAWS, *purity.LAWS, *inputs.LAWS, *repeats.LAWS)


def laws(model: Any, *, corpus: Corpus | None = None) -> Iterator[tuple[str, Callable[[], None]]]:
    """Every law by name with a function that raises AssertionError where the model breaks it.

    A law about something the model does not have (`partial_fit`, checkpoints) holds.

    Parameters
    ----------
    model : estimator
        Not fitted; it is copied, never changed.
    corpus : Corpus, optional
        Documents to try the model on instead of sixty synthetic ones. Some laws use others.

    Yields
    ------
    name : str
    check : callable without arguments

    Examples
    --------
    >>> from bayou import LDA
    >>> checks = dict(laws(LDA(n_topics=2)))
    >>> checks["constructor_stores"]()
    """
    case = Case(model, small_corpus() if corpus is None else corpus)
    for law in LAWS:
        yield law.__name__, partial(_run_law, law, case)


def check_model(model: Any, *, corpus: Corpus | None = None) -> None:
    """Hold an unfitted model to all laws.

    Parameters
    ----------
    model, corpus
        As in `laws`.

    Raises
    ------
    AssertionError
        Names the first law that is broken, and how.

    Examples
    --------
    >>> from bayou import OnlineLDA
    >>> check_model(OnlineLDA(n_topics=2))
    """
    for _, check in laws(model, corpus=corpus):
        check()


def _run_law(law: Law, case: Case) -> None:
    """Run a law; whatever goes wrong is told with the name of the law and of the model."""
    try:
        law(case)
    except Exception as error:
        what = (
            str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
        )
        told = f"{case.model!r} breaks the law {law.__name__!r}: {what}"
        raise AssertionError(told) from error
