"""What supervised models are told about documents: classes, labels, numbers to predict."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bayou.data.corpus import Corpus
from bayou.data.counts import column_names, dense
from bayou.data.errors import DataError, MissingTargetsWarning
from bayou.data.fields import is_no_label
from bayou.data.label_forms import (
    BINARY,
    INFINITE,
    NO_TARGET,
    Labels,
    as_bits,
    class_array,
    is_list,
    labels_in,
    of_corpus,
    of_lists,
    of_matrix,
    of_vector,
    one_array,
)

__all__ = [
    "Labels",
    "check_magnitude",
    "document_weights",
    "growth",
    "merge_classes",
    "read_labels",
    "read_targets",
    "responses",
    "signs",
]

_LARGEST_TARGET = 1e30  # squares of larger ones would not be finite


def read_labels(
    y: Any,
    n_docs: int,
    *,
    corpus: Corpus | None = None,
    classes: Any = None,
    multi_label: bool | None = None,
    others: bool = False,
) -> Labels:
    """Read what a classifier is given.

    Parameters
    ----------
    y : vector, label lists, indicator matrix, or None
        A vector gives each document one class: strings, truth values or whole numbers, and
        None, NaN or an empty string for a document without a label. A list of lists gives each
        document any number of labels: ``[]`` says that it has none of them, None (or ``[""]``)
        that nothing is known. An array, sparse matrix or frame of 0 and 1 with two columns or
        more is an indicator, and so are lists if all of them hold equally many 0 and 1 and
        nothing else; a row of NaN is a document of which nothing is known. None takes the
        labels of ``corpus``.
    n_docs : int
    corpus : Corpus, optional
        Where its labels are used, a document without labels is one of which nothing is known: a
        corpus cannot say that a document has none of the labels. If no document has more than one
        label they are classes, otherwise several labels a document.
    classes : array-like, optional
        All classes or labels there are, for data that are part of a stream: those given may then
        be of one class, or all without. Of an indicator they are the columns, in order.
    multi_label : bool, optional
        What has been settled before: several labels a document (True) or classes (False).
    others : bool
        Whether labels that are not in ``classes`` are taken as further ones, not refused. A vector's are
        sorted in among the others.

    Examples
    --------
    >>> read_labels(["b", None, "a"], 3)[:3]
    ('binary', array(['a', 'b'], dtype='<U1'), array([ 1, -1,  0], dtype=int32))
    >>> found = read_labels([["x"], ["x", "y"], [], None], 4)
    >>> found.kind, found.indicator.toarray().tolist(), found.known.tolist()
    ('multi-label', [[1, 0], [1, 1], [0, 0], [0, 0]], [True, True, True, False])
    """
    _some(n_docs)
    every = None if classes is None else class_array(classes)
    if y is None:
        if others and corpus is not None and corpus.label_names:
            every = merge_classes(class_array(classes), corpus.label_names, in_order=True)
        return of_corpus(corpus, every, multi_label)
    given = one_array(y)
    if given.shape[0] != n_docs:
        raise _unequal(n_docs, given.shape[0])
    if given.dtype == "O":
        given = as_bits(given)
    lists = given.ndim == 2 or any(map(is_list, given.tolist() if given.dtype == "O" else ()))
    if multi_label and not lists:
        lists = all(map(is_no_label, given.tolist()))  # nothing is known of any document
    if multi_label is not None and multi_label is not lists:
        what = ("one class", "label lists or an indicator matrix")
        raise DataError(f"y must give each document {what[multi_label]}, as it did before")
    if given.ndim == 2:
        return of_matrix(given, column_names(y), every)
    if others and every is not None:
        every = merge_classes(every, labels_in(given) or None, in_order=True)
    return of_lists(given.tolist(), every) if lists else of_vector(given, every)


def merge_classes(known: npt.NDArray[Any], more: Any, *, in_order: bool) -> npt.NDArray[Any]:
    """The classes of a stream with those that are announced: sorted, or the new ones behind the others.

    Examples
    --------
    >>> merged_classes(np.array(["b", "d"]), ["c", "b"], in_order=False).tolist()
    ['b', 'c', 'd']
    """
    if more is None:
        return known
    had = set(known.tolist())
    new = [label for label in class_array(more).tolist() if label not in had]
    if not new:
        return known
    every = class_array([*known.tolist(), *new])
    return every if in_order else np.unique(every)


def signs(labels: Labels) -> npt.NDArray[np.int8]:
    """The labels as tasks of yes (+1) and no (-1), with 0 where nothing is known.

    Two classes make one task, +1 for the second; otherwise every label is a task.

    Examples
    --------
    >>> signs(read_labels([3, 5, None], 3)).ravel().tolist()
    [-1, 1, 0]
    """
    yes = labels.indicator[:, 1:] if labels.kind == BINARY else labels.indicator
    out = np.asarray(2 * yes.toarray() - 1, np.int8)
    out[~labels.known] = 0
    return out


def responses(labels: Labels) -> npt.NDArray[np.int8]:
    """One column a task, and one of a class that no document has: what a class to come has seen so far."""
    never = np.where(labels.known, -1, 0).astype(np.int8)
    return np.column_stack([signs(labels), never])


def growth(
    old: npt.NDArray[Any], new: npt.NDArray[Any], binary: bool
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Which older task each task comes from, and with which sign.

    A class that is new comes from the last task, where every document was a no: it is as if it had been
    announced before the first document. Two classes were one task, yes for the second.
    """
    place = {label: i for i, label in enumerate(old.tolist())}
    never = 1 if binary else len(old)
    source = [place.get(label, never) for label in new.tolist()]
    sign = np.ones(len(new) + 1)
    if binary:
        sign[[i for i, s in enumerate(new.tolist()) if place.get(s) == 0]] = -1.0
        source = [0 if label in place else never for label in new.tolist()]
    return np.array([*source, never], np.intp), sign


