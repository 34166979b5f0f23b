"""Laws of the input: unusual documents are valid, and invalid input is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import get_tags

from bayou.data.corpus import Corpus
from bayou.testing.cases import (
    Case,
    expect,
    expect_error,
    fit,
    parameter_rows,
    partial_fit,
    row_methods,
    rows_of,
    same,
    target_of,
    with_rows,
)


def odd_documents_fit(case: Case) -> None:
    """A model can be fitted to empty and one-token documents, alone or among others."""
    n_terms = case.corpus.n_terms
    odd = np.vstack([np.zeros((3, n_terms)), np.eye(2, n_terms)])
    _sound(case, with_rows(case.corpus, odd))
    if target_of(case.model, case.corpus) is None:  # nothing can be learned from a constant target
        for rows in (np.zeros((4, n_terms)), np.eye(1, n_terms), np.zeros((1, n_terms))):
            _sound(case, Corpus.from_matrix(rows))


def odd_documents_transform(case: Case) -> None:
    """Empty, one-token and unseen-term documents get finite results; all empty ones get the same."""
    model = case.fit_copy()
    n_terms = case.corpus.n_terms
    rows = np.vstack([np.zeros((2, n_terms)), np.eye(2, n_terms), np.zeros((1, n_terms))])
    unseen = Corpus.from_matrix([[3, 2]], vocabulary=["never seen", "nor this"])
    for method in row_methods(model):
        out = rows_of(model, method, Corpus.from_matrix(rows))
        finite = out.dtype.kind not in "fc" or bool(np.isfinite(out).all())
        expect(finite, f"{method} of odd documents is not finite")
        for d in (1, 4):
            expect(same(out[d].copy(), out[0].copy()), f"{method} of empty documents differs")
        if case.corpus.vocabulary is not None:
            got = rows_of(model, method, unseen)
            expect(
                same(got[0].copy(), out[0].copy()),
                f"{method} of unseen terms differs from {method} of an empty document",
            )


def unused_terms(case: Case) -> None:
    """Terms that never occur are valid, and the topics are still finite and sum to one."""
    wide = np.hstack([case.corpus.counts.toarray(), np.zeros((case.corpus.n_docs, 5))])
    model = _sound(case, Corpus.from_matrix(wide))
    expect(parameter_rows(model).shape[1] == wide.shape[1], "a row must have one entry per term")


def forms_are_equal(case: Case) -> None:
    """A dense array, a sparse matrix and a corpus of equal counts give equal results."""
    dense = case.corpus.counts.toarray()
    y = target_of(case.model, case.corpus)
    models = [case.fresh().fit(X, y) for X in (dense, csr_array(dense), Corpus.from_matrix(dense))]
    for method in row_methods(models[0]):
        forms = (dense, csr_array(dense).tocsc())
        answers = [rows_of(m, method, X) for m in models for X in forms]
        expect(
            all(same(a, answers[0]) for a in answers), f"{method} depends on the form of the input"
        )


def wrong_width_raises(case: Case) -> None:
    """Documents with another number of unnamed terms are refused."""
    model = case.fit_copy()
    dense = case.corpus.counts.toarray()
    method = row_methods(model)[0]
    call = getattr(model, method)
    for X in (dense[:, 1:], np.hstack([dense, dense]), csr_array(dense[:, :-1])):
        expect_error(ValueError, f"{method} of width {X.shape[1]}", call, X)
        expect_error(ValueError, "a corpus of that width", call, Corpus.from_matrix(X))


def bad_counts_raise(case: Case) -> None:
    """NaN and infinite counts are refused by fit and predict; topic models also refuse negative ones."""
    model = case.fit_copy()
    method = row_methods(model)[0]
    negative = (-1.0,) if get_tags(model).input_tags.positive_only else ()
    for bad in (np.nan, np.inf, *negative):
        X = case.corpus.counts.toarray().astype(np.float64)
        y = target_of(case.model, case.corpus)
        X[2, 1] = bad
        for form in (X, csr_array(X)):
            expect_error(ValueError, f"fit with a count of {bad}", case.fresh().fit, form, y)
            expect_error(ValueError, f"{method} of a count of {bad}", getattr(model, method), form)


def names_align(case: Case) -> None:
    """A corpus with its terms in another order, and with unknown terms, is matched by name."""
    if case.corpus.vocabulary is None:
        return
    names = list(case.corpus.vocabulary)
    counts = case.corpus.counts.toarray()
    counts[:, 0] = 0.0  # the first term is missing in the other corpus
    mine = Corpus.from_matrix(counts, vocabulary=names)
    moved = np.hstack([counts[:, :0:-1], np.full((len(counts), 1), 2.0)])
    other = Corpus.from_matrix(moved, vocabulary=[*names[:0:-1], "not in the model"])
    model = case.fit_copy()
    for method in row_methods(model):
        expect(
            same(rows_of(model, method, other), rows_of(model, method, mine)),
            f"{method} does not match terms by name",
        )


def one_batch(case: Case) -> None:
    """`partial_fit` works from the first batch on, even with a single or an empty document."""
    if not hasattr(case.model, "partial_fit"):
        return
    empty = Corpus.from_matrix(
        np.zeros((1, case.corpus.n_terms)), vocabulary=case.corpus.vocabulary
    )
    for batches in ([case.corpus[:1]], [empty], [empty, case.corpus[:1], case.corpus[1:]]):
        model = case.fresh()
        for batch in batches:
            partial_fit(model, batch)
        _check(model, case.corpus)
    narrow = np.ones((2, case.corpus.n_terms - 1))
    expect_error(ValueError, "partial_fit of another width", model.partial_fit, narrow)


def _sound(case: Case, corpus: Corpus) -> Any:
    model = fit(case.fresh(), corpus)
    _check(model, corpus)
    return model


def _check(model: Any, corpus: Corpus) -> None:
    rows: NDArray[Any]
    if not hasattr(model, "components_"):
        expect(np.isfinite(parameter_rows(model)).all(), "the learned parameters are not finite")
        expect(len(model.predict(corpus)) == corpus.n_docs, "not one prediction per document")
        return
    for what, rows in (("topics", model.components_), ("proportions", model.transform(corpus))):
        expect(np.isfinite(rows).all() and (rows >= 0).all(), f"{what} are not finite")
        expect(np.abs(rows.sum(axis=1) - 1).max() < 1e-9, f"{what} do not sum to one")


LAWS = (
    odd_documents_fit,
    odd_documents_transform,
    unused_terms,
    forms_are_equal,
    wrong_width_raises,
    bad_counts_raise,
    names_align,
    one_batch,
)
