"""scikit-learn's own checks on every public estimator, made as a user makes it."""

from pathlib import Path

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator

from bayou import registry
from bayou.testing import expected_failures

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
MODELS = sorted(name for name, model in registry.MODELS.items() if model.task != "wrapper")


def table():
    """Rows of the table of exceptions on the page about tests: check -> names of models."""
    rows = {}
    for line in PAGE.read_text().splitlines():
        if line.startswith("| `check_"):
            check, models, _ = (cell.strip() for cell in line.strip("|").split("|"))
            rows[check.strip("`")] = {name.strip().strip("`") for name in models.split(",")}
    return rows


def test_the_page_names_every_exception():
    wanted = {}
    for name in MODELS:
        for check in expected_failures(registry.find_class(name)()):
            wanted.setdefault(check, set()).add(name)
    assert table() == wanted


def models_that_fail(check):
    return [name for name in MODELS if check in expected_failures(registry.find_class(name)())]


@pytest.mark.filterwarnings("ignore::bayou.data.FractionalCountsWarning")
@pytest.mark.parametrize("name", models_that_fail("check_decision_proba_consistency"))
def test_probabilities_follow_scores_on_data_without_negative_numbers(name, monkeypatch):
    blobs = estimator_checks.make_blobs

    def positive_blobs(**how):
        X, y = blobs(**how)
        return abs(X), y

    monkeypatch.setattr(estimator_checks, "make_blobs", positive_blobs)
    estimator = registry.find_class(name)(random_state=0)
    estimator_checks.check_decision_proba_consistency(name, estimator)


@pytest.mark.filterwarnings("ignore::bayou.data.FractionalCountsWarning")
@pytest.mark.parametrize("name", models_that_fail("check_estimator_sparse_array"))
def test_mixtures_pass_the_sparse_checks_with_as_many_topics_as_they_have_classes(name):
    estimator = registry.find_class(name)(n_topics=4)
    assert expected_failures(estimator) == {}
    estimator_checks.check_estimator_sparse_array(name, estimator)
    estimator_checks.check_estimator_sparse_matrix(name, estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayou.data.FractionalCountsWarning")
@pytest.mark.parametrize("name", MODELS)
def test_default_estimators_pass_and_fail_as_named(name):
    estimator = registry.find_class(name)()
    named = expected_failures(estimator)
    found = check_estimator(estimator, expected_failed_checks=named, on_skip=None, on_fail=None)
    failed = {r["check_name"]: str(r["exception"]) for r in found if r["status"] == "failed"}
    assert not failed
    assert {r["check_name"] for r in found if r["status"] == "xfail"} == set(named)
