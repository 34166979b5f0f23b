"""A sparse matrix whose indexes point outside it is refused at every entry point, in every format."""

import numpy as np
import pytest
import scipy.sparse as sp

import bayou
from bayou.data import DataError, supervision
from bayou.data.counts import as_counts
from bayou.metrics.multilabel.inputs import read_indicator
from bayou.registry import MODELS, find_class

WRONG = (50_000_000, -50_000_000, -1, 4)


def broken(form, value, dtype=np.float64):
    matrix = sp.random_array((6, 4), density=0.8, format=form, rng=np.random.default_rng(0)).astype(
        dtype
    )
    matrix.data[:] = 1
    if form == "coo":
        places = matrix.coords[1].copy()
        places[3] = value
        matrix.coords = (matrix.coords[0], places)
    else:
        matrix.indices[3] = value if form == "csr" or value != 4 else 6
    return matrix


def broken_ends():
    matrix = sp.csr_array(np.eye(6, 4))
    matrix.indptr[3] = 10**6
    return matrix


@pytest.mark.parametrize("value", WRONG)
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_counts_labels_and_targets(form, value):
    for read in (
        as_counts,
        lambda X: bayou.Corpus.from_matrix(np.ones((6, 2)), labels=X),
        lambda X: supervision.read_labels(X, 6),
        lambda X: supervision.read_targets(X, 6),
        lambda X: read_indicator("truth", X),
    ):
        with pytest.raises(DataError, match="not a valid sparse matrix"):
            read(broken(form, value))


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model(name):
    kind = find_class(name)
    if not hasattr(kind, "check_params"):
        pytest.skip("a wrapper, which hands X to its estimator")
    for matrix in (
        broken("csr", 50_000_000),
        broken("csr", -50_000_000),
        broken("csc", -7),
        broken_ends(),
    ):
        with pytest.raises((DataError, ValueError), match="sparse matrix"):
            kind().fit(matrix, np.array([0.0, 1, 0, 1, 0, 1]))
