"""The passage with the largest weight, against a search over all windows."""

import random

import pytest

from bayou.data.passages import best_passage, occurrences
from bayou.data.text import Vectorizer, tokenize

WORDS = ["gold", "silver", "iron", "tin", "lead", "zinc"]


def text_of(seed, n=80):
    draw = random.Random(seed)
    return " ".join(
        draw.choice([*WORDS, "and", "the", "of"]) + draw.choice(["", ".", ","]) for _ in range(n)
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_no_other_window_has_more_weight(seed, ngrams):
    text, draw = text_of(seed), random.Random(seed + 100)
    terms = WORDS + [f"{a} {b}" for a in WORDS for b in WORDS]
    weights = {term: draw.uniform(-0.5, 1.0) for term in terms}
    vectorizer, width = Vectorizer(ngrams=ngrams, stop_words="english"), 60
    places = [o for o in occurrences(text, vectorizer, weights) if o.weight]
    found = best_passage(text, weights, vectorizer, width)
    assert len(found.text) <= width
    inside = [o for o in places if found.start <= o.start and o.end <= found.end]
    assert found.weight == pytest.approx(sum(o.weight for o in inside))
    # the window is widened to whole words, so it may gain terms of either sign; a best range of terms
    # lies inside it
    ranges = [
        (sum(o.weight for o in places[i:j]), places[i].start, max(o.end for o in places[i:j]))
        for i in range(len(places))
        for j in range(i + 1, len(places) + 1)
        if max(o.end for o in places[i:j]) <= places[i].start + width
        and (j == len(places) or places[j].end > places[i].start + width)
    ]
    most = max(ranges)[0]
    best = [(start, end) for weight, start, end in ranges if weight > most - 1e-9]
    assert any(found.start <= start and end <= found.end for start, end in best)


def test_a_long_run_of_thanks_is_not_the_passage():
    text = (
        "I congratulate you, Sir, on your election. " * 20
        + "The tariff on tin rose.  "
        + "Thank you. " * 30
    )
    found = best_passage(text, {"tariff": 2.0, "tin": 1.0, "sir": 0.01}, Vectorizer(), 60)
    assert "tariff on tin rose" in found.text
    assert [found.text[a:b] for a, b in found.marks if b - a > 3] == ["tariff"]


def test_marks_are_moved_with_folded_white_space_and_case():
    text = "  One\n\tTWO   three\u00a0Cafe\u0301 "
    found = best_passage(text, {"two": 1.0, "café": 1.0}, Vectorizer(), 100)
    assert found.text == "One TWO three Café"
    assert [found.text[a:b] for a, b in found.marks] == ["TWO", "Café"]


@pytest.mark.parametrize("text", ["", "   ", "x" * 5000, "İ" * 50 + " gold", "\ud800 gold", "gold"])
def test_odd_texts(text):
    found = best_passage(text, {"gold": 1.0}, Vectorizer(), 40)
    assert bool(found.marks) == ("gold" in text)


def test_overlapping_terms_have_one_mark():
    found = best_passage(
        "gold silver iron", {"gold silver": 1.0, "silver iron": 1.0}, Vectorizer(ngrams=(1, 2))
    )
    assert [found.text[a:b] for a, b in found.marks] == ["gold silver iron"]


@pytest.mark.parametrize("seed", range(3))
def test_places_have_the_tokens_that_are_counted(seed):
    text = text_of(seed).title() + " Ünïcode ﬁne 東京 x1_y2"
    vectorizer = Vectorizer(stop_words="english", min_length=3)
    places = list(vectorizer.token_places(text))
    assert [token for token, _, _ in places] == next(iter(vectorizer.tokens([text])))
    assert all(tokenize(text[a:b]) == [token] for token, a, b in places)
