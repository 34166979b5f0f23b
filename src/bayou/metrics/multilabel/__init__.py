"""How well sets of labels are predicted, and how well labels are ranked.

Truth and predictions are matrices of 0 and 1 with a row for each document and a column for each label,
scores are matrices of numbers of the same shape; each may be dense or sparse, and what a sparse matrix does
not store is a zero. Nothing of size documents x labels is made on the way: 20,000 labels are fine.

Where a fraction is 0/0 the answer is a convention, not a fact, and so it is a parameter.
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
    compare_pairs,
)

__all__ = [
    "LabelMean",
    "PairedTest",
    "SetScores",
    "adjust",
    "compare_classifiers",
    "compare_pairs",
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
    "subset_accuracy",
]
