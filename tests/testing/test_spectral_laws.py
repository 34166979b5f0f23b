"""The laws for models solved for from moments, and for mixtures by EM."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayou import IncrementalEM, SpectralLDA, SpectralLeader, StepwiseEM
from bayou.testing import laws

MODELS = [
    SpectralLeader(n_topics=3),
    SpectralLeader(n_topics=3, n_polish=0, burn_in=10, half_life=20, generation=20),
    SpectralLeader(n_topics=3, mode="history", half_life=30, decomposition="jacobi"),
    SpectralLeader(n_topics=3, mode="reservoir", reservoir=15, decomposition="deflation"),
    SpectralLDA(n_topics=3, decomposition="jennrich"),
    StepwiseEM(n_topics=3, batch_size=7, n_passes=2),
    IncrementalEM(n_topics=3, n_passes=3),
]


def _cases():
    for number, model in enumerate(MODELS):
        for name, check in laws(model):
            yield pytest.param(check, id=f"{number}-{type(model).__name__}-{name}")


@pytest.mark.filterwarnings("ignore::bayou.data.DoubtWarning")
@pytest.mark.parametrize("check", list(_cases()))
def test_law(check):
    check()


# scikit-learn hands over four classes and wants as many columns of `predict_proba`
SKLEARN = [
    SpectralLeader(n_topics=4),
    SpectralLDA(),
    StepwiseEM(n_topics=4),
    IncrementalEM(n_topics=4, n_passes=2),
]


@pytest.mark.filterwarnings("ignore::bayou.data.FractionalCountsWarning")
@pytest.mark.filterwarnings("ignore::bayou.data.DoubtWarning")
@parametrize_with_checks(SKLEARN)
def test_sklearn(estimator, check):
    check(estimator)
