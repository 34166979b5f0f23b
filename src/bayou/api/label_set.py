"""Sets of labels that change while a stream is learned from: names, numbers, and what is done with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.label_estimator import LabelEstimator
from bayou.data.checks import number
from bayou.data.errors import DataError
from bayou.data.label_forms import BINARY, MULTI_CLASS, MULTI_LABEL, class_array
from bayou.inference.labels import documents, open_set
from bayou.inference.labels.documents import Documents
from bayou.inference.labels.state import LabelStreamState
from bayou.inference.lda.arrays import I64


@dataclass(kw_only=True, eq=False, repr=False)
class LabelSet(LabelEstimator, abstract=True):
    """Labels that are added, removed, merged and split.

    Attributes
    ----------
    label_ids_ : int64 array (labels,)
        A number for each label, never given twice: a label that was removed and comes again has another.
    """

    def _hold(
        self, state: LabelStreamState, pending: Documents, names: dict[int, Any], several: bool
    ) -> None:
        """Everything known, the documents that wait, and labels by number."""
        self.state_: LabelStreamState = state
        self.pending_: Documents = pending
        self._label_names: dict[int, Any] = names
        self._several: bool = several

    def _current(self) -> LabelStreamState:
        """What is known with the documents that wait."""
        raise TypeError(f"{type(self).__name__} does not say what it knows")

    def _kind(self, state: LabelStreamState) -> str:
        return MULTI_LABEL if self._several else BINARY if state.n_labels == 2 else MULTI_CLASS

    def _classes(self, state: LabelStreamState) -> NDArray[Any]:
        if not state.n_labels:
            raise DataError("no document with a label has been learned yet; give some")
        return class_array([self._label_names[i] for i in state.ids.tolist()])

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels in the order of columns."""
        return self._classes(self._current())

    @property
    def label_ids_(self) -> I64:
        """A number for each label, never given twice."""
        check_is_fitted(self)
        return self._current().ids.copy()

    def _named(self, name: Any) -> int:
        """A number for a label that has none."""
        fresh = self.state_.next_id
        self._label_names[fresh] = name
        self.state_ = self.state_._replace(next_id=fresh + 1)
        return fresh

    def _announce(self, names: list[Any]) -> None:
        """Columns, from now on, for labels that have no number."""
        known = set(self._label_names.values())
        fresh = [self._named(name) for name in names if name not in known]
        self.state_ = self._with_labels(self.state_, np.array(fresh, np.int64))

    def _with_labels(self, state: LabelStreamState, fresh: I64) -> LabelStreamState:
        """Columns for labels that have none."""
        if not len(fresh):
            return state
        source = np.concatenate([np.arange(state.n_labels), np.full(len(fresh), -1)])
        return self._in_order(open_set.arrange_labels(state, source, fresh))

    def _in_order(self, state: LabelStreamState) -> LabelStreamState:
        """Labels in the order of their numbers, which is that of coming; classes as they are sorted."""
        by = state.ids if self._several else [self._label_names[i] for i in state.ids.tolist()]
        order = np.argsort(by)
        same = (order == np.arange(len(order))).all()
        return state if same else open_set.arrange_labels(state, order)

    def _known_names(self) -> NDArray[Any]:
        """Names of all labels, those of columns first."""
        ids = self.state_.ids.tolist()
        return class_array(
            [self._label_names[i] for i in [*ids, *sorted(set(self._label_names) - set(ids))]]
        )

    # -- open sets of labels -------------------------------------------------------------------

    def add_labels(self, names: Any) -> Self:
        """Labels that documents may have from now on.

        Documents that come with a label which is not there yet add it by themselves.
        """
        check_is_fitted(self)
        self._announce(class_array(names).tolist())
        return self

    def remove_labels(self, names: Any) -> Self:
        """Forget labels and all that was learned of them; what is known of the others stays.

        Documents that wait for their mini-batch to be full are learned first, as in `merge_labels` and
        `split_label`.
        """
        self._settle()
        gone = self._columns(names)
        n_left = self.state_.n_labels - len(gone)
        if n_left < (1 if self._several else 2):
            raise DataError(f"{n_left} labels would be left; keep one, or two classes")
        for i in self.state_.ids[gone].tolist():
            del self._label_names[i]
        self.state_ = open_set.remove_labels(self.state_, gone)
        return self

    def merge_labels(self, names: Any, into: Any) -> Self:
        """Make one label of several, with all that was learned of them.

        Parameters
        ----------
        names : array-like of labels
        into : label
            What it is called: one of ``names``, whose number it keeps, or a new one, under a new number.
        """
        self._settle()
        parts, every = self._columns(names), self.classes_.tolist()
        own = [i for i in parts.tolist() if every[i] == into]
        if len(parts) < 2:
            raise DataError(f"two labels or more are merged; got {every[int(parts[0])]!r} alone")
        if not own and into in every:
            raise DataError(
                f"{into!r} is a label already, and none of those to merge; name it among them too, or merge "
                "into a new label"
            )
        if not self._several and len(every) - len(parts) < 1:
            raise DataError("one class would be left; keep two")
        first = own[0] if own else int(parts[0])
        order = np.array([first, *(i for i in parts.tolist() if i != first)])
        for i in self.state_.ids[order].tolist():
            del self._label_names[i]
        self.state_ = open_set.merge_labels(self.state_, order, fresh=not own)
        found = (set(self.state_.ids.tolist()) - set(self._label_names)).pop()
        self._label_names[found] = into
        self.state_ = self._in_order(self.state_)
        return self

    def split_label(self, name: Any, into: Sequence[Any], noise: float = 0.5) -> Self:
        """Make several labels of one, each with its even part of what was learned.

        Parameters
        ----------
        name : label
        into : sequence of labels
            New names, two or more; the parts stand behind the other labels, under new numbers.
        noise : float
            By which the parts' terms differ at first, so that documents to come can tell them apart.
        """
        number("noise", noise, 0.0, 1.0)
        self._settle()
        label, parts = int(self._columns([name])[0]), class_array(into).tolist()
        if len(parts) < 2 or (set(self.classes_.tolist()) - {name}) & set(parts):
            raise DataError("split_label takes two new names or more, none of them taken")
        del self._label_names[int(self.state_.ids[label])]
        first = self.state_.next_id
        self.state_ = open_set.split_label(self.state_, label, len(parts), float(noise), self.seed_)
        self._label_names.update({first + i: part for i, part in enumerate(parts)})
        self.state_ = self._in_order(self.state_)
        return self

    def _columns(self, names: Any) -> I64:
        """Where labels stand."""
        given = [names] if isinstance(names, str) else list(names)
        place = {label: i for i, label in enumerate(self.classes_.tolist())}
        strange = [name for name in given if name not in place]
        if strange or not given or len(set(given)) < len(given):
            what = f"{strange[0]!r} is not" if strange else f"{given!r:.60} are not distinct names"
            raise DataError(f"{what} among the {len(place)} labels of the model")
        return np.array([place[name] for name in given], np.int64)

    def _settle(self) -> None:
        """Learn the documents that wait, in a batch of their own."""
        check_is_fitted(self)
        self.state_ = self._current()
        self.pending_ = documents.none()
