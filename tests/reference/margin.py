"""Slow, obvious twins of the max-margin models: joint densities, conditionals, samplers, features.

(omega, kappa) are what a loss hands to the sampler; ``rho`` are the weights of tokens in zbar. Twins of
sweeps use the keys of the kernels, so that topics agree draw for draw.
"""

import itertools
import math

import numpy as np
from tests.reference import lda

from bayou.inference.lda import documents
from bayou.inference.margin import setup
from bayou.inference.margin.loss import smooth_loss

LOSSES = ("hinge", "insensitive", "logistic", "smooth-hinge")
SMOOTHING = 0.3  # of the smooth hinge, other than its default


def zbar_of(z, rho, indptr, n_topics):
    """Weighted share of each topic in each document."""
    out = np.zeros((len(indptr) - 1, n_topics))
    for d, span in enumerate(lda.spans(indptr)):
        for i in span:
            out[d, z[i]] += rho[i]
    return out


def pseudo(loss, c, width, y, aug):
    """(omega, kappa) given the auxiliary variables (two of them for the tube)."""
    if loss == "hinge":
        return c**2 / aug[0], c * y * (1 + c * width / aug[0])
    if loss == "insensitive":
        inverse = 1 / aug[0] + 1 / aug[1]
        return c**2 * inverse, c**2 * ((y - width) / aug[0] + (y + width) / aug[1])
    if loss == "smooth-hinge":
        omega = aug[0] / (SMOOTHING * width) ** 2
        return omega, c * y + omega * width * y
    return aug[0], c * y / 2


def log_factor(loss, c, width, y, f, aug):
    """ln of what a label adds to the joint; of PG(b, 0), which is the same for all f, nothing."""
    if loss == "hinge":
        return -0.5 * math.log(2 * math.pi * aug[0]) - (aug[0] + c * (width - y * f)) ** 2 / (
            2 * aug[0]
        )
    if loss == "insensitive":
        over, under = y - f - width, f - y - width
        return sum(
            -0.5 * math.log(2 * math.pi * a) - (a + c * gap) ** 2 / (2 * a)
            for a, gap in zip(aug, (over, under), strict=True)
        )
    if loss == "smooth-hinge":
        gap, corner = width - y * f, SMOOTHING * width
        return -2 * c * corner * math.log(2) - c * gap - aug[0] * (gap / corner) ** 2 / 2
    return -c * math.log(2) + c * y * f / 2 - aug[0] * f**2 / 2


def collapsed_factor(loss, c, width, y, f):
    """The same with the auxiliary variables integrated out."""
    if loss == "hinge":
        return -2 * c * max(0.0, width - y * f)
    if loss == "insensitive":
        return -2 * c * max(0.0, abs(y - f) - width)
    if loss == "smooth-hinge":
        corner = SMOOTHING * width
        return -2 * c * corner * float(np.logaddexp(0.0, (width - y * f) / corner))
    return -c * math.log1p(math.exp(-y * f))


def log_joint(corpus, z, eta, aug, task):
    """ln q(eta, lambda, Z): ``corpus`` = (indptr, terms, rho, alpha, beta, n_terms), ``task`` = (loss, cost,
    width, y, variance); cost and y are (documents x tasks), aug (documents x tasks x 2)."""
    indptr, terms, rho, alpha, beta, n_terms = corpus
    loss, cost, width, y, variance = task
    total = lda.log_joint(z, indptr, terms, alpha, beta, n_terms)
    total -= 0.5 * (eta**2).sum() / variance + 0.5 * eta.size * math.log(2 * math.pi * variance)
    f = zbar_of(z, rho, indptr, len(alpha)) @ eta.T
    for d, i in itertools.product(*map(range, y.shape)):
        total += log_factor(loss, cost[d, i], width, y[d, i], f[d, i], aug[d, i])
    return total


def tilt(eta, omega, kappa, zbar_rest, rho):
    """g of all topics for a token of weight rho, from the tasks directly; ``zbar_rest`` is without it."""
    out = np.zeros(eta.shape[1])
    for k in range(len(out)):
        for i in range(len(eta)):
            f = eta[i] @ zbar_rest + rho * eta[i, k]
            out[k] += kappa[i] * f - 0.5 * omega[i] * f**2
    return out


def gram_of(eta, omega, spread=()):
    """sum_i omega_i (eta_i eta_i' + S_i); one S serves all tasks."""
    out = eta.T @ (omega[:, None] * eta)
    for i in range(len(eta) if len(spread) else 0):
        out = out + omega[i] * spread[min(i, len(spread) - 1)]
    return out


def core(eta, omega, kappa, zbar_rest, rho, spread=()):
    """The same up to a constant, from the vector and the matrix that are all a sampler must know."""
    lean, gram = kappa @ eta, gram_of(eta, omega, spread)
    return rho * (lean - gram @ zbar_rest) - 0.5 * rho**2 * np.diag(gram)


def weights_law(zbar, omega, kappa, variance):
    """Precision and linear term of one task's weights."""
    precision = np.eye(zbar.shape[1]) / variance + zbar.T @ (omega[:, None] * zbar)
    return precision, zbar.T @ kappa


def _token(z, i, d, tokens, rho, prior, labels, frozen):
    """Words' and labels' weight of each topic for token i, and the documents' counts without it."""
    indptr, terms = tokens
    alpha, beta, n_terms = prior
    omega, kappa, eta, spread = labels
    n_dk, n_vk, n_k = lda.counts(z, indptr, terms, len(alpha), n_terms, without=i)
    if frozen is not None:
        _, n_vk, n_k = lda.counts(frozen, indptr, terms, len(alpha), n_terms, without=i)
    rest = zbar_of(z, rho, indptr, len(alpha))[d]
    rest[z[i]] -= rho[i]
    g = core(eta, omega[d], kappa[d], rest, rho[i], spread)
    return n_dk[d] + alpha, n_vk[terms[i]] + beta, n_k + n_terms * beta, g


