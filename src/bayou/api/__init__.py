"""The estimator contract: parameters, input checks, results, streams and files."""
