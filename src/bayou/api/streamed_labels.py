"""Models of labels on a stream, as they are asked: what is known now, and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from bayou.api.label_set import LabelSet
from bayou.data.container import pack_strings
from bayou.data.errors import ModelFileError
from bayou.data.label_forms import (
    class_array,
    pack_classes,
    unpack_classes,
)
from bayou.inference.labels import cells as label_cells
from bayou.inference.labels import documents as label_documents
from bayou.inference.labels import progress, scores, stream
from bayou.inference.labels import state as label_state
from bayou.inference.labels import vocabulary as label_terms
from bayou.inference.labels.documents import Documents
from bayou.inference.labels.state import LABELS, WORDS, LabelStreamSettings, LabelStreamState
from bayou.inference.lda import features
from bayou.inference.lda.arrays import F64, I64, Each
from bayou.results.label_posterior import LabelPosterior
from bayou.results.label_response import LabelResponse
from bayou.results.posterior import check_arrays, unpack_vocabulary
from bayou.run import batches, checkpoint
from bayou.run.batches import BatchPlan
from bayou.run.shards import Workers

# Models, and what they know now. Not an attribute, since asking changes none.
_FROZEN: WeakKeyDictionary[Any, tuple[LabelStreamState, LabelPosterior]] = WeakKeyDictionary()


@dataclass(kw_only=True, eq=False, repr=False)
class StreamedLabels(LabelSet, abstract=True):
    """Terms of labels, and topics over labels, of a stream up to now.

    Attributes
    ----------
    state_ : State
        Everything known after the last full mini-batch.
    pending_ : Documents
        The documents after it: fewer than `batch_size`, or more where a callback of `partial_fit` failed.
    """

    meets_labels: ClassVar[bool] = True

    rule: str = "scut"

    # -- what a model says about itself --------------------------------------------------------

    def _how(self, p: SimpleNamespace, n_docs: float | None = None) -> LabelStreamSettings:
        """The settings of a step."""
        raise TypeError(f"{type(self).__name__} does not say how it learns")

    def _label_prior(self, state: LabelStreamState, how: LabelStreamSettings) -> F64:
        """Prior of labels in a new document, where no topics over labels say more."""
        raise TypeError(f"{type(self).__name__} does not say which labels it expects")

    def _layers(self, p: SimpleNamespace) -> tuple[int, int]:
        """Topics over labels, and chains of them."""
        return 0, 1

    def _mixtures(self) -> F64:
        """Parts of the score that topics over labels may have; the best is used."""
        return np.zeros(1)

    def _scoring(self) -> dict[str, Any]:
        """How a `LabelPosterior` scores, where there are topics over labels."""
        return {}

    def _step(
        self, state: LabelStreamState, documents: Documents, how: LabelStreamSettings, each: Each
    ) -> LabelStreamState:
        """A mini-batch: some documents are scored, then all are learned."""
        state = self._with_labels(state, np.setdiff1d(documents.label_ids, state.ids))
        n_terms = len(state.cell_ptr) - 1
        counts, labels = documents.matrix(n_terms), documents.labels(state.ids)
        state = self._judged(state, counts, labels, how, each)
        batch = label_cells.make_batch(counts, labels, whole=how.local.sampled)
        state = stream.learn(state, batch, how, self.seed_, each)
        return state._replace(n_seen=state.n_seen + documents.n_docs)

    def _judged(
        self,
        state: LabelStreamState,
        counts: csr_array,
        labels: csr_array,
        how: LabelStreamSettings,
        each: Each,
    ) -> LabelStreamState:
        """What is known of scores, with those of documents that are about to be learned."""
        use = np.flatnonzero(np.diff(labels.indptr) > 0)
        if not self._several or not len(use):
            return state
        if state.sizes.shape[1]:
            n_each = np.diff(labels.indptr)[use].astype(np.float64)
            mean = state.lengths[LABELS] or 1.0
            sizes = progress.update_size_weights(state.sizes, mean, csr_array(counts[use]), n_each)
            state = state._replace(sizes=sizes)
        use = use[: int(np.ceil(self.validation_share * len(use)))]
        if not state.step or not len(use):
            return state
        post = self._frozen(state, how, np.unique(counts[use].indices))
        pairs = scores.pairs_with_labels(csr_array(counts[use]), post)
        found, truth = scores.infer(post, pairs, each), csr_array(labels[use])
        tally = state.scored
        for i, mix in enumerate(self._mixtures()):
            shares = scores.label_shares(post.with_mix(float(mix)), found)
            tally = progress.update_tally(tally, i, shares, truth)
        return state._replace(scored=tally)

    def _check_stream(self, p: SimpleNamespace) -> None:
        """Refuse to go on with parameters that the state was not made for."""
        state, (n_topics, n_chains) = self.state_, self._layers(p)
        wanted = (n_chains, state.n_labels, n_topics)
        by_size = p.rule == "cardinality"
        sizes = (len(state.cell_ptr) - 1) if by_size else 0
        if (
            state.topics.shape != wanted
            or state.sizes.shape[1] != sizes
            or len(state.scored) != len(self._mixtures())
        ):
            raise ValueError(
                "n_topics, n_chains, mix and rule cannot change within a stream; begin another model"
            )

    def _with_terms(self, keep: I64, n_new: int) -> float:
        self.pending_ = label_terms.move_document_terms(self.pending_, keep, self._n_columns())
        n_docs = self._checked_parameters().n_docs
        self.state_, gone = label_terms.change_terms(self.state_, keep, n_new, n_docs)
        return gone

    # -- what is known now ---------------------------------------------------------------------

    def _current(self) -> LabelStreamState:
        """The state with what the documents that wait teach."""
        check_is_fitted(self)
        return batches.state_with_pending(self, self._with_pending)

    def _with_pending(self) -> LabelStreamState:
        p = self._checked_parameters()
        how, state, n = self._how(p, p.n_docs), self.state_, self.pending_.n_docs
        with Workers(1) as workers:
            for lo, hi in BatchPlan(n, p.batch_size).batches(0, n):
                some = label_documents.take(self.pending_, np.arange(lo, hi))
                state = self._step(state, some, how, workers.each)
        return state

    def _frozen(
        self, state: LabelStreamState, how: LabelStreamSettings, terms: I64 | None = None
    ) -> LabelPosterior:
        """Terms of labels and topics over labels as they are now; of some terms only if they are given."""
        cells = state.cells if terms is None else label_cells.select_terms(state.cells, terms)
        factor = label_state.factors(state, WORDS, how.n_docs)
        totals = state.scale * label_cells.column_totals(state.cells, state.n_labels) * factor
        counts = (cells.raw * (state.scale * factor)[cells.labels]).astype(np.float32)
        shape = (len(cells.ptr) - 1, state.n_labels)
        shares = label_state.factors(state, LABELS, how.n_docs)
        links, alpha = np.zeros((0, state.n_labels)), np.zeros(0)
        if state.topics.shape[2]:
            mass = shares[:, None] * state.topics + how.link_beta
            links = (mass / mass.sum(axis=1, keepdims=True)).transpose(0, 2, 1)
            links, alpha = links.reshape(-1, state.n_labels), how.alpha
        return LabelPosterior(
            term_label=csr_array((counts, cells.labels, cells.ptr), shape=shape),
            beta=np.full(state.n_labels, how.beta), alpha=self._label_prior(state, how),
            n_labels=state.n_labels, label_docs=shares * state.shares,
            links=np.ascontiguousarray(links), link_alpha=alpha, n_members=len(state.topics),
            vocabulary=self._names, tokens=totals, **self._scoring(),
        )  # fmt: skip

    def _known(self) -> tuple[LabelStreamState, LabelStreamSettings, float]:
        """What is known, how it was learned, and the mixture that ranks best so far."""
        p = self._checked_parameters()
        state = self._current()
        mixes = self._mixtures()
        return state, self._how(p, p.n_docs), float(mixes[self._verdict(state).mixture])

    def _verdict(self, state: LabelStreamState) -> progress.TallyChoice:
        return progress.choose_from_tally(state.scored, float(state.lengths[LABELS]))

    @property
    def labels_(self) -> LabelPosterior:  # type: ignore[override]
        """Terms of labels and topics over labels as they are now."""
        check_is_fitted(self)
        state, how, mix = self._known()
        cached = _FROZEN.get(self)
        if cached is None or cached[0] is not state:
            _FROZEN[self] = cached = (state, self._frozen(state, how).with_mix(mix))
        return cached[1]

    @property
    def response_(self) -> LabelResponse:  # type: ignore[override]
        """How scores become answers, from documents that were scored before they were learned."""
        check_is_fitted(self)
        state, none = self._current(), np.zeros(0)
        said, n, several = self._verdict(state), state.n_labels, self._several
        by_size = several and self.rule == "cardinality"
        return LabelResponse(
            kind=self._kind(state), classes=self._classes(state), rule=self.rule,
            thresholds=none if by_size or not several else np.full(n, said.threshold),
            term_weights=state.sizes[0] if by_size else none,
            intercept=float(state.lengths[LABELS]) if by_size else 1.0,
            slope=said.slope, offset=said.offset,
        )  # fmt: skip

    def _shares(self, X: Any) -> tuple[csr_array, F64]:
        """Documents as counts, and shares of their labels, from the cells of their own terms alone."""
        check_is_fitted(self)
        counts = features.damp_counts(self._corpus(X, reset=False).counts, self.tf)
        state, how, mix = self._known()
        post = self._frozen(state, how, np.unique(counts.indices)).with_mix(mix)
        with Workers(self.n_threads) as workers:
            pairs = scores.pairs_with_labels(counts, post)
            found = scores.infer(post, pairs, workers.each)
        return counts, scores.label_shares(post, found)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    @property
    def multi_label_(self) -> bool:
        """Whether documents have several labels, not one class."""
        check_is_fitted(self)
        return self._several

    # -- files ---------------------------------------------------------------------------------

    def _payload(self) -> dict[str, NDArray[Any]]:
        names = {} if self._names is None else {"vocabulary": pack_strings(self._names)}
        waiting = checkpoint.arrays_of(self.pending_, "pending")
        ids = sorted(self._label_names)
        known = class_array([self._label_names[i] for i in ids])
        labels = {**pack_classes(known, self._several), "classes.ids": np.array(ids, np.int64)}
        return checkpoint.arrays_of(self.state_) | waiting | labels | names

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        state = checkpoint.state_of(LabelStreamState, arrays)
        pending = checkpoint.state_of(Documents, arrays, "pending")
        known, several = unpack_classes(arrays)
        ids = arrays.get("classes.ids", np.zeros(0))
        check_arrays("ids", ids, np.int64, (len(known),))
        names = dict(zip(ids.tolist(), known.tolist(), strict=True))
        n_terms = len(np.atleast_1d(state.cell_ptr)) - 1
        if not label_state.sound(state) or set(state.ids.tolist()) - set(names):
            raise ModelFileError("the model file's arrays do not fit each other; save it again")
        strange = set(pending.label_ids.ravel().tolist()) - set(names)
        if strange or not label_documents.sound(pending, n_terms, state.next_id):
            raise ModelFileError("the model file's waiting documents are damaged; save it again")
        self._hold(state, pending, names, several)
        self._names = unpack_vocabulary(arrays.get("vocabulary"), n_terms)
        try:
            self._check_stream(self._checked_parameters())
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"the model file's parameters cannot be used: {error}") from None

    def _n_columns(self) -> int:
        return len(self.state_.cell_ptr) - 1
