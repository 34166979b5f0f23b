"""Linear algebra on one thread, so that sums are added in one order whatever the machine has."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Within it BLAS has one thread; the libraries are looked up once a process, which takes milliseconds."""
    return _libraries().limit(limits=1)  # type: ignore[no-any-return]


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401  # loads the last of them

    return ThreadpoolController()
