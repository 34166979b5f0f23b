"""Passive-aggressive learning in plain NumPy: one formula a line, nothing clever."""

import numpy as np


def pa_one(w, x, y, C, margin=1.0):
    """PA-I of Crammer et al. 2006, figure 1, with any margin."""
    loss = max(0.0, margin - y * (w @ x))
    return w + min(C, loss / (x @ x)) * y * x


def pa_one_regression(w, x, y, C, epsilon):
    """PA-I for numbers, section 5 of the same paper."""
    off = y - w @ x
    return w + np.sign(off) * min(C, max(0.0, abs(off) - epsilon) / (x @ x)) * x


def losses(f, y, width, tube):
    return np.maximum(0.0, np.abs(y - f) - width if tube else width - y * f)


def primal(w, w_t, X, y, c, variance, width, tube):
    """|w - w_t|^2 / (2 sigma^2) + 2 sum c loss."""
    return (w - w_t) @ (w - w_t) / (2 * variance) + 2 * (c * losses(X @ w, y, width, tube)).sum()


def dual(beta, w_t, X, y, variance, width, tube):
    """Its dual in signed multipliers: beta = tau y for the hinge."""
    pull = X.T @ beta
    gain = beta @ y - width * np.abs(beta).sum() if tube else width * (beta @ y)
    return gain - 0.5 * variance * pull @ pull - w_t @ pull


def gaps(f, s, y, width, tube):
    """sqrt((distance from the hinge)^2 + variance), for each hinge of the loss."""
    ends = [y - f - width, y - f + width] if tube else [width - y * f]
    return [np.sqrt(end**2 + s) for end in ends]


def gibbs_batch(mean, P, X, y, c, width, tube, n_rounds, diagonal):
    """Mean field of a mini-batch by the formulas with P in full; gives what each round came to."""
    mean_t, P_t, found = mean, P, []
    cov = np.diag(1 / np.diag(P)) if diagonal else np.linalg.inv(P)
    for _ in range(n_rounds):
        s = np.einsum("dj,jk,dk->d", X, cov, X)
        g = gaps(X @ mean, s, y, width, tube)
        omega = c * sum(1 / each for each in g)
        if tube:
            kappa = c * ((y - width) / g[0] + (y + width) / g[1])
        else:
            kappa = c * y * (1 + width / g[0])
        P = P_t + (X.T * omega) @ X
        mean = np.linalg.solve(P, P_t @ mean_t + X.T @ kappa)
        cov = np.diag(1 / np.diag(P)) if diagonal else np.linalg.inv(P)
        found.append((mean, np.diag(np.diag(P)) if diagonal else P))
    return found


def gibbs_objective(mean, P, mean_t, P_t, X, y, c, width, tube):
    """KL(q || q_t) + sum c (distance + gap) over the hinges: what every round must lower."""
    cov, n = np.linalg.inv(P), len(mean)
    ratio = np.linalg.slogdet(P)[1] - np.linalg.slogdet(P_t)[1]
    kl = 0.5 * (np.trace(P_t @ cov) + (mean - mean_t) @ P_t @ (mean - mean_t) - n + ratio)
    s, f = np.einsum("dj,jk,dk->d", X, cov, X), X @ mean
    total = sum(gaps(f, s, y, width, tube))
    distance = -2 * width if tube else width - y * f
    return kl + (c * (distance + total)).sum()
