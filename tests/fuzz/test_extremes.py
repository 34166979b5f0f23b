"""Cells of the table of extremes that once were findings, and a column of it for some models."""

import pytest
from tests.fuzz import extremes

PAST = (
    ("LabeledHDP", "a count of 1e9", "error DataError: a sampler of"),
    ("LabeledLDA", "100,000 classes", "error DataError: a table of scores"),
    ("DependencyLDA", "empty documents", "ok"),
    ("StackedHDP", "empty documents", "ok"),
    ("LDA", "1e6 terms, K=1,000", "error DataError: a model of 1,000 topics"),
)


@pytest.mark.parametrize(("name", "case", "outcome"), PAST)
def test_past_findings(name, case, outcome):
    assert extremes.try_one(name, case).startswith(outcome)
