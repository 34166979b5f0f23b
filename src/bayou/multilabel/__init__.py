"""Several labels per document around any scikit-learn classifier: block chains, ensembles, threshold rules.

- `SCut`: labels with a score above the label's own threshold.
- `RCut`: the k best labels.
- `ProportionalCut`: each label to its best documents, as often as in training; needs the whole batch.
- `CardinalityRegression`: the best labels, as many as a regression on the document says.
- `ThresholdRegression`: labels above the threshold that a regression on the document says.
- `OracleCalibrated`, `OracleF1`: each label to its best documents, as many as right or best. They look at
  test labels, for comparison alone: nothing they reach can be reached without the answers.
"""

from bayou.inference.thresholds.oracles import OracleCalibrated, OracleF1
from bayou.inference.thresholds.regression import CardinalityRegression, ThresholdRegression
from bayou.inference.thresholds.rules import ProportionalCut, RCut, SCut
from bayou.multilabel.block_chain import BlockChainEnsemble, BlockClassifierChain
from bayou.multilabel.thresholded import ThresholdedClassifier

__all__ = [
    "BlockChainEnsemble",
    "BlockClassifierChain",
    "CardinalityRegression",
    "OracleCalibrated",
    "OracleF1",
    "ProportionalCut",
    "RCut",
    "SCut",
    "ThresholdRegression",
    "ThresholdedClassifier",
]
