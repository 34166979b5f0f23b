"""What the kernels promise about the order of their sums."""

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from bayou import kernels
from bayou.kernels.lda.fold_in import em_rows
from bayou.kernels.token import weigh_into, weigh_rows_into


def fast_functions():
    for path in sorted(Path(inspect.getfile(kernels)).parent.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            marks = getattr(node, "decorator_list", ())
            if any(getattr(getattr(mark, "func", mark), "id", "") == "fast_jit" for mark in marks):
                yield pytest.param(node, id=f"{path.stem}.{node.name}")


def is_loop(node):
    """A loop, or a call of a function that may have one: not abs, max or np.float32."""
    plain = isinstance(node, ast.Call) and (
        isinstance(node.func, ast.Attribute) or node.func.id in ("abs", "max", "min")
    )
    return isinstance(node, ast.For | ast.While | ast.Call) and not plain


def loops(function):
    """Loops without a loop inside."""
    for node in ast.walk(function):
        if isinstance(node, ast.For):
            inside = [inner for part in node.body for inner in ast.walk(part)]
            if not any(map(is_loop, inside)):
                yield inside


@pytest.mark.parametrize("function", list(fast_functions()))
def test_loops_that_sum_write_to_no_array(function):
    """Else the order of the sum depends on where the arrays lie."""
    for inside in loops(function):
        writes = any(
            isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) for node in inside
        )
        sums = any(
            isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) for node in inside
        )
        assert not (writes and sums), f"line {inside[0].lineno}"


@pytest.mark.parametrize("n", [3, 8, 21, 24, 33])
def test_weights_and_their_sum_are_the_same_wherever_they_lie(n):
    rng = np.random.default_rng(n)
    rows, mine, alpha = rng.random((5, n)), rng.random(n), rng.random(n)
    single = [part.astype(np.float32) for part in (rows, mine, alpha)]
    room, wide, seen = np.zeros(1000, np.float32), np.zeros(1000), set()
    for gap in range(n, 600, 4):
        doc, weight = room[:n], room[gap : gap + n]
        doc[:] = single[1]
        one = weigh_rows_into(weight, doc, single[2], single[0], 3)
        doc, weight = wide[:n], wide[gap : gap + n]
        doc[:] = mine
        two = weigh_into(weight, doc, alpha, rows, 3, 0.1, mine, 1.0)
        seen.add((float(one), float(two)))
    assert len(seen) == 1


def test_documents_have_the_same_topics_wherever_they_lie():
    rng = np.random.default_rng(1)
    rows = rng.random((30, 21)).astype(np.float32)
    pairs = np.array([0, 30]), np.arange(30, dtype=np.int32), np.ones(30, np.float32)
    room, seen = np.zeros(4000, np.float32), set()
    for gap in range(0, 2000, 16):
        out, alpha = room[gap : gap + 21][None], room[gap + 24 : gap + 45]
        alpha[:] = 0.1
        em_rows(out, pairs, 0, 1, rows, alpha, 40, np.float32(1e-4))
        seen.add(out.tobytes())
    assert len(seen) == 1


FIT = """
import hashlib, numpy as np
from bayou import LDA
X = np.random.default_rng(0).poisson(0.4, (60, 80))
model = LDA(n_topics=21, random_state=0, n_threads=1).fit(X)
parts = model.components_, model.transform(X)
print(hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest())
"""


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_process_that_compiles_gives_what_one_with_a_cache_gives(tmp_path):
    """The callee of a kernel must not be one function in the first and another in the second."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", FIT], env=env, capture_output=True, text=True, check=True
        )
        said.append(done.stdout)
    assert list(tmp_path.rglob("*.nbi"))
    assert said[0] == said[1]
