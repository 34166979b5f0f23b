"""Document features: damped counts, inverse document frequency, unit-length word vectors."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from bayou.inference.lda.arrays import F32

DAMPINGS = ("log", "none", "binary")


def damp_counts(counts: csr_array, tf: str) -> csr_array:
    """Counts n as ceil(ln(1 + n)) ("log": repeated terms count less), min(n, 1) or n."""
    if tf == "none":
        return counts
    data = counts.data
    data = np.ceil(np.log1p(data)) if tf == "log" else np.minimum(data, np.float32(1.0))
    parts = (data.astype(np.float32), counts.indices, counts.indptr)
    return csr_array(parts, shape=counts.shape)


def inverse_frequency(counts: csr_array) -> F32:
    """1 + ln((1 + D) / (1 + df)) of each term."""
    seen = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.asarray(1.0 + np.log((1.0 + counts.shape[0]) / (1.0 + seen)), np.float32)


def unit_words(counts: csr_array, term_weight: F32) -> csr_array:
    """(1 + ln n) x weight of the term, scaled to unit length per document: features for linear models."""
    data = (1.0 + np.log(np.maximum(counts.data, 1e-30))) * term_weight[counts.indices]
    data = np.maximum(data, 0.0)
    docs = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    length = np.sqrt(np.bincount(docs, weights=data * data, minlength=counts.shape[0]))
    data = data / np.where(length > 0, length, 1.0)[docs]
    return csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
