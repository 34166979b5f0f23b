"""The laws hold for models of labels."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.testing.label_models import MODELS, SKLEARN

from bayou.testing import expected_failures, laws


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
