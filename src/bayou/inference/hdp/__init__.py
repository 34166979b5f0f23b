"""Hierarchical Dirichlet processes.

Batch: the Chinese restaurant franchise (`franchise`, `tables`, `concentration`) and its initialisation
(`first_draws`). Online: global shares of topics (`root`), merging (`merge`), truncation-free mini-batches
(`births`), and the document concentration judged on documents kept out (`kept_out`).
"""
