"""Rows of CSV or TSV, one line at a time."""

from __future__ import annotations

import csv
from collections.abc import Iterator


class RowReader:
    """Combines lines of CSV or TSV into rows; the first row names the columns."""

    def __init__(self, tabs: bool, columns: list[str] | None, delimiter: str) -> None:
        self.columns, self.delimiter, self._tabs = columns, delimiter, tabs
        self._begun: list[str] = []  # lines of a row with a quoted line end
        self.n_begun = 0  # number of characters in them

    def add(self, text: str) -> list[str] | None:
        """The row that this line completes, if any; after an error, `drop` returns the lines of its row."""
        if not self._begun and not text.strip(" "):
            return None
        if self.columns is None and not self._begun:
            semicolons = ";" in text and "," not in text
            self.delimiter = "\t" if self._tabs else ";" if semicolons else ","
        # a line that starts inside quotes is parsed as if it began with a quote
        line = f'"{text}' if self._begun else text
        several = bool(self._begun)
        self._begun.append(text)
        self.n_begun += len(text) + 1
        row = self._parse([line])
        if row is None:
            return None
        lines = self._begun
        self.drop()
        return self._parse(lines) if several else row

    def _parse(self, lines: list[str]) -> list[str] | None:
        """The row in these lines; None if it is incomplete."""
        # the limit is global to the csv module, so it is only ever raised
        csv.field_size_limit(max(csv.field_size_limit(), self.n_begun + 1))
        wants_more = False

        def iter_lines() -> Iterator[str]:
            nonlocal wants_more
            for line in lines:
                yield f"{line}\n"
            wants_more = True

        try:
            return next(csv.reader(iter_lines(), delimiter=self.delimiter, strict=True))
        except csv.Error:
            if wants_more:
                return None
            raise

    def drop(self) -> str:
        """Discard an incomplete row and return it."""
        begun, self._begun, self.n_begun = "\n".join(self._begun), [], 0
        return begun
