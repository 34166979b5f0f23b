"""SpectralLeader: a mixture of multinomials learned by moments, on a stream or at once.

    y_d ~ w      w_di ~ phi_y      (all tokens of a document have one topic)

The second and third moments of different tokens of a document determine w and phi. They are sums over
documents, so they can follow a stream. At any time the topics are solved for (`spectral.solve`) and, if
wanted, improved by a few EM steps. The solution before document t is the best one for all documents before
it: follow the leader [Yu18].

[Yu18] Yu, Kveton, Wen, Bui, Mengshoel. SpectralLeader: online spectral learning for single topic models.
ECML PKDD 2018.
[Anandkumar14] Anandkumar, Ge, Hsu, Kakade, Telgarsky. Tensor decompositions for learning latent variable
models. JMLR 15, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from bayou.api.estimator import Estimator, Saved
from bayou.api.mixture import Mixture
from bayou.api.params import param, settings
from bayou.api.spectral import MOMENTS, Spectral, add_moments, fit_moments
from bayou.api.streaming import Stream, Streaming
from bayou.api.topics import Topics
from bayou.data.checks import MAX_TOPICS, one_of
from bayou.inference.lda.arrays import Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.spectral import mixture, moment_stream, reservoir, tensor
from bayou.inference.spectral import solve as spectral
from bayou.inference.spectral.moment_stream import MomentAnswer
from bayou.inference.spectral.moment_stream import MomentStreamState as State
from bayou.inference.spectral.settings import MODES, WEIGHTINGS, MomentSettings, complete

FEW = 10  # documents per topic; with fewer, a solution of too low a rank is rejected


def solve(
    state: State, docs: Pairs | None, p: MomentSettings, seed: int, each: Each
) -> MomentAnswer:
    """The topics of all documents so far. EM runs over ``docs``, or over the documents that were kept."""
    stream = moment_stream.generation_to_solve(state, p)
    sums = moment_stream.sums_of(stream, p, seed)
    known = None
    if docs is not None and p.n_topics >= spectral.MANY and not p.half_life:
        known = docs, moment_stream.weights_of(stream, docs, 0, p)
    found = spectral.solve(sums, p.n_topics, p.decomposition, seed, documents=known)
    if found.diagnosis.rank < p.n_topics and sums.n_docs < FEW * p.n_topics:
        found = spectral.nothing(sums, p.n_topics)
    rows, unigram, pseudo = moment_stream.smooth(state, found, p)
    weights, some = (
        found.weights,
        _em_documents(state, p) if docs is None or p.half_life else docs,
    )
    if p.n_polish and some.n_docs and found.diagnosis.rank:
        rows, weights = mixture.em_steps(some, rows, weights, p.n_polish, unigram, pseudo, each)
    return MomentAnswer(weights, mixture.as_rows(rows), found.diagnosis)


def _em_documents(state: State, p: MomentSettings) -> Pairs:
    if p.mode != "history":
        return state.pool.pairs
    kept = state.now.waiting.pairs
    first = max(kept.n_docs - 2 * p.half_life, 0) if p.half_life else 0
    return reservoir.slice_pairs(kept, first, kept.n_docs)


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralLeader(Mixture, Spectral, Streaming, Topics, Estimator):
    """A mixture of multinomials by moments: one pass, no step size, no local optima under the model.

    Documents of fewer than three tokens have no third moment. They are counted in `diagnosis_`. If the rank
    of the moments is below `n_topics`, the other topics are the distribution of all terms, with almost no
    weight, and `doubts_` says so.

    Parameters
    ----------
    n_topics : int
        Number of topics [K].
    mode : {"basis", "history", "reservoir"}
        What a stream keeps. "basis": sums in a basis chosen from the first documents, in constant memory.
        "history": all documents, with a basis that follows all of them. "reservoir": a uniform sample of
        documents.
    weighting : {"tokens", "documents"}
        Whether the weight of a document is its length or 1. Lengths are more accurate. If length depends on
        the topic, `weights_` are then shares of tokens, until EM steps make them shares of documents.
    decomposition : {"symmetric", "deflation", "jacobi", "jennrich"}
        How the third moment is decomposed (`bayou.inference.spectral.tensor`).
    smoothing : float or None
        Pseudo-tokens of the distribution of all terms in each topic. Default: the number of terms.
    beta : float
        Tokens of each term added to the distribution of all terms.
    burn_in : int or None
        Documents of a stream from which the basis is chosen. Default: 100 per topic, at least 1000. `fit`
        chooses from a sample of its own documents, four times as many.
    reservoir : int
        Size of the uniform sample of a stream, for ``mode="reservoir"`` and for EM steps.
    half_life : int or None
        Number of documents after which the weight of a document is halved, for topics that drift.
    generation : int or None
        Number of documents after which a new basis is begun, if there is a `half_life`. Default: two
        half-lives.
    max_share : float or None
        Documents of 30 tokens or more in which one term has more than this share are left out of the moments,
        because a few of them can take over a topic. None leaves no document out.
    n_polish : int
        EM steps after the solution. They use the documents of `fit` or the documents that `mode` keeps; for
        "basis" a uniform sample. With a `half_life` they use the latest documents, at most two half-lives.
        0 gives the pure spectral solution.
    random_state, n_threads
        As in `LDA`.
    max_time, progress, callbacks
        Have no effect, because the solution is a single step.

    Attributes
    ----------
    weights_ : float64 array (topics,)
        Share of the documents in each topic, in falling order of the spectral solution.
    diagnosis_ : Diagnosis
        Eigenvalues, rank, gap, residual and sums that show how well the documents fit the model.
    doubts_ : list of str
        Reasons not to trust the solution.
    state_ : State
        Everything the next document needs; saved with the model.

    Examples
    --------
    >>> from bayou import SpectralLeader
    >>> from bayou.data.synthetic import sample_mixture
    >>> corpus, truth = sample_mixture(2000, 3, 40, seed=1)
    >>> model = SpectralLeader(n_topics=3, max_share=None, random_state=0).fit(corpus)
    >>> model.weights_.shape, model.predict(corpus[:4]).shape, model.doubts_
    ((3,), (4,), [])
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
    n_polish: int = param(5, ge=0)

    algorithm: ClassVar[Stream] = Stream(
        State, Pairs, moment_stream.update, batched=False, growing="StepwiseEM"
    )
    solver = staticmethod(solve)
    saved: ClassVar[tuple[Saved, ...]] = (MOMENTS,)

    @classmethod
    def published(cls, mode: str = "history", **settings: Any) -> Self:
        """The algorithm of [Yu18] without later improvements; ``settings`` change single parameters.

        "history": before each step all documents are whitened again, with equal weights, and the tensor is
        decomposed by power iteration and deflation. "reservoir": the same on a uniform sample of 10,000.
        There is no smoothing, no EM, and no document is left out for its terms.
        """
        one_of("mode", mode, ("history", "reservoir"))
        plain: dict[str, Any] = {
            "mode": mode, "weighting": "documents", "decomposition": "deflation", "smoothing": 0.0,
            "reservoir": 10_000, "max_share": None, "n_polish": 0,
        }  # fmt: skip
        return cls(**{**plain, **settings})

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
        return complete(settings(MomentSettings, self, alpha0=0.0))

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed, alone or together."""
        self.resolve()
