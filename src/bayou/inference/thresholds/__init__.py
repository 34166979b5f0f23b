"""Rules that convert scores to label sets, fitted to scores and true labels."""

from bayou.inference.thresholds.oracles import OracleCalibrated, OracleF1
from bayou.inference.thresholds.regression import CardinalityRegression, ThresholdRegression
from bayou.inference.thresholds.rules import ProportionalCut, RCut, SCut

__all__ = [
    "CardinalityRegression",
    "OracleCalibrated",
    "OracleF1",
    "ProportionalCut",
    "RCut",
    "SCut",
    "ThresholdRegression",
]
