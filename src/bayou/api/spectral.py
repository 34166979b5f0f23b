"""Models that are solved from moments: training, diagnosis of the solution, files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.bases import TopicsBase
from bayou.api.estimator import Saved
from bayou.data import schema
from bayou.data.container import pack_strings
from bayou.data.errors import DoubtWarning, ModelFileError
from bayou.data.schema import Array
from bayou.inference.lda import documents
from bayou.inference.lda.arrays import F32, F64
from bayou.inference.lda.documents import Pairs
from bayou.inference.spectral import moment_stream, moments
from bayou.inference.spectral.moment_stream import MomentAnswer, MomentGeneration, MomentStreamState
from bayou.inference.spectral.moments import Moments
from bayou.inference.spectral.reservoir import Reservoir
from bayou.inference.spectral.solve import Diagnosis
from bayou.results.posterior import Posterior, unpack_vocabulary
from bayou.run import checkpoint
from bayou.run.shards import Workers


class Spectral(TopicsBase):
    """Topics that `solver` computes from `state_`, with a diagnosis of the solution.

    Attributes
    ----------
    diagnosis_ : Diagnosis
    doubts_ : list of str
    state_ : MomentStreamState
    """

    solver: ClassVar[Callable[..., MomentAnswer]]  # of state, documents, settings, seed and each
    uses_chance_: ClassVar[bool] = False  # the seed changes no more than last digits

    state_: MomentStreamState
    _answer: MomentAnswer | None

    def _solve(self, docs: Pairs | None = None) -> MomentAnswer:
        """The solution, computed when it is first asked for; ``docs`` are all documents of `fit`."""
        if self._answer is None:
            with Workers(self.n_threads) as workers:
                p: Any = self.resolve()
                self._answer = self.solver(self.state_, docs, p, self.seed_, workers.each)
        return self._answer

    @property
    def diagnosis_(self) -> Diagnosis:
        """Eigenvalues, residuals and sums that show how well the documents fit the model."""
        check_is_fitted(self)
        return self._solve().diagnosis

    @property
    def doubts_(self) -> list[str]:
        """Reasons not to trust the solution, as sentences."""
        check_is_fitted(self)
        alpha = self._solve().alpha
        return self.diagnosis_.doubts(len(alpha), alpha / alpha.sum())

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The topics of all documents so far."""
        check_is_fitted(self)
        answer, p = self._solve(), self.resolve()
        share = answer.alpha / answer.alpha.sum()
        return Posterior(
            rows=answer.rows, alpha=answer.alpha, beta=float(p.beta),
            topic_tokens=share * self.state_.known.sum(),
            scores=np.zeros(0), score_steps=np.zeros(0, np.int64), vocabulary=self._names,
            single=p.alpha0 == 0.0,
        )  # fmt: skip


def fit_moments(model: Any, X: Any) -> None:
    """`fit`: sum up all documents in a basis chosen from them, and solve for the topics."""
    p = model.resolve()
    pairs = _begin(model, X, p)
    model.state_ = moment_stream.choose_basis(model.state_, pairs, p, model.seed_)
    model._learn_stream(pairs, p)
    answer = model._solve(pairs)
    if answer.diagnosis.rank < p.n_topics:
        warnings.warn(model.doubts_[0], DoubtWarning, stacklevel=3)


def add_moments(model: Any, X: Any) -> None:
    """`partial_fit`: add documents to the sums. Topics are solved for when they are asked for."""
    p = model.resolve()
    if model.__sklearn_is_fitted__():
        pairs = documents.pairs_of(model._corpus(X, reset=False).rounded().counts)
    else:
        pairs = _begin(model, X, p)
    model._learn_stream(pairs, p)
    model._answer = None


def _begin(model: Any, X: Any, p: Any) -> Pairs:
    """Read the first documents and discard what was learned before."""
    corpus = model._corpus(X, reset=True).rounded()
    model.seed_, model._names, model.n_iter_ = model._resolve_seed(), corpus.vocabulary, 1
    model.state_, model.pending_ = moment_stream.init(corpus.n_terms, p), Pairs.none()
    model._answer = None
    return documents.pairs_of(corpus.counts)


class _Solved(NamedTuple):
    """The arrays of a model file beside moments and documents."""

    n_seen: int
    known: Annotated[F64, Array("terms")]
    alpha: Annotated[F64, Array("topics", gt=0.0)]
    rows: Annotated[F32, Array("terms", "topics")]


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    s, answer = model.state_, model._solve()
    head = _Solved(s.n_seen, s.known, answer.alpha, answer.rows)
    out = {name: np.asarray(value) for name, value in head._asdict().items()}
    out |= checkpoint.arrays_of(answer.diagnosis, "diagnosis")
    out |= checkpoint.arrays_of(s.pool, "pool") | _pack_generation("now", s.now)
    if s.next is not None:
        out |= _pack_generation("next", s.next)
    if model._names is not None:
        out["vocabulary"] = pack_strings(model._names)
    return out


def _unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    dims = {"terms": model.n_features_in_}
    head = schema.read(_Solved, arrays, "", dims)
    if not head.rows.size or not head.rows.sum(axis=0).min() > 1e-3:
        raise ModelFileError("the model file has no topics or no terms; train the model again")
    diagnosis = schema.read(Diagnosis, arrays, "diagnosis")
    pool = schema.read(Reservoir, arrays, "pool", dims)
    now = _unpack_generation("now", arrays, dims)
    later = _unpack_generation("next", arrays, dims) if "next.since" in arrays else None
    model._names = unpack_vocabulary(arrays.get("vocabulary"), model.n_features_in_)
    model.state_ = MomentStreamState(head.n_seen, head.known, now, later, pool)
    model.pending_ = Pairs.none()
    model._answer = MomentAnswer(head.alpha, head.rows, diagnosis)


class _Times(NamedTuple):
    """When a generation began."""

    since: int
    origin: int


def _pack_generation(prefix: str, stream: MomentGeneration) -> dict[str, NDArray[Any]]:
    times = checkpoint.arrays_of(_Times(stream.since, stream.origin), prefix)
    sums = checkpoint.arrays_of(stream.sums, f"{prefix}.sums")
    return times | sums | checkpoint.arrays_of(stream.waiting, f"{prefix}.waiting")


def _unpack_generation(
    prefix: str, arrays: Mapping[str, NDArray[Any]], dims: Mapping[str, int]
) -> MomentGeneration:
    times = schema.read(_Times, arrays, prefix)
    sums = schema.read(Moments, arrays, f"{prefix}.sums", dims)
    moments.check(sums)
    return MomentGeneration(*times, sums, schema.read(Reservoir, arrays, f"{prefix}.waiting", dims))


MOMENTS = Saved(_pack, _unpack)
