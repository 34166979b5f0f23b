"""Method table of a tracker's report."""

from __future__ import annotations

from bayou.report.text import percent
from bayou.report.track import TrackData

_SHARE = (
    "Share",
    "Share of a slice's words that the tracker assigns to the topic.",
    "95 %, by resampling the documents of the slice.",
)
_BIRTHS = (
    "Is new, splits",
    "Spare topics without history take part in each slice. A spare topic becomes a topic if the lower "
    "end of its share exceeds half the share of an average topic.",
    "Split: Hellinger distance to the nearest topic below 0.7. Active again: distance to a removed "
    "topic below 0.6.",
)
_DORMANT = (
    "Dormant, active again",
    "Dormant: share below 15 % of the usual share. Active again: share above 40 % of it.",
    "Only in slices where the topic would usually have enough words.",
)
_MERGES = (
    "Merges",
    "Two topics have the same words in two consecutive slices, or one topic has taken over the words "
    "of the other.",
    "Hellinger distance below 0.25; the larger topic keeps its number. Or: one topic becomes dormant "
    "while another is within distance 0.6 of its words.",
)
_NO_TOPIC = (
    "Fits no topic",
    "More documents than in recent slices are less probable than 95 % of the usual documents.",
    "Beta-binomial test over documents, p below 0.01.",
)


def methods(data: TrackData) -> list[tuple[str, str, str]]:
    """Rows of the method table: number, definition, interval or test."""
    rate = f"False discovery rate {percent(data.level, 0)} over the"
    drift = (
        "Changes its words",
        "Jensen-Shannon divergence, in bits, between the topic's words in the slice and in earlier slices.",
        "Compared with up to 40 simulated slices without a change. They are drawn document by document "
        "with the word repetition of the text, and scaled to recent slices. "
        f"{rate} topics of a slice.",
    )
    words = (
        "More frequent words",
        "Number of documents that contain a word, compared with its usual frequency and with the "
        "shares of its topics.",
        f"Beta-binomial test over documents. {rate} words of a slice.",
    )
    swings = (
        "Rises, falls",
        "Log-odds of the share, compared with their exponentially weighted mean.",
        "Variance by resampling documents, scaled to recent slices. "
        f"{rate} topics of a slice. Reported from a factor of 1.5 on.",
    )
    return [_SHARE, drift, words, swings, _BIRTHS, _DORMANT, _MERGES, _NO_TOPIC]
