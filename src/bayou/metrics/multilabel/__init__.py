"""Measures of predicted label sets and of label rankings.

Truth and predictions are matrices of 0 and 1 (documents, labels). Scores are matrices of numbers of the same
shape. Each may be dense or sparse. Entries that a sparse matrix does not store are zero. No dense array of
size documents x labels is created, so 20,000 labels are possible.

The value of a fraction 0/0 is a convention. It is therefore a parameter.
"""

from bayou.metrics.multilabel.auc import LabelMean, macro_auc, micro_auc
from bayou.metrics.multilabel.ranking import (
    coverage_error,
    label_ranking_average_precision,
    ndcg_at_k,
    precision_at_k,
    rank_one_error,
)
from bayou.metrics.multilabel.rare import label_propensities, propensity_precision_at_k
from bayou.metrics.multilabel.report import multilabel_report
from bayou.metrics.multilabel.sets import (
    SetScores,
    example_scores,
    hamming_loss,
    macro_scores,
    micro_scores,
    subset_accuracy,
)
from bayou.metrics.multilabel.significance import (
    PairedTest,
    adjust,
    compare_classifiers,
    significance_test,
)

__all__ = [
    "LabelMean",
    "PairedTest",
    "SetScores",
    "adjust",
    "compare_classifiers",
    "coverage_error",
    "example_scores",
    "hamming_loss",
    "label_propensities",
    "label_ranking_average_precision",
    "macro_auc",
    "macro_scores",
    "micro_auc",
    "micro_scores",
    "multilabel_report",
    "ndcg_at_k",
    "precision_at_k",
    "propensity_precision_at_k",
    "rank_one_error",
    "significance_test",
    "subset_accuracy",
]
