"""Laws of prediction: it changes nothing, and each document's result is independent of others."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from bayou.testing.cases import (
    Case,
    expect,
    expect_error,
    file_bytes,
    row_methods,
    rows_of,
    same,
    target_of,
    unequal_targets,
)


def predict_is_pure(case: Case) -> None:
    """Prediction leaves every attribute and the file unchanged, and is repeatable."""
    model = case.fit_copy()
    before, file = copy.deepcopy(vars(model)), file_bytes(model)
    for method in [*row_methods(model), "score"]:
        first, second = _answer(case, model, method), _answer(case, model, method)
        expect(same(first, second), f"{method} gives another result the second time")
        changed = [
            k for k in {*before, *vars(model)} if not same(before.get(k), vars(model).get(k))
        ]
        expect(not changed, f"{method} changes the attributes {sorted(changed)}")
        expect(file_bytes(model) == file, f"{method} changes the saved file")


def rows_are_independent(case: Case) -> None:
    """The result for a document does not depend on other documents."""
    model = case.fit_copy()
    for method in row_methods(model):
        whole = rows_of(model, method, case.corpus)
        for lo, hi in ((0, 1), (3, 4), (5, 25)):
            part = rows_of(model, method, case.corpus[lo:hi])
            expect(
                same(part, whole[lo:hi].copy()), f"{method} of documents {lo} to {hi} alone differs"
            )


def order_is_irrelevant(case: Case) -> None:
    """Documents in another order get the same results; the score is a mean over them."""
    model = case.fit_copy()
    order = np.random.default_rng(0).permutation(case.corpus.n_docs)
    for method in row_methods(model):
        there = rows_of(model, method, case.corpus)[order]
        expect(
            same(rows_of(model, method, case.corpus[order]), there),
            f"{method} depends on the order",
        )
    one, other = (_answer(case, model, "score", case.corpus[o]) for o in (slice(None), order))
    # R² is a difference of numbers near 1 and may be near 0, so a relative bound is not sufficient.
    near = math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    expect(near, "score depends on the order")


def input_is_untouched(case: Case) -> None:
    """Fitting and predicting do not write into the data."""
    before = copy.deepcopy(vars(case.corpus)["counts"].data)
    model = case.fit_copy()
    for method in [*row_methods(model), "score"]:
        _answer(case, model, method)
    expect(same(case.corpus.counts.data, before), "the counts of the corpus were changed")


def topics_are_distributions(case: Case) -> None:
    """Rows of `components_` and of `transform` are finite, non-negative and sum to one."""
    model = case.fit_copy()
    if not hasattr(model, "components_"):
        return
    _distributions("components_", model.components_)
    sums = model.posterior_.rows.sum(axis=0, dtype=np.float64)
    expect(np.abs(sums - 1.0).max() < 1e-5, "the topics of the posterior do not sum to one")
    _distributions("transform", model.transform(case.corpus))
    if hasattr(model, "sample"):
        _distributions("sample", model.sample(case.corpus[:10]))
    expect(np.isfinite(_answer(case, model, "score")), "score is not finite")
    n_topics = len(model.components_)
    expect(
        model.transform(case.corpus).shape == (case.corpus.n_docs, n_topics),
        "transform has a wrong shape",
    )
    expect(len(model.get_feature_names_out()) == n_topics, "not one output name per topic")


def predicted_is_most_probable(case: Case) -> None:
    """No class has a larger probability than the predicted one, even if a class is rare."""
    for target in (None, *unequal_targets(case.model, case.corpus)):
        model = case.fit_copy() if target is None else case.fresh().fit(case.corpus, target)
        if not (hasattr(model, "predict_proba") and hasattr(model, "predict")):
            return
        said, chance = (
            np.asarray(getattr(model, m)(case.corpus)) for m in ("predict", "predict_proba")
        )
        if said.ndim > 1:  # multi-label: each label is predicted by itself
            return
        names = getattr(model, "classes_", np.arange(chance.shape[1]))
        mine = chance[np.arange(len(said)), np.searchsorted(names, said)]
        wrong = np.flatnonzero(mine < chance.max(axis=1))
        expect(
            not len(wrong),
            f"predict gives document {wrong[:1]} a class that is not the most probable in predict_proba",
        )


def unfitted_refuses(case: Case) -> None:
    """A model that is not fitted raises NotFittedError."""
    model = case.fresh()
    for method in row_methods(model):
        expect_error(NotFittedError, f"{method} before fit", getattr(model, method), case.corpus)
    expect_error(NotFittedError, "save before fit", file_bytes, model)


def _answer(case: Case, model: Any, method: str, corpus: Any = None) -> Any:
    corpus = case.corpus if corpus is None else corpus
    if method != "score":
        return rows_of(model, method, corpus)
    return model.score(corpus, target_of(model, corpus))


def _distributions(what: str, rows: Any) -> None:
    expect(np.isfinite(rows).all(), f"{what} is not finite")
    expect((rows >= 0).all(), f"{what} has negative entries")
    off = np.abs(rows.sum(axis=-1) - 1.0).max(initial=0.0)
    expect(off < 1e-9, f"rows of {what} must sum to 1, but are off by {off:.2e}")


LAWS = (
    predict_is_pure,
    rows_are_independent,
    order_is_irrelevant,
    input_is_untouched,
    topics_are_distributions,
    predicted_is_most_probable,
    unfitted_refuses,
)
