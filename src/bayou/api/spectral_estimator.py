"""The base of models solved for from moments: documents are summed up, topics follow from the sums."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.topic_estimator import TopicEstimator
from bayou.data.checks import check_parameters, one_of, optional, whole
from bayou.data.container import pack_strings
from bayou.data.errors import DoubtWarning, ModelFileError
from bayou.inference.lda import documents
from bayou.inference.lda.arrays import F32, F64, Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.spectral import moment_stream, solve, tensor
from bayou.inference.spectral.moment_stream import MomentGeneration, MomentStreamState
from bayou.inference.spectral.moments import Moments
from bayou.inference.spectral.reservoir import Reservoir
from bayou.inference.spectral.solve import Diagnosis
from bayou.results.posterior import Posterior, check_arrays, unpack_vocabulary
from bayou.run import checkpoint
from bayou.run.shards import Workers

CHUNK = 256  # documents a stream is read in where nothing else decides; it changes nothing
MODES = ("basis", "history", "reservoir")


class Answer(NamedTuple):
    """Topics as they were solved for."""

    alpha: F64
    rows: F32  # terms x topics
    diagnosis: Diagnosis


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralEstimator(TopicEstimator, abstract=True):
    """What models solved for from moments have in common.

    Attributes
    ----------
    diagnosis_ : Diagnosis
    doubts_ : list of str
    state_ : State
    """

    uses_chance_: ClassVar[bool] = False  # the seed changes no more than last digits
    single_topic: ClassVar[bool] = False  # of a document

    n_topics: int = 10
    mode: str = "basis"
    weighting: str = "tokens"
    decomposition: str = "symmetric"
    smoothing: float | None = None
    beta: float = 0.01
    burn_in: int | None = None
    reservoir: int = 10_000
    half_life: int | None = None
    generation: int | None = None
    max_share: float | None = 0.4

    @abstractmethod
    def _answer(self, p: SimpleNamespace, each: Each, docs: Pairs | None) -> Answer:
        """The topics that follow from `state_`; ``docs`` are those of `fit`, if it is over."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents; what was learned before is forgotten.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
            Fractional counts are rounded.
        y : ignored
        """
        p = self._checked_parameters()
        corpus = self._corpus(X, reset=True).rounded()
        self.state_ = self._begin(corpus, p)
        pairs = documents.pairs_of(corpus.counts)
        if p.mode == "basis" and not p.half_life:
            most = 4 * moment_stream.n_burn_in(p)
            sample = solve.sample_of(pairs.n_docs, most, self.seed_)
            now = moment_stream.with_basis(self.state_.now, pairs, p, self.seed_, sample)
            self.state_ = self.state_._replace(now=now)
        self._learn(pairs, p)
        self._solved(pairs)
        if self.diagnosis_.rank < p.n_topics:
            warnings.warn(self.doubts_[0], DoubtWarning, stacklevel=2)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Take more documents in; the topics are solved for when they are asked for."""
        p = self._checked_parameters()
        first = not hasattr(self, "state_")
        corpus = self._corpus(X, reset=first).rounded()
        if first:
            self.state_ = self._begin(corpus, p)
        self._learn(documents.pairs_of(corpus.counts), p)
        return self

    def _begin(self, corpus: Any, p: SimpleNamespace) -> MomentStreamState:
        self.seed_ = self._resolve_seed()
        self._names = corpus.vocabulary
        self.n_iter_ = 1
        return moment_stream.init(corpus.n_terms, p)

    def _learn(self, pairs: Pairs, p: SimpleNamespace) -> None:
        self.state_ = moment_stream.update(self.state_, pairs, p, self.seed_)
        self._held: dict[str, Answer] = {}

    def _solved(self, docs: Pairs | None = None) -> Answer:
        """The answer, solved for when it is first asked for."""
        if "answer" not in self._held:
            with Workers(self.n_threads) as workers:
                self._held["answer"] = self._answer(self._checked_parameters(), workers.each, docs)
        return self._held["answer"]

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        p.batch_size = CHUNK
        check_parameters(p, ("n_topics", "reservoir"), ("beta", "max_time"))
        one_of("mode", p.mode, MODES)
        one_of("weighting", p.weighting, ("tokens", "documents"))
        one_of("decomposition", p.decomposition, tensor.METHODS)
        for name in ("burn_in", "half_life", "generation"):
            if getattr(p, name) is not None:
                whole(name, getattr(p, name), 1)
        for name in ("smoothing", "max_share"):
            optional(name, getattr(p, name), 0.0)
        if p.half_life and p.mode == "reservoir":
            raise ValueError("half_life: a uniform sample does not forget; use another mode")
        if p.generation and not (p.half_life and p.mode == "basis"):
            raise ValueError("generation belongs to a half_life and mode 'basis'; leave it out")
        if p.half_life and p.mode == "basis":
            least = moment_stream.n_burn_in(p)
            p.generation = p.generation or max(2 * p.half_life, least)
            if p.generation < least:
                raise ValueError(
                    f"generation must be at least burn_in = {least}, or no basis is ever ready; "
                    f"got {p.generation}"
                )
        return p

    def _fixed_terms(self) -> str:
        other = "StepwiseEM" if self.single_topic else "OnlineLDA"
        return (
            f"{type(self).__name__} sums moments up in a basis over its terms, which cannot change later; "
            f"leave out growth (bayou stream --closed) or use {other}"
        )

    # -- what users read -----------------------------------------------------------------------

    @property
    def diagnosis_(self) -> Diagnosis:
        """What the moments say about themselves."""
        check_is_fitted(self)
        return self._solved().diagnosis

    @property
    def doubts_(self) -> list[str]:
        """Reasons not to trust the answer, in sentences."""
        check_is_fitted(self)
        alpha = self._solved().alpha
        return self.diagnosis_.doubts(self.n_topics, alpha / alpha.sum())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The topics of all documents so far."""
        check_is_fitted(self)
        answer = self._solved()
        share = answer.alpha / answer.alpha.sum()
        return Posterior(
            rows=answer.rows, alpha=answer.alpha, beta=float(self.beta),
            topic_tokens=share * self.state_.known.sum(),
            scores=np.zeros(0), score_steps=np.zeros(0, np.int64), vocabulary=self._names,
            single=self.single_topic,
        )  # fmt: skip

    def _n_columns(self) -> int:
        return len(self.state_.known)

    # -- files ---------------------------------------------------------------------------------

    def _payload(self) -> dict[str, NDArray[Any]]:
        s, answer = self.state_, self._solved()
        out = {
            "n_seen": np.asarray(s.n_seen), "known": s.known,
            "alpha": answer.alpha, "rows": answer.rows,
        }  # fmt: skip
        out |= checkpoint.arrays_of(answer.diagnosis, "diagnosis")
        out |= checkpoint.arrays_of(s.pool, "pool") | _packed("now", s.now)
        if s.next is not None:
            out |= _packed("next", s.next)
        if self._names is not None:
            out["vocabulary"] = pack_strings(self._names)
        return out

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        known, rows = (arrays.get(k, np.zeros(0)) for k in ("known", "rows"))
        alpha, n_seen = (arrays.get(k, np.zeros(0)) for k in ("alpha", "n_seen"))
        n_terms, n_topics = known.size, alpha.size
        check_arrays("known", known, np.float64, (n_terms,))
        check_arrays("alpha", alpha, np.float64, (n_topics,))
        check_arrays("rows", rows, np.float32, (n_terms, n_topics))
        check_arrays("n_seen", n_seen, np.int64, ())
        if n_topics < 1 or n_terms < 1 or not (alpha > 0).all():
            raise ModelFileError("the model file's priors must be positive; save it again")
        pool = checkpoint.state_of(Reservoir, arrays, "pool")
        _check_kept("pool", pool, n_terms)
        later = _unpacked("next", arrays, n_terms) if "next.since" in arrays else None
        now = _unpacked("now", arrays, n_terms)
        diagnosis = checkpoint.state_of(Diagnosis, arrays, "diagnosis")
        for name in ("eigenvalues", "column_sums"):
            value = getattr(diagnosis, name)
            check_arrays(name, value, np.float64, (np.size(value),), signed=True)
        self._names = unpack_vocabulary(arrays.get("vocabulary"), n_terms)
        self.state_ = MomentStreamState(int(n_seen), known, now, later, pool)
        self._held = {"answer": Answer(alpha, rows, diagnosis)}


def _packed(prefix: str, stream: MomentGeneration) -> dict[str, NDArray[Any]]:
    times = {
        f"{prefix}.since": np.asarray(stream.since),
        f"{prefix}.origin": np.asarray(stream.origin),
    }
    sums = checkpoint.arrays_of(stream.sums, f"{prefix}.sums")
    return times | sums | checkpoint.arrays_of(stream.waiting, f"{prefix}.waiting")


def _unpacked(prefix: str, arrays: Mapping[str, NDArray[Any]], n_terms: int) -> MomentGeneration:
    sums = checkpoint.state_of(Moments, arrays, f"{prefix}.sums")
    waiting = checkpoint.state_of(Reservoir, arrays, f"{prefix}.waiting")
    r = np.shape(sums.basis)[1] if np.ndim(sums.basis) == 2 else 0
    shapes = {
        "basis": (n_terms, r), "seen": (n_terms, 2 * r), "once": (n_terms, 3),
        "cube": (r * (r + 1) * (r + 2) // 6,),
    }  # fmt: skip
    for name, shape in shapes.items():
        check_arrays(name, getattr(sums, name), np.float64, shape, signed=True)
    if not (type(sums.weight) is float and 0.0 <= sums.weight < math.inf):
        raise ModelFileError("the model file's weight of documents is impossible; save it again")
    _check_kept(f"{prefix}.waiting", waiting, n_terms)
    times = [arrays.get(f"{prefix}.{name}", np.zeros(0)) for name in ("since", "origin")]
    for when in times:
        check_arrays(f"{prefix}.since", when, np.int64, ())
    return MomentGeneration(int(times[0]), int(times[1]), sums, waiting)


def _check_kept(name: str, kept: Reservoir, n_terms: int) -> None:
    """Refuse documents of a model file that kernels could not walk through."""
    check_arrays(name, kept.indptr, np.int64, (np.size(kept.indptr),))
    n = int(kept.indptr[-1]) if np.size(kept.indptr) else -1
    check_arrays(name, kept.terms, np.int32, (n,))
    check_arrays(name, kept.counts, np.float32, (n,))
    ordered = kept.indptr[0] == 0 and (np.diff(kept.indptr) >= 0).all()
    if not ordered or (n and int(kept.terms.max()) >= n_terms):
        raise ModelFileError(f"the model file's documents {name!r} do not fit its terms")
