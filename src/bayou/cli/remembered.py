"""What the columns were called when a model was fitted: later verbs look for the same names first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayou.cli.documents import Source
    from bayou.text_model import TextModel

_TEXT, _SEPARATOR = "text", "label_separator"


def names(model: TextModel) -> dict[str, str]:
    """What `bayou fit` was told, as the model file has it."""
    return dict(getattr(model, "columns_", {}))


def keep(model: TextModel, source: Source) -> None:
    """Let the model remember how its documents were read."""
    told = {**source.columns._asdict(), _SEPARATOR: source.label_separator}
    model.columns_ = {name: value for name, value in told.items() if value}


def beside(model: TextModel, source: Source, text: str | None) -> Source:
    """The source as it is read where options (``text``, and those in it) leave a name open.

    What is remembered is looked for before the usual names, and need not be there: new texts may come
    from elsewhere. A column that an option names must be.
    """
    mine = names(model)
    separator = mine.pop(_SEPARATOR, None)
    if text:
        mine.pop(_TEXT, None)
    columns = source.columns._replace(text=text or mine.get(_TEXT, _TEXT))
    if source.label_separator is not None:
        separator = source.label_separator
    return source._replace(columns=columns, usual=mine, label_separator=separator)
