"""Measures of topics and of their predictions: pure functions of arrays."""

from bayou.metrics import multilabel
from bayou.metrics.coherence import c_v, npmi
from bayou.metrics.likelihood import (
    RowScores,
    completion_halves,
    document_completion,
    left_to_right,
    log_likelihood_rows,
)
from bayou.metrics.topics import diversity, exclusivity, frex, top_terms, topic_distances

__all__ = [
    "RowScores",
    "c_v",
    "completion_halves",
    "diversity",
    "document_completion",
    "exclusivity",
    "frex",
    "left_to_right",
    "log_likelihood_rows",
    "multilabel",
    "npmi",
    "top_terms",
    "topic_distances",
]
