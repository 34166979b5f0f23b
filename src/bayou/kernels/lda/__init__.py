"""Kernels: latent Dirichlet allocation and inference under fixed topics."""
