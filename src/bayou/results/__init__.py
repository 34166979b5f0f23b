"""Results of training: immutable values for prediction, metrics and reports."""
