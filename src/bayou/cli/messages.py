"""Messages on standard error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Console

from bayou.data.untrusted import for_terminal

if TYPE_CHECKING:
    from bayou.run.loop import Info


class Messages:
    """Lines on standard error: none when quiet, more when verbose."""

    def __init__(self, quiet: bool = False, verbose: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False)
        self.quiet = quiet
        self.verbose = verbose

    @property
    def shows_progress(self) -> bool:
        """Whether a progress bar can be seen: on a terminal, unless quiet."""
        return self._console.is_terminal and not self.quiet

    def info(self, text: str) -> None:
        """Print one line, unless quiet."""
        if not self.quiet:
            self._console.print(for_terminal(text), markup=False, soft_wrap=True)

    def detail(self, text: str) -> None:
        """Print one line if verbose."""
        if self.verbose:
            self.info(text)

    def on_pass(self, info: Info) -> None:
        """A callback of training: one line per pass if verbose."""
        score = "" if math.isnan(info.score) else f", {info.score:.4f} per token"
        self.detail(f"pass {info.step}/{info.n_steps} {info.phase}, {info.seconds:.1f} s{score}")
