"""Is the posterior that the chain draws from the posterior of its story?

Only the logistic loss with c = 1 is a likelihood of the labels, p(y | f) = 1 / (1 + exp(-y f)); the hinge is
not normalised over y, so ranks of a truth mean nothing there (`test_margin.py` enumerates).
"""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit
from tests.reference import lda, margin, margin_cases

from bayou.inference.margin import gibbs
from bayou.models.med_lda import sweep_chain

pytestmark = pytest.mark.slow

LENGTHS = [4, 1, 6, 3]
ALPHA, BETA, N_TERMS, VARIANCE = np.array([0.7, 0.7, 0.7]), 0.5, 5, 9.0
NAMES = ("score 0", "score 2, task 1", "norm of the weights", "same topic")


def numbers(z, eta, corpus):
    """Blind to the names of topics."""
    f = margin.zbar_of(z, corpus[2], corpus[0], len(ALPHA)) @ eta.T
    return f[0, 0], f[2, 1], float((eta**2).sum()), float((z[5:11] == z[5]).sum())


@pytest.mark.parametrize("light", [False, True], ids=["gibbs", "light"])
def test_ranks_of_the_truth_are_uniform(light):
    rng = np.random.default_rng(1)
    n_draws, ranks = 15, []
    for seed in range(400):
        indptr, terms, z, _, _ = lda.draw_prior(rng, LENGTHS, ALPHA, BETA, N_TERMS)
        rho = margin_cases.even_weights(indptr)
        corpus = (indptr, terms, rho, ALPHA, BETA, N_TERMS)
        eta = rng.normal(0, np.sqrt(VARIANCE), (2, len(ALPHA)))
        f = margin.zbar_of(z, rho, indptr, len(ALPHA)) @ eta.T
        y = np.where(rng.random(f.shape) < expit(f), 1.0, -1.0)
        task = ("logistic", np.ones(y.shape), 0.0, y, VARIANCE)
        chain = margin.chain(corpus, task, light=light)
        state, draws = gibbs.start(chain, seed, margin.serial), []
        for step in range(60 + 10 * n_draws):
            sweep_chain(state, chain, seed, step + 1, margin.serial)
            if step >= 60 and step % 10 == 0:
                draws.append(numbers(state.z, state.eta.astype(float), corpus))
        draws, truth = np.array(draws), np.array(numbers(z, eta, corpus))
        below = (draws < truth - 1e-9).sum(axis=0)
        ties = (np.abs(draws - truth) <= 1e-9).sum(axis=0)
        ranks.append(below + rng.integers(0, ties + 1))
    for name, rank in zip(NAMES, np.transpose(ranks), strict=True):
        p = stats.chisquare(np.bincount(rank, minlength=n_draws + 1)).pvalue
        print(f"{name}: p = {p:.3f}")
        assert p > 0.005, name
