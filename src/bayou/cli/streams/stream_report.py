"""Metrics of a running stream, with warnings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bayou.cli.messages import Messages
from bayou.data.errors import reason_of, several

if TYPE_CHECKING:
    from bayou.run.ingest import Ingest

_UNKNOWN = 0.5  # share of unknown words above which a warning is printed


class Reporter:
    """Prints and writes the metrics of a stream, with warnings."""

    def __init__(self, path: Path | None, loop: Ingest, messages: Messages) -> None:
        self._path, self._loop, self._messages = path, loop, messages
        self._late = self._undated = 0.0
        self._n_docs = -1.0  # at the last report

    def report(self) -> None:
        """Print the metrics and write them to the file."""
        gauges = self._loop.gauges
        before, self._n_docs = self._n_docs, gauges.values["documents_total"]
        if gauges.values["unknown_share"] > _UNKNOWN and self._n_docs != before:
            self._warn(
                "Most words of the latest documents are unknown; does this stream belong to the model?"
            )
        late, self._late = self._late, gauges.values["late_total"]
        if self._late > late:
            self._warn(
                f"{several(int(self._late - late), 'document')} came late: their slices had ended, since "
                "later documents came first"
            )
        undated, self._undated = self._undated, gauges.values["undated_total"]
        if self._undated > undated:
            n = several(self._undated - undated, "document")
            self._messages.info(f"{n} without a date took the time of the previous document")
        self._messages.info(gauges.line())
        if self._path is not None:
            try:
                gauges.write(self._path)
            except OSError as error:  # the stream itself goes on
                self._warn(f"{self._path} could not be written: {reason_of(error)}")

    def _warn(self, text: str) -> None:
        self._messages.info(text)
        self._loop.alert()
