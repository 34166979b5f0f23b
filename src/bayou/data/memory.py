"""Memory is estimated before it is taken: what cannot fit is refused with one clear error."""

from __future__ import annotations

import contextlib
import math
import os

from bayou.data.errors import DataError

_TOKEN = 12  # bytes per token of a sampler, at least: term, topic, place in an index


def available_bytes() -> float:
    """Bytes that this process can still take; infinity if the system does not say."""
    found = math.inf
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/meminfo") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                found = 1024.0 * int(line.split()[1])
    if not math.isfinite(found):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            found = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with contextlib.suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            with open("/proc/self/statm") as sizes:
                taken = int(sizes.read().split()[0]) * resource.getpagesize()
            found = min(found, float(max(most - taken, 0)))
    return found


def check_memory(n_bytes: float, what: str, hint: str) -> None:
    """Refuse work that needs more memory than there is.

    Parameters
    ----------
    n_bytes : float
        A lower bound of what the work needs.
    what : str
        What needs the memory, the beginning of the message.
    hint : str
        What to do instead.
    """
    if n_bytes < 2**28:  # 256 MB: not worth a look
        return
    free = available_bytes()
    if n_bytes > free:
        raise DataError(
            f"{what} needs at least {n_bytes / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are "
            f"available; {hint}"
        )


def check_tokens(n_tokens: float) -> None:
    """Refuse more tokens than a sampler can hold in memory."""
    check_memory(
        _TOKEN * float(n_tokens),
        f"a sampler of {n_tokens:,.0f} tokens",
        "give fewer documents or scale counts down",
    )


def check_topics(n_terms: int, n_topics: int) -> None:
    """Refuse topics whose counts (terms, topics) cannot fit: counts, their sums and the result."""
    check_memory(
        12.0 * n_terms * n_topics,
        f"a model of {n_topics:,} topics over {n_terms:,} terms",
        "use fewer topics, or fewer terms (max_features, min_df)",
    )
