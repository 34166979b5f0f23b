"""Kernels are cached per version of their sources: numba does not notice an edited callee."""

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_KERNELS = Path(__file__).parents[1] / "src" / "bayou" / "kernels"


def _kernel_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted(_KERNELS.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


_CACHE = Path(__file__).parents[1] / ".numba_cache" / _kernel_hash()
os.environ.setdefault("NUMBA_CACHE_DIR", str(_CACHE))
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # else scikit-learn skips one of its checks


# How long an example takes is a matter of the machine and of what else it does.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any")


@pytest.fixture(scope="session")
def documentation(tmp_path_factory):
    """A cache folder for the documentation of the installed libraries: to read it takes ten seconds.

    It begins empty, so that the code of today reads it, and all workers of a session have the same one.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "documentation"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def _one_cache(documentation):
    """All tests, and the processes that they start, read the documentation from that folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(documentation))
        yield


def pytest_configure(config):
    """Name the filter here: in pyproject.toml it would import the package before the lines above."""
    config.addinivalue_line("filterwarnings", "error::bayou.data.FractionalCountsWarning")
