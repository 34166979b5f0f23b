"""Online max-margin topic models: the parameters they share, and learning from labels or targets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from bayou.api import stream_classes
from bayou.api.bases import StreamingBase
from bayou.api.params import param
from bayou.data.checks import MAX_TOPICS
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError
from bayou.data.supervision import check_magnitude, document_weights, read_targets
from bayou.inference.lda.arrays import F32, Each
from bayou.inference.lda.features import DAMPINGS
from bayou.inference.margin import online_response, online_state
from bayou.inference.margin.examples import Examples, examples_of, no_examples
from bayou.inference.margin.online_state import OnlineMarginSettings
from bayou.results.posterior import Posterior
from bayou.run import batches
from bayou.run.shards import Workers

POSTERIORS = ("averaging", "gibbs")
PREDICTIONS = ("mean", "sampled")
TOKEN_ORDERS = ("random", "term")
MOST_COST = 1e8  # kernels square it in single precision


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineMarginParameters:
    """Parameters of online max-margin topic models."""

    n_topics: int | None = param(None, ge=1, le=MAX_TOPICS)
    alpha: float | ArrayLike | None = None
    beta: float = param(0.1, gt=0.0)
    cost: float | None = param(None, gt=0.0)
    variance: float | None = param(None, gt=0.0)
    tf: str = param("log", choices=DAMPINGS)
    idf: bool = True
    batch_size: int | None = param(None, ge=1)
    n_passes: int = param(2, ge=1)
    n_rounds: int | None = param(None, ge=1)
    n_sweeps: int | None = param(None, ge=1)
    burn_in: int = param(0, ge=0)
    ghost_factor: float = param(1.0, ge=1e-6, le=1e6)
    decay: float = param(1.0, ge=1e-6, le=1.0)
    weight_floor: float | str | None = param(None, ge=1e-12, choices=("auto",))
    refit: bool | None = None
    prediction: str = param("mean", choices=PREDICTIONS)
    token_order: str = param("random", choices=TOKEN_ORDERS)


class OnlineMargin(StreamingBase):
    """Topics and features from the current state. Comes first among the bases of a model."""

    @property
    def posterior_(self) -> Posterior:
        """The current topics, after learning from the pending documents."""
        with Workers(1) as workers:
            return online_response.posterior(
                self._current(), self.resolve(), self._names, workers.each
            )

    def _features(self, counts: csr_array, each: Each) -> F32:
        """Average topics of documents, computed for their own terms only."""
        return online_response.document_features(self._current(), self.resolve(), counts, each)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        _check_costs(self.pending_.costs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if tags.regressor_tags is not None:
            tags.regressor_tags.poor_score = True  # on scikit-learn's data, which are not counts
        return tags


def fit_labels(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """`fit` of classifiers: discard what was learned, then `n_passes` over the documents."""
    model.check_params()
    corpus = _read_documents(model, X, reset=True)
    weights = document_weights(sample_weight, corpus.n_docs)
    signs = stream_classes.read_first(model, y, corpus.n_docs, _label_source(corpus, X))
    _fit(model, corpus, signs, weights)


def stream_labels(model: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    """`partial_fit` of classifiers; an error before learning leaves the model as it was."""
    first = not hasattr(model, "state_")
    model.check_params()
    if not first:
        online_state.check_state(model.state_, model.resolve())
    corpus = _read_documents(model, X, reset=first)
    n_docs, own = corpus.n_docs, _label_source(corpus, X)
    weights = document_weights(sample_weight, n_docs, some=False)
    if first:
        signs = stream_classes.read_first(model, y, n_docs, own, classes)
        _begin(model, signs)
    else:
        signs, every = stream_classes.read_more(model, y, n_docs, own, classes)
        stream_classes.grow_classes(model, every, online_state.regroup)
    p = model.resolve()
    model._learn_stream(_examples(corpus, signs, weights, p), p)


def fit_targets(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """`fit` of regressors: discard what was learned, then `n_passes` over the documents."""
    model.check_params()
    corpus = _read_documents(model, X, reset=True)
    targets = check_magnitude(read_targets(y, corpus.n_docs, corpus=_label_source(corpus, X)))
    _fit(model, corpus, targets, document_weights(sample_weight, corpus.n_docs))


def stream_targets(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """`partial_fit` of regressors; an error before learning leaves the model as it was."""
    first = not hasattr(model, "state_")
    model.check_params()
    if not first:
        online_state.check_state(model.state_, model.resolve())
    corpus = _read_documents(model, X, reset=first)
    own = _label_source(corpus, X)
    targets = check_magnitude(read_targets(y, corpus.n_docs, corpus=own, partial=True))
    weights = document_weights(sample_weight, corpus.n_docs, some=False)
    if first:
        _begin(model, targets)
    elif targets.shape[1] != len(model.state_.mean):
        before = len(model.state_.mean)
        raise DataError(f"y has {targets.shape[1]} targets, {before} came before")
    p = model.resolve()
    model._learn_stream(_examples(corpus, targets, weights, p), p)


def later_passes(p: OnlineMarginSettings) -> OnlineMarginSettings:
    """The settings of passes after the first, whose documents are not new."""
    return p._replace(fresh=False)


def _examples(
    corpus: Corpus, y: NDArray[Any], weights: NDArray[Any], p: OnlineMarginSettings
) -> Examples:
    """The documents of positive weight, each with the cost of its loss."""
    examples = examples_of(corpus.counts, y, _check_costs(p.cost * weights))
    return examples if weights.all() else examples.take(np.flatnonzero(weights))


def _check_costs(costs: NDArray[Any]) -> NDArray[Any]:
    if costs.max(initial=0.0) > MOST_COST:
        raise DataError(
            f"cost times sample_weight must be at most {MOST_COST:g}; got {costs.max():g}"
        )
    return costs


def _read_documents(model: Any, X: Any, *, reset: bool) -> Corpus:
    corpus: Corpus = model._corpus(X, reset=reset)
    if reset:
        model._names = corpus.vocabulary
    if model.tf == "none" and corpus.is_fractional:
        corpus.tokens()  # warns that counts are rounded
    return corpus


def _label_source(corpus: Corpus, X: Any) -> Corpus | None:
    """The corpus if its labels or targets may be used: if it was given as one."""
    return corpus if isinstance(X, Corpus) else None


def _begin(model: Any, y: NDArray[Any]) -> None:
    """The state before the first document."""
    model.__dict__.pop("state_", None)
    model.seed_ = model._resolve_seed()
    p = model.resolve()
    model.state_ = online_state.init(model.n_features_in_, y.shape[1], p)
    model.pending_ = no_examples(y)


def _fit(model: Any, corpus: Corpus, y: NDArray[Any], weights: NDArray[Any]) -> None:
    """All documents, each pass in its own keyed order. Documents without a response also train the topics."""
    _begin(model, y)
    p, seed = model.resolve(), model.seed_
    examples = _examples(corpus, y, weights, p)
    order = lru_cache(maxsize=1)(lambda i: batches.order(seed, examples.n_docs, i))
    model._learn_passes(examples, p, model.n_passes, order)
