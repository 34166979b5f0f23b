"""Kernels of online MedLDA against formulas written out."""

import numpy as np
import pytest
from scipy.special import digamma
from tests.reference import online_margin as reference
from tests.reference import passive_aggressive as twin

from bayou.kernels.margin import online as kernels
from bayou.kernels.margin import response, tilted_sweep
from bayou.kernels.rng import TOKEN

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("x", [0.003, 0.1, 0.45, 1.0, 2.5, 6.4, 6.6, 30.0, 1e6])
def test_exp_digamma(x):
    assert kernels.exp_digamma(x) == pytest.approx(np.exp(digamma(x)), rel=1e-8)


def test_expected_rows_are_the_exponential_of_the_expected_logarithm():
    raw = RNG.poisson(1.0, (7, 4)).astype(np.float32)
    added, terms = RNG.random((3, 4)), np.array([5, 0, 2])
    delta = 0.2 + 0.5 * raw.astype(float)
    delta[terms] += added
    total = delta.sum(axis=0)
    rows = np.empty((3, 4), np.float32)
    inv = np.exp(-digamma(total))
    base = np.empty((3, 4), np.float32)
    kernels.prior_rows(base, terms, 0, 3, raw, 0.5, 0.2)
    assert np.allclose(base, np.exp(digamma(0.2 + 0.5 * raw[terms])), rtol=1e-5)
    kernels.expected_rows(rows, base, terms, 0, 3, raw, 0.5, added, 0.2, inv)
    want = np.exp(digamma(delta[terms]) - digamma(total))
    assert np.allclose(rows, want / want.max(axis=1, keepdims=True), rtol=1e-5)


def test_a_term_that_no_topic_knows_keeps_finite_rows_under_the_smallest_prior():
    rows = np.empty((1, 3), np.float32)
    inv = np.array([0.1, 0.2, 0.4])
    zeros, term = np.zeros((1, 3)), np.array([0])
    raw, base = zeros.astype(np.float32), np.empty((1, 3), np.float32)
    kernels.prior_rows(base, term, 0, 1, raw, 1.0, 1e-30)
    kernels.expected_rows(rows, base, term, 0, 1, raw, 1.0, zeros, 1e-30, inv)
    assert np.allclose(rows, [[0.25, 0.5, 1.0]])


def test_local_conditional_is_that_of_the_own_document():
    """Frequencies of single draws against the joint of one document; the other document changes nothing."""
    n_topics, n_tasks = 3, 2
    alpha, delta = np.array([0.3, 0.6, 0.9]), RNG.gamma(1.0, size=(5, n_topics)) + 0.2
    terms, rho = np.array([0, 3, 3, 1]), np.array([0.4, 0.1, 0.2, 0.3])
    mean = RNG.normal(size=(n_tasks, n_topics))
    spread = np.array([np.diag(RNG.random(n_topics)) + 0.1 for _ in range(n_tasks)])
    omega, kappa = RNG.random((1, n_tasks)), RNG.normal(size=(1, n_tasks))
    lean = kappa[0] @ mean
    gram = sum(o * (np.outer(m, m) + s) for o, m, s in zip(omega[0], mean, spread, strict=True))
    start, n, repeats = [2, 0, 1, 1], 3, 40_000
    want = np.exp(reference.local_logits(start, n, terms, rho, alpha, delta, lean, gram))
    log_phi = digamma(delta) - digamma(delta.sum(axis=0))
    rows = np.exp(log_phi - log_phi.max(axis=1, keepdims=True)).astype(np.float32)
    found = np.zeros(n_topics)
    words = (rows, np.empty(0), np.ones(n_topics, np.float32))
    prior = (alpha.astype(np.float32), np.float32(0.0))
    labels = tuple(np.asarray(x, np.float32) for x in (omega, kappa, mean, spread))
    # the token under test comes first, so that its draw sees the others where they began
    order = [n, 0, 1, 2]
    tokens = (np.array([0, 4]), terms[order].astype(np.uint32))
    for i in range(repeats):
        z = np.array(start, np.uint16)[order]
        ids = np.array([i], np.uint64)
        tilted_sweep.sweep_docs(
            z, (*tokens, ids), rho[order].astype(np.float32), 0, 1, words, tilted_sweep.GIVEN, prior,
            labels, 0, TOKEN, 1,
        )  # fmt: skip
        found[z[0]] += 1 / repeats
    assert np.abs(found - want).max() < 4 * np.sqrt(0.25 / repeats)


def rows_of(zbar):
    """Dense zbar in the form of kernels."""
    n_docs, n_topics = zbar.shape
    topics = np.tile(np.arange(n_topics, dtype=np.uint16), n_docs)
    start = np.arange(n_docs, dtype=np.int64) * n_topics
    return start, np.full(n_docs, n_topics, np.int32), topics, zbar.ravel().astype(np.float32)


