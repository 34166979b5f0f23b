"""A synthetic stream of dated documents with planted events, and its true parameters.

theta_d ~ Dir(prevalence of the slice); N_d ~ Poisson; z ~ theta_d; w ~ phi_z of the slice.

Topics keep their terms and prevalences from slice to slice, except where an event changes them. Any
other reported change is therefore a false alarm. Events occur in rounds of 24 slices, at fixed places
of a round, so a slice has the same events for any length of the stream. Every draw has its own
generator, keyed by (seed, purpose, number); for a document, the number is its slice and its place
in the slice. The random streams are those of the installed numpy release.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bayou.data import Corpus, DataError, Vocabulary

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_TOPIC, _WEIGHT, _ROUND, _EVENT, _DOC = 21, 22, 23, 24, 25  # purposes of draws
_ROUND_SLICES = 24
_APPEAR, _SHIFT, _FADE, _RETURN, _BURST, _BURST_END = 4, 8, 12, 16, 20, 22  # places in a round
_FIRST_DAY = np.datetime64("2024-01-01", "D")  # a Monday
_WEEK_US = 7 * 24 * 3600 * 10**6
_BETA = 0.05  # prior of a topic's terms: a few dozen terms have most of the probability
_BURST_SHARE = 0.4  # of the tokens of the topic while the burst lasts
_CONSONANTS, _VOWELS = "bdfklmnrstv", "aeiou"


class Event(NamedTuple):
    """One planted change."""

    kind: str  # "appear", "shift", "fade", "return" or "burst"
    slice: int  # the first slice that differs from the one before
    stop: (
        int | None
    )  # the first slice without it, possibly after the end of the stream; None: permanent
    date: np.datetime64  # the first day of the slice
    topic: int
    gained: tuple[str, ...]  # terms that become more frequent, the most probable first
    lost: tuple[str, ...]  # terms that become less frequent, the most probable first


class News(NamedTuple):
    """The true parameters of a stream. A topic that is absent has prevalence 0."""

    events: tuple[Event, ...]  # in order of time
    prevalence: Floats  # (n_slices, n_topics), rows sum to 1
    distributions: Floats  # (n_versions, n_terms): every topic in each of its versions
    version: Ints  # (n_slices, n_topics): the version of a topic in a slice
    slices: Ints  # (n_docs,), the slice of each document
    doc_topics: Floats  # (n_docs, n_topics), theta

    def topics(self, slice: int) -> Floats:
        """Term probabilities of all topics in a slice, topics by terms."""
        return np.asarray(self.distributions[self.version[slice]])


def make_news(
    n_slices: int = 24,
    docs_per_slice: int = 50,
    *,
    n_topics: int = 6,
    n_terms: int = 600,
    doc_length: float = 60.0,
    events: bool = True,
    seed: int = 0,
) -> tuple[Corpus, News]:
    """Draw a stream of dated documents with planted changes.

    Slices are weeks. In every round of 24 slices, a new topic appears (slice 4 of the round), a second
    topic swaps its leading terms for others (8), a third fades (12) and returns (16), and in a fourth
    rare terms burst for two slices (20). The contents of a slice do not depend on the number of later
    slices. The terms of a document do not depend on the number of documents in its slice.

    Parameters
    ----------
    n_slices, docs_per_slice : int
    n_topics : int
        Topics at the start, at least 3; each round adds one.
    n_terms : int
        At least 8. The terms are invented words.
    doc_length : float
        Mean number of tokens; documents may be empty.
    events : bool
        Without events nothing changes, and every alarm is false.
    seed : int

    Returns
    -------
    corpus : Corpus
        With times, ids and a vocabulary, in order of time.
    news : News
        The events, and the true parameters.

    Examples
    --------
    >>> corpus, news = make_news(n_slices=18, docs_per_slice=10, seed=1)
    >>> corpus
    Corpus(180 documents, 600 terms, ... tokens, times, ids)
    >>> [(event.kind, event.slice, str(event.date)) for event in news.events]
    [('appear', 4, '2024-01-29'), ('shift', 8, '2024-02-26'), ('fade', 12, '2024-03-25'),
     ('return', 16, '2024-04-22')]
    >>> news.topics(0).shape, news.prevalence.shape
    ((7, 600), (18, 7))
    """
    sizes = {"n_slices": n_slices, "docs_per_slice": docs_per_slice, "n_topics": n_topics}
    _check(sizes | {"n_terms": n_terms, "seed": seed}, doc_length, events)
    stream = _Stream(n_slices, n_topics, n_terms, seed, events=events)
    n_docs = n_slices * docs_per_slice
    slices = np.repeat(np.arange(n_slices), docs_per_slice)
    places = np.tile(np.arange(docs_per_slice), n_slices)
    doc_topics = np.zeros((n_docs, stream.prevalence.shape[1]))
    versions, uniforms = [np.zeros(0, np.int64)], [np.zeros(0)]
    for d, (t, place) in enumerate(zip(slices, places, strict=True)):
        active = np.flatnonzero(stream.prevalence[t])
        rng = _generator(seed, _DOC, int(t), int(place))
        doc_topics[d, active] = theta = rng.dirichlet(stream.prevalence[t, active])
        u = rng.random((2, rng.poisson(doc_length)))
        versions.append(stream.version[t, active[_pick(theta, u[0])]])
        uniforms.append(u[1])
    lengths = [len(u) for u in uniforms[1:]]
    terms = _terms(stream.distributions, np.concatenate(versions), np.concatenate(uniforms))
    where = (np.repeat(np.arange(n_docs), lengths), terms)
    counts = sp.coo_array((np.ones(len(terms)), where), shape=(n_docs, n_terms))
    days = _FIRST_DAY + 7 * slices
    corpus = Corpus.from_matrix(
        sp.csr_array(counts),
        vocabulary=stream.vocabulary,
        times=days.astype("datetime64[us]") + places * _WEEK_US // docs_per_slice,
        ids=[f"{day}-{place:04d}" for day, place in zip(days, places, strict=True)],
    )
    truth = (stream.prevalence, stream.distributions, stream.version, slices, doc_topics)
    return corpus, News(tuple(stream.events), *truth)


class _Stream:
    """Prevalences and versions of the topics in every slice, after all events."""

    def __init__(self, n_slices: int, n_topics: int, n_terms: int, seed: int, *, events: bool):
        plan = list(_plan(n_slices, n_topics, seed)) if events else []
        n_all = n_topics + sum(kind == "appear" for kind, *_ in plan)
        self.seed = seed
        self.vocabulary = Vocabulary(invent_word(v) for v in range(n_terms))
        prior = np.full(n_terms, _BETA)
        self._rows = [_generator(seed, _TOPIC, k).dirichlet(prior) for k in range(n_all)]
        self.version = np.tile(np.arange(n_all), (n_slices, 1))
        weights = [0.75 + 0.5 * _generator(seed, _WEIGHT, k).random() for k in range(n_all)]
        self.prevalence = np.tile(weights, (n_slices, 1))
        for kind, start, _, topic in plan:
            if kind == "appear":
                self.prevalence[:start, topic] = 0.0
        self.events = [self._plant_event(*change) for change in plan]
        self.distributions = np.array(self._rows)
        for row in self.prevalence:  # only present topics are summed: later rounds add others
            row[row > 0] /= row[row > 0].sum()

    def _plant_event(self, kind: str, start: int, stop: int | None, topic: int) -> Event:
        before = self._rows[self.version[start, topic]]
        head = np.argsort(-before, kind="stable")[: min(8, len(before) // 4)]
        gained, lost = head, head[:0]
        if kind == "fade":
            gained, lost = lost, head
            self.prevalence[start, topic] *= 0.5
            self.prevalence[start + 1 : stop, topic] = 0.0
        elif kind == "shift":
            gained, lost = self._shift(before, head, start, topic), head
        elif kind == "burst":
            gained = self._burst(before, len(head), start, stop, topic)
        names = [tuple(self.vocabulary[int(v)] for v in terms) for terms in (gained, lost)]
        return Event(kind, start, stop, _FIRST_DAY + 7 * start, topic, *names)

    def _shift(self, before: Floats, head: Ints, start: int, topic: int) -> Ints:
        """Swap the leading terms with as many terms of the improbable half."""
        pool = np.argsort(-before, kind="stable")[len(before) // 2 :]
        chosen = _generator(self.seed, _EVENT, start).permutation(pool)[: len(head)]
        after = before.copy()
        after[head], after[chosen] = before[chosen], before[head]
        self._change(after, start, None, topic)
        return chosen

    def _burst(self, before: Floats, n: int, start: int, stop: int | None, topic: int) -> Ints:
        """Give a share of one topic's tokens to terms that have been rare in all topics."""
        present = self.prevalence[start] > 0
        rows = np.array([self._rows[i] for i in np.unique(self.version[: start + 1, present])])
        rare = np.argsort(rows.max(axis=0), kind="stable")[: len(before) // 2]
        chosen = _generator(self.seed, _EVENT, start).permutation(rare)[:n]
        after = (1.0 - _BURST_SHARE) * before
        after[chosen] += _BURST_SHARE / n
        self._change(after, start, stop, topic)
        return chosen

    def _change(self, after: Floats, start: int, stop: int | None, topic: int) -> None:
        self.version[start:stop, topic] = len(self._rows)
        self._rows.append(after)


def _plan(n_slices: int, n_topics: int, seed: int) -> Iterator[tuple[str, int, int | None, int]]:
    """Yield (kind, slice, stop, topic) in order of time."""
    for r in range(-(-n_slices // _ROUND_SLICES)):
        at = r * _ROUND_SLICES
        shifting, fading, bursting = map(int, _generator(seed, _ROUND, r).permutation(n_topics)[:3])
        changes = (
            ("appear", at + _APPEAR, None, n_topics + r),
            ("shift", at + _SHIFT, None, shifting),
            ("fade", at + _FADE, at + _RETURN, fading),
            ("return", at + _RETURN, None, fading),
            ("burst", at + _BURST, at + _BURST_END, bursting),
        )
        yield from (change for change in changes if change[1] < n_slices)


def invent_word(number: int) -> str:
    """Spell a number as a pronounceable word; different numbers give different words.

    Examples
    --------
    >>> [invent_word(v) for v in range(4)]
    ['bababa', 'luvuno', 'tovofi', 'kivote']
    """
    base = len(_CONSONANTS) * len(_VOWELS)
    size = 3
    while number >= base**size:
        number, size = number - base**size, size + 1
    # a step near the golden ratio separates neighbours; it is coprime to 5 * 11, so nothing repeats
    step = int(0.618 * base**size)
    while math.gcd(step, base) > 1:
        step += 1
    rest, word = number * step % base**size, ""
    for _ in range(size):
        rest, syllable = divmod(rest, base)
        word += _CONSONANTS[syllable // len(_VOWELS)] + _VOWELS[syllable % len(_VOWELS)]
    return word


def _terms(distributions: Floats, versions: Ints, uniforms: Floats) -> Ints:
    """Draw a term for every token; tokens of one version are drawn together."""
    terms = np.zeros(len(versions), np.int64)
    order = np.argsort(versions, kind="stable")
    ends = np.cumsum(np.bincount(versions, minlength=len(distributions)))
    for row, tokens in zip(distributions, np.split(order, ends[:-1]), strict=True):
        terms[tokens] = _pick(row, uniforms[tokens])
    return terms


def _generator(seed: int, purpose: int, *number: int) -> np.random.Generator:
    key = np.random.SeedSequence([seed, purpose, *number])
    return np.random.Generator(np.random.Philox(key))


def _pick(weights: Floats, u: Floats) -> Ints:
    """Draw by inversion from uniform numbers; a weight of zero is never drawn."""
    ends = np.cumsum(weights)
    found = np.searchsorted(ends, u * ends[-1], side="right")
    return np.asarray(np.minimum(found, np.flatnonzero(weights)[-1]), np.int64)


def _check(sizes: dict[str, Any], doc_length: Any, events: Any) -> None:
    least = {"seed": 0, "n_topics": 3, "n_terms": 8}
    for name, size in sizes.items():
        low = least.get(name, 1)
        whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
        if not whole or size < low:
            raise DataError(f"{name} must be a whole number >= {low}, got {size!r}")
    if not isinstance(doc_length, int | float | np.number) or not 0 <= doc_length < np.inf:
        raise DataError(f"doc_length must be a finite number >= 0, got {doc_length!r}")
    if not isinstance(events, bool):
        raise DataError(f"events must be True or False, got {events!r}")
