"""What labels add to a token's weight: formulas against the joint density, kernels against formulas."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from tests.reference import draws, lda, margin, margin_cases

from bayou.inference.margin.loss import loss_by_name
from bayou.kernels.margin import response, tilt

each_loss = pytest.mark.parametrize("loss", margin.LOSSES)
each_weight = pytest.mark.parametrize("even", [True, False], ids=["even", "idf"])


def f32(x):
    return np.ascontiguousarray(x, np.float32)


@each_loss
@each_weight
def test_conditional_of_topics_is_the_ratio_of_the_joint(loss, even):
    """c is not 1, there are three tasks, and one document has a single token."""
    corpus, z = margin_cases.corpus(1, even=even)
    given, aug = margin_cases.task(1, loss)
    indptr, terms, rho, alpha, beta, n_terms = corpus
    eta = np.random.default_rng(2).normal(size=(3, len(alpha)))
    omega, kappa = margin_cases.pseudo_all(given, aug)
    for d, span in enumerate(lda.spans(indptr)):
        for i in span:
            joint = []
            for k in range(len(alpha)):
                moved = z.copy()
                moved[i] = k
                joint.append(margin.log_joint(corpus, moved, eta, aug, given))
            rest = margin.zbar_of(z, rho, indptr, len(alpha))[d]
            rest[z[i]] -= rho[i]
            words = np.log(lda.token_weights(z, i, d, indptr, terms, alpha, beta, n_terms))
            found = words + margin.core(eta, omega[d], kappa[d], rest, rho[i])
            np.testing.assert_allclose(found - found[0], np.array(joint) - joint[0], atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_core_is_the_sum_over_tasks(seed):
    rng = np.random.default_rng(seed)
    eta, rest = rng.normal(size=(3, 6)), rng.dirichlet(np.ones(6)) * 0.8
    omega, kappa = rng.gamma(1.0, 2.0, 3), rng.normal(size=3)
    direct = margin.tilt(eta, omega, kappa, rest, 0.2)
    found = margin.core(eta, omega, kappa, rest, 0.2)
    np.testing.assert_allclose(found - found[0], direct - direct[0], atol=1e-12)


@each_loss
def test_conditional_of_weights_is_the_ratio_of_the_joint(loss):
    corpus, z = margin_cases.corpus(3)
    given, aug = margin_cases.task(3, loss)
    omega, kappa = margin_cases.pseudo_all(given, aug)
    zbar = margin.zbar_of(z, corpus[2], corpus[0], 4)
    rng = np.random.default_rng(4)
    eta = rng.normal(size=(3, 4))
    gaps = []
    for _ in range(4):
        eta[1] = rng.normal(size=4)
        precision, linear = margin.weights_law(zbar, omega[:, 1], kappa[:, 1], given[4])
        law = stats.multivariate_normal(
            np.linalg.solve(precision, linear), np.linalg.inv(precision)
        )
        gaps.append(margin.log_joint(corpus, z, eta, aug, given) - law.logpdf(eta[1]))
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-10)


@pytest.mark.parametrize("loss", ["hinge", "insensitive"])
def test_conditional_of_auxiliary_variables_is_inverse_gaussian(loss):
    corpus, z = margin_cases.corpus(5)
    given, aug = margin_cases.task(5, loss)
    _, cost, width, y, _ = given
    eta = np.random.default_rng(6).normal(size=(3, 4))
    f = margin.zbar_of(z, corpus[2], corpus[0], 4) @ eta.T
    d, i = 3, 2
    sides = [width - y[d, i] * f[d, i]]
    if loss == "insensitive":
        sides = [y[d, i] - f[d, i] - width, y[d, i] - f[d, i] + width]
    for side, gap in enumerate(sides):
        law, gaps = stats.invgauss(1 / (cost[d, i] * abs(gap))), []
        for value in (0.2, 0.9, 3.0, 11.0):
            aug[d, i, side] = value
            density = law.logpdf(1 / value) - 2 * math.log(value)  # of lambda, not of 1 / lambda
            gaps.append(margin.log_joint(corpus, z, eta, aug, given) - density)
        np.testing.assert_allclose(gaps, gaps[0], atol=1e-10)


@pytest.mark.parametrize("f", [-3.0, -0.4, 0.7, 4.0])
@pytest.mark.parametrize("c", [0.7, 2.0])
def test_mixtures_give_the_losses_back(c, f):
    for y in (-1.0, 1.0):
        found = integrate.quad(
            lambda a, y=y: math.exp(margin.log_factor("hinge", c, 2.0, y, f, (a,))),
            0,
            np.inf,
            epsabs=0,
            epsrel=1e-9,
            limit=500,
        )[0]
        wanted = math.exp(margin.collapsed_factor("hinge", c, 2.0, y, f))
        assert found == pytest.approx(wanted, rel=1e-7)
    # E exp(-a f**2 / 2) under PG(c, 0) is cosh(f / 2)**-c
    logistic = 2.0**-c * math.exp(c * f / 2) / math.cosh(f / 2) ** c
    assert logistic == pytest.approx(math.exp(margin.collapsed_factor("logistic", c, 0, 1, f)))


@pytest.mark.parametrize("f", [-3.0, -0.4, 0.7, 4.0])
@pytest.mark.parametrize("c", [0.7, 2.0])
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_the_smooth_hinge_is_a_mixture_over_polya_gamma_variables(c, f, y):
    """The joint at the mean of PG(b, g x) against Bayes' rule, constants included.

    ln p(l | f) - ln p(l) = -(g x)**2 l / 2 + b ln cosh(g x / 2) for all l. It is the joint over the mixture.
    """
    width = 2.0
    corner = margin.SMOOTHING * width
    b, tilt_ = 2 * c * corner, (width - y * f) / corner
    for value in (0.01, 0.5, 3.0):
        conditional = -0.5 * tilt_**2 * value + b * math.log(math.cosh(tilt_ / 2))
        joint = margin.log_factor("smooth-hinge", c, width, y, f, (value, 0.0))
        mixture = margin.collapsed_factor("smooth-hinge", c, width, y, f)
        assert joint - conditional == pytest.approx(mixture, rel=1e-12)
    lam = draws.polya_gamma(b, 0.0, 20_000, seed=1, n_terms=100)
    found = [math.exp(margin.log_factor("smooth-hinge", c, width, y, f, (a, 0.0))) for a in lam]
    error = np.std(found) / math.sqrt(len(lam))
    assert np.mean(found) == pytest.approx(math.exp(mixture), abs=5 * error + 1e-12)


def test_the_smooth_hinge_lies_between_hinge_and_logistic(monkeypatch):
    """A narrow corner is the hinge loss. (2c / g, g m) with g = 1 and no margin is the logistic factor."""
    for f in (-2.0, 0.9, 1.0, 1.2, 3.0):
        monkeypatch.setattr(margin, "SMOOTHING", 1e-4)
        hinge = margin.collapsed_factor("hinge", 1.3, 1.0, 1.0, f)
        assert margin.collapsed_factor("smooth-hinge", 1.3, 1.0, 1.0, f) == pytest.approx(
            hinge, abs=2 * 1.3 * 1e-4
        )
        monkeypatch.setattr(margin, "SMOOTHING", 1e9)  # a corner of 1 around a margin of 1e-9
        logistic = margin.collapsed_factor("logistic", 2.6, 0.0, 1.0, f)
        smooth = margin.collapsed_factor("smooth-hinge", 1.3, 1e-9, 1.0, f)
        assert smooth == pytest.approx(logistic, rel=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "insensitive", "smooth-hinge"])
def test_scaling_law(loss):
    """(c, l, s) with weights eta is (c l, 1, s / l**2) with eta / l; the tube scales with y."""
    corpus, z = margin_cases.corpus(7)
    (_, cost, width, y, variance), aug = margin_cases.task(7, loss)
    eta = np.random.default_rng(8).normal(size=(3, 4))
    y_scaled = y / width if loss == "insensitive" else y
    small = (loss, cost * width, 1.0, y_scaled, variance / width**2)
    gap = margin.log_joint(corpus, z, eta, aug, (loss, cost, width, y, variance))
    gap -= margin.log_joint(corpus, z, eta / width, aug, small)
    # the density of eta / l is l**(tasks x topics) that of eta
    assert gap == pytest.approx(-eta.size * math.log(width), abs=1e-9)


# -- kernels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_tasks", [1, 3, 4, 9])
@pytest.mark.parametrize("n_topics", [1, 5, 33])
@pytest.mark.parametrize("kind", ["drawn", "one spread", "a spread each"])
def test_lean_rows_and_leaving_are_the_core(n_tasks, n_topics, kind):
    rng = np.random.default_rng(n_tasks)
    eta = f32(rng.normal(size=(n_tasks, n_topics)))
    omega, kappa = f32(rng.gamma(1, 1, (2, n_tasks))), f32(rng.normal(size=(2, n_tasks)))
    zbar = rng.dirichlet(np.ones(n_topics))
    n_spread = {"drawn": 0, "one spread": 1}.get(kind, n_tasks)
    root = rng.normal(size=(n_spread, n_topics, n_topics))
    spread = f32(root @ root.transpose(0, 2, 1) / n_topics)
    lean, diag = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    assert tilt.lean_into(lean, diag, eta, spread, omega, kappa, 1)
    gram = np.empty((n_topics, n_topics), np.float32)
    for k in range(n_topics):
        tilt.row_into(gram, k, eta, spread, omega, 1)
    exact = margin.gram_of(eta.astype(float), omega[1].astype(float), spread.astype(float))
    np.testing.assert_allclose(gram, exact, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(diag, np.diag(exact), rtol=1e-5, atol=1e-6)
    h = np.zeros(n_topics, np.float32)
    for k in range(n_topics):
        tilt.add_row(h, gram, k, np.float32(zbar[k]))
    g, s, rho = np.empty(n_topics, np.float32), n_topics // 2, 0.5 * zbar[n_topics // 2]
    tilt.leave_into(g, h, gram, s, np.float32(rho), lean, diag)
    zbar[s] -= rho
    np.testing.assert_allclose(h, exact @ zbar, rtol=1e-4, atol=1e-5)
    wanted = margin.core(eta.astype(float), omega[1], kappa[1], zbar, rho, spread)
    np.testing.assert_allclose(g, wanted, rtol=1e-4, atol=2e-5)


def test_documents_without_labels_lean_nowhere():
    eta = f32(np.ones((2, 3)))
    lean, diag = np.ones(3, np.float32), np.ones(3, np.float32)
    none = np.zeros((1, 2), np.float32)
    assert not tilt.lean_into(lean, diag, eta, np.empty((0, 0, 0), np.float32), none, none, 0)
    assert not lean.any()
    assert not diag.any()


def test_exponentials_are_of_single_precision():
    g = f32(np.concatenate([np.linspace(-90, 0, 20_001), [-np.inf, -1e30, -0.0]]))
    bits = np.empty(g.size, np.int32)
    found = g.copy()
    tilt.exp_into(found, np.float32(0.0), bits)
    value = found.astype(float) * bits.view(np.float32)
    wanted = np.exp(np.maximum(g.astype(float), -80.0))
    np.testing.assert_allclose(value, wanted, rtol=3e-7)
    shifted = f32([3.0, 5.0, -100.0])
    bits = np.empty(3, np.int32)
    top = tilt.largest(shifted)
    tilt.exp_into(shifted, top, bits)
    np.testing.assert_allclose(
        shifted * bits.view(np.float32), [math.exp(-2), 1.0, math.exp(-80)], rtol=3e-7
    )


@pytest.mark.parametrize("n", [1, 3, 4, 5, 18])
def test_largest(n):
    for seed in range(5):
        g = f32(np.random.default_rng(seed).normal(size=n) - 5)
        assert tilt.largest(g) == g.max()


def test_layout_of_averages():
    zbar = np.ones(3, np.float32)
    tilt.lay_out(zbar, np.array([2, 0, 2, 1]), f32([0.1, 0.2, 0.3, 9.0]), 0, 3)
    np.testing.assert_allclose(zbar, [0.2, 0.0, 0.4])


# -- losses --------------------------------------------------------------------------------------


@each_loss
def test_the_start_is_at_auxiliary_variables_of_one(loss):
    """Those of the hinge loss for the smooth hinge. For the logistic loss the mean of PG(2, 0), 1 / 2."""
    y, cost = f32([[1.5, -2.0]]), f32([[2.0, 0.0]])
    omega, kappa = np.ones((1, 2), np.float32), np.ones((1, 2), np.float32)
    response.start_rows(omega, kappa, y, cost, 0, 1, loss_by_name(loss).code, 0.5)
    aug = (0.5, 0.0) if loss == "logistic" else (1.0, 1.0)
    wanted = margin.pseudo("hinge" if loss == "smooth-hinge" else loss, 2.0, 0.5, 1.5, aug)
    np.testing.assert_allclose([omega[0, 0], kappa[0, 0]], wanted)
    assert omega[0, 1] == kappa[0, 1] == 0  # nothing is known


@pytest.mark.parametrize("loss", ["hinge", "insensitive"])
def test_drawn_rows_follow_their_law(loss):
    """1 / lambda is read back from omega or kappa, and has the mean and the law of its conditional."""
    n, c, width, eta = 4000, 1.3, 0.8, 0.5
    code = response.HINGE if loss == "hinge" else response.INSENSITIVE
    y = np.full((n, 1), 1.0, np.float32)
    omega, kappa = np.zeros((n, 1), np.float32), np.zeros((n, 1), np.float32)
    zbar = (
        np.arange(n, dtype=np.int64),
        np.ones(n, np.int32),
        np.zeros(n, np.uint16),
        np.ones(n, np.float32),
    )
    response.draw_rows(
        omega, kappa, zbar, f32([[eta]]), y, np.full((n, 1), c, np.float32),
        np.arange(n, dtype=np.uint64), 0, n, code, width, 3, 1, 0.0,
    )  # fmt: skip
    c = float(np.float32(c))
    if loss == "hinge":
        inverse = omega[:, 0] / c**2
        np.testing.assert_allclose(kappa[:, 0], c * (1 + c * width * inverse), rtol=1e-5)
        assert stats.kstest(inverse, stats.invgauss(1 / (c * abs(width - eta))).cdf).pvalue > 1e-3
        return
    both, weighed = omega[:, 0] / c**2, kappa[:, 0] / c**2
    above = (weighed - (1 - width) * both) / (2 * width)
    below = both - above
    for found, gap in ((below, 1 - eta - width), (above, 1 - eta + width)):
        keep = found > 1e-4  # the difference of float32 numbers says little of smaller ones
        assert keep.mean() > 0.99
        assert stats.kstest(found, stats.invgauss(1 / (c * abs(gap))).cdf).pvalue > 1e-3


def test_logistic_rows_and_documents_without_labels():
    n, c, eta = 600, 2.0, 1.5
    omega, kappa = np.full((n, 1), 9, np.float32), np.full((n, 1), 9, np.float32)
    cost, y = np.full((n, 1), c, np.float32), np.full((n, 1), -1.0, np.float32)
    cost[0] = 0.0
    at = np.arange(n, dtype=np.int64)
    zbar = (at, np.ones(n, np.int32), np.zeros(n, np.uint16), np.ones(n, np.float32))
    response.draw_rows(
        omega, kappa, zbar, f32([[eta]]), y, cost, at.astype(np.uint64), 0, n, response.LOGISTIC,
        0.0, 3, 1, 0.0,
    )  # fmt: skip
    assert omega[0, 0] == kappa[0, 0] == 9  # of which nothing is known: left alone
    np.testing.assert_array_equal(kappa[1:], -c / 2)
    mean = c * math.tanh(eta / 2) / (2 * eta)
    assert omega[1:].mean() == pytest.approx(mean, rel=0.08)


@pytest.mark.parametrize(("c", "f", "y"), [(0.4, 0.5, 1.0), (1.3, 3.0, -1.0), (25.0, 0.7, 1.0)])
def test_smooth_hinge_rows_follow_their_law(c, f, y):
    """lambda is read back from omega: PG(2c / g, g (m - y f)) by its sum of gammas."""
    n, width = 4000, 0.8
    stream, corner = np.array([5], np.uint64), margin.SMOOTHING * width
    drawn = np.array([
        response.augment(stream, response.SMOOTH_HINGE, c, width, y, f, margin.SMOOTHING)
        for _ in range(n)
    ])  # fmt: skip
    twin = draws.polya_gamma(2 * c * corner, (width - y * f) / corner, n, seed=2, n_terms=400)
    assert stats.ks_2samp(drawn[:, 0] * corner**2, twin).pvalue > 1e-3
    wanted = [margin.pseudo("smooth-hinge", c, width, y, (a * corner**2, 0.0)) for a in drawn[:, 0]]
    np.testing.assert_allclose(drawn, wanted, rtol=1e-12)


def test_a_score_on_the_margin_is_drawn_from_the_limit():
    stream = np.array([5], np.uint64)
    for _ in range(200):
        omega, kappa = response.augment(stream, response.HINGE, 1.0, 2.0, 1.0, 2.0, 0.0)
        assert 0 < omega <= 1e6
        assert np.isfinite(kappa)


# -- weights -------------------------------------------------------------------------------------


def _sparse_rows(zbar):
    """Rows of non-zeros as the kernels want them."""
    number = (zbar > 0).sum(axis=1).astype(np.int32)
    start = np.concatenate([[0], np.cumsum(number)[:-1]]).astype(np.int64)
    at = zbar > 0
    return start, number, np.nonzero(at)[1].astype(np.uint16), f32(zbar[at])


def _weights_case(n_docs=12, n_topics=5):
    corpus, z = margin_cases.corpus(9, n_topics, lengths=[4] * n_docs, n_terms=7)
    zbar = margin.zbar_of(z, corpus[2], corpus[0], n_topics)
    rng = np.random.default_rng(10)
    omega, kappa = f32(rng.gamma(1, 1, (n_docs, 2))), f32(rng.normal(size=(n_docs, 2)))
    omega[0, 1] = kappa[0, 1] = 0.0
    return zbar, omega, kappa


def test_rows_of_averages():
    corpus, z = margin_cases.corpus(11)
    indptr, _, rho, alpha, _, _ = corpus
    sizes = np.minimum(np.diff(indptr), len(alpha))
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    rows = (
        start,
        np.zeros(4, np.int32),
        np.zeros(sizes.sum(), np.uint16),
        np.zeros(sizes.sum(), np.float32),
    )
    response.zbar_rows(rows, z, f32(rho), indptr, len(alpha), 0, 4)
    dense = np.zeros((4, len(alpha)))
    for d in range(4):
        for j in range(start[d], start[d] + rows[1][d]):
            dense[d, rows[2][j]] += rows[3][j]
    np.testing.assert_allclose(dense, margin.zbar_of(z, rho, indptr, len(alpha)), atol=1e-6)


def test_weights_have_the_mean_of_their_law():
    zbar, omega, kappa = _weights_case()
    eta, mean = np.zeros((2, 5), np.float32), np.zeros((2, 5))
    response.draw_weights(eta, mean, _sparse_rows(zbar), omega, kappa, 0, 2, 1.7, 1, 1)
    for i in range(2):
        precision, linear = margin.weights_law(zbar, omega[:, i], kappa[:, i], 1.7)
        np.testing.assert_allclose(mean[i], np.linalg.solve(precision, linear), rtol=1e-5)


def _drawn(draw, n):
    return np.array([draw(sweep) for sweep in range(n)], np.float64)


@pytest.mark.parametrize("light", [False, True])
def test_weights_have_the_spread_of_their_law(light):
    """Draws are whitened by the law: independent standard normals, or a chain over them (light)."""
    zbar, omega, kappa = _weights_case()
    rows = _sparse_rows(zbar)
    eta, mean = np.zeros((2, 5), np.float32), np.zeros((2, 5))
    transposed = np.ascontiguousarray(omega.T), np.ascontiguousarray(kappa.T)
    docs, topics = np.nonzero(zbar > 0)
    order = np.argsort(topics, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(topics, minlength=5))]).astype(np.int64)
    columns = (indptr, docs[order].astype(np.int32), f32(zbar[docs, topics][order]))

    def draw(sweep):
        if light:
            response.draw_coordinates(
                eta, mean, columns, np.empty(len(zbar)), *transposed, 0, 2, 1.7, 2, 1, sweep
            )
        else:
            response.draw_weights(eta, mean, rows, omega, kappa, 0, 2, 1.7, 1, sweep)
        return eta.copy()

    found = _drawn(draw, 3000)[::3]
    for i in range(2):
        precision, linear = margin.weights_law(zbar, omega[:, i], kappa[:, i], 1.7)
        factor = np.linalg.cholesky(precision)
        white = (found[:, i] - np.linalg.solve(precision, linear)) @ factor
        np.testing.assert_allclose(white.mean(axis=0), 0, atol=0.15)
        np.testing.assert_allclose(np.cov(white.T), np.eye(5), atol=0.17)
