"""Ctrl-C: never lost, and stops training after the current pass."""

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

from bayou.cli.messages import Messages

if TYPE_CHECKING:
    from bayou.run.loop import Info

_AGAIN = 0.2  # seconds until an interrupt that was not acknowledged is raised again
_SIGNALS = 3  # at least: the first may only let Python see the interrupt
_END = 0  # no signal has this number


class _Watcher:
    """A thread that repeats an interrupt until the main thread has acknowledged it."""

    def __init__(self) -> None:
        self.is_pending = False  # KeyboardInterrupt was raised and not acknowledged
        self._main = threading.get_ident()
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._thread = threading.Thread(target=self._watch, name="ctrl-c", daemon=True)

    def __enter__(self) -> _Watcher:
        # Python writes the number of each signal here at once, whatever the main thread does.
        self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.is_pending = False
        signal.set_wakeup_fd(self._before)
        os.write(self._write, bytes([_END]))
        self._thread.join()
        os.close(self._read)
        os.close(self._write)

    def on_interrupt(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-C."""
        self.is_pending = True
        raise KeyboardInterrupt

    def on_alarm(self, number: int, frame: FrameType | None) -> None:
        """The watching thread has sent a signal."""
        # An interrupt that is being handled must not be interrupted itself.
        if self.is_pending and not isinstance(sys.exception(), KeyboardInterrupt):
            raise KeyboardInterrupt

    def _watch(self) -> None:
        """After each Ctrl-C, end blocking calls of the main thread until the interrupt is acknowledged."""
        left, due = 0, None
        while True:
            ready, _, _ = select.select([self._read], [], [], due)
            came = os.read(self._read, 512) if ready else b""
            if _END in came:
                return
            if signal.SIGINT in came:
                left, due = _SIGNALS, _AGAIN
            elif not ready:
                signal.pthread_kill(self._main, signal.SIGALRM)
                left -= 1
                due = _AGAIN if left > 0 or self.is_pending else None


_watchers: list[_Watcher] = []


@contextlib.contextmanager
def repeat_until_acknowledged() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt repeatedly until `acknowledge` is called.

    Raised once, as Python does, it can be lost. A signal that comes after Python's last check and before a
    blocking read is not seen until data comes. An exception in a finaliser or in a weak reference's callback
    is dropped. A thread therefore ends such a read with its own signal and raises a dropped interrupt again.
    """
    is_watchable = (
        hasattr(signal, "pthread_kill")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT)
        is signal.default_int_handler  # neither ignored nor handled elsewhere
    )
    if not is_watchable:
        yield
        return
    with _Watcher() as watcher:
        before = signal.signal(signal.SIGALRM, watcher.on_alarm)
        signal.signal(signal.SIGINT, watcher.on_interrupt)
        _watchers.append(watcher)
        try:
            yield
        finally:
            _watchers.remove(watcher)
            watcher.is_pending = False
            signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, before)  # the thread has ended and sends no more signals


def acknowledge() -> None:
    """Stop repeating the interrupt: it was caught where it should be."""
    for watcher in _watchers:
        watcher.is_pending = False


@contextlib.contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM as Ctrl-C, so that what was learned is saved."""
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
    """Ctrl-C once: training stops after the current pass. Twice: at once.

    A context manager around training, and a callback of the estimator.
    """

    def __init__(self, messages: Messages) -> None:
        self.pressed = False
        self.stopped = False  # training was stopped; if pressed too late, it ends by itself
        self._messages = messages

    def __call__(self, info: Info) -> bool:
        """Whether to stop."""
        self.stopped = self.pressed
        return self.pressed

    def __enter__(self) -> Brake:
        # Only the main thread may set handlers, and a job that ignores Ctrl-C continues to do so.
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
            with contextlib.suppress(RuntimeError):  # it came while a line was being written
                self._messages.info("Stopping after this pass; press Ctrl-C again to stop at once.")
        elif callable(self._before):
            self._before(number, frame)
        else:
            raise KeyboardInterrupt
