"""Ctrl-C: heard whatever it falls into, and gentle while a model is being trained."""

from __future__ import annotations

import contextlib
import os
import select
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
_POKES = 3  # at least, so that the first may be the one that lets Python see the signal
_END = 0  # no signal has this number


class _Bell:
    """What the main thread and the one that watches over it know of each other."""

    def __init__(self) -> None:
        self.unheard = False  # KeyboardInterrupt was raised, and nobody has said to have caught it
        self._main = threading.get_ident()
        self._ear, self._mouth = os.pipe()
        os.set_blocking(self._mouth, False)
        self._thread = threading.Thread(target=self._watch, name="ctrl-c", daemon=True)

    def __enter__(self) -> _Bell:
        # Python writes the number of a signal here as it comes, whatever the main thread is at.
        self._before = signal.set_wakeup_fd(self._mouth, warn_on_full_buffer=False)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.unheard = False
        signal.set_wakeup_fd(self._before)
        os.write(self._mouth, bytes([_END]))
        self._thread.join()
        os.close(self._ear)
        os.close(self._mouth)

    def ring(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-C."""
        self.unheard = True
        raise KeyboardInterrupt

    def ring_again(self, number: int, frame: FrameType | None) -> None:
        """The watching thread has poked this one."""
        # One that is on its way may clean up in peace.
        if self.unheard and not isinstance(sys.exception(), KeyboardInterrupt):
            raise KeyboardInterrupt

    def _watch(self) -> None:
        """After each Ctrl-C, end whatever the main thread waits for, until it was heard."""
        left, due = 0, None
        while True:
            ready, _, _ = select.select([self._ear], [], [], due)
            came = os.read(self._ear, 512) if ready else b""
            if _END in came:
                return
            if signal.SIGINT in came:
                left, due = _POKES, _AGAIN
            elif not ready:
                signal.pthread_kill(self._main, signal.SIGALRM)
                left -= 1
                due = _AGAIN if left > 0 or self.unheard else None


_bells: list[_Bell] = []


@contextlib.contextmanager
def insisting() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt again and again until `heard` is called.

    Raised once, as Python does, it can get lost. A signal that comes after Python's last look and
    before a read that waits for data is not seen until data comes; and an exception in a finaliser or
    in a weak reference's callback is dropped. So a thread watches: it ends such a read with a signal of
    its own, and what was dropped is raised again.
    """
    watchable = (
        hasattr(signal, "pthread_kill")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT)
        is signal.default_int_handler  # not ignored, not another's
    )
    if not watchable:
        yield
        return
    with _Bell() as bell:
        before = signal.signal(signal.SIGALRM, bell.ring_again)
        signal.signal(signal.SIGINT, bell.ring)
        _bells.append(bell)
        try:
            yield
        finally:
            _bells.remove(bell)
            bell.unheard = False
            signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, before)  # the thread has ended: nobody sends it any more


def heard() -> None:
    """Say that the interrupt has arrived where it belongs."""
    for bell in _bells:
        bell.unheard = False


@contextlib.contextmanager
def termed() -> Iterator[None]:
    """SIGTERM is heard as Ctrl-C is, so that what was learned is saved."""
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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
