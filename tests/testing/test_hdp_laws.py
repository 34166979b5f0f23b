"""The laws of `check_model`, and scikit-learn's, for topics without a number given beforehand."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayou import HDP
from bayou.testing import laws

MODELS = [
    HDP(n_topics=4, n_sweeps=12, n_moves=3),
    HDP(n_topics=4, n_sweeps=6, sampler="direct", n_chains=2),
]


def _cases():
    for model in MODELS:
        for name, check in laws(model):
            yield pytest.param(check, id=f"{model.sampler}-{name}")


@pytest.mark.parametrize("check", list(_cases()))
def test_law(check):
    check()


@pytest.mark.filterwarnings("ignore::bayou.data.FractionalCountsWarning")
@parametrize_with_checks([HDP(n_sweeps=4)])
def test_sklearn(estimator, check):
    check(estimator)
