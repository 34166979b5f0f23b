"""Whether a regular expression can take exponential time: patterns come from model files, too.

The test builds the position automaton of the pattern [Glushkov61] and looks for a loop that can read the same
text in two ways [Weideman16]. Such a loop is exponential if the match can still fail after it. Anchors
and lookaround are treated as if they could always fail, and bounded repeats as if they had no bound, so some
harmless patterns are refused. References to groups are always refused.

[Glushkov61] Glushkov. The abstract theory of automata. Russian Mathematical Surveys 16, 1961.
[Weideman16] Weideman, van der Merwe, Berglund, Watson. Analyzing matching time behavior of backtracking
regular expression matchers by using ambiguity of NFA. CIAA 2016.
"""

import re
from collections.abc import Callable
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

MAX_PATTERN = 2_000  # characters
_MOST_LOOPED = 200  # positions inside repeats
_SAMPLE = "azAZ09_ -.,'@/\t\n\r\x00éßЖπ日ا\u0301\u0915\u0660"
_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    codes.CATEGORY_DIGIT: str.isdecimal,
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
}
_OPPOSITES = {
    codes.CATEGORY_NOT_DIGIT: codes.CATEGORY_DIGIT,
    codes.CATEGORY_NOT_SPACE: codes.CATEGORY_SPACE,
    codes.CATEGORY_NOT_WORD: codes.CATEGORY_WORD,
}


class _Part(NamedTuple):
    """What a part of a pattern may begin and end with, as positions; and whether it may be empty."""

    empty: bool
    first: frozenset[int]
    last: frozenset[int]


class _Automaton:
    def __init__(self, sample: str, caseless: bool) -> None:
        self.sample, self.caseless = sample, caseless
        self.reads: list[frozenset[str]] = []  # the sample characters that a position matches
        self.follow: set[tuple[int, int]] = set()
        self.doubled: set[int] = set()  # positions from which a repeat leads to a place in two ways
        self.n_forks = 0  # choices between several ways to read nothing, such as in (?:|)
        self.can_fail = False  # whether something without a position may fail

    def add_sequence(self, items: Any) -> _Part:
        out = _Part(True, frozenset(), frozenset())
        for code, given in items:
            part = self.add(code, given)
            self.follow |= {(a, b) for a in out.last for b in part.first}
            out = _Part(
                out.empty and part.empty,
                out.first | part.first if out.empty else out.first,
                out.last | part.last if part.empty else part.last,
            )
        return out

    def add(self, code: Any, given: Any) -> _Part:
        if code in (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN):
            self.reads.append(frozenset(c for c in self.sample if self._is_read(code, given, c)))
            here = frozenset([len(self.reads) - 1])
            return _Part(False, here, here)
        if code is codes.BRANCH:
            parts = [self.add_sequence(items) for items in given[1]]
            self.n_forks += sum(part.empty for part in parts) > 1
            first = frozenset().union(*(part.first for part in parts))
            last = frozenset().union(*(part.last for part in parts))
            return _Part(any(part.empty for part in parts), first, last)
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            return self._add_repeat(*given)
        if code is codes.SUBPATTERN:
            return self.add_sequence(given[3])
        if code is codes.ATOMIC_GROUP:
            return self.add_sequence(given)
        if code in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
            self.can_fail = True
            if code is not codes.AT:
                self.add_sequence(given[1])
            return _Part(True, frozenset(), frozenset())
        raise ValueError("references to groups are not supported")

    def _add_repeat(self, least: int, most: int, items: Any) -> _Part:
        before = self.n_forks
        part = self.add_sequence(items)
        if most > 1 and self.n_forks > before:
            self.doubled |= part.last
        if most > 1:
            edges = {(a, b) for a in part.last for b in part.first}
            self.doubled |= {a for a, _ in edges & self.follow}
            self.follow |= edges
        if part.empty and 1 < most < codes.MAXREPEAT:  # any of the turns may be the empty ones
            self.doubled |= part.last
        return part._replace(empty=part.empty or least == 0)

    def _is_read(self, code: Any, given: Any, c: str) -> bool:
        forms = {c, c.lower(), c.upper()} if self.caseless else {c}
        return any(_reads(code, given, form) for form in forms)


