"""Hashes of everything that a model saves and answers, to compare two versions of the code."""
