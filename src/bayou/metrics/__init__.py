"""Measures of topics and of their predictions: pure functions of arrays."""

from bayou.metrics import multilabel
from bayou.metrics.answers import (
    ClassScore,
    Outcomes,
    class_scores,
    confusion,
    label_measures,
    number_measures,
    outcomes,
)
from bayou.metrics.calibration import (
    ReliabilityBin,
    expected_calibration_error,
    reliability_table,
)
from bayou.metrics.coherence import c_v, npmi
from bayou.metrics.likelihood import (
    RowScores,
    completion_halves,
    document_completion,
    left_to_right,
    log_likelihood_rows,
)
from bayou.metrics.mixtures import matched_l1, moment_regret, recovery_error
from bayou.metrics.progressive import Progress, progressive
from bayou.metrics.topics import diversity, exclusivity, frex, top_terms, topic_distances

__all__ = [
    "ClassScore",
    "Outcomes",
    "Progress",
    "ReliabilityBin",
    "RowScores",
    "c_v",
    "class_scores",
    "completion_halves",
    "confusion",
    "diversity",
    "document_completion",
    "exclusivity",
    "expected_calibration_error",
    "frex",
    "label_measures",
    "left_to_right",
    "log_likelihood_rows",
    "matched_l1",
    "moment_regret",
    "multilabel",
    "npmi",
    "number_measures",
    "outcomes",
    "progressive",
    "recovery_error",
    "reliability_table",
    "top_terms",
    "topic_distances",
]
