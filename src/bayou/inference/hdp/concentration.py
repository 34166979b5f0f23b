"""Concentrations of a two-level franchise: b1 of documents and b0 of the root, under Gamma priors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayou.inference.lda.arrays import I64
from bayou.kernels.hdp import tables
from bayou.kernels.rng import ROOT, key

LEAST, MOST = 1e-6, 1e6  # beyond these there is one topic for all tokens, or one for each token
_DOCUMENT, _ROOT = 1, 0  # levels, so that the two draws of a sweep have different keys


class Gamma(NamedTuple):
    """A Gamma prior; mean shape / rate."""

    shape: float = 1.0
    rate: float = 1.0


def draw_document(
    b1: float,
    lengths: I64,
    doc_tables: I64,
    *,
    prior: Gamma,
    seed: int,
    sweep: int,
    discount: float = 0.0,
) -> float:
    """b1 given the number of tokens and tables of each document: exact, in two steps."""
    given = np.asarray(lengths, np.int64), np.asarray(doc_tables, np.int64)
    return float(
        tables.draw_concentration(b1, *given, discount, tuple(prior), seed, sweep, _DOCUMENT)
    )


def draw_root(
    b0: float,
    n_tables: int,
    n_topics: int,
    *,
    prior: Gamma,
    seed: int,
    sweep: int,
    discount: float = 0.0,
) -> float:
    """b0 given the number of tables and topics, where the number of topics is unbounded."""
    given = np.array([n_tables], np.int64), np.array([n_topics], np.int64)
    return float(tables.draw_concentration(b0, *given, discount, tuple(prior), seed, sweep, _ROOT))


def draw_finite_root(b0: float, topic_tables: I64, *, prior: Gamma, seed: int, sweep: int) -> float:
    """b0 where the root is Dir(b0 / K) over a fixed number of topics; ``topic_tables`` is M_k."""
    given = np.asarray(topic_tables, np.int64)
    stream = np.array([key(seed, ROOT, sweep, 0)], np.uint64)
    opened = sum(int(tables.draw_tables(stream, m, b0 / len(given))) for m in given)
    return draw_root(b0, int(given.sum()), opened, prior=prior, seed=seed, sweep=sweep)
