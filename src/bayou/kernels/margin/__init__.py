"""Kernels: max-margin models and linear weights."""
