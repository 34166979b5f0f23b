"""Documents without a date, and dates in strange forms, as `bayou track` meets them."""

import json

import pytest

HOW = ("--slice", "month", "-k", "2", "--min-df", "2", "--stop-words", "none")
WORDS = ("apple pear plum cherry", "wolf bear lynx otter")


def records(lacking=(), date=lambda d: f"2024-{1 + d // 12:02d}-05"):
    """Three months of a dozen documents each; ``lacking`` have no field of dates."""
    rows = [{"text": WORDS[d % 2], "when": date(d), "id": str(d)} for d in range(36)]
    for d in lacking:
        del rows[d]["when"]
    return rows


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("how", ["in order", "newest first", "pipe"])
def test_documents_that_lack_a_date_are_counted_aloud(invoke, tmp_path, how):
    rows = records(lacking=[0, 5])
    rows[20]["when"] = None
    if how == "newest first":
        rows.reverse()
    (tmp_path / "in.jsonl").write_text(lines(rows))
    place, given = ("-", lines(rows)) if how == "pipe" else ("in.jsonl", None)
    said = invoke("track", place, "--time", "when", *HOW, input=given).stderr
    assert "36 documents in 3 slices" in said
    assert "3 documents have no date and take the time of the previous document" in said


def test_one_that_lacks_a_date_and_slices_that_need_none(invoke, tmp_path):
    (tmp_path / "in.jsonl").write_text(lines(records(lacking=[3])))
    said = invoke("track", "in.jsonl", "--time", "when", *HOW).stderr
    assert "1 document has no date and takes the time of the previous document" in said
    (tmp_path / "in.jsonl").write_text(lines(records()))
    assert "no date" not in invoke("track", "in.jsonl", "--time", "when", *HOW).stderr
    (tmp_path / "in.jsonl").write_text(lines(records(lacking=range(36))))
    assert "no date" not in invoke("track", "in.jsonl", *HOW, "--slice", "12").stderr


@pytest.mark.parametrize("piped", [False, True], ids=["file", "pipe"])
@pytest.mark.parametrize("n", [36, 300])
def test_a_field_of_dates_that_no_record_has_is_an_error(invoke, tmp_path, piped, n):
    rows = (records(lacking=range(36)) * 10)[:n]
    (tmp_path / "in.jsonl").write_text(lines(rows))
    place = ("-",) if piped else ("in.jsonl",)
    given = lines(rows) if piped else None
    done = invoke("track", *place, "--time", "when", *HOW, input=given, code=1)
    assert "line 1: no field 'when' (there are: text, id)" in done.stderr


def test_years_of_a_column_that_lacks_one_are_years(invoke, tmp_path):
    rows = [f"{WORDS[d % 2]},{'' if d == 7 else f'{1996 + d // 12}.0'}\n" for d in range(36)]
    (tmp_path / "in.csv").write_text("text,year\n" + "".join(rows))
    how = ("track", "in.csv", "--time", "year", *HOW, "--slice", "year")
    assert "36 documents in 3 slices" in invoke(*how).stderr
    (tmp_path / "in.csv").write_text("text,year\n" + "".join(rows).replace("19", ""))
    assert (
        "line 2: '96.0' is not a time: as seconds such a small number"
        in invoke(*how, code=1).stderr
    )
