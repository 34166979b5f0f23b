"""Linear weights that learn from mini-batches by passive-aggressive steps.

Every task has its own weights and sees the same documents, so tasks can be cut among threads. A document
is a sparse row x_d; its response y_d of a task is +1 or -1 (hinge loss beyond the margin), or a number
(loss outside a tube), and NaN where there is none. ``width`` is the margin or the half-width of the
tube, ``costs`` holds c_d, so that document d may weigh 2 c_d times its loss.

[Crammer06] Crammer, Dekel, Keshet, Shalev-Shwartz, Singer. Online passive-aggressive algorithms.
JMLR 7, 2006.
[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
"""

import numpy as np

from bayou.kernels import rng
from bayou.kernels.compile import jit


@jit
def dot(weights, i, rows, d):
    """w_i'x_d."""
    indptr, indices, data = rows
    total = 0.0
    for j in range(indptr[d], indptr[d + 1]):
        total += weights[i, indices[j]] * data[j]
    return total


@jit
def add_into(weights, i, rows, d, by):
    """w_i += by * x_d."""
    indptr, indices, data = rows
    for j in range(indptr[d], indptr[d + 1]):
        weights[i, indices[j]] += by * data[j]


@jit
def best_dual(dual, f, y, scale, cap, width, tube):
    """The dual variable of one document that is best while the others stay.

    Of the dual [Shi17] eq. 10, with the margin and the signs of y that the print leaves out.

    It carries the sign of its pull: 0 <= y * dual <= 2c for the hinge, |dual| <= 2c for the tube.
    ``scale`` is sigma^2 |x|^2, how far the prediction f moves for one unit.
    """
    if tube:
        reach = dual * scale + (y - f)
        return np.copysign(min(max(abs(reach) - width, 0.0) / scale, cap), reach)
    return y * min(max(y * dual + (width - y * f) / scale, 0.0), cap)


@jit
def average_batches(mean, drift, lo, hi, rows, norms, y, costs, ends, duals, prior, stop, first):
    """Passive-aggressive steps of tasks lo to hi: min |w - w_t|^2 / (2 sigma^2) + 2 sum c_d loss_d.

    Dual coordinate ascent, one document after the other until none moves by more than a share ``tol`` of
    its cap. ``duals`` (documents x tasks) receives the dual variables. ``drift``, unless it has no rows,
    receives the sum of (batches before) x (change), from which the average over time follows.
    """
    variance, width, tube = prior
    n_rounds, tol = stop
    for i in range(lo, hi):
        for b in range(len(ends) - 1):
            for d in range(ends[b], ends[b + 1]):
                duals[d, i] = 0.0
            for _ in range(n_rounds):
                moved = 0.0
                for d in range(ends[b], ends[b + 1]):
                    f, scale, cap = dot(mean, i, rows, d), variance * norms[d], 2.0 * costs[d]
                    if np.isnan(y[d, i]) or scale == 0.0:  # an empty document moves nothing
                        continue
                    new = best_dual(duals[d, i], f, y[d, i], scale, cap, width, tube)
                    step = new - duals[d, i]
                    if step != 0.0:
                        add_into(mean, i, rows, d, variance * step)
                        duals[d, i] = new
                        moved = max(moved, abs(step) / cap)
                if moved <= tol or ends[b + 1] - ends[b] == 1:
                    break
            if len(drift):
                for d in range(ends[b], ends[b + 1]):
                    add_into(drift, i, rows, d, variance * duals[d, i] * (first + b))


@jit
def content_into(out, rows, y):
    """A hash of each document's row and responses; ``rows`` and ``y`` hold numbers as bits."""
    indptr, indices, data = rows
    for d in range(len(out)):
        h = np.uint64(indptr[d + 1] - indptr[d])
        for j in range(indptr[d], indptr[d + 1]):
            h = rng.mix((h ^ np.uint64(indices[j])) + rng.GOLDEN)
            h = rng.mix((h ^ data[j]) + rng.GOLDEN)
        for i in range(y.shape[1]):
            h = rng.mix((h ^ np.uint64(y[d, i])) + rng.GOLDEN)
        out[d] = h


@jit
def keys_into(out, content, seed, n):
    """Sort keys of the documents in pass n: hashes of the seed, the pass and the content."""
    for d in range(len(out)):
        out[d] = rng.key(seed, rng.SHUFFLE, n, content[d])
