"""Result mixin of online label models: labels that are added, removed, merged and split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.bases import StreamingBase
from bayou.data.checks import number
from bayou.data.errors import DataError
from bayou.data.label_forms import class_array
from bayou.inference.labels import open_set
from bayou.inference.labels.documents import LabelDocuments
from bayou.inference.lda.arrays import I64


class OpenLabels(StreamingBase):
    """A label set that changes while a stream is learned. Reads `state_` and `pending_`.

    Attributes
    ----------
    classes_ : array
        Names of the labels, in the order of columns.
    label_ids_ : int64 array (labels,)
        One id per label, never used twice: a label that was removed and comes again has another id.
    multi_label_ : bool
    """

    _label_names: dict[int, Any]  # by id
    _multi_label: bool

    @property
    def multi_label_(self) -> bool:
        """Whether documents have several labels, not one class."""
        check_is_fitted(self)
        return self._multi_label

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels in the order of columns."""
        check_is_fitted(self)
        ids = self._current().ids.tolist()
        if not ids:
            raise DataError("no document with a label has been learned yet; give some")
        return class_array([self._label_names[i] for i in ids])

    @property
    def label_ids_(self) -> I64:
        """One id per label, never used twice."""
        check_is_fitted(self)
        ids: I64 = self._current().ids.copy()
        return ids

    def add_labels(self, names: Any) -> Self:
        """Add labels that documents may have from now on.

        Documents with a new label add it by themselves.
        """
        check_is_fitted(self)
        self._announce(class_array(names).tolist())
        return self

    def remove_labels(self, names: Any) -> Self:
        """Remove labels and everything learned about them; the other labels keep their counts.

        Pending documents are learned first, as in `merge_labels` and `split_label`.
        """
        self._learn_all_pending()
        gone = self._columns(names)
        n_left = self.state_.n_labels - len(gone)
        if n_left < (1 if self._multi_label else 2):
            raise DataError(f"{n_left} labels would be left; keep one, or two classes")
        for i in self.state_.ids[gone].tolist():
            del self._label_names[i]
        self.state_ = open_set.remove_labels(self.state_, gone)
        return self

    def merge_labels(self, names: Any, into: Any) -> Self:
        """Merge several labels into one, with everything learned about them.

        Parameters
        ----------
        names : array-like of labels
        into : label
            The name of the result: one of ``names``, whose id it keeps, or a new one with a new id.
        """
        self._learn_all_pending()
        parts, every = self._columns(names), self.classes_.tolist()
        own = [i for i in parts.tolist() if every[i] == into]
        if len(parts) < 2:
            raise DataError(f"two labels or more are merged; got {every[int(parts[0])]!r} alone")
        if not own and into in every:
            raise DataError(
                f"{into!r} is a label already, and none of those to merge; name it among them too, or merge "
                "into a new label"
            )
        if not self._multi_label and len(every) - len(parts) < 1:
            raise DataError("one class would be left; keep two")
        first = own[0] if own else int(parts[0])
        order = np.array([first, *(i for i in parts.tolist() if i != first)])
        for i in self.state_.ids[order].tolist():
            del self._label_names[i]
        state = open_set.merge_labels(self.state_, order, fresh=not own)
        merged = (set(state.ids.tolist()) - set(self._label_names)).pop()
        self._label_names[merged] = into
        self.state_ = open_set.sort_labels(state, self._names_to_sort_by())
        return self

    def split_label(self, name: Any, into: Sequence[Any], noise: float = 0.5) -> Self:
        """Split a label into several, each with an even part of what was learned about it.

        Parameters
        ----------
        name : label
        into : sequence of labels
            Two or more new names. The parts come after the other labels and have new ids.
        noise : float
            How much the terms of the parts differ at first, so that later documents can separate them.
        """
        number("noise", noise, 0.0, 1.0)
        self._learn_all_pending()
        label, parts = int(self._columns([name])[0]), class_array(into).tolist()
        if len(parts) < 2 or (set(self.classes_.tolist()) - {name}) & set(parts):
            raise DataError("split_label takes two new names or more, none of them taken")
        del self._label_names[int(self.state_.ids[label])]
        first = self.state_.next_id
        state = open_set.split_label(self.state_, label, len(parts), float(noise), self.seed_)
        self._label_names.update({first + i: part for i, part in enumerate(parts)})
        self.state_ = open_set.sort_labels(state, self._names_to_sort_by())
        return self

    def _columns(self, names: Any) -> I64:
        """The columns of labels."""
        given = [names] if isinstance(names, str) else list(names)
        place = {label: i for i, label in enumerate(self.classes_.tolist())}
        strange = [name for name in given if name not in place]
        if strange or not given or len(set(given)) < len(given):
            what = f"{strange[0]!r} is not" if strange else f"{given!r:.60} are not distinct names"
            raise DataError(f"{what} among the {len(place)} labels of the model")
        return np.array([place[name] for name in given], np.int64)

    def _learn_all_pending(self) -> None:
        """Learn the pending documents, in a mini-batch that is not full."""
        check_is_fitted(self)
        self.state_ = self._current()
        self.pending_ = LabelDocuments.none()

    def _announce(self, names: list[Any]) -> None:
        """Give ids and columns to the labels that have no id."""
        known = set(self._label_names.values())
        fresh = [self._new_id(name) for name in names if name not in known]
        self.state_ = open_set.add_labels(
            self.state_, np.array(fresh, np.int64), self._names_to_sort_by()
        )

    def _new_id(self, name: Any) -> int:
        """The id of a label that has none yet."""
        fresh: int = self.state_.next_id
        self._label_names[fresh] = name
        self.state_ = self.state_._replace(next_id=fresh + 1)
        return fresh

    def _names_to_sort_by(self) -> dict[int, Any] | None:
        """Classes are sorted by name; labels are in the order of arrival."""
        return None if self._multi_label else self._label_names

    def _known_names(self) -> NDArray[Any]:
        """Names of all labels, those with columns first."""
        ids = self.state_.ids.tolist()
        others = sorted(set(self._label_names) - set(ids))
        return class_array([self._label_names[i] for i in [*ids, *others]])
