import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference.sampled_fold_in import expected_zbar

from bayou.inference.lda import sampled_fold_in
from bayou.inference.lda.documents import pairs_of
from bayou.run.shards import Workers

RNG = np.random.default_rng(2)
ROWS = RNG.dirichlet(np.ones(6), 3).T.astype(np.float32)
ALPHA, WEIGHT = np.array([0.3, 0.5, 0.2]), np.array([1.0, 2.0, 0.5, 1.5, 1.0, 3.0], np.float32)
TERMS = (0, 1, 1, 4, 5)


def draw(rows, counts, seed, n_threads=1, **sweeps):
    pairs = pairs_of(csr_array(np.asarray(counts, float)))
    with Workers(n_threads) as workers:
        return sampled_fold_in.draw_zbar(rows, ALPHA, WEIGHT, pairs, seed, workers.each, **sweeps)


def test_draws_have_the_moments_of_the_posterior():
    counts = np.bincount(TERMS, minlength=6)[None]
    found = np.array([draw(ROWS, counts, s, n_burn=8, n_kept=1)[0] for s in range(4000)])
    mean, variance = expected_zbar(ROWS, ALPHA, WEIGHT, TERMS)
    assert np.allclose(found.mean(axis=0), mean, atol=4.0 * np.sqrt(variance.max() / len(found)))
    assert np.allclose(found.var(axis=0), variance, atol=0.008)


def test_a_scale_per_term_changes_nothing():
    counts = RNG.poisson(1.0, (20, 6))
    scaled = ROWS * np.array([1.0, 4.0, 0.25, 2.0, 8.0, 0.5], np.float32)[:, None]
    assert np.array_equal(draw(ROWS, counts, 1), draw(scaled, counts, 1))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_document_has_its_own_draws(n_threads):
    counts = RNG.poisson(1.0, (40, 6))
    counts[3] = 0
    whole = draw(ROWS, counts, 1, n_threads)
    assert np.array_equal(whole[5:6], draw(ROWS, counts[5:6], 1))
    assert np.allclose(whole.sum(axis=1), 1.0)
    assert np.allclose(whole[3], ALPHA / ALPHA.sum())
    assert not np.array_equal(whole, draw(ROWS, counts, 2))


def test_topics_are_drawn_from_their_posterior():
    counts, beta = np.array([[5.0, 0.0], [1.0, 2.0], [0.0, 7.0]], np.float32), 0.4
    with Workers(1) as workers:
        found = np.array(
            [sampled_fold_in.draw_rows(counts, beta, s, workers.each) for s in range(6000)]
        )
    assert np.allclose(found.max(axis=2), 1.0)
    odds = np.log(found[..., 0]) - np.log(found[..., 1])  # ln phi_v0 - ln phi_v1
    exact = np.empty(3)
    for v in range(3):
        draws = [
            np.random.default_rng(9).dirichlet(counts[:, k] + beta, 40_000)[:, v] for k in (0, 1)
        ]
        exact[v] = np.log(draws[0]).mean() - np.log(draws[1]).mean()
    assert np.allclose(odds.mean(axis=0), exact, atol=0.15)


def test_a_small_beta_does_not_underflow():
    with Workers(1) as workers:
        rows = sampled_fold_in.draw_rows(np.zeros((50, 4), np.float32), 1e-3, 0, workers.each)
    assert np.isfinite(rows).all()
    assert np.allclose(rows.max(axis=1), 1.0)
