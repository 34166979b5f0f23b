"""Kernels: moments and mixtures of multinomials."""
