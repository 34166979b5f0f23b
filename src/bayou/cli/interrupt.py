"""Ctrl-C while a model is being trained."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType

from bayou.cli.voice import Voice
from bayou.run.loop import Info


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
        self._mine = threading.current_thread() is threading.main_thread()
        if self._mine:  # only the main thread may say what signals do
            self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._mine:
            signal.signal(signal.SIGINT, self._before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
        self._voice.say("Stopping after this pass; Ctrl-C once more stops at once.")
