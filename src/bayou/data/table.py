"""Fields of records: the text, and the labels, targets, times and ids."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from bayou.data.errors import DataError, did_you_mean
from bayou.data.records import LocatedRecord
from bayou.data.times import parse_time

_ABSENT = object()
_TEXT = "text"
_LOOK = 100  # if a time field was named, one of the first records up to here must have it
_GUESSES = {
    "label": ("labels", "label"),
    "target": ("target",),
    "time": ("date", "time"),
    "id": ("id",),
}


class Columns(NamedTuple):
    """Field names by meaning: None to guess, an empty string for no field."""

    text: str = "text"
    label: str | None = None
    target: str | None = None
    time: str | None = None
    id: str | None = None


class Table:
    """Collects the other fields of records while their texts stream through."""

    def __init__(
        self,
        columns: Columns,
        split: str | None,
        label_separator: str | None,
        usual: Mapping[str, str] | None = None,  # names to try before the other guesses
    ) -> None:
        self.columns = columns
        self.split = split
        self.label_separator = label_separator
        self.values: dict[str, list[Any]] = {what: [] for what in _GUESSES}
        usual = usual or {}
        self._guesses = {
            what: (usual[what], *names) if what in usual else names
            for what, names in _GUESSES.items()
        }
        self._dated = False  # whether any record had the named time field
        self._undated: list[DataError] = []  # errors for the records before it
        self._else = _TEXT if usual.get(_TEXT) == columns.text else columns.text

    def texts(self, records: Iterable[LocatedRecord]) -> Iterator[str]:
        """Yield the text of each record and store its other fields."""
        for where, record in records:
            if self.split is not None and record.get("split") != self.split:
                continue
            name = self.columns.text
            name = self._else if name not in record and self._else in record else name
            text = self._field(where, record, name)
            if not isinstance(text, str):
                raise DataError(f"{where}: field {name!r} must be text, got {text!r:.80}")
            for what, guesses in self._guesses.items():
                name = getattr(self.columns, what)
                if name is None:
                    value = next((record[n] for n in guesses if n in record), _ABSENT)
                elif what == "time" and name and name not in record:
                    value = self._no_time(where, record, name)
                else:
                    value = self._field(where, record, name) if name else _ABSENT
                    self._dated |= what == "time"
                self.values[what].append(self._read(what, value, where))
            yield text
        if self._undated and not self._dated:
            raise self._undated[0]

    def _no_time(self, where: str, record: dict[str, Any], name: str) -> Any:
        """A record may lack a date that others have; if all of the first ones do, the name is wrong."""
        if not self._dated:
            self._undated.append(self._missing(where, record, name))
            if len(self._undated) == _LOOK:
                raise self._undated[0]
        return _ABSENT

    def _field(self, where: str, record: dict[str, Any], name: str) -> Any:
        if name not in record:
            raise self._missing(where, record, name)
        return record[name]

    def _missing(self, where: str, record: dict[str, Any], name: str) -> DataError:
        there = ", ".join(map(str, record)) or "none"
        what = next(what for what, mine in self.columns._asdict().items() if mine == name)
        near = did_you_mean(name, map(str, record))
        todo = f"{near} Name it" if near else "; name the right one"
        return DataError(f"{where}: no field {name!r} (there are: {there:.200}){todo} with {what}=")

    def _read(self, what: str, value: Any, where: str) -> Any:
        if value is _ABSENT:
            return value
        if what == "target":
            return self._number(value, where)
        if what == "time":
            try:
                return parse_time(value)
            except DataError as error:
                raise DataError(f'{where}: {error}; or pass time="" to ignore it') from None
        if what == "label" and isinstance(value, str):
            cut = value.split(self.label_separator) if self.label_separator else [value]
            return [label.strip() for label in cut if label.strip()]
        return value

    def _number(self, value: Any, where: str) -> Any:
        if self.columns.target is None and (value is None or value == ""):
            return _ABSENT
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise DataError(
                f"{where}: target {value!r:.80} is not a number; "
                'name another field or pass target="" to ignore it'
            ) from None

    def fields(self) -> dict[str, Any]:
        """The collected fields: labels and times if any record has them, targets and ids if all have."""
        label, target, time, id_ = (self.values[what] for what in _GUESSES)
        out: dict[str, Any] = {}
        if any(value is not _ABSENT for value in label):
            out["labels"] = [None if value is _ABSENT else value for value in label]
        if not any(value is _ABSENT for value in target):
            out["targets"] = target
        if any(value is not _ABSENT for value in time):
            out["times"] = [None if value is _ABSENT else value for value in time]
        if not any(value is _ABSENT for value in id_):
            out["ids"] = id_
        return out
