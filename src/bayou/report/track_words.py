"""What topics of a tracker are called: over their whole lives, and at the time of a change."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from bayou.report.text import shorten

N_WORDS = 8
Weighted = dict[int, float]  # tokens or probabilities by the numbers of terms


def life(courses: Any, rows: Iterable[Any]) -> Weighted:
    """Tokens of the leading terms of a topic over some of its slices."""
    total: Weighted = {}
    for row in rows:
        size = max(float(courses.tokens[row]), 1e-3)
        for v, w in zip(courses.terms[row].tolist(), courses.weights[row].tolist(), strict=True):
            if v >= 0:
                total[v] = total.get(v, 0.0) + size * w
    return total


def usual(lives: dict[int, Weighted], n_terms: int) -> Any:
    """Shares of terms in all topics together."""
    out = np.zeros(max(n_terms, 1))
    for one in lives.values():
        for v, n in one.items():
            out[v] += n
    return out / max(out.sum(), 1e-12)


def telling(found: Weighted, common: Any, terms: list[str]) -> tuple[tuple[str, float], ...]:
    """The words that tell a topic from the others, by what they add to its divergence; numbers last."""
    mass = max(sum(found.values()), 1e-12)
    shares = {v: n / mass for v, n in found.items()}
    worth = {v: p * np.log(max(p, 1e-12) / max(common[v], 1e-12)) for v, p in shares.items()}
    best = sorted(worth, key=lambda v: (is_number(terms[v]), -worth[v], v))
    return tuple((shorten(terms[v], 40) or "␣", shares[v]) for v in best[:N_WORDS])


def is_number(word: str) -> bool:
    """Whether a word has no letters: such ones stand behind others."""
    return not any(map(str.isalpha, word))


class SliceWords:
    """The words of topics as they stood in a slice."""

    def __init__(self, model: Any) -> None:
        self._courses, self._terms = model.courses_, model._trail.names
        ids = np.unique(self._courses.topic).tolist()
        lives = {i: life(self._courses, np.flatnonzero(self._courses.topic == i)) for i in ids}
        self._common = usual(lives, len(self._terms))

    def words(self, topic: int, number: int, without: Collection[str] = ()) -> tuple[str, ...]:
        """Those that told a topic from others in a slice, or in its last one before.

        Words that have just come are left ``without``, unless there are no others.
        """
        courses = self._courses
        rows = np.flatnonzero((courses.topic == topic) & (courses.slice <= number))
        if not len(rows):
            return ()
        found = life(courses, rows[-1:])
        older = {v: n for v, n in found.items() if self._terms[v] not in without}
        best = telling(older or found, self._common, self._terms)
        return tuple(word for word, _ in best)
