"""Parts of the laws: corpora, targets, saved bytes, and bitwise equality."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.utils import get_tags

import bayou.api.files
from bayou.data.corpus import Corpus
from bayou.data.synthetic import sample_lda
from bayou.run import shards

SEED = 7
# Methods with one row per document; `sample` has the documents on its second axis.
ROW_METHODS = ("transform", "sample", "predict", "predict_proba", "decision_function")


class Case(NamedTuple):
    """An unfitted model and the corpus to check it on."""

    model: Any
    corpus: Corpus

    def fresh(self, **params: Any) -> Any:
        """An unfitted copy with a fixed seed, one thread, and the given parameters."""
        settings = {"random_state": SEED, "n_threads": 1} | params
        known = self.model.get_params()
        return clone(self.model).set_params(**{k: v for k, v in settings.items() if k in known})

    def fit_copy(self, corpus: Corpus | None = None, **params: Any) -> Any:
        """A fitted copy."""
        return fit(self.fresh(**params), self.corpus if corpus is None else corpus)


def small_corpus() -> Corpus:
    """Sixty short documents with named terms."""
    corpus, _ = sample_lda(60, 3, 40, doc_length=30, beta=0.1, seed=3)
    return Corpus.from_matrix(corpus.counts, vocabulary=[f"term{v:02d}" for v in range(40)])


def long_corpus() -> Corpus:
    """Few documents with many distinct terms: long enough to expose conflicts between threads."""
    corpus, _ = sample_lda(32, 3, 1500, doc_length=1500, beta=1.0, seed=4)
    return corpus


def always_threads() -> Any:
    """A context in which all work is divided among threads, however small it is.

    Otherwise small work runs in one thread, and a law about threads would compare one thread with itself.
    """
    return mock.patch.multiple(shards, _PIECE=1, _LEAST=1)


def target_of(model: Any, corpus: Corpus) -> Any:
    """The value for ``y``: None, or a target computed from the text of each document.

    The basis is the share of a document's tokens in the first half of the terms. A regressor gets the
    share; a classifier whether it exceeds one half. A multi-label model also gets the complement.
    """
    tags = get_tags(model)
    if not tags.target_tags.required:
        return None
    share = _first_half(corpus)
    if tags.estimator_type == "regressor":
        return share
    classes = (share > 0.5).astype(np.int64)
    if tags.target_tags.multi_output and not tags.target_tags.single_output:
        return np.column_stack([classes, 1 - classes])
    return classes


def unequal_targets(model: Any, corpus: Corpus) -> list[Any]:
    """For a classifier: targets with two and three classes, one of them rare; otherwise an empty list."""
    tags = get_tags(model)
    if not tags.target_tags.required or tags.estimator_type != "classifier":
        return []
    if not tags.target_tags.single_output:
        return []
    order = np.argsort(np.argsort(_first_half(corpus))) / corpus.n_docs
    return [np.searchsorted(ends, order, side="right") for ends in ([0.9], [0.5, 0.9])]


def _first_half(corpus: Corpus) -> Any:
    """The share of each document's tokens in the first half of the terms."""
    half = np.asarray(corpus.counts[:, : corpus.n_terms // 2].sum(axis=1)).ravel()
    return half / np.maximum(corpus.doc_lengths(), 1.0)


def fit(model: Any, corpus: Corpus, **beside: Any) -> Any:
    """Fit with a target if the model needs one."""
    y = target_of(model, corpus)
    return model.fit(corpus, **beside) if y is None else model.fit(corpus, y, **beside)


def partial_fit(model: Any, corpus: Corpus, y: Any = None) -> Any:
    """Learn one batch, with a target and the list of classes if the model needs them.

    Default target: `target_of`.
    """
    y = target_of(model, corpus) if y is None else y
    if y is None:
        return model.partial_fit(corpus)
    wanted = "classes" in inspect.signature(model.partial_fit).parameters
    return model.partial_fit(corpus, y, **({"classes": [0, 1]} if wanted else {}))


def parameter_rows(model: Any) -> Any:
    """The learned parameters: one row per topic, or per task of a linear model."""
    return model.components_ if hasattr(model, "components_") else model.coef_


def takes_checkpoint(model: Any) -> bool:
    """Whether `fit` can write a checkpoint and resume from it."""
    return "checkpoint" in inspect.signature(model.fit).parameters


def row_methods(model: Any) -> list[str]:
    """The methods of this model that return a result per document."""
    return [name for name in ROW_METHODS if hasattr(model, name)]


def rows_of(model: Any, method: str, X: Any) -> Any:
    """The result of a method with the documents on the first axis."""
    out = np.asarray(getattr(model, method)(X))
    return np.moveaxis(out, 1, 0) if method == "sample" else out


@contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def file_bytes(model: Any) -> bytes:
    """The bytes of the model's file."""
    with folder() as here:
        model.save(here / "model.bayou")
        return (here / "model.bayou").read_bytes()


def reload(model: Any) -> Any:
    """The model after saving and loading."""
    with folder() as here:
        model.save(here / "model.bayou")
        return bayou.api.files.load(here / "model.bayou")


def with_rows(corpus: Corpus, rows: Any) -> Corpus:
    """The corpus with further documents at its end."""
    both = np.vstack([corpus.counts.toarray(), np.asarray(rows, np.float32)])
    return Corpus.from_matrix(csr_array(both), vocabulary=corpus.vocabulary)


def same(a: Any, b: Any) -> bool:
    """Bitwise equality, through containers and plain objects."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and _equal_items(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if issparse(a):
        parts = ("shape", "indptr", "indices", "data")
        return all(same(getattr(a, name), getattr(b, name)) for name in parts)
    plain = getattr(type(a), "__eq__", None) is object.__eq__
    if plain and hasattr(a, "__dict__"):
        return same(vars(a), vars(b))
    return bool(a == b) or repr(a) == repr(b)  # NaN is not equal to itself


def _equal_items(a: Any, b: Any) -> bool:
    if a.dtype == object:
        return all(map(same, a.ravel().tolist(), b.ravel().tolist()))
    return bool(a.tobytes() == b.tobytes())


def expect(true: Any, complaint: str) -> None:
    """Raise AssertionError with the message, also under ``python -O``."""
    if not true:
        raise AssertionError(complaint)


def expect_error(kind: type[BaseException], complaint: str, call: Any, *args: Any) -> None:
    """Raise AssertionError unless the call raises this kind of error."""
    try:
        call(*args)
    except kind:
        return
    except Exception as error:
        text = f"{complaint}: expected {kind.__name__}, got {type(error).__name__}: {error}"
        raise AssertionError(text) from error
    raise AssertionError(f"{complaint}: nothing was raised")
