"""From scores to sets of labels: rules that are fitted to scores and truth, and a classifier that uses one.

- `SCut`: labels with a score above the label's own threshold.
- `RCut`: the k best labels.
- `ProportionalCut`: each label to its best documents, as often as in training; needs the whole batch.
- `CardinalityRegression`: the best labels, as many as a regression on the document says.
- `ThresholdRegression`: labels above the threshold that a regression on the document says.
- `OracleCalibrated`, `OracleF1`: each label to its best documents, as many as right or best. They look at
  test labels, for comparison alone: nothing they reach can be reached without the answers.
"""

from bayou.thresholds.classifier import ThresholdedClassifier
from bayou.thresholds.oracles import OracleCalibrated, OracleF1
from bayou.thresholds.regression import CardinalityRegression, ThresholdRegression
from bayou.thresholds.rules import ProportionalCut, RCut, SCut

__all__ = [
    "CardinalityRegression",
    "OracleCalibrated",
    "OracleF1",
    "ProportionalCut",
    "RCut",
    "SCut",
    "ThresholdRegression",
    "ThresholdedClassifier",
]
