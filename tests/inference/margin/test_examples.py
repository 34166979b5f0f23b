"""Documents with responses: taking, joining, moving columns, and merging equal ones."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from bayou.data import schema
from bayou.data.errors import ModelFileError
from bayou.inference.margin import examples
from bayou.inference.margin.examples import Examples

ROWS = csr_array(
    np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 2.0], [4.0, 0.0, 0.0]])
)
SIGNS = np.array([[1, -1], [-1, -1], [0, 0], [1, -1], [-1, 1]], np.int8)
COSTS = np.array([1.0, 2.0, 1.0, 0.5, 0.0])
GIVEN = examples.examples_of(ROWS, SIGNS, COSTS)


def rows_of(given, n_terms=3):
    return csr_array((given.data, given.indices, given.indptr), (given.n_docs, n_terms)).toarray()


def equal(one, other):
    return all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(one, other, strict=True))


def test_parts_join_to_the_whole():
    first, second = GIVEN.take(np.arange(2)), GIVEN.take(np.arange(2, 5))
    assert equal(first.join(second), GIVEN)
    assert equal(GIVEN.take(np.zeros(0, np.int64)).join(GIVEN), GIVEN)
    backwards = GIVEN.take(np.arange(5)[::-1])
    np.testing.assert_array_equal(rows_of(backwards), ROWS.toarray()[::-1])


def test_columns_move():
    moved = GIVEN.move_terms(np.array([2, 0]), 3)
    np.testing.assert_array_equal(rows_of(moved, 2), ROWS.toarray()[:, [2, 0]])
    np.testing.assert_array_equal(moved.y, SIGNS)


def test_tasks_are_regrouped_with_their_signs():
    found = GIVEN.regroup(np.array([1, 0, 1]), np.array([1.0, -1.0, 1.0]))
    np.testing.assert_array_equal(
        found.y, np.column_stack([SIGNS[:, 1], -SIGNS[:, 0], SIGNS[:, 1]])
    )
    assert found.y.dtype == np.int8


def test_only_documents_with_a_response_and_a_cost_inform():
    np.testing.assert_array_equal(examples.select_informative(GIVEN).costs, [1.0, 2.0, 0.5])
    numbers = examples.examples_of(ROWS, np.array([[1.0], [np.nan], [2.0], [3.0], [4.0]]), COSTS)
    np.testing.assert_array_equal(examples.select_informative(numbers).y, [[1.0], [2.0], [3.0]])


def test_equal_documents_are_one_with_the_sum_of_their_costs():
    merged, content = examples.merge_equal(GIVEN)
    assert merged.n_docs == len(content) == 4
    assert sorted(merged.costs) == [0.0, 1.0, 1.5, 2.0]
    turned, same = examples.merge_equal(GIVEN.take(np.array([3, 4, 0, 2, 1])))
    assert equal(merged, turned)
    np.testing.assert_array_equal(content, same)
    orders = [examples.keyed_order(content, 3, n) for n in range(6)]
    assert len({tuple(order) for order in orders}) > 1


@pytest.mark.parametrize(
    "change",
    [
        {"indices": np.array([0, 2, 1, 2, 0, 3, 0])},
        {"indptr": np.array([0, 2, 2, 4, 6, 9])},
        {"y": np.full((5, 2), np.inf)},
        {"y": np.zeros((4, 2), np.int8)},
        {"costs": np.full(5, -1.0)},
        {"data": np.ones(7, np.float32)},
    ],
)
def test_files_that_do_not_fit_are_refused(change):
    schema.check(GIVEN, {"terms": 3})
    with pytest.raises(ModelFileError):
        schema.check(GIVEN._replace(**change), {"terms": 3})


def test_signs_are_minus_one_zero_and_one():
    assert GIVEN.has_valid_signs
    assert not GIVEN._replace(y=np.full((5, 2), -128, np.int8)).has_valid_signs
    assert Examples.none().n_docs == 0
