"""Result mixin of trackers: alerts, courses of topics, lineage, slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.bases import TopicsBase
from bayou.api.estimator import Saved
from bayou.data.calendar import parse_width, slice_name
from bayou.data.checks import one_of
from bayou.data.intake import Intake
from bayou.data.stream_terms import DroppedTerms, Terms
from bayou.data.vocabulary import Vocabulary
from bayou.inference.lda.arrays import F64, I64
from bayou.inference.tracking import history
from bayou.inference.tracking.history import Alert, Courses, Slices
from bayou.inference.tracking.state import TrackerState, read_state
from bayou.results.posterior import Posterior, unpack_vocabulary
from bayou.run import checkpoint

KINDS = ("drift", "words", "rise", "fall", "surprise", *history.LINEAGE)


class Tracked(TopicsBase):
    """Topics through time, from `state_` and the history of the slices. Comes before `Topics`."""

    slice_by: int | str | None
    fixed: Mapping[str, Any] | None
    state_: TrackerState
    _trail: history.Trail
    _terms: Terms
    _intake: Intake

    def alerts(self, kind: str | Sequence[str] | None = None, *, since: int = 0) -> list[Alert]:
        """Significant changes and lineage events, in the order of time.

        Parameters
        ----------
        kind : str or list of str, optional
            "drift", "words", "rise", "fall", "surprise"; "born", "split", "merged", "dormant", "revived",
            "dead". Default: all.
        since : int
            The first slice to include.
        """
        check_is_fitted(self)
        wanted = (kind,) if isinstance(kind, str) else kind
        for one in wanted or ():
            one_of("kind", one, KINDS)
        return [
            a
            for a in self._trail.alerts
            if a.slice >= since and (wanted is None or a.kind in wanted)
        ]

    def alerts_jsonl(self, **which: Any) -> str:
        """`alerts` as JSON lines."""
        return "".join(alert.to_json() + "\n" for alert in self.alerts(**which))

    @property
    def lineage_(self) -> list[Alert]:
        """Alerts about births, splits, mergers, dormancy, revivals and deaths of topics."""
        return self.alerts(history.LINEAGE)

    @property
    def slices_(self) -> Slices:
        """One entry per slice: time, documents, tokens, late documents, terms, strength."""
        check_is_fitted(self)
        return self._trail.slices

    @property
    def courses_(self) -> Courses:
        """One entry per topic and slice: share with its interval, drift, expected drift, terms."""
        check_is_fitted(self)
        return self._trail.courses

    @property
    def topic_ids_(self) -> I64:
        """The permanent id of each row of `components_`."""
        check_is_fitted(self)
        return self.state_.ids.copy()

    @property
    def topic_shares_(self) -> F64:
        """Share of each row of `components_` in the last slice that had tokens, as in `courses_`."""
        check_is_fitted(self)
        return np.array([self._trail.last_share(i) for i in self.state_.ids.tolist()])

    @property
    def dropped_(self) -> DroppedTerms:
        """Terms and tokens that the vocabulary has left out."""
        return self._terms.dropped

    @property
    def topic_names_(self) -> dict[int, str]:
        """Names of the fixed topics by their permanent ids."""
        return dict(enumerate(self.fixed or {}))

    @property
    def n_waiting_(self) -> int:
        """Documents of slices that are still open."""
        return self._intake.n_docs

    @property
    def slice_names_(self) -> list[str]:
        """Names of the slices."""
        check_is_fitted(self)
        width = parse_width(self.slice_by)
        both = zip(self.slices_.start.tolist(), self.slices_.end.tolist(), strict=True)
        return [slice_name(a, b, width, i) for i, (a, b) in enumerate(both)]

    def course(self, topic: int) -> dict[str, list[Any]]:
        """A topic through time: slices, shares with 95 % intervals, drift, and its leading terms."""
        check_is_fitted(self)
        rows = np.flatnonzero(self.courses_.topic == topic)
        if not len(rows):
            known = ", ".join(map(str, np.unique(self.courses_.topic)[:20]))
            raise ValueError(f"there is no topic {topic!r}; there are {known}")
        c, names = self.courses_, self.slice_names_
        out: dict[str, list[Any]] = {"slice": [names[t] for t in c.slice[rows]]}
        for name in ("share", "low", "high", "drift", "expected", "tokens"):
            out[name] = getattr(c, name)[rows].tolist()
        out["terms"] = [[self._trail.names[v] for v in c.terms[i] if v >= 0] for i in rows]
        return out

    @property
    def vocabulary_(self) -> Vocabulary | None:
        """The terms by name, or None."""
        check_is_fitted(self)
        return self._terms.names

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The topics after the last slice. A topic without tokens in it is its memory."""
        check_is_fitted(self)
        s = self.state_
        return Posterior(
            rows=s.rows, alpha=s.alpha, beta=s.beta, topic_tokens=s.tokens, scores=np.zeros(0),
            score_steps=np.zeros(0, np.int64), vocabulary=self._terms.names,
        )  # fmt: skip


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    out = checkpoint.arrays_of(model.state_)
    for part in (model._terms, model._trail, model._intake):
        out |= part.arrays()
    return out


def _unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    model._begin()
    state = read_state(arrays, model.n_features_in_)
    model._terms.names = unpack_vocabulary(arrays.get("vocabulary"), len(state.memory))
    for part in (model._terms, model._trail, model._intake):
        part.restore(arrays)
    model.state_ = state


TRACKED = Saved(_pack, _unpack)
