"""Documents of Pitman-Yor processes under frozen topics: enumeration, closed form, own counts."""

import itertools

import numba
import numpy as np
import pytest
from scipy.special import gammaln
from tests.reference import franchise as reference

from bayou.inference.hdp import tables
from bayou.kernels.hdp import frozen_tables

SHARE = np.array([0.5, 0.3, 0.2])
ROWS = np.array([[0.6, 0.1, 0.2], [0.1, 0.5, 0.3], [0.2, 0.2, 0.4], [0.1, 0.4, 0.1]])
NONE = (np.zeros(3), 0.1, 0.4)  # topics do not contain the documents
long_chain = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="a long chain")


def run(n_sweeps, n_tokens, share, rows, b1, a, own=NONE):
    """Mean conditionals of the tokens, each a term of its own, mean tables and powers."""
    counts, opened, powers = np.zeros((n_tokens, len(share))), np.zeros(len(share)), np.zeros(1)
    tokens = (np.array([0, n_tokens]), np.arange(n_tokens))
    stirling = tables.ratios(n_tokens + 1, n_tokens + 1, a), tables.factors(n_tokens, n_tokens, a)
    frozen_tables.seat_docs(
        counts, opened, powers, tokens, rows, own, (share, b1, a), stirling, (n_sweeps, n_sweeps), (3, 0)
    )  # fmt: skip
    return counts / n_sweeps, opened / n_sweeps, powers[0] / n_sweeps


def enumerated(share, rows, b1, a):
    """p(z_i = k), E[m_k] and expected powers by all topics and all numbers of tables."""
    n_tokens, n_topics = rows.shape
    numbers = reference.stirling(n_tokens, a)
    topics, opened, powers, total = np.zeros(rows.shape), np.zeros(n_topics), 0.0, 0.0
    for z in itertools.product(range(n_topics), repeat=n_tokens):
        n = np.bincount(z, minlength=n_topics)
        words = np.prod(rows[np.arange(n_tokens), list(z)])
        for m in itertools.product(*[range(1, c + 1) if c else [0] for c in n]):
            weight = words * np.prod([b1 + i * a for i in range(sum(m))])
            for k in range(n_topics):
                weight *= share[k] ** m[k] * float(numbers[n[k]][m[k]])
            total += weight
            topics[np.arange(n_tokens), list(z)] += weight
            opened += weight * np.array(m)
            powers += weight * sum(b1 / (b1 + i * a) for i in range(sum(m)))
    return topics / total, opened / total, powers / total


@long_chain
@pytest.mark.parametrize("a", [0.0, 0.3, 0.8])
def test_topics_and_tables_are_those_of_enumeration(a):
    found = run(60_000, 4, SHARE, ROWS, 0.7, a)
    wanted = enumerated(SHARE, ROWS, 0.7, a)
    for mine, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, right, atol=0.01)


@long_chain
def test_tables_of_one_topic_have_their_closed_form():
    """E[m] = Gamma(b + N + a) Gamma(b + 1) / (a Gamma(b + N) Gamma(b + a)) - b / a."""
    b, a, n = 1.5, 0.4, 12
    _, opened, _ = run(40_000, n, np.ones(1), np.ones((n, 1)), b, a, (np.zeros(1), 0.1, 1.2))
    wanted = (
        np.exp(gammaln(b + n + a) + gammaln(b + 1) - gammaln(b + n) - gammaln(b + a)) / a - b / a
    )
    assert opened[0] == pytest.approx(wanted, rel=0.02)


def test_own_counts_are_taken_out():
    """phi without the token's own count: (n_vk - 1 + beta) / (n_k - 1 + V beta)."""
    n_vk, n_k, beta, vbeta = 5.0, 30.0, 0.1, 0.4
    worth = 1.0 / (n_k + vbeta)
    found = frozen_tables._without_own((n_vk + beta) * worth, worth, beta, vbeta)
    assert found == pytest.approx((n_vk - 1 + beta) / (n_k - 1 + vbeta))
    one = np.array([worth, 0.0, 0.0]), beta, vbeta
    rows = np.tile([worth * (1.0 + beta), 0.05, 0.05], (4, 1))  # topic 0 has these counts only
    less, _, _ = run(2000, 4, SHARE, rows, 0.7, 0.3, one)
    more, _, _ = run(2000, 4, SHARE, rows, 0.7, 0.3)
    assert less[:, 0].mean() < 0.7 * more[:, 0].mean()
