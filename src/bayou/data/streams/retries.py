"""Retries for a server that is temporarily unavailable."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from bayou.data.errors import DataError

T = TypeVar("T")
_FIRST, _LONGEST = 0.05, 2.0


class RetryPolicy:
    """Retries with growing pauses until the call works, the user stops, or the time is up."""

    def __init__(
        self,
        seconds: float = 300.0,
        stopped: Callable[[], bool] = lambda: False,
        told: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.seconds, self.stopped, self.told = seconds, stopped, told

    def until(self, call: Callable[[], T], errors: tuple[type[Exception], ...], name: str) -> T:
        """The result of the call, retried after each of the errors."""
        begun, pause = time.monotonic(), _FIRST
        while True:
            try:
                return call()
            except errors as error:
                reason = str(error).strip().partition("\n")[0][:200]
                if self.stopped() or time.monotonic() - begun > self.seconds:
                    raise DataError(f"{name}: {reason}; start again when it is available") from None
                if pause == _FIRST:
                    self.told(f"{name} is unavailable: {reason}; retrying")
                time.sleep(pause)
                pause = min(2.0 * pause, _LONGEST)
