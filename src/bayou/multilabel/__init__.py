"""Several labels per document around any scikit-learn classifier: chains, stacking, threshold rules.

- `SCut`: labels with a score above the label's own threshold.
- `RCut`: the k best labels.
- `ProportionalCut`: each label to its best documents, as often as in training; needs the whole test set.
- `CardinalityRegression`: the best labels, as many as a regression on the document predicts.
- `ThresholdRegression`: labels above the threshold that a regression on the document predicts.
- `OracleCalibrated`, `OracleF1`: each label to its best documents, as many as are right, or best for F1. They
  use test labels and serve as upper bounds.
"""

from bayou.inference.thresholds.oracles import OracleCalibrated, OracleF1
from bayou.inference.thresholds.regression import CardinalityRegression, ThresholdRegression
from bayou.inference.thresholds.rules import ProportionalCut, RCut, SCut
from bayou.multilabel.block_chain import BlockClassifierChain
from bayou.multilabel.chain_ensemble import BlockChainEnsemble
from bayou.multilabel.label_stacking import LabelStacking
from bayou.multilabel.probabilistic_chain import ProbabilisticChain
from bayou.multilabel.thresholded import ThresholdedClassifier

__all__ = [
    "BlockChainEnsemble",
    "BlockClassifierChain",
    "CardinalityRegression",
    "LabelStacking",
    "OracleCalibrated",
    "OracleF1",
    "ProbabilisticChain",
    "ProportionalCut",
    "RCut",
    "SCut",
    "ThresholdRegression",
    "ThresholdedClassifier",
]
