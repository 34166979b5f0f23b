"""Patterns of exponential time are refused; patterns in use are not."""

import time

import pytest

from bayou.data import tokenize
from bayou.data.backtracking import explain_exponential
from bayou.data.errors import DataError
from bayou.data.token_pattern import TOKEN_PATTERN

GOOD = (
    TOKEN_PATTERN, r"\w+", r"(?u)\b\w\w+\b", r"[a-z]+(?:'[a-z]+)*", r"(?:[A-Za-z]+-)*[A-Za-z]+",
    r"[a-z]+(?:[A-Z]+[a-z]+)*", r"(?:\d{1,3}\.){3}\d{1,3}", r"\S+", r"#?\w+", r"[^\s,]+", r"(?i)[a-z]+",
    r"\d+(?:[.,]\d+)*|\w+", "|".join(["cat", "dog", "horse"] * 40), r"\b[a-z]{3,20}\b",
)  # fmt: skip
BAD = (
    r"(a+)+$", r"(a|a)*b", r"(x+x+)+y", r"(a|ab|b)*c", r"(\w+\s?)*$", r"(.*)*x", r"(a*)*b", r"(a|aa)+$",
    r"(\d+|[0-9a-f]+)*g", r"(a)\1", r"(?:a{1,30}){1,30}b", r"([^,]*,?)*x", r"(a?){30}a{30}b",
    r"(?i)([a-z]+|[A-Z]+)*1", "a" * 2001,
)  # fmt: skip


@pytest.mark.parametrize("pattern", GOOD)
def test_patterns_in_use(pattern):
    assert explain_exponential(pattern) == ""
    started = time.process_time()
    tokenize("a" * 3000 + "!" + "1.2," * 500 + "\u0301" * 2000 + "-", token_pattern=pattern)
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize("pattern", BAD)
def test_exponential_patterns(pattern):
    assert explain_exponential(pattern)
    with pytest.raises(DataError, match="exponential time"):
        tokenize("aaaa", token_pattern=pattern)
