"""Calendars, documents that wait for their slice, and vocabularies that grow."""

import numpy as np
import pytest

from bayou import Corpus, DataError
from bayou.data.calendar import (
    NEVER,
    Width,
    fill_missing_times,
    parse_width,
    slice_name,
    slice_numbers,
    slice_start,
)
from bayou.data.intake import Intake
from bayou.data.stream_terms import WaitingTerms, join_corpora


def us(*times):
    return np.array(times, "datetime64[us]")


def docs(times=None, n=None, names=("a", "b")):
    n = len(times) if n is None else n
    counts = np.ones((n, len(names)))
    return Corpus.from_matrix(counts, vocabulary=names, times=times)


@pytest.mark.parametrize(
    ("given", "width"),
    [
        ("day", Width("D")), ("weeks", Width("W")), ("3 months", Width("M", 3)),
        ("Quarter", Width("Q")), ("10 years", Width("Y", 10)), (7, Width("docs", 7)), (None, Width("call")),
    ],
)  # fmt: skip
def test_widths(given, width):
    assert parse_width(given) == width


@pytest.mark.parametrize("bad", [0, -1, True, "fortnight", "0 days", 1.5, "", "-2 days"])
def test_a_width_that_cannot_be_meant(bad):
    with pytest.raises(ValueError, match="slice_by must be"):
        parse_width(bad)


def test_calendar_slices_begin_where_they_should():
    for unit, day in (
        ("day", "2024-02-29"),
        ("week", "2024-02-26"),
        ("month", "2024-02-01"),
        ("quarter", "2024-01-01"),
        ("2 quarters", "2024-01-01"),
    ):
        width = parse_width(unit)
        (number,) = slice_numbers(us("2024-02-29T23:59"), width)
        assert str(slice_start(int(number), width).astype("datetime64[D]")) == day
    decade = parse_width("10 years")
    (number,) = slice_numbers(us("1799-12-31"), decade)
    assert slice_start(int(number), decade) == np.datetime64("1790", "us")
    old, older = slice_numbers(us("1969-12-31", "1969-12-28"), parse_width("week"))
    assert old == older + 1, "weeks before 1970 begin on Monday too"


def test_names_of_slices():
    ends = [int(x.astype(np.int64)) for x in us("2024-01-29", "2024-02-05")]
    assert slice_name(*ends, Width("W"), 0) == "2024-01-29"
    assert slice_name(NEVER, NEVER, Width("docs", 5), 3) == "3"
    months = [int(x.astype(np.int64)) for x in us("2024-01", "2024-04")]
    assert slice_name(*months, Width("M", 3), 0) == "2024-01–2024-03"
    assert slice_name(*months, Width("Q"), 0) == "2024-Q1"
    halves = [int(x.astype(np.int64)) for x in us("1969-07", "1970-01")]
    assert slice_name(*halves, Width("Q", 2), 0) == "1969-Q3–1969-Q4"


def test_quarters_follow_each_other_over_years():
    months = us(*(f"{year}-{month:02d}" for year in (1799, 1969, 2024) for month in range(1, 13)))
    width = parse_width("quarter")
    numbers = slice_numbers(months, width)
    starts = [str(slice_start(int(n), width))[:7] for n in numbers]
    firsts = [
        f"{m.astype('datetime64[Y]')}-{(i % 12) // 3 * 3 + 1:02d}" for i, m in enumerate(months)
    ]
    assert starts == firsts
    assert set(np.diff(numbers[:12])) == {0, 1}


def test_missing_times_are_those_of_the_document_before():
    nat = np.datetime64("NaT", "us")
    got = fill_missing_times(np.array([nat, "2024-01-02", nat], "datetime64[us]"), nat)
    assert got.astype("datetime64[D]").astype(str).tolist() == ["2024-01-02"] * 3
    assert (
        fill_missing_times(np.array([nat]), np.datetime64("2020-01-01", "us"))[0]
        == us("2020-01-01")[0]
    )
    with pytest.raises(DataError, match="no document has a time"):
        fill_missing_times(np.array([nat]), nat)


def test_a_slice_is_over_when_a_later_document_comes():
    intake = Intake(parse_width("day"))
    intake.take(docs(us("2024-01-01", "2024-01-01", "2024-01-03")))
    first = intake.due()
    assert first.corpus.n_docs == 2
    assert intake.due() is None, "the third may still get company"
    intake.take(docs(us("2024-01-03T12:00")))
    assert intake.n_docs == 2
    last = intake.due(all=True)
    assert (last.corpus.n_docs, last.number - first.number) == (2, 2), "gaps are legal"
    assert last.corpus.ids == ("2", "3")


