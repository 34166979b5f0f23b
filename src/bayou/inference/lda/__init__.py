"""Latent Dirichlet allocation.

Arrays and documents (`arrays`, `documents`, `features`), inference under fixed topics (`fold_in`), batch
inference (`em`, `fast`, `schedule`, `clusters`, `sampler`), online inference (`stream`, `hybrid`), Dirichlet
parameters (`prior`), and vocabularies that change (`columns`).
"""
