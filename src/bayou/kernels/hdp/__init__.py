"""Kernels: hierarchical Dirichlet processes."""
