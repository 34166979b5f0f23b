"""Measures of topics and of their predictions: pure functions of arrays."""

from bayou.metrics.coherence import c_v, npmi
from bayou.metrics.likelihood import (
    RowScores,
    completion_halves,
    document_completion,
    left_to_right,
    log_likelihood_rows,
)
from bayou.metrics.progressive import Progress, progressive
from bayou.metrics.topics import diversity, exclusivity, frex, top_terms, topic_distances

__all__ = [
    "Progress",
    "RowScores",
    "c_v",
    "completion_halves",
    "diversity",
    "document_completion",
    "exclusivity",
    "frex",
    "left_to_right",
    "log_likelihood_rows",
    "npmi",
    "progressive",
    "top_terms",
    "topic_distances",
]