@pytest.mark.parametrize("kind", [response.HINGE, response.INSENSITIVE, response.LOGISTIC])
def test_expected_responses(kind):
    n_docs, n_topics, n_tasks, c, width = 4, 3, 2, 1.7, 0.8
    zbar = RNG.dirichlet(np.ones(n_topics), n_docs).astype(np.float32).astype(float)
    mean = RNG.normal(size=(n_tasks, n_topics))
    root = RNG.normal(size=(n_tasks, n_topics, n_topics))
    spread = root @ root.transpose(0, 2, 1)
    y = (
        np.sign(RNG.normal(size=(n_docs, n_tasks)))
        if kind != response.INSENSITIVE
        else mean[0, :1] + zbar[:, :2]
    )
    cost = np.full(y.shape, c)
    cost[2, 1] = 0.0
    omega, kappa = np.ones(y.shape), np.ones(y.shape)
    ids, args = np.arange(4, dtype=np.uint64), (kind, width, 0.0)
    kernels.respond(
        omega, kappa, rows_of(zbar), (mean, spread), y, cost, ids, 0, 4, args, False, 0, 0
    )
    f, s = zbar @ mean.T, np.einsum("dk,tkj,dj->dt", zbar, spread, zbar)
    if kind == response.LOGISTIC:
        x = np.sqrt(f**2 + s)
        want = c * np.tanh(x / 2) / (2 * x), c * y / 2
    elif kind == response.HINGE:
        x = 1 / (c * np.sqrt((width - y * f) ** 2 + s))
        want = c**2 * x, c * y * (1 + c * width * x)
    else:
        x = 1 / (c * np.sqrt((y - f - width) ** 2 + s))
        x2 = 1 / (c * np.sqrt((y - f + width) ** 2 + s))
        want = c**2 * (x + x2), c**2 * ((y - width) * x + (y + width) * x2)
    known = cost > 0
    assert np.allclose(omega, want[0] * known, rtol=1e-6)
    assert np.allclose(kappa, want[1] * known, rtol=1e-6)


def test_drawn_responses_have_the_right_mean_and_the_floor_bounds_them():
    """1 / lambda ~ IG(1 / b, 1) has mean 1 / b."""
    zbar, mean = np.array([[0.5, 0.5]]), np.array([[1.0, 3.0]])
    spread, y, cost = np.eye(2)[None] * 0.5, np.array([[1.0]]), np.array([[1.0]])
    b = np.sqrt((6.0 - 2.0) ** 2 + 0.25)
    drawn, bounded = [], []
    for i in range(20_000):
        for floor, out in ((0.0, drawn), (9.0, bounded)):
            omega, kappa = np.zeros((1, 1)), np.zeros((1, 1))
            kernels.respond(
                omega, kappa, rows_of(zbar), (mean, spread), y, cost,
                np.array([i], np.uint64), 0, 1, (response.HINGE, 6.0, floor), True, 0, 1,
            )  # fmt: skip
            out.append(omega[0, 0])
    deviation = b**-1.5
    assert np.mean(drawn) == pytest.approx(1 / b, abs=5 * deviation / np.sqrt(20_000))
    assert max(bounded) <= 1.0 < max(drawn)


def test_a_loss_that_is_not_known_is_refused():
    zbar, one = np.array([[0.5, 0.5]]), np.ones((1, 1))
    both, ids = (np.ones((1, 2)), np.eye(2)[None]), np.zeros(1, np.uint64)
    for code in (5, 7):
        with pytest.raises(ValueError, match="unknown code of a loss"):
            kernels.respond(
                one.copy(), one.copy(), rows_of(zbar), both, one, one, ids, 0, 1, (code, 1.0, 0.0),
                False, 0, 0,
            )  # fmt: skip


def test_weights_solve_their_normal_equations():
    n_docs, n_topics = 6, 4
    zbar = RNG.dirichlet(np.ones(n_topics), n_docs).astype(np.float32)
    omega, kappa = RNG.random((n_docs, 2)), RNG.normal(size=(n_docs, 2))
    precision, linear = np.tile(np.eye(n_topics), (2, 1, 1)), np.zeros((2, n_topics))
    kernels.add_precision(precision, rows_of(zbar), omega, 0, 2, 0.5)
    kernels.add_linear(linear, rows_of(zbar), kappa, 0, 2, 0.5)
    spread, factor, mean = np.empty_like(precision), np.empty_like(precision), np.empty_like(linear)
    kernels.invert(spread, factor, precision, 0, 2)
    kernels.solve(mean, factor, linear, 0, 2)
    for i in range(2):
        p = np.eye(n_topics) + 0.5 * (zbar.T * omega[:, i]) @ zbar
        assert np.allclose(precision[i], p, rtol=1e-6)
        assert np.allclose(spread[i] @ p, np.eye(n_topics), atol=1e-6)
        assert np.allclose(mean[i], np.linalg.solve(p, 0.5 * kappa[:, i] @ zbar), rtol=1e-5)


@pytest.mark.parametrize("tube", [False, True])
def test_dual_ascent_meets_its_optimum(tube):
    """No gap between primal and dual, dual variables in their box, and the mean follows from them."""
    X = RNG.dirichlet(np.ones(5), 8)
    y = RNG.normal(size=8) if tube else np.sign(RNG.normal(size=8))
    cost, w, variance, width = RNG.uniform(0.5, 2.0, (8, 1)), RNG.normal(size=5), 0.7, 0.3
    indptr = np.arange(9) * 5
    rows = (indptr, np.tile(np.arange(5), 8), X.ravel())
    mean, duals = w[None].copy(), np.zeros((8, 1))
    kernels.ascend(
        mean, duals, 0, 1, rows, (X**2).sum(axis=1), y[:, None], cost, (variance, width, tube),
        (100_000, 1e-14),
    )  # fmt: skip
    tau = np.abs(duals[:, 0]) if tube else duals[:, 0] * y
    assert (tau >= 0).all()
    assert (tau <= 2 * cost[:, 0] + 1e-12).all()
    assert np.allclose(mean[0] - w, variance * duals[:, 0] @ X, atol=1e-12)
    low = twin.dual(duals[:, 0], w, X, y, variance, width, tube)
    high = twin.primal(mean[0], w, X, y, cost[:, 0], variance, width, tube)
    assert high == pytest.approx(low, rel=1e-8)
