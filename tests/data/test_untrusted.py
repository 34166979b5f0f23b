"""Text of unknown origin: normalisation, escapes, limits of tokens."""

import gzip
import json
import random
import time
import unicodedata
import warnings

import pytest

from bayou.data import Vectorizer, tokenize, untrusted
from bayou.data.errors import DataError, LongTokensWarning
from bayou.data.records import Options, text_record
from bayou.data.streams.lines import LineReader
from bayou.data.text import MAX_TOKEN

ODD = ["x\ud800y", "nul\x00", "\x1b[31mred", "\x9b31m", "\u202eabc", "=1+1", "a\rb", "tab\tx", "é"]


def test_ordinary_text_is_normalised_as_before():
    letters = [
        chr(c) for c in (*range(0x41, 0x250), *range(0x300, 0x370), 0x1100, 0x1161, 0x11A8, 0x0344)
    ]
    draw = random.Random(0)
    for _ in range(300):
        text = "".join(draw.choices(letters, k=draw.randint(1, 60)))
        runs = untrusted._run_of_marks(untrusted.MAX_MARKS + 1)
        if not runs.search(text):
            assert untrusted.normalize(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("n", [30, 31, 45, 61, 200])
def test_only_runs_of_over_thirty_marks_are_cut(n):
    text = "nothing e" + "\u0315" * (n - 1) + "\u0301" + " after"
    same = untrusted.normalize(text) == unicodedata.normalize("NFC", text)
    assert same == (n <= 30)
    assert len(untrusted.normalize(text)) >= len(unicodedata.normalize("NFC", text))


def test_all_combining_marks_are_known():
    marks = [c for c in range(0x110000) if unicodedata.combining(chr(c))]
    assert all(untrusted._run_of_marks(2).fullmatch(2 * chr(c)) for c in marks)


def test_long_runs_of_marks_take_linear_time():
    started = time.process_time()
    tokenize("a" + "\u0315" * 1_000_000 + "\u0300" * 1_000_000)
    assert time.process_time() - started < 5.0  # unicodedata.normalize: an hour


@pytest.mark.parametrize("text", ODD)
def test_escapes(text):
    shown = untrusted.for_terminal(text)
    assert shown.isprintable() or "\t" in shown
    assert not set(shown) & set("\x1b\x9b\u202e\ud800\x00\r")
    row = untrusted.json_text({"id": text})
    row.encode()
    assert json.loads(row) == {"id": text}
    assert untrusted.for_terminal(row) == row
    untrusted.for_database(text).encode()
    assert "\x00" not in untrusted.for_database(text)


def test_ordinary_text_is_not_changed():
    text = "naïve — «цитата» 日本語 ‘x’ 100 %\n\tline"
    for change in (untrusted.for_terminal, untrusted.for_database, untrusted.for_file):
        assert change(text) == text


def test_formulas_and_numbers():
    for cell in ("=HYPERLINK(1)", "+x", "-x", "@x", "\tx", "\rx", "-1+1"):
        assert untrusted.for_spreadsheet(cell) == "'" + cell
    for cell in ("-1.5", "+3", "-1e-3", -1.5, None, 7, "a=b", ""):
        assert untrusted.for_spreadsheet(cell) == cell


def test_limits_of_tokens():
    with pytest.warns(LongTokensWarning, match="1 token was dropped: longer than 1,000"):
        assert tokenize("a " + "x" * 10_000_000 + " bb", min_length=1) == ["a", "bb"]
    assert len(tokenize("x" * MAX_TOKEN)) == 1
    with pytest.raises(DataError, match="at most 10"):
        tokenize("a b", ngrams=(1, 11))


def test_long_tokens_are_counted_over_all_texts():
    long = "x" * (MAX_TOKEN + 1)
    with pytest.warns(LongTokensWarning, match="3 tokens were dropped") as told:
        counts = Vectorizer().fit_transform(["one two", f"{long} one {long}", long])
    assert len(told) == 1
    assert counts.sum() == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Vectorizer().fit_transform(["word " * 1000])  # a long text of short tokens


def test_a_gzip_bomb_stops_at_the_limit(tmp_path):
    path = tmp_path / "bomb.txt.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(64):
            file.write(bytes(2**20))
    with pytest.raises(DataError, match="longer than 1000000 bytes"):
        text_record(path, tmp_path, Options(max_line_bytes=1_000_000))
    reader = LineReader(str(path), 1_000_000)
    largest = 0
    while not reader.at_end:
        largest = max(largest, len(reader._bytes(0.0) or b""))
    assert largest <= 2**14 * 1100
