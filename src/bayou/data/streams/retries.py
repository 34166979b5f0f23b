"""Waiting for a server that is away for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from bayou.data.errors import DataError

T = TypeVar("T")
_FIRST, _LONGEST = 0.05, 2.0


class RetryPolicy:
    """Tries again, less and less often, until it works, nobody waits any more or the time is up."""

    def __init__(
        self,
        seconds: float = 300.0,
        stopped: Callable[[], bool] = lambda: False,
        told: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.seconds, self.stopped, self.told = seconds, stopped, told

    def until(self, call: Callable[[], T], errors: tuple[type[Exception], ...], name: str) -> T:
        """What the call gives when it works."""
        begun, pause = time.monotonic(), _FIRST
        while True:
            try:
                return call()
            except errors as error:
                reason = str(error).strip().partition("\n")[0][:200]
                if self.stopped() or time.monotonic() - begun > self.seconds:
                    raise DataError(f"{name}: {reason}; begin again when it is back") from None
                if pause == _FIRST:
                    self.told(f"{name} is away: {reason}")
                time.sleep(pause)
                pause = min(2.0 * pause, _LONGEST)