def test_late_documents_join_the_oldest_open_slice_or_are_dropped():
    for late, left in (("next", 2), ("drop", 1)):
        intake = Intake(parse_width("day"), late=late)
        intake.take(docs(us("2024-01-01", "2024-01-02")))
        intake.due()
        intake.take(docs(us("2023-06-01")))  # the clock goes backwards
        due = intake.due(all=True)
        assert due.corpus.n_docs == left
        assert (due.n_late, intake.n_dropped) == ((1, 0) if late == "next" else (0, 1))


def test_grace_holds_slices_open():
    intake = Intake(parse_width("day"), grace=1)
    intake.take(docs(us("2024-01-01", "2024-01-02")))
    assert intake.due() is None
    intake.take(docs(us("2024-01-01T20:00")))
    intake.take(docs(us("2024-01-03")))
    due = intake.due()
    assert (due.corpus.n_docs, due.n_late) == (2, 0)


def test_slices_by_count_and_by_call():
    intake = Intake(parse_width(3))
    intake.take(docs(n=4))
    assert intake.due().corpus.n_docs == 3
    assert intake.due() is None
    intake.take(docs(n=2))
    assert intake.due().corpus.ids == ("3", "4", "5")
    intake = Intake(parse_width(None))
    intake.take(docs(us("2024-01-02", "2024-01-01")))
    due = intake.due()
    assert due.corpus.n_docs == 2
    assert np.datetime64(due.start, "us") == us("2024-01-01")[0]


def test_a_calendar_needs_times():
    with pytest.raises(DataError, match="need the time"):
        Intake(parse_width("day")).take(docs(n=2))


def test_what_waits_goes_through_a_file_however_it_came():
    one, two = Intake(parse_width("day")), Intake(parse_width("day"))
    a, b = docs(us("2024-01-05", "2024-01-05"), names=("x", "a")), docs(us("2024-01-05"))
    one.take(a)
    one.take(b)
    two.take(join_corpora([a]))
    two.take(b)
    kept = one.arrays()
    other = two.arrays()
    assert kept.keys() == other.keys()
    back = Intake(parse_width("day"))
    back.restore(kept)
    assert back.n_docs == 3
    for name, array in back.arrays().items():
        np.testing.assert_array_equal(array, kept[name])


def test_corpora_are_joined_by_name():
    a = Corpus.from_matrix([[1, 2]], vocabulary=["b", "a"], ids=["one"])
    b = Corpus.from_matrix([[3, 0]], vocabulary=["c", "z"], ids=["two"])
    both = join_corpora([a, b])
    assert list(both.vocabulary) == ["a", "b", "c"], "sorted, and only terms that are used"
    assert both.counts.toarray().tolist() == [[2, 1, 0], [0, 0, 3]]
    assert both.ids == ("one", "two")


def test_terms_wait_for_enough_documents():
    waiting = WaitingTerms()
    assert waiting.meet(["a", "b"], [1, 3], 0, 3) == ["b"]
    assert waiting.meet(["a"], [2], 1, 3) == ["a"]
    waiting.meet(["c"], [1], 2, 3)
    waiting.meet(["d"], [1], 3, 3)
    assert waiting.forget(1) == 1
    assert list(waiting.docs) == ["d"], "the one met longest ago is forgotten"


def test_one_wrong_date_of_far_ahead_does_not_end_all_slices_for_ever():
    intake = Intake(parse_width("month"))
    days = [f"2024-{m:02d}-{1 + d % 28:02d}" for m in range(1, 7) for d in range(150)]
    days[200] = "2124-01-01"  # in February
    sizes = {}
    for day in days:  # one after the other, as a pipe brings them
        intake.take(docs([day]))
        while (due := intake.due()) is not None:
            month = slice_name(due.start, due.end, intake.width, 0)
            sizes[month] = sizes.get(month, 0) + due.corpus.n_docs
        if day == days[440]:  # going on from a file makes no difference
            again = Intake(intake.width)
            again.restore(intake.arrays())
            intake = again
    assert sizes["2024-01"] == 150
    assert sizes["2024-02"] == 50  # cut short
    assert [sizes[f"2024-{m:02d}"] for m in (4, 5)] == [150, 150]
    left = {number: sum(p.n_docs for p in parts) for number, parts in intake.waiting.items()}
    assert sum(sizes.values()) + sum(left.values()) == len(days)  # nothing is lost
    assert left[max(left)] <= 101  # the wrong one, and those that came before it was forgotten
    old = {name: array for name, array in intake.arrays().items() if name != "intake.latest"}
    Intake(intake.width).restore(old)  # a file of an earlier version
