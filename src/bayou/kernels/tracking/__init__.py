"""Kernels: topics through time."""
