"""Kernels: models of documents with several labels."""
