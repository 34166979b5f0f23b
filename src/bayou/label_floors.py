"""Training of two floors, topics over labels above labels over words: what such models share."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

from bayou.label_fitting import Run, Sweeps
from bayou.parts import label_links, label_training, labels
from bayou.run.loop import Info

S = TypeVar("S", bound=tuple[Any, ...])


class Work(NamedTuple):
    """What sweeps share: documents, priors, and the counts that follow from a state."""

    data: labels.Data
    prior: labels.Prior
    link: label_links.Link
    counts: label_training.Counts
    floors: tuple[label_links.Floor, ...]


def train_floors(
    kind: type[S],
    begin: Callable[[], S],
    sweep: Callable[[S, Work], S],
    plan: tuple[labels.Data, labels.Prior, label_links.Link],
    p: SimpleNamespace,
    run: Run,
    last: bool,
) -> tuple[S, Work]:
    """All sweeps of both floors; ``kind`` has fields `step`, `link_step`, `link_z` and `link_kept`."""
    data, prior, link = plan
    found: list[Work] = []

    def sweeps(first: Any) -> Sweeps[S]:
        counts = label_training.counts_of(first, data, prior, run.each)
        floors = label_links.floors(first.link_z, first.link_kept, data, link, counts)
        found.append(Work(data, prior, link, counts, floors))

        def step(state: Any) -> tuple[Any, Info | None]:
            if state.link_step >= p.n_sweeps:
                return state, None
            state = sweep(state, found[0])
            done = state.step + state.link_step if p.greedy else state.step
            most = p.n_sweeps * (2 if p.greedy else 1)
            phase = "topics over labels" if state.link_step else "labels"
            return state, Info(done, most, phase, float("nan"), 0.0)

        return step

    return run.train(kind, begin, sweeps, last), found[0]
