"""Classes and labels of a stream: the first documents fix the kind, later calls may announce more classes.

A model with these functions has `_classes`, `multi_label_`, and a state with one row per task in `mean`. The
last task is that of a class which no document has. A class that is announced later starts from it, as if it
had been announced before the first document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayou.api.estimator import Saved
from bayou.data.corpus import Corpus
from bayou.data.errors import ModelFileError
from bayou.data.label_forms import pack_classes, unpack_classes
from bayou.data.supervision import growth, merge_classes, read_labels, responses

I8 = NDArray[np.int8]


def kind_of(model: Any) -> str:
    """The kind of answer: "binary", "multi-class" or "multi-label"."""
    if model.multi_label_:
        return "multi-label"
    return "binary" if len(model._classes) == 2 else "multi-class"


def read_first(model: Any, y: Any, n_docs: int, corpus: Corpus | None, classes: Any = None) -> I8:
    """Responses of the first documents; sets the classes of the model and their kind."""
    labels = read_labels(y, n_docs, corpus=corpus, classes=classes)
    model._classes, model.multi_label_ = labels.classes, labels.kind == "multi-label"
    return responses(labels)


def read_more(
    model: Any, y: Any, n_docs: int, corpus: Corpus | None, classes: Any = None
) -> tuple[I8, NDArray[Any]]:
    """Responses of further documents, and all classes with those that are new; the model is not changed."""
    several = model.multi_label_
    every = merge_classes(model._classes, classes, in_order=several)
    labels = read_labels(y, n_docs, corpus=corpus, classes=every, multi_label=several)
    return responses(labels), every


def grow_classes(model: Any, every: NDArray[Any], regroup: Callable[..., Any]) -> None:
    """Add the classes that are new, in the state and in the pending documents."""
    if len(every) == len(model._classes):
        return
    source, sign = growth(model._classes, every, kind_of(model) == "binary")
    model.pending_ = model.pending_.regroup(source, sign)
    model.state_ = regroup(model.state_, source, sign)
    model._classes = every


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    return pack_classes(model._classes, model.multi_label_)


def _unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    model._classes, model.multi_label_ = unpack_classes(arrays)
    n_tasks = 1 if kind_of(model) == "binary" else len(model._classes)
    if model.state_ is None or len(model.state_.mean) != n_tasks + 1:
        raise ModelFileError("the model file's classes and weights disagree; save it again")


CLASSES = Saved(_pack, _unpack)  # after STREAM, which has the weights


def check_on_load(check: Callable[[Any, Any, Any], None]) -> Saved:
    """A last part without arrays: compares the state with the parameters and with the pending documents.

    ``check(state, pending, settings)`` refuses arrays that do not fit each other.
    """

    def unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
        if model.state_ is None:
            raise ModelFileError("the model file has no state; train the model again")
        try:
            model.check_params()
            check(model.state_, model.pending_, model.resolve())
        except ModelFileError:
            raise
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"the model file's parameters cannot be used: {error}") from None

    return Saved(lambda model: {}, unpack)
