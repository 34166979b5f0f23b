"""What estimators share: parameters, files, checks at the door, `fit` and its kin; no mathematics."""
