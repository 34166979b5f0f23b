"""Classes, labels and target values for supervised models."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bayou.data.corpus import Corpus
from bayou.data.counts import check_sparse, column_names, dense, take_rows
from bayou.data.errors import DataError, MissingTargetsWarning
from bayou.data.fields import is_no_label
from bayou.data.label_entries import INFINITE, is_list, labels_in, one_array
from bayou.data.label_forms import (
    BINARY,
    NO_TARGET,
    Labels,
    class_array,
    of_corpus,
    of_lists,
    of_matrix,
    of_vector,
)
from bayou.data.memory import check_memory

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
    "take_labels",
]

_LARGEST_TARGET = 1e30  # the square of a larger one would not be finite


def read_labels(
    y: Any,
    n_docs: int,
    *,
    corpus: Corpus | None = None,
    classes: Any = None,
    multi_label: bool | None = None,
    others: bool = False,
) -> Labels:
    """Read the labels given to a classifier.

    Parameters
    ----------
    y : vector, label lists, indicator matrix, or None
        A vector gives each document one class: strings, booleans or whole numbers. None, NaN or
        an empty string means that the class is unknown. A list of lists gives each document any
        number of labels: ``[]`` means none of the labels, None (or ``[""]``) means unknown. An
        array, sparse matrix or frame of 0 and 1 with two or more columns is an indicator. Lists
        are an indicator too if all have the same length and hold only 0 and 1. A row of NaN
        means that the labels are unknown. None takes the labels of ``corpus``.
    n_docs : int
    corpus : Corpus, optional
        The source of labels if ``y`` is None. A document without labels then counts as unknown,
        because a corpus cannot express "none of the labels". If no document has more than one
        label, the labels are classes; otherwise the task is multi-label.
    classes : array-like, optional
        All classes or labels, for one part of a stream. The part may then hold a single class, or
        no labels at all. For an indicator these are the columns, in order.
    multi_label : bool, optional
        The kind decided by earlier data: several labels per document (True) or classes (False).
    others : bool
        Whether labels outside ``classes`` are added instead of refused. Those of a vector are
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
    lists = given.ndim == 2 or any(map(is_list, given.tolist() if given.dtype == "O" else ()))
    if multi_label and not lists:
        lists = all(map(is_no_label, given.tolist()))  # the labels of all documents are unknown
    if multi_label is not None and multi_label is not lists:
        what = ("one class", "label lists or an indicator matrix")
        raise DataError(f"y must give each document {what[multi_label]}, as in earlier calls")
    if given.ndim == 2:
        return of_matrix(given, column_names(y), every)
    if others and every is not None:
        every = merge_classes(every, labels_in(given) or None, in_order=True)
    return of_lists(given.tolist(), every) if lists else of_vector(given, every)


def merge_classes(known: npt.NDArray[Any], more: Any, *, in_order: bool) -> npt.NDArray[Any]:
    """The classes of a stream with the newly announced ones: sorted, or the new ones at the end.

    Examples
    --------
    >>> merge_classes(np.array(["b", "d"]), ["c", "b"], in_order=False).tolist()
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


def take_labels(labels: Labels, docs: npt.NDArray[np.intp]) -> Labels:
    """The labels of some documents; all classes keep their numbers.

    Examples
    --------
    >>> take_labels(read_labels(["b", None, "a"], 3), np.array([2, 1]))[1:3]
    (array(['a', 'b'], dtype='<U1'), array([ 0, -1], dtype=int32))
    """
    codes = labels.codes[docs] if len(labels.codes) else labels.codes
    return labels._replace(
        codes=codes, indicator=take_rows(labels.indicator, docs), known=labels.known[docs]
    )


def signs(labels: Labels) -> npt.NDArray[np.int8]:
    """The labels as binary tasks: +1 for yes, -1 for no, 0 for unknown.

    Two classes are one task, +1 for the second class; otherwise every label is a task.

    Examples
    --------
    >>> signs(read_labels([3, 5, None], 3)).ravel().tolist()
    [-1, 1, 0]
    """
    yes = labels.indicator[:, 1:] if labels.kind == BINARY else labels.indicator
    check_memory(
        25.0 * yes.shape[0] * yes.shape[1],
        f"a margin of {yes.shape[0]:,} documents for each of {yes.shape[1]:,} labels",
        "use a model with a topic per label, such as LabeledLDA, or fewer labels",
    )
    out = np.asarray(2 * yes.toarray() - 1, np.int8)
    out[~labels.known] = 0
    return out


def responses(labels: Labels) -> npt.NDArray[np.int8]:
    """One column per task, and a last column for a class without documents: the data of future classes."""
    never = np.where(labels.known, -1, 0).astype(np.int8)
    return np.column_stack([signs(labels), never])


def growth(
    old: npt.NDArray[Any], new: npt.NDArray[Any], binary: bool
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """The older task that each task continues, and its sign.

    A new class continues the last task, in which every document was a "no", as if the class had been
    announced before the first document. Two classes were one task, with "yes" for the second class.
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
    """Read the target values given to a regressor: one row per document, one column per target.

    Parameters
    ----------
    y : array (n_docs,) or (n_docs, n_targets), or None
        NaN or None is a missing target; `MissingTargetsWarning` reports their number. If y is
        None, the targets of ``corpus`` are used.
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
    check_sparse(y, "targets")
    plain: Any = y
    values = np.asarray(dense(plain.toarray() if sp.issparse(y) else y, "y"), np.float64)
    if values.ndim not in (1, 2):
        raise DataError(
            f"y should be a 1d array, or a matrix with one column per target; got shape {values.shape}"
        )
    if len(values) != n_docs:
        raise _unequal(n_docs, len(values))
    if np.isinf(values).any():
        raise DataError(INFINITE)
    values = values.reshape(n_docs, -1)
    absent = np.isnan(values)
    if not partial and absent.all(axis=0).any():
        which = f" (column {int(np.argmax(absent.all(axis=0)))})" if values.shape[1] > 1 else ""
        raise DataError(f"no document has a target{which}; at least one document needs a target")
    n_absent = int(absent.any(axis=1).sum())
    if n_absent:
        warnings.warn(
            f"{n_absent} of {n_docs} documents lack a target; targets are learned from the others only",
            MissingTargetsWarning,
            stacklevel=3,
        )
    return values


def check_magnitude(targets: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The targets; a `DataError` if a square would not be finite."""
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
        raise DataError("no documents to learn from; pass at least one")


def _unequal(n_docs: int, n_given: int) -> DataError:
    return DataError(
        f"Found input variables with inconsistent numbers of samples: [{n_docs}, {n_given}]"
    )
