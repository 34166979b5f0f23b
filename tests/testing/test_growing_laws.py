"""The laws, for models whose topics are born and die."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayou import (
    MedHDPClassifier,
    MedHDPRegressor,
    OnlineMedHDPClassifier,
    OnlineMedHDPRegressor,
)
from bayou.testing import expected_failures, laws

SHORT = {"n_topics": 4, "n_sweeps": 6, "n_kept": 3}
MODELS = [
    MedHDPClassifier(**SHORT),
    MedHDPRegressor(**SHORT),
    OnlineMedHDPClassifier(n_topics=4, batch_size=16),
    OnlineMedHDPClassifier(
        n_topics=4, classifier="averaging", batch_size=16, decay=0.99, refit=True
    ),
    OnlineMedHDPRegressor(n_topics=4),
]
SKLEARN = [
    MedHDPClassifier(**SHORT),
    MedHDPRegressor(**SHORT),
    OnlineMedHDPClassifier(),
    OnlineMedHDPRegressor(n_topics=4, regressor="averaging"),
]


def _cases():
    for number, model in enumerate(MODELS):
        for name, check in laws(model):
            yield pytest.param(check, id=f"{number}-{type(model).__name__}-{name}")


@pytest.mark.parametrize("check", list(_cases()))
def test_law(check):
    check()


@pytest.mark.filterwarnings("ignore::bayou.data.FractionalCountsWarning")
@parametrize_with_checks(SKLEARN, expected_failed_checks=expected_failures)
def test_sklearn(estimator, check):
    check(estimator)
