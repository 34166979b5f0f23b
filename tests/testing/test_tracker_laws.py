"""The laws and scikit-learn's checks for the tracker of topics."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayou import TopicTracker
from bayou.testing import laws

MODELS = [
    TopicTracker(n_topics=3, n_sweeps=8),
    TopicTracker(n_topics=3, n_sweeps=6, slice_by=20, window=2, inference="gibbs", n_spare=0),
]


def _cases():
    for number, model in enumerate(MODELS):
        for name, check in laws(model):
            if number and name in ("one_batch", "stream_survives_files"):
                continue  # nothing is learned before the first slice is full
            yield pytest.param(check, id=f"{number}-{name}")


@pytest.mark.parametrize("check", list(_cases()))
def test_law(check):
    check()


@pytest.mark.filterwarnings("ignore::bayou.data.FractionalCountsWarning")
@parametrize_with_checks([TopicTracker(n_sweeps=4)])
def test_sklearn(estimator, check):
    check(estimator)
