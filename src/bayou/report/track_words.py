"""Distinctive words of tracked topics: over their lifetime, and at the time of a change."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from bayou.report.text import shorten

N_WORDS = 8
Weighted = dict[int, float]  # tokens or probabilities by term number


def term_tokens(courses: Any, rows: Iterable[Any]) -> Weighted:
    """Tokens per leading term of a topic, summed over rows of its history."""
    total: Weighted = {}
    for row in rows:
        size = max(float(courses.tokens[row]), 1e-3)
        for v, w in zip(courses.terms[row].tolist(), courses.weights[row].tolist(), strict=True):
            if v >= 0:
                total[v] = total.get(v, 0.0) + size * w
    return total


def overall_shares(tokens: dict[int, Weighted], n_terms: int) -> Any:
    """Shares of terms over all topics."""
    out = np.zeros(max(n_terms, 1))
    for one in tokens.values():
        for v, n in one.items():
            out[v] += n
    return out / max(out.sum(), 1e-12)


def distinctive_words(
    found: Weighted, common: Any, terms: list[str]
) -> tuple[tuple[str, float], ...]:
    """Words by their contribution to the divergence of the topic from all topics; numbers last."""
    mass = max(sum(found.values()), 1e-12)
    shares = {v: n / mass for v, n in found.items()}
    gains = {v: p * np.log(max(p, 1e-12) / max(common[v], 1e-12)) for v, p in shares.items()}
    best = sorted(gains, key=lambda v: (is_number(terms[v]), -gains[v], v))
    return tuple((shorten(terms[v], 40) or "␣", shares[v]) for v in best[:N_WORDS])


def is_number(word: str) -> bool:
    """Whether a word has no letters; such words are listed last."""
    return not any(map(str.isalpha, word))


class SliceWords:
    """Distinctive words of topics per slice."""

    def __init__(self, model: Any) -> None:
        self._courses, self._terms = model.courses_, model._trail.names
        ids = np.unique(self._courses.topic).tolist()
        tokens = {
            i: term_tokens(self._courses, np.flatnonzero(self._courses.topic == i)) for i in ids
        }
        self._common = overall_shares(tokens, len(self._terms))

    def words(self, topic: int, number: int, without: Collection[str] = ()) -> tuple[str, ...]:
        """Distinctive words of a topic in a slice, or in its latest slice before.

        Words in ``without`` are omitted unless no other word is left.
        """
        courses = self._courses
        rows = np.flatnonzero((courses.topic == topic) & (courses.slice <= number))
        if not len(rows):
            return ()
        found = term_tokens(courses, rows[-1:])
        older = {v: n for v, n in found.items() if self._terms[v] not in without}
        best = distinctive_words(older or found, self._common, self._terms)
        return tuple(word for word, _ in best)
