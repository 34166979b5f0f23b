"""Laws of supervised models: labels shape the topics, and prediction intervals hold new targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import get_tags

from bayou.data.corpus import Corpus
from bayou.data.synthetic import sample_lda
from bayou.testing.cases import SEED, Case, expect, partial_fit, target_of

_CHANGE = 1e-4  # least change of a term's probability in a topic that is not rounding
_N_TRAIN, _N_TEST = 300, 400  # documents of `intervals_cover`
# Least and largest shares of covered targets per level. Binomial deviations are 0.025 and 0.015. The upper
# bounds are loose, because a stream measures its noise on predictions of an earlier, weaker model too.
_COVERED = {0.5: (0.4, 0.85), 0.9: (0.8, 1.0)}


def labels_shape_topics(case: Case) -> None:
    """Labels that are dealt out to other documents give other topics, by `fit` and by `partial_fit`.

    Otherwise the model is a topic model beside a classifier, and its topics explain no label. A stream gets
    the documents twice, because a first mini-batch may be read before there are weights.
    """
    y = target_of(case.model, case.corpus)
    if y is None or not hasattr(type(case.model), "components_"):
        return
    order = np.random.default_rng(SEED).permutation(case.corpus.n_docs)
    ways = ["fit", *(["partial_fit"] if hasattr(case.model, "partial_fit") else [])]
    for way in ways:
        one, other = (_topics(case, way, target) for target in (y, y[order]))
        same_shape = one.shape == other.shape
        moved = np.abs(one - other).max() if same_shape else np.inf
        expect(moved > _CHANGE, f"permuted labels leave the topics of {way} as they are")


def _topics(case: Case, way: str, y: Any) -> Any:
    """The topics learned from these targets."""
    if way == "fit":
        return case.fresh().fit(case.corpus, y).components_
    model = partial_fit(case.fresh(), case.corpus, y)
    return partial_fit(model, case.corpus, y).components_


def _numbers(seed: int) -> tuple[Corpus, Any]:
    """Documents of three topics and numbers near 1000 that depend on the topics, with noise."""
    n_docs = _N_TRAIN + _N_TEST
    corpus, truth = sample_lda(n_docs, 3, 60, doc_length=30, alpha=0.3, beta=0.1, seed=seed)
    noise = np.random.default_rng(seed).normal(0.0, 20.0, n_docs)
    return corpus, 1000.0 + truth.doc_topics @ np.array([-60.0, 0.0, 90.0]) + noise


def intervals_cover(case: Case) -> None:
    """Prediction intervals hold about the stated share of new targets, whose scale is far from 1."""
    if get_tags(case.model).estimator_type != "regressor":
        return
    if not hasattr(case.model, "predict_interval"):
        return
    corpus, y = _numbers(SEED)
    model = case.fresh().fit(corpus[:_N_TRAIN], y[:_N_TRAIN])
    new, truth = corpus[_N_TRAIN:], y[_N_TRAIN:]
    for level, (least, most) in _COVERED.items():
        low, high = model.predict_interval(new, level=level)
        covered = float(((low <= truth) & (truth <= high)).mean())
        expect(
            least <= covered <= most,
            f"intervals of level {level} hold {covered:.2f} of new targets",
        )


LAWS = (labels_shape_topics, intervals_cover)
