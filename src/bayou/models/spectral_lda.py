"""Latent Dirichlet allocation by moments.

    phi_k ~ Dir(beta)      theta_d ~ Dir(alpha)      z_di ~ theta_d      w_di ~ phi_z

Tokens of a document depend on each other through its theta. Given alpha0 = sum(alpha), this part can be
subtracted from the moments of two and three tokens. The rest has the form of a single-topic model, whose
components are the topics and whose values give alpha [Anandkumar14]. One pass; sums add up over shards; no
local optima if the documents follow the model. It does not maximise the likelihood: `LDA(start="spectral")`
begins from it.

[Anandkumar14] Anandkumar, Ge, Hsu, Kakade, Telgarsky. Tensor decompositions for learning latent variable
models. JMLR 15, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bayou.api.estimator import Estimator, Saved
from bayou.api.params import param, settings
from bayou.api.spectral import MOMENTS, Spectral, add_moments, fit_moments
from bayou.api.streaming import Stream, Streaming
from bayou.api.topics import Topics
from bayou.data.checks import MAX_TOPICS
from bayou.inference.lda.arrays import Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.spectral import mixture, moment_stream, tensor
from bayou.inference.spectral import solve as spectral
from bayou.inference.spectral.moment_stream import MomentAnswer
from bayou.inference.spectral.moment_stream import MomentStreamState as State
from bayou.inference.spectral.settings import MODES, WEIGHTINGS, MomentSettings, complete

LEAST_ALPHA = 1e-3  # of one topic; below this a fold-in never gives the topic any tokens


def solve(
    state: State, docs: Pairs | None, p: MomentSettings, seed: int, each: Each
) -> MomentAnswer:
    """Topics and alpha of all documents so far."""
    sums = moment_stream.sums_of(moment_stream.generation_to_solve(state, p), p, seed)
    found = spectral.solve(sums, p.n_topics, p.decomposition, seed, alpha0=p.alpha0)
    rows, _, _ = moment_stream.smooth(state, found, p)
    alpha = np.maximum(p.alpha0 * found.weights, LEAST_ALPHA)
    return MomentAnswer(alpha, mixture.as_rows(rows), found.diagnosis)


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralLDA(Spectral, Streaming, Topics, Estimator):
    """Latent Dirichlet allocation solved from moments of two and three tokens.

    Parameters
    ----------
    n_topics : int
        Number of topics [K].
    alpha0 : float
        Sum of the Dirichlet parameters of a document's topics. On real text the moments do not determine
        it. Too small a value does more harm than too large a one. The solution itself gives the sum
        `diagnosis_.weight_sum` times alpha0. Under the model it equals alpha0 if alpha0 is right.
    mode, weighting, decomposition, smoothing, beta, burn_in, reservoir, half_life, generation, max_share
        As in `SpectralLeader`.
    random_state, n_threads
        As in `LDA`.
    max_time, progress, callbacks
        Have no effect, because the solution is a single step.

    Attributes
    ----------
    alpha_ : float64 array (topics,)
        Dirichlet parameters of the solution, in falling order; they sum to `alpha0`.
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

    n_topics: int = param(10, ge=1, le=MAX_TOPICS)
    mode: str = param("basis", choices=MODES)
    weighting: str = param("tokens", choices=WEIGHTINGS)
    decomposition: str = param("symmetric", choices=tensor.METHODS)
    smoothing: float | None = param(None, ge=0.0)
    beta: float = param(0.01, gt=0.0)
    burn_in: int | None = param(None, ge=1)
    reservoir: int = param(10_000, ge=1)
    half_life: int | None = param(None, ge=1)
    generation: int | None = param(None, ge=1)
    max_share: float | None = param(0.4, ge=0.0)
    alpha0: float = param(1.0, ge=1e-6)

    algorithm: ClassVar[Stream] = Stream(
        State, Pairs, moment_stream.update, batched=False, growing="OnlineLDA"
    )
    solver = staticmethod(solve)
    saved: ClassVar[tuple[Saved, ...]] = (MOMENTS,)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents. Everything learned before is discarded.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
            Fractional counts are rounded.
        y : ignored
        """
        fit_moments(self, X)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add more documents. The topics are solved for when they are asked for."""
        add_moments(self, X)
        return self

    def resolve(self) -> MomentSettings:
        """The parameters of one run, checked."""
        super().check_params()
        return complete(settings(MomentSettings, self, n_polish=0))

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed, alone or together."""
        self.resolve()
