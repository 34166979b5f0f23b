"""Column names that a model keeps: later verbs look for the names it was fitted with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bayou.cli.documents import Source
    from bayou.data.table import Columns, Table
    from bayou.text_model import TextModel

_TEXT, _SEPARATOR = "text", "label_separator"


class FieldNames(NamedTuple):
    """Names of the fields of records, from options and from the model."""

    columns: Columns
    usual: Mapping[str, str]  # names to look for first where no option gives one
    separator: str | None  # of labels

    def table(self) -> Table:
        """A reader of records by these names."""
        from bayou.data.table import Table

        return Table(self.columns, None, self.separator or None, self.usual)


def names_in(model: TextModel) -> dict[str, str]:
    """The column names in a model."""
    return dict(getattr(model, "columns_", {}))


def keep_names(model: TextModel, source: Source) -> None:
    """Store in the model how its documents were read; names that were not given stay."""
    given = {**source.columns._asdict(), _SEPARATOR: source.label_separator}
    named = {name: value for name, value in given.items() if value}
    model.columns_ = {**(source.usual or {}), **named}


def field_names(
    model: TextModel, columns: Columns, separator: str | None, text: str | None
) -> FieldNames:
    """The names to read by, where options (``text`` and ``columns``) give only some.

    A column that an option names must exist. A name from the model is tried before the usual guesses and
    may be missing, since new texts may come from elsewhere.
    """
    mine = names_in(model)
    known = mine.pop(_SEPARATOR, None)
    if text:
        mine.pop(_TEXT, None)
    columns = columns._replace(text=text or mine.get(_TEXT, _TEXT))
    return FieldNames(columns, mine, known if separator is None else separator)


def complete(model: TextModel, source: Source, text: str | None) -> Source:
    """The source with the names of the model where options give none; see `field_names`."""
    columns, usual, separator = field_names(model, source.columns, source.label_separator, text)
    return source._replace(columns=columns, usual=usual, label_separator=separator)
