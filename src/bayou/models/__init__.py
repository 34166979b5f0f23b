"""Estimators, one model a file."""