def _reads(code: Any, given: Any, c: str) -> bool:
    """Whether an item of a class of characters matches a character."""
    if code is codes.ANY:
        return True
    if code is codes.LITERAL:
        return chr(given) == c
    if code is codes.NOT_LITERAL:
        return chr(given) != c
    if code is codes.RANGE:
        return bool(len(c) == 1 and given[0] <= ord(c) <= given[1])
    if code is codes.CATEGORY:
        opposite = _OPPOSITES.get(given)
        found = bool(_CATEGORIES[given if opposite is None else opposite](c))
        return found if opposite is None else not found
    negated = given[0][0] is codes.NEGATE
    return bool(negated != any(_reads(item[0], item[1], c) for item in given[negated:]))


def explain_exponential(pattern: str) -> str:
    """Why a valid pattern may take exponential time; an empty string if it cannot.

    Examples
    --------
    >>> explain_exponential(r"[a-z]+(?:'[a-z]+)*")
    ''
    >>> explain_exponential(r"(a+)+$")
    'a repeat can read the same text in several ways'
    """
    if len(pattern) > MAX_PATTERN:
        return f"it is longer than {MAX_PATTERN} characters"
    parsed = _parser.parse(pattern)
    inline = re.search(r"\(\?[a-zA-Z]*i", pattern) is not None  # such as (?i:...)
    automaton = _Automaton(_sample(parsed), inline or bool(parsed.state.flags & re.IGNORECASE))
    try:
        whole = automaton.add_sequence(parsed)
    except ValueError as error:
        return str(error)
    return _find_ambiguity(automaton, whole)


def _sample(items: Any) -> str:
    """Characters of the pattern and their neighbours, beside common ones of all kinds."""
    found = set(_SAMPLE)

    def visit(value: Any) -> None:
        if isinstance(value, int) and 0 <= value < 0x10FFFF and not isinstance(value, bool):
            found.update(map(chr, {max(value - 1, 0), int(value), int(value) + 1}))
        elif isinstance(value, list | tuple | _parser.SubPattern):
            for one in value:
                visit(one)

    visit(items)
    return "".join(sorted(found))


def _find_ambiguity(automaton: _Automaton, whole: _Part) -> str:
    several = "a repeat can read the same text in several ways"

    def is_safe(positions: Any) -> bool:
        """Whether the match can end wherever it is, so that nothing is tried a second time."""
        return not automaton.can_fail and all(place in whole.last for place in positions)

    if automaton.doubled and not is_safe(automaton.doubled):
        return several
    n = len(automaton.reads)
    edges = np.array(sorted(automaton.follow), np.int64).reshape(-1, 2)
    graph = csr_array((np.ones(len(edges), np.int8), (edges[:, 0], edges[:, 1])), shape=(n, n))
    parts = connected_components(graph, connection="strong")[1]
    edges = edges[parts[edges[:, 0]] == parts[edges[:, 1]]]  # inside repeats
    places = np.unique(edges)
    if len(places) > _MOST_LOOPED:
        return f"it repeats more than {_MOST_LOOPED} characters"
    if not len(places):
        return ""
    number = {int(place): i for i, place in enumerate(places)}
    n, pairs = len(places), []
    for a, b in edges.tolist():
        for c, d in edges.tolist():
            if automaton.reads[b] & automaton.reads[d]:
                pairs.append((number[a] * n + number[c], number[b] * n + number[d]))
    both = np.array(pairs, np.int64)
    product = csr_array(
        (np.ones(len(both), np.int8), (both[:, 0], both[:, 1])), shape=(n * n, n * n)
    )
    parts = connected_components(product, connection="strong")[1]
    equal = {int(parts[i * n + i]): i for i in range(n)}
    for node in np.unique(both):
        i, j = divmod(int(node), n)
        met = equal.get(int(parts[node]))
        if i != j and met is not None and not is_safe(places[[i, j, met]].tolist()):
            return several
    return ""
