"""The exact sampler: draw for draw its twin, and its chain visits what the posterior says."""

import numba
import numpy as np
import pytest
from tests.reference import lda

from bayou.kernels.lda.sweep import gibbs_sweep

long_chain = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="a long chain")


def corpus(seed, lengths, n_topics, n_terms):
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    terms = rng.integers(0, n_terms, indptr[-1]).astype(np.uint32)
    z = rng.integers(0, n_topics, indptr[-1]).astype(np.uint16)
    return indptr, terms, z, rng.gamma(1.0, 0.5, n_topics) + 0.01


def run(z, indptr, terms, alpha, beta, n_terms, seed, sweeps):
    _, n_vk, n_k = lda.counts(z, indptr, terms, len(alpha), n_terms)
    n_vk = n_vk.astype(np.float32)
    for sweep in sweeps:
        gibbs_sweep(z, (indptr, terms), n_vk, n_k, alpha, beta, seed, sweep)
        yield z, n_vk, n_k


@pytest.mark.parametrize(("n_topics", "n_terms"), [(1, 3), (2, 1), (3, 8), (16, 5), (40, 12)])
def test_sweep_is_its_twin_draw_for_draw(n_topics, n_terms):
    indptr, terms, z, alpha = corpus(n_topics, [7, 0, 1, 12, 4], n_topics, n_terms)
    twin = z.copy()
    for sweep, (z_now, n_vk, n_k) in enumerate(
        run(z, indptr, terms, alpha, 0.3, n_terms, 11, range(3))
    ):
        twin = lda.gibbs_sweep(twin, indptr, terms, alpha, 0.3, n_terms, 11, sweep)
        np.testing.assert_array_equal(z_now, twin)
        _, expected, totals = lda.counts(twin, indptr, terms, n_topics, n_terms)
        np.testing.assert_array_equal(n_vk, expected)
        np.testing.assert_array_equal(n_k, totals)


def test_seed_and_sweep_change_the_draws():
    indptr, terms, z, alpha = corpus(0, [30, 30], 5, 6)

    def after(seed, sweep):
        (state,) = run(z.copy(), indptr, terms, alpha, 0.3, 6, seed, [sweep])
        return state[0]

    np.testing.assert_array_equal(after(1, 1), after(1, 1))
    assert (after(1, 1) != after(1, 2)).any()
    assert (after(1, 1) != after(2, 1)).any()


@long_chain
@pytest.mark.parametrize(
    ("terms", "indptr", "alpha", "beta", "n_terms"),
    [
        ([0, 0, 1, 1, 2, 0], [0, 3, 6], [0.3, 0.9], 0.5, 3),
        ([0, 1, 0, 2, 1], [0, 2, 2, 3, 5], [0.4, 0.1, 1.5], 1.3, 4),
        ([0, 0, 0, 1, 1, 1], [0, 2, 4, 6], [0.1, 0.1], 0.05, 2),  # strong ties, slow mixing
    ],
)
def test_chain_visits_the_enumerated_posterior(terms, indptr, alpha, beta, n_terms):
    """All assignments of a tiny corpus are listed with their exact probability."""
    terms, indptr = np.array(terms, np.uint32), np.array(indptr, np.int64)
    alpha = np.array(alpha)
    _, law = lda.posterior(indptr, terms, alpha, beta, n_terms)
    z = np.zeros(len(terms), np.uint16)
    seen = np.empty((200_000, len(terms)), np.uint16)
    for sweep, (state, _, _) in enumerate(
        run(z, indptr, terms, alpha, beta, n_terms, 5, range(len(seen)))
    ):
        seen[sweep] = state
    distance = lda.distance(lda.place_of(seen, len(alpha)), law)
    print(f"total variation {distance:.4f} over {len(law)} assignments")
    assert distance < 0.015
