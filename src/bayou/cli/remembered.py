"""What the columns were called when a model was made: later verbs look for the same names first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bayou.cli.documents import Source
    from bayou.data.table import Columns, Table
    from bayou.text_model import TextModel

_TEXT, _SEPARATOR = "text", "label_separator"


class Names(NamedTuple):
    """Which field of a record is what, where options and a model have both been asked."""

    columns: Columns
    usual: Mapping[str, str]  # to look for first where none is named
    separator: str | None  # of labels

    def table(self) -> Table:
        """What reads records by these names."""
        from bayou.data.table import Table

        return Table(self.columns, None, self.separator or None, self.usual)


def names(model: TextModel) -> dict[str, str]:
    """What `bayou fit` was told, as the model file has it."""
    return dict(getattr(model, "columns_", {}))


def keep(model: TextModel, source: Source) -> None:
    """Let the model remember how its documents were read, with what it remembered before."""
    told = {**source.columns._asdict(), _SEPARATOR: source.label_separator}
    named = {name: value for name, value in told.items() if value}
    model.columns_ = {**(source.usual or {}), **named}


def asked(model: TextModel, columns: Columns, separator: str | None, text: str | None) -> Names:
    """The names to read by where options (``text``, and those in ``columns``) leave one open.

    What is remembered is looked for before the usual names, and need not be there: new texts may come
    from elsewhere. A column that an option names must be.
    """
    mine = names(model)
    known = mine.pop(_SEPARATOR, None)
    if text:
        mine.pop(_TEXT, None)
    columns = columns._replace(text=text or mine.get(_TEXT, _TEXT))
    return Names(columns, mine, known if separator is None else separator)


def beside(model: TextModel, source: Source, text: str | None) -> Source:
    """The source as it is read where options leave a name open; see `asked`."""
    columns, usual, separator = asked(model, source.columns, source.label_separator, text)
    return source._replace(columns=columns, usual=usual, label_separator=separator)
