"""scikit-learn checks that a model cannot pass, each with the reason."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import is_classifier
from sklearn.utils import get_tags

NEGATIVE = (
    "the check fits negative numbers, and topic models take counts; it passes on absolute values"
)
WEIGHTS = "a weight above 0 is a factor on the cost of a document's labels; its words count once"
COLUMNS = "`predict_proba` has one column per topic, and the check expects four; it passes with `n_topics=4`"
_CLASSES = 4  # in the y of the sparse checks


def expected_failures(estimator: Any) -> dict[str, str]:
    """Names of the scikit-learn checks that a bayou estimator cannot pass, with the reasons.

    Examples
    --------
    >>> from bayou import LDA, LabeledLDA
    >>> expected_failures(LDA()), list(expected_failures(LabeledLDA()))
    ({}, ['check_decision_proba_consistency'])

    Pass it on to scikit-learn:

    >>> from sklearn.utils.estimator_checks import check_estimator
    >>> model = LDA(n_topics=2, n_sweeps=2)
    >>> found = check_estimator(model, expected_failed_checks=expected_failures(model))
    """
    out: dict[str, str] = {}
    counts = get_tags(estimator).input_tags.positive_only
    scores = hasattr(estimator, "decision_function") and hasattr(estimator, "predict_proba")
    if counts and scores:
        out["check_decision_proba_consistency"] = NEGATIVE
    if counts and "sample_weight" in inspect.signature(estimator.fit).parameters:
        for kind in ("dense", "sparse"):
            out[f"check_sample_weight_equivalence_on_{kind}_data"] = WEIGHTS
    mixture = hasattr(estimator, "predict_proba") and not is_classifier(estimator)
    if mixture and estimator.n_topics != _CLASSES:
        for kind in ("array", "matrix"):
            out[f"check_estimator_sparse_{kind}"] = COLUMNS
    return out
