"""Linear algebra on one thread, so that the order of sums does not depend on the machine."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS has one thread. The libraries are looked up once per process."""
    return _libraries().limit(limits=1)  # type: ignore[no-any-return]


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401  # loads the last of them

    return ThreadpoolController()
