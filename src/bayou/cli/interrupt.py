"""Ctrl-C: heard whatever it falls into, and gentle while a model is being trained."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from bayou.cli.voice import Voice

if TYPE_CHECKING:
    from bayou.run.loop import Info

_AGAIN = 0.2  # seconds until an interrupt that nobody has caught is raised once more
_HAS_ALARM = hasattr(signal, "setitimer")


@contextlib.contextmanager
def insisting() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt again and again until `heard` is called.

    Raised once, as Python does, it can get lost. An exception in a finaliser or in a weak reference's
    callback is dropped; and a signal that comes after Python's last look and before a read that waits
    for data is not seen until data comes. An alarm ends such a read and raises what was dropped.
    """
    if not _HAS_ALARM or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGALRM)]
    if before[0][1] is not signal.default_int_handler:  # ignored, or somebody else's
        yield
        return
    try:
        signal.signal(signal.SIGALRM, _raise_again)
        signal.signal(signal.SIGINT, _raise)
        yield
    finally:
        heard()
        for number, handler in before:
            signal.signal(number, handler)


def heard() -> None:
    """Say that the interrupt has arrived where it belongs."""
    if _HAS_ALARM and threading.current_thread() is threading.main_thread():
        signal.setitimer(signal.ITIMER_REAL, 0)


def _raise(number: int, frame: FrameType | None) -> None:
    signal.setitimer(signal.ITIMER_REAL, _AGAIN, _AGAIN)
    raise KeyboardInterrupt


def _raise_again(number: int, frame: FrameType | None) -> None:
    if not isinstance(sys.exception(), KeyboardInterrupt):  # else it is on its way: let it clean up
        raise KeyboardInterrupt


class Brake:
    """Ctrl-C once: training stops when its current pass is done. Twice: at once.

    Use as a context manager around training and give it to the estimator as a callback.
    """

    def __init__(self, voice: Voice) -> None:
        self.pressed = False
        self.stopped = False  # training was told to stop; pressed too late, it ends by itself
        self._voice = voice

    def __call__(self, info: Info) -> bool:
        """Whether to stop."""
        self.stopped = self.pressed
        return self.pressed

    def __enter__(self) -> Brake:
        # Only the main thread may say what signals do, and a job that ignores Ctrl-C goes on to.
        here = threading.current_thread() is threading.main_thread()
        self._before = signal.getsignal(signal.SIGINT) if here else signal.SIG_IGN
        if self._before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if not self.pressed:
            self.pressed = True
            with contextlib.suppress(RuntimeError):  # it fell into a line that is being written
                self._voice.say("Stopping after this pass; Ctrl-C once more stops at once.")
        elif callable(self._before):
            self._before(number, frame)
        else:
            raise KeyboardInterrupt
