"""The laws of every model, and scikit-learn's, for OnlineHDP."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayou import OnlineHDP
from bayou.testing import laws

MODELS = [
    OnlineHDP(n_topics=6, n_passes=2, batch_size=16),
    OnlineHDP(n_topics=8, n_passes=2, batch_size=16, inference="truncation-free"),
]


def _cases():
    for model in MODELS:
        for name, check in laws(model):
            yield pytest.param(check, id=f"{model.inference}-{name}")


@pytest.mark.parametrize("check", list(_cases()))
def test_law(check):
    check()


@pytest.mark.filterwarnings("ignore::bayou.data.FractionalCountsWarning")
@parametrize_with_checks([OnlineHDP(n_topics=10, n_passes=2)])
def test_sklearn(estimator, check):
    check(estimator)
