"""Hierarchical Dirichlet processes.

Batch: the Chinese restaurant franchise (`franchise`, `tables`, `concentration`), its initialisation
(`initial_topics`), several chains (`chains`) and averages over kept sweeps (`kept_topics`). Online: global
shares of topics (`root`), mini-batches (`local_step`; truncation-free: `births`), births, deaths and merges
(`merge`), and the document concentration estimated on held-out documents (`held_out_alpha`).
"""
