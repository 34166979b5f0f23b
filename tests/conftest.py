"""Kernels are cached per version of their sources: numba does not notice an edited callee."""

import hashlib
import os
from pathlib import Path

_KERNELS = Path(__file__).parents[1] / "src" / "bayou" / "kernels"


def _kernel_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted(_KERNELS.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


_CACHE = Path(__file__).parents[1] / ".numba_cache" / _kernel_hash()
os.environ.setdefault("NUMBA_CACHE_DIR", str(_CACHE))
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # else scikit-learn skips one of its checks


def pytest_configure(config):
    """Name the filter here: in pyproject.toml it would import the package before the lines above."""
    config.addinivalue_line("filterwarnings", "error::bayou.data.FractionalCountsWarning")
