"""Latent Dirichlet allocation by moments.

    phi_k ~ Dir(beta)      theta_d ~ Dir(alpha)      z_di ~ theta_d      w_di ~ phi_z

Given alpha0 = sum(alpha), what two and three tokens share because their document drew one theta can be
subtracted from their moments; what is left has the form of a single-topic model, whose components are the
topics and whose values lead to alpha [Anandkumar14]. One pass, sums that add up over shards, no local optima
where the model is true. It is not a likelihood maximiser: `LDA(start="spectral")` begins from it.

[Anandkumar14] Anandkumar, Ge, Hsu, Kakade, Telgarsky. Tensor decompositions for learning latent variable
models. JMLR 15, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from bayou.api.spectral_estimator import Answer, SpectralEstimator
from bayou.data.checks import number
from bayou.inference.lda.arrays import Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.spectral import mixture, moment_stream
from bayou.inference.spectral import solve as spectral
from bayou.inference.spectral.moment_stream import MomentStreamState

LEAST_ALPHA = 1e-3  # of one topic: under it a fold-in forgets that the topic is there


def solve(state: MomentStreamState, p: SimpleNamespace, seed: int) -> Answer:
    """Topics and alpha of all documents so far."""
    stream = state.now
    if p.mode == "reservoir":
        stream = stream._replace(waiting=state.pool)
    sums = moment_stream.sums_of(stream, p, seed)
    found = spectral.solve(sums, p.n_topics, p.decomposition, seed, alpha0=p.alpha0)
    unigram = mixture.unigram_of(state.known, p.beta)
    pseudo = float(len(unigram) if p.smoothing is None else p.smoothing)
    tokens = found.weights * state.known.sum() * (found.diagnosis.rank > 0)
    rows = mixture.smooth_rows(found.rows, tokens, unigram, max(pseudo, 1e-9))
    alpha = np.maximum(p.alpha0 * found.weights, LEAST_ALPHA)
    return Answer(alpha, mixture.as_rows(rows), found.diagnosis)


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralLDA(SpectralEstimator):
    """Latent Dirichlet allocation solved for from moments of two and three tokens.

    Parameters
    ----------
    n_topics : int
        Number of topics [K].
    alpha0 : float
        Sum of the Dirichlet parameters of a document's topics, which the moments cannot tell on real text.
        Too small a value does more harm than too large a one. `diagnosis_.weight_sum` times alpha0 is the sum
        that comes out of the solution: under the model it equals alpha0 where that is right.
    mode, weighting, decomposition, smoothing, beta, burn_in, reservoir, half_life, generation, max_share
        As in `SpectralLeader`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`; a solution is a single step, so only the second and the third make a difference.

    Attributes
    ----------
    alpha_ : float64 array (topics,)
        Dirichlet parameters that were solved for, in falling order; they sum to `alpha0`.
    diagnosis_, doubts_, state_
        As in `SpectralLeader`.

    Examples
    --------
    >>> from bayou import SpectralLDA
    >>> from bayou.data.synthetic import sample_lda
    >>> corpus, truth = sample_lda(2000, 3, 40, alpha=0.2, seed=1)
    >>> model = SpectralLDA(n_topics=3, alpha0=0.6, random_state=0).fit(corpus)
    >>> model.alpha_.round(1), model.transform(corpus[:2]).shape
    (array([0.2, 0.2, 0.2]), (2, 3))
    """

    alpha0: float = 1.0

    def _answer(self, p: SimpleNamespace, each: Each, docs: Pairs | None) -> Answer:
        return solve(self.state_, p, self.seed_)

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        number("alpha0", p.alpha0, 1e-6)
        p.n_polish = 0
        return p
