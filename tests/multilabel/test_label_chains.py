"""Orders of labels: what is looked at, how alike, and the search; against sets of pairs."""

import itertools
import math

import numpy as np
import pytest
from tests.reference import chains as twin

from bayou.multilabel.orders import LabelOrder, draw_order, frequency_order, search, similarity


def chain(order, size=1, inside_out=False):
    return LabelOrder(np.array(order), size, inside_out)


def plain(c):
    return c.order.tolist(), c.block_size, c.inside_out


@pytest.mark.parametrize("inside_out", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 9])
def test_previous_equals_its_twin(size, inside_out):
    c = draw_order(7, (size,), inside_out, 3, 5)
    expected = twin.previous(*plain(c))
    for position, label in enumerate(c.order.tolist()):
        assert c.previous(position).tolist() == sorted(expected[label])
    assert np.concatenate(c.blocks).tolist() == c.order.tolist()
    assert {len(block) for block in c.blocks[:-1]} <= {size}


@pytest.mark.parametrize("inside_out", [False, True])
def test_similarity_equals_its_twin(inside_out):
    drawn = [draw_order(6, (1, 2, 3, 4), inside_out, 0, i) for i in range(12)]
    for a, b in itertools.combinations(drawn, 2):
        assert similarity(a, b) == pytest.approx(twin.similarity(plain(a), plain(b)))
        assert similarity(a, b) == similarity(b, a)
        assert similarity(a, a) == 1.0


@pytest.mark.parametrize(("size", "n_different", "most"), [(2, 90, 0.6), (3, 20, 0.29)])
def test_one_is_for_equivalent_chains_alone(size, n_different, most):
    found = {}
    for order in itertools.permutations(range(6)):
        looks = twin.previous(order, size, False)
        found[tuple(frozenset(looks[y]) for y in range(6))] = order
    assert len(found) == n_different == math.factorial(6) // math.factorial(size) ** (6 // size)
    kinds = [chain(order, size) for order in found.values()]
    values = [similarity(a, b) for a, b in itertools.combinations(kinds[:20], 2)]
    assert max(values) <= most + 0.005
    assert similarity(chain([0, 1, 2, 3], 2), chain([1, 0, 3, 2], 2)) == 1.0


def test_search_keeps_the_limit_and_gives_in():
    found = search(6, 8, (1,), False, 0.6, 50, 0)
    assert len(found) == 6
    assert all(similarity(a, b) <= 0.6 for a, b in itertools.combinations(found, 2))
    again = search(6, 8, (1,), False, 0.6, 50, 0)
    assert all((a.order == b.order).all() for a, b in zip(found, again, strict=True))
    other = search(6, 8, (1,), False, 0.6, 50, 1)
    assert any((a.order != b.order).any() for a, b in zip(found, other, strict=True))
    # two labels have two orders: a third chain must repeat one
    assert len(search(3, 2, (1,), False, 0.99, 2, 0)) == 3
    assert len(search(3, 1, (1, 5), True, 0.0, 0, 0)) == 3


def test_no_chain_is_repeated_before_all_are_there():
    found = search(6, 3, (1,), False, 0.99, 200, 0)
    assert len({tuple(c.order.tolist()) for c in found}) == 6


def test_block_sizes_are_drawn():
    sizes = {c.block_size for c in search(12, 9, (2, 3, 4), False, 0.99, 50, 0)}
    assert sizes == {2, 3, 4}


def test_frequency_order():
    assert frequency_order(np.array([1, 5, 0, 5])).tolist() == [1, 3, 0, 2]
