"""Online label models: `fit`, `partial_fit`, results and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from bayou.api.estimator import Saved
from bayou.api.params import param
from bayou.data.corpus import Corpus
from bayou.data.errors import ModelFileError
from bayou.data.label_forms import (
    BINARY,
    MULTI_CLASS,
    MULTI_LABEL,
    Labels,
    class_array,
    is_indicator,
    pack_classes,
    unpack_classes,
)
from bayou.data.supervision import merge_classes, read_labels
from bayou.data.vocabulary import Vocabulary
from bayou.inference.labels import open_set, progress
from bayou.inference.labels import state as label_state
from bayou.inference.labels.documents import LabelDocuments
from bayou.inference.labels.state import LABELS, LabelStreamSettings, LabelStreamState
from bayou.inference.lda import features
from bayou.inference.lda.arrays import I64
from bayou.results.label_posterior import LabelPosterior
from bayou.results.label_response import RULES, LabelResponse
from bayou.run import batches

if TYPE_CHECKING:
    from bayou.api.label_classifier import LabelClassifier
    from bayou.api.open_labels import OpenLabels
    from bayou.api.streaming import Streaming

    class Together(OpenLabels, Streaming, LabelClassifier):
        """The mixins that `LabelStream` is used with."""

else:
    Together = object

# The posterior of each model's state. Not an attribute: reading a result must not change a model.
_POSTERIORS: WeakKeyDictionary[Any, tuple[LabelStreamState, LabelPosterior]] = WeakKeyDictionary()


@dataclass(kw_only=True, eq=False, repr=False)
class LabelStreamParams:
    """The parameters that all online label models have; `OnlineLabeledLDA` describes them."""

    tf: str = param("none", choices=features.DAMPINGS)
    rule: str = param("scut", choices=RULES)
    validation_share: float = param(0.1, ge=0.0, le=0.5)
    beta: float = param(0.01, gt=0.0)
    batch_size: int = param(256, ge=1)
    n_passes: int = param(1, ge=1)
    n_rounds: int = param(2, ge=1)
    n_docs: int | None = param(None, ge=1)
    step_scale: float = param(10.0, ge=1e-12)
    tau: float = param(1000.0, ge=0.0)
    kappa: float = param(0.9, ge=0.5, le=1.0)


class LabelStream(Together):
    """Learning labels from a stream, and the results so far.

    Documents without labels are counted and teach nothing.
    """

    meets_labels: ClassVar[bool] = True

    # -- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents in `n_passes` passes, each in its own keyed order.

        Everything learned before is discarded; `partial_fit` continues.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : label lists, indicator matrix, vector of classes, or None
            None takes the corpus' labels. A document whose entry is None or NaN teaches nothing. See
            `bayou.data.supervision.read_labels`.
        """
        self.check_params()
        corpus = self._corpus(X, reset=True)
        labels = read_labels(y, corpus.n_docs, corpus=X if isinstance(X, Corpus) else None)
        self._begin(corpus, labels.kind == MULTI_LABEL)
        documents = self._documents(corpus, labels, labels.classes.tolist())
        n = corpus.n_docs
        order = lru_cache(maxsize=1)(lambda i: batches.order(self.seed_, n, i))
        sizes = documents.labelled_sizes()
        sizes *= (self.n_docs or sizes[2]) / max(sizes[2], 1.0)
        p = self.resolve()._replace(n_docs=float(sizes[2]) or None)
        self._learn_passes(documents, p, self.n_passes, order)
        # counts stand for the documents, however often each was read
        doubt = np.divide(1.0, sizes, out=np.zeros(3), where=sizes > 0.0)
        self.state_ = self.state_._replace(n_seen=n, doubt=doubt)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn from more documents, one or many, in the order given.

        All of them are learned: `max_time` and callbacks end `fit` only. If a callback fails, the documents
        that were not learned wait in `pending_`, and the next call starts with them.

        Parameters
        ----------
        X, y
            As in `fit`. The first call decides whether documents have one class or several labels. Labels
            that are new become labels of the model.
        classes : array-like, optional
            Labels of this call and of later ones; for an indicator matrix, names of further columns.
        """
        self.check_params()
        first = not hasattr(self, "state_")
        corpus = self._corpus(X, reset=first)
        own = corpus if isinstance(X, Corpus) else None
        if first:
            labels = read_labels(y, corpus.n_docs, corpus=own, classes=classes)
            self._begin(corpus, labels.kind == MULTI_LABEL)
        else:
            self._check_stream()
            every = merge_classes(self._known_names(), classes, in_order=True)
            labels = read_labels(
                y, corpus.n_docs, corpus=own, classes=every, multi_label=self._multi_label, others=True
            )  # fmt: skip
        columns = labels.classes if y is None or is_indicator(y) else classes
        documents = self._documents(corpus, labels, [] if columns is None else list(columns))
        self._learn_stream(documents, self.resolve())
        return self

    def _begin(self, corpus: Corpus, multi_label: bool) -> None:
        """Start from no label and no counts."""
        self.seed_ = self._resolve_seed()
        self._names = corpus.vocabulary
        self._label_names, self._multi_label = {}, multi_label
        self.state_, self.pending_ = None, LabelDocuments.none()
        self.state_ = label_state.start(corpus.n_terms, self.resolve())

    def _check_stream(self) -> None:
        """Refuse to continue with parameters that the state was not made for."""
        if not label_state.has_settings(self.state_, self.resolve()):
            raise ValueError(
                "n_topics, n_chains, mix and rule cannot change within a stream; begin another model"
            )

    def _documents(self, corpus: Corpus, labels: Labels, announced: list[Any]) -> LabelDocuments:
        """The documents with the ids of their labels.

        Announced labels get columns now. Others get ids in the order in which documents have them, and
        columns with the mini-batch that contains them.
        """
        self._announce(announced)
        place = {name: i for i, name in self._label_names.items()}
        names, of = labels.classes.tolist(), labels.indicator
        _, first = np.unique(of.indices, return_index=True)
        for column in of.indices[np.sort(first)].tolist():
            if names[column] not in place:
                place[names[column]] = self._new_id(names[column])
        ids = np.array([place.get(name, -1) for name in names], np.int64)
        return LabelDocuments.make(features.damp_counts(corpus.counts, self.tf), of, ids)

    def _change_terms(self, keep: I64, names: Vocabulary) -> float:
        gone = open_set.dropped_tokens(self.state_, keep, self.n_docs)
        super()._change_terms(keep, names)
        return gone

    # -- results -------------------------------------------------------------------------------

    def _freeze(self, terms: I64 | None = None) -> LabelPosterior:
        """The posterior now, with the mixture that ranked labels best so far; of some terms if given."""
        p, state = self.resolve(), self._current()
        choice = progress.choose_from_tally(state.scored, float(state.lengths[LABELS]))
        post: LabelPosterior = self.algorithm.posterior(state, p, terms, self._names)
        return post.with_mix(float(p.mixes[choice.mixture]))

    @property
    def labels_(self) -> LabelPosterior:  # type: ignore[override]
        """Terms of labels and topics over labels as they are now."""
        check_is_fitted(self)
        state = self._current()
        cached = _POSTERIORS.get(self)
        if cached is None or cached[0] is not state:
            _POSTERIORS[self] = cached = (state, self._freeze())
        return cached[1]

    def _labels_for(self, counts: csr_array) -> LabelPosterior:
        """The posterior with the counts of the terms of these documents only, which is faster."""
        return self._freeze(np.unique(counts.indices))

    @property
    def response_(self) -> LabelResponse:  # type: ignore[override]
        """How scores become predictions, fitted to documents that were scored before they were learned."""
        check_is_fitted(self)
        state, none = self._current(), np.zeros(0)
        choice = progress.choose_from_tally(state.scored, float(state.lengths[LABELS]))
        one = BINARY if state.n_labels == 2 else MULTI_CLASS
        several = self._multi_label
        by_size = several and self.rule == "cardinality"
        thresholds = none if by_size or not several else np.full(state.n_labels, choice.threshold)
        return LabelResponse(
            kind=MULTI_LABEL if several else one, classes=self.classes_, rule=self.rule,
            thresholds=thresholds, term_weights=state.sizes[0] if by_size else none,
            intercept=float(state.lengths[LABELS]) if by_size else 1.0, slope=choice.slope,
            offset=choice.offset,
        )  # fmt: skip


def stream_settings(model: Any, **own: Any) -> LabelStreamSettings:
    """The settings of a run: the parameters that online label models share, and a model's own."""
    return LabelStreamSettings(
        batch_size=model.batch_size,
        rate=(float(model.step_scale), float(model.tau), float(model.kappa)),
        n_docs=model.n_docs,
        beta=float(model.beta),
        n_rounds=int(model.n_rounds),
        validation_share=model.validation_share,
        by_size=model.rule == "cardinality",
        names=model._label_names,
        multi_label=model._multi_label,
        **own,
    )


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    ids = sorted(model._label_names)
    known = class_array([model._label_names[i] for i in ids])
    return {**pack_classes(known, model._multi_label), "classes.ids": np.array(ids, np.int64)}


def _unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    known, model._multi_label = unpack_classes(arrays)
    ids = arrays.get("classes.ids", np.zeros(0))
    if ids.dtype != np.int64 or ids.shape != (len(known),):
        raise ModelFileError("the file's array 'classes.ids' is missing or does not fit the others")
    model._label_names = dict(zip(ids.tolist(), known.tolist(), strict=True))
    used = {*model.state_.ids.tolist(), *model.pending_.label_ids.tolist()}
    if used - set(model._label_names) or max(used, default=-1) >= model.state_.next_id:
        raise ModelFileError("the model file's labels do not fit its documents; save it again")
    try:
        model.check_params()
        model._check_stream()
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the model file's parameters cannot be used: {error}") from None


LABEL_NAMES = Saved(_pack, _unpack)
