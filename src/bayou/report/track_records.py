"""Topics and changes of a tracker as a report shows them."""

from __future__ import annotations

from dataclasses import dataclass

from bayou.report import layout
from bayou.report.measure import Estimate

Excerpt = tuple[tuple[str, bool], ...]  # parts, and whether each is marked

NO_TOPIC = "documents that fit no topic"


@dataclass(frozen=True, kw_only=True)
class TrackedTopic:
    """One topic over time."""

    number: int  # its column in each row of shares
    id: int  # permanent
    title: str  # name of a fixed topic, else empty
    words: tuple[tuple[str, float], ...]  # distinctive words over its lifetime
    sign: layout.Sign
    share: Estimate  # in its latest slice with words
    epochs: tuple[tuple[str, Excerpt], ...]  # slice, and its words with whether each is new
    born: int  # first slice
    last: int  # last slice in which it exists
    n_changes: int

    def name(self, n: int = 3) -> str:
        """Given name, or the most distinctive words."""
        return self.title or ", ".join(word for word, _ in self.words[:n])


@dataclass(frozen=True, kw_only=True)
class Change:
    """One alert with its evidence."""

    number: int
    bin: int
    date: str
    kind: str
    rises: bool | None
    topic: TrackedTopic | None
    other: TrackedTopic | None
    then: tuple[str, ...]  # distinctive words of the topic at that time
    early: bool  # during warm-up
    words: tuple[str, ...]  # numbers last
    lead: str  # the word whose document shares are `before` and `after`
    lost: tuple[str, ...]
    before: float
    after: float
    low: float
    high: float
    p: float
    docs: tuple[tuple[str, Excerpt], ...]  # name and excerpt; the excerpt is empty without texts

    def who(self, n: int = 3) -> str:
        """Topic with its permanent number and its name, or its distinctive words at that time."""
        if self.topic is None:
            return NO_TOPIC
        name = self.topic.title or ", ".join(self.then[:n]) or self.topic.name(n)
        return f"topic {self.topic.id} ({name})"
