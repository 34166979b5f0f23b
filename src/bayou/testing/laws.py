"""All laws by name, and one function that checks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bayou.data.corpus import Corpus
from bayou.testing import inputs, parameters, purity, repeats, supervision
from bayou.testing.cases import Case, small_corpus

Law = Callable[[Case], None]

LAWS: tuple[Law, ...] = (
    *parameters.LAWS, *purity.LAWS, *inputs.LAWS, *repeats.LAWS, *supervision.LAWS,
)  # fmt: skip


def laws(model: Any, *, corpus: Corpus | None = None) -> Iterator[tuple[str, Callable[[], None]]]:
    """Every law by name, with a function that raises AssertionError if the model violates it.

    A law about a feature that the model lacks (`partial_fit`, checkpoints) passes.

    Parameters
    ----------
    model : estimator
        Not fitted; it is copied, never changed.
    corpus : Corpus, optional
        Documents to check the model on. Default: sixty synthetic ones. Some laws use others.

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
    """Check an unfitted model against all laws.

    Parameters
    ----------
    model, corpus
        As in `laws`.

    Raises
    ------
    AssertionError
        Names the first violated law, and how the model violates it.

    Examples
    --------
    >>> from bayou import OnlineLDA
    >>> check_model(OnlineLDA(n_topics=2))
    """
    for _, check in laws(model, corpus=corpus):
        check()


def _run_law(law: Law, case: Case) -> None:
    """Run a law; any error is reported with the names of the law and of the model."""
    try:
        law(case)
    except Exception as error:
        what = (
            str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
        )
        message = f"{case.model!r} breaks the law {law.__name__!r}: {what}"
        raise AssertionError(message) from error
