"""Max-margin models: topics and linear weights learned together, and linear weights alone.

Batch: Gibbs and light sweeps (`gibbs`), several chains (`chains`), chains with an unknown number of
topics (`growing`, `growth`, `first_pass`), weights refitted after the chain (`refit`, `calibration`).
Online: mini-batches (`batch`, `rounds`, `online`, `stream_growth`, `online_refit`). Linear models
without topics: `passive_aggressive`.
"""
