"""Training of two floors, topics over labels above labels over words: what such models share."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

from bayou.api.label_fitting import Run, Sweeps
from bayou.data.checks import check_averaged_sweeps, check_n_topics, optional
from bayou.inference.labels import assignments, links, training
from bayou.run.loop import Info


class Work(NamedTuple):
    """What sweeps share: documents, priors, and the counts that follow from a state."""

    data: assignments.LabelData
    prior: assignments.LabelPrior
    link: links.LinkData
    counts: training.LabelCounts
    floors: tuple[links.LinkChain, ...]


class Floors(NamedTuple):
    """What tells one such model from another: its state, how that begins, and a sweep of it.

    The state has fields `step`, `link_step`, `link_z` and `link_kept`.
    """

    state: type[Any]
    init: Callable[..., Any]
    sweep: Callable[..., Any]


def check_floors(p: SimpleNamespace) -> None:
    """The parameters that such models have in common."""
    training.check(p)
    if p.n_topics is not None:
        check_n_topics(p.n_topics)
    check_averaged_sweeps(p)
    optional("mix", p.mix, 0.0, 1.0)


def train_floors(
    floors: Floors,
    plan: tuple[assignments.LabelData, assignments.LabelPrior, links.LinkData],
    p: SimpleNamespace,
    n_chains: int,
    run: Run,
    last: bool,
) -> tuple[Any, Work]:
    """All sweeps of both floors."""
    data, prior, link = plan
    found: list[Work] = []

    def begin() -> Any:
        return floors.init(data, link, p, run.seed, n_chains, run.each)

    def sweeps(first: Any) -> Sweeps[Any]:
        counts = training.counts_of(first, data, prior, run.each)
        upstairs = links.link_chains(first.link_z, first.link_kept, data, link, counts)
        found.append(Work(data, prior, link, counts, upstairs))

        def step(state: Any) -> tuple[Any, Info | None]:
            if state.link_step >= p.n_sweeps:
                return state, None
            state = floors.sweep(state, found[0], p, run.seed, run.each)
            done = state.step + state.link_step if p.greedy else state.step
            most = p.n_sweeps * (2 if p.greedy else 1)
            phase = "topics over labels" if state.link_step else "labels"
            return state, Info(done, most, phase, float("nan"), 0.0)

        return step

    return run.train(floors.state, begin, sweeps, last), found[0]
