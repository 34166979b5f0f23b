"""SpectralLeader: a mixture of multinomials learned by moments, on a stream or at once.

    y_d ~ w      w_di ~ phi_y      (all tokens of a document have one topic)

The second and third moments of different tokens of a document determine w and phi. They are sums over
documents, so they follow a stream; at any moment the topics are solved for (`spectral.solve`) and, if
wanted, moved by a few EM steps. The answer before document t is the best for all that came before it: the
leader is followed [Yu18].

[Yu18] Yu, Kveton, Wen, Bui, Mengshoel. SpectralLeader: online spectral learning for single topic models.
ECML PKDD 2018.
[Anandkumar14] Anandkumar, Ge, Hsu, Kakade, Telgarsky. Tensor decompositions for learning latent variable
models. JMLR 15, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

from bayou.api.mixture_estimator import MixtureEstimator
from bayou.api.spectral_estimator import Answer, SpectralEstimator
from bayou.data.checks import whole
from bayou.inference.lda.arrays import Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.spectral import mixture, moment_stream, reservoir
from bayou.inference.spectral import solve as spectral
from bayou.inference.spectral.moment_stream import MomentStreamState

FEW = 10  # documents a topic under which a spectrum that is too short is not believed at all


def solve(
    state: MomentStreamState, p: SimpleNamespace, seed: int, each: Each, docs: Pairs | None
) -> Answer:
    """The topics of all documents so far; EM goes over ``docs`` or over what was kept of them."""
    stream = state.now
    if p.mode == "reservoir":
        stream = stream._replace(waiting=state.pool)
    sums = moment_stream.sums_of(stream, p, seed)
    known = None
    if docs is not None and p.n_topics >= spectral.MANY and not p.half_life:
        known = docs, moment_stream.weights_of(stream, docs, 0, p)
    found = spectral.solve(sums, p.n_topics, p.decomposition, seed, documents=known)
    if found.diagnosis.rank < p.n_topics and sums.n_docs < FEW * p.n_topics:
        found = spectral.nothing(sums, p.n_topics)
    unigram = mixture.unigram_of(state.known, p.beta)
    pseudo = float(len(unigram) if p.smoothing is None else p.smoothing)
    tokens = found.weights * state.known.sum() * (found.diagnosis.rank > 0)
    rows = mixture.smooth_rows(found.rows, tokens, unigram, max(pseudo, 1e-9))
    weights, some = found.weights, _at_hand(state, p) if docs is None or p.half_life else docs
    if p.n_polish and some.n_docs and found.diagnosis.rank:
        rows, weights = mixture.em_steps(some, rows, weights, p.n_polish, unigram, pseudo, each)
    return Answer(weights, mixture.as_rows(rows), found.diagnosis)


def _at_hand(state: MomentStreamState, p: SimpleNamespace) -> Pairs:
    if p.mode != "history":
        return state.pool.pairs
    kept = state.now.waiting.pairs
    first = max(kept.n_docs - 2 * p.half_life, 0) if p.half_life else 0
    return reservoir.slice_pairs(kept, first, kept.n_docs)


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralLeader(SpectralEstimator, MixtureEstimator):
    """A mixture of multinomials by moments: one pass, no step size, no local optima where the model is true.

    Documents of fewer than three tokens teach nothing about topics and are counted in `diagnosis_`.
    What the moments cannot support is not invented: topics beyond their rank are the distribution of all
    terms with next to no weight, and `doubts_` says so.

    Parameters
    ----------
    n_topics : int
        Number of topics [K].
    mode : {"basis", "history", "reservoir"}
        What is kept of a stream: sums in a basis chosen from the first documents, in memory that does not
        grow; all documents, for a basis that is always that of all of them; or a uniform sample of documents.
    weighting : {"tokens", "documents"}
        Whether a document counts by its length or once. The first is the more accurate; where length depends
        on the topic, `weights_` are then shares of tokens until EM steps make them shares of documents.
    decomposition : {"symmetric", "deflation", "jacobi", "jennrich"}
        How the third moment is taken apart (`bayou.inference.spectral.tensor`).
    smoothing : float or None
        Pseudo-tokens of the distribution of all terms in each topic; None is as many as there are terms.
    beta : float
        Tokens of each term added to the distribution of all terms.
    burn_in : int or None
        Documents of a stream from which the basis is chosen; None is 100 a topic, 1000 at least. `fit`
        chooses from a sample of its own documents, four times as many.
    reservoir : int
        Size of the uniform sample that a stream keeps, for ``mode="reservoir"`` and for EM steps.
    half_life : int or None
        Documents after which one counts half, for topics that drift.
    generation : int or None
        Documents after which a new basis is begun, if there is a `half_life`; None is two half-lives.
    max_share : float or None
        Documents of 30 tokens or more in which one term has more than this share are left out of the moments:
        a handful of them can take a topic. None leaves none out.
    n_polish : int
        EM steps after the solution, on the documents of `fit`, on those kept by `mode`, or for a basis on a
        uniform sample of the stream; with a `half_life`, on the latest documents, two half-lives of them
        at most. 0 is the pure spectral answer.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`; a solution is a single step, so only the second and the third make a difference.

    Attributes
    ----------
    weights_ : float64 array (topics,)
        Share of the documents in each topic, in falling order of the spectral solution.
    diagnosis_ : Diagnosis
        Eigenvalues, rank, gap, residual and sums that show how far the documents are from the model.
    doubts_ : list of str
        Reasons not to trust the answer.
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

    single_topic: ClassVar[bool] = True

    n_polish: int = 5

    def _answer(self, p: SimpleNamespace, each: Each, docs: Pairs | None) -> Answer:
        return solve(self.state_, p, self.seed_, each, docs)

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        whole("n_polish", p.n_polish, 0)
        return p
