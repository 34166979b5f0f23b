"""The order in memory of the arrays of a record."""

from __future__ import annotations

from typing import Any

import numpy as np


def in_c_order(record: Any) -> Any:
    """The record with every array in C order, as `schema.read` gives it.

    Sums over an array can depend on its order in memory. A state that was saved and read again goes on
    like the state itself only if both have the same order.
    """
    if isinstance(record, np.ndarray):
        return record if record.flags.c_contiguous else np.ascontiguousarray(record)
    if hasattr(record, "_replace"):  # a NamedTuple
        values = record._asdict()
        new = {name: in_c_order(value) for name, value in values.items()}
        if any(new[name] is not value for name, value in values.items()):
            return record._replace(**new)
    return record