def gibbs_sweep(z, tokens, ids, rho, prior, labels, seed, sweep, frozen=None):
    """Every token from its conditional; with ``frozen``, word counts of those topics stand still."""
    z = np.array(z)
    for d, span in enumerate(lda.spans(tokens[0])):
        stream = lda.Stream(seed, lda.TOKEN, sweep, ids[d])
        for i in span:
            docs, words, sizes, g = _token(z, i, d, tokens, rho, prior, labels, frozen)
            weight = docs * words / sizes * np.exp(g - g.max())
            z[i] = lda.pick(weight, np.float32(stream.next()))
    return z


def light_proposals(docs, words, wish):
    """Proposal weights by kind: of the document, of the word, of the labels.

    ``docs`` and ``words`` are without the token; a proposal that picks the token itself proposes to stay.
    """
    return docs, words, np.exp(wish)


def light_matrix(target, proposal, stays):
    """The transition matrix of one Metropolis-Hastings step; ``stays`` is mass that proposes no move."""
    n = len(target)
    out = np.zeros((n, n))
    q = proposal / (proposal.sum() + stays)
    for s, t in itertools.permutations(range(n), 2):
        out[s, t] = q[t] * min(1.0, target[t] * q[s] / (target[s] * q[t]))
    np.fill_diagonal(out, 1 - out.sum(axis=1))
    return out


def document_law(corpus, omega, kappa, eta):
    """All assignments of a corpus with fixed (omega, kappa, eta), and their probabilities."""
    indptr, terms, rho, alpha, beta, n_terms = corpus
    states = list(itertools.product(range(len(alpha)), repeat=len(terms)))
    logs = []
    for z in states:
        f = zbar_of(z, rho, indptr, len(alpha)) @ eta.T
        logs.append(
            lda.log_joint(z, indptr, terms, alpha, beta, n_terms)
            + (kappa * f - 0.5 * omega * f**2).sum()
        )
    mass = np.exp(np.array(logs) - max(logs))
    return states, mass / mass.sum()


def posterior(corpus, task, n_grid=241, reach=7.0):
    """q(Z) of two topics and one task: weights integrated out on a grid, the rest in closed form."""
    indptr, terms, rho, alpha, beta, n_terms = corpus
    loss, cost, width, y, variance = task
    line = np.linspace(-reach, reach, n_grid) * math.sqrt(variance)
    a, b = np.meshgrid(line, line)
    prior = -0.5 * (a**2 + b**2) / variance
    states = list(itertools.product(range(2), repeat=len(terms)))
    factor = np.vectorize(collapsed_factor, otypes=[float])
    logs, known = [], {}
    for z in states:
        shares = zbar_of(z, rho, indptr, 2)
        place = shares.tobytes()
        if place not in known:
            inside = prior.copy()
            for d, (u, v) in enumerate(shares):
                inside += factor(loss, cost[d, 0], width, y[d, 0], a * u + b * v)
            known[place] = np.logaddexp.reduce(inside.ravel())
        logs.append(lda.log_joint(z, indptr, terms, alpha, beta, n_terms) + known[place])
    mass = np.exp(np.array(logs) - max(logs))
    return states, mass / mass.sum()


def cavity_zbar(rows, counts, alpha, term_weight, n_iter):
    """Average topics of one document by CVB0: ``rows`` (terms x topics) and counts of its distinct terms."""
    if not len(counts) or not (counts * term_weight).sum() > 0:
        return alpha / alpha.sum(), np.zeros((len(counts), len(alpha)))
    gamma = rows * alpha
    gamma /= gamma.sum(axis=1, keepdims=True)
    for _ in range(n_iter):
        total = counts @ gamma
        gamma = rows * (total - gamma + alpha)
        gamma /= gamma.sum(axis=1, keepdims=True)
    share = counts * term_weight / (counts * term_weight).sum()
    return share @ gamma, share[:, None] * gamma


def serial(work, ends, cost=1.0):
    """All work by the caller."""
    if len(ends) > 1:
        work(0, len(ends) - 1)


def chain_loss(name):
    """The record of a loss, at the smoothing of this file."""
    return smooth_loss(name, SMOOTHING if name == "smooth-hinge" else None)


def chain(corpus, task, *, light=False, exact=True, n_blocks=1, steps=setup.LightSteps()):  # noqa: B008
    """A chain of `bayou.inference.margin.setup` on tokens in the order given."""
    indptr, terms, rho, alpha, beta, n_terms = corpus
    loss, cost, width, y, variance = task
    tokens = documents.Tokens(np.asarray(indptr, np.int64), np.asarray(terms, np.uint32))
    n_docs = len(indptr) - 1
    termptr, at = setup.index_terms(tokens, n_terms)
    return setup.MarginChain(
        tokens=tokens, ids=np.arange(n_docs, dtype=np.uint64), rho=np.asarray(rho, np.float32),
        termptr=termptr, at=at, cuts=np.linspace(0, n_docs, n_blocks + 1).astype(np.int64),
        y=np.asarray(y, np.float32), cost=np.asarray(cost, np.float32), loss=chain_loss(loss),
        width=float(width), variance=float(variance),
        prior=setup.MarginPrior(np.asarray(alpha), beta), n_terms=n_terms, light=light, exact=exact,
        steps=steps,
    )  # fmt: skip