def read_targets(
    y: Any, n_docs: int, *, corpus: Corpus | None = None, partial: bool = False
) -> npt.NDArray[np.float64]:
    """Read what a regressor is given, one row a document and one column a target.

    Parameters
    ----------
    y : array (n_docs,) or (n_docs, n_targets), or None
        NaN or None is a missing target, of which `MissingTargetsWarning` gives the number. None
        for all takes the targets of ``corpus``.
    n_docs : int
    corpus : Corpus, optional
    partial : bool
        Whether the data are part of a stream, so that all targets may be missing.

    Examples
    --------
    >>> read_targets([1, 2.5], 2).tolist()
    [[1.0], [2.5]]
    """
    _some(n_docs)
    if y is None:
        if corpus is None or corpus.targets is None:
            raise DataError(NO_TARGET.format(what="targets"))
        y = corpus.targets
    plain: Any = y
    values = np.asarray(dense(plain.toarray() if sp.issparse(y) else y, "y"), np.float64)
    if values.ndim not in (1, 2):
        raise DataError(
            f"y should be a 1d array or have a column for each target, got shape {values.shape}"
        )
    if len(values) != n_docs:
        raise _unequal(n_docs, len(values))
    if np.isinf(values).any():
        raise DataError(INFINITE)
    values = values.reshape(n_docs, -1)
    absent = np.isnan(values)
    if not partial and absent.all(axis=0).any():
        which = f" (column {int(np.argmax(absent.all(axis=0)))})" if values.shape[1] > 1 else ""
        raise DataError(f"no document has a target{which}; give some to learn from")
    n_absent = int(absent.any(axis=1).sum())
    if n_absent:
        warnings.warn(
            f"{n_absent} of {n_docs} documents lack a target; nothing is learned from what is missing",
            MissingTargetsWarning,
            stacklevel=3,
        )
    return values


def check_magnitude(targets: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Refuse numbers whose squares are not finite."""
    largest = np.abs(targets[~np.isnan(targets)]).max(initial=0.0)
    if largest > _LARGEST_TARGET:
        raise DataError(f"y holds {largest:.3g}, more than {_LARGEST_TARGET:.0e}; scale it down")
    return targets


def document_weights(
    sample_weight: Any, n_docs: int, *, some: bool = True
) -> npt.NDArray[np.float64]:
    """One factor per document, 1 where none was given; ``some`` requires one above zero."""
    if sample_weight is None:
        return np.ones(n_docs)
    try:
        given = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must be numbers; got {sample_weight!r:.80}") from None
    if given.shape == ():
        given = np.full(n_docs, float(given))
    if given.shape != (n_docs,):
        raise ValueError(
            f"sample_weight must be one number per document, {n_docs} in all; got shape {given.shape}"
        )
    if not (np.isfinite(given) & (given >= 0)).all() or (some and not given.any()):
        raise ValueError(
            "sample_weight must be finite, not negative, and not zero for all documents"
        )
    return given


def _some(n_docs: int) -> None:
    if n_docs < 1:
        raise DataError("there are no documents to learn from; give at least one")


def _unequal(n_docs: int, n_given: int) -> DataError:
    return DataError(
        f"Found input variables with inconsistent numbers of samples: [{n_docs}, {n_given}]"
    )
