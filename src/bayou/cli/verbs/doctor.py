"""``bayou doctor``: checks the installation."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import typer

import bayou
from bayou.cli import options, output
from bayou.cli.shell import DATA
from bayou.cli.terminal import echo
from bayou.data.errors import reason_of

_CORE = ("numpy", "scipy", "scikit-learn", "numba", "safetensors", "typer", "rich")
_EXTRAS = {  # extra: the modules it brings
    "frames": ("pandas", "polars", "pyarrow"),
    "languages": ("stopwordsiso",),
    "report": ("jinja2",),
    "redis": ("redis",),
    "kafka": ("confluent_kafka",),
    "sql": ("sqlalchemy", "psycopg"),
}


class Finding(NamedTuple):
    """One line of the diagnosis; ``ok`` is None where something optional is missing."""

    what: str
    ok: bool | None
    found: str


def doctor(as_json: options.AsJson = False) -> None:
    """Check versions, the folders for compiled code, threads and optional packages.

    Exits with code 1 if something that bayou needs does not work.
    """
    findings = list(_findings())
    for finding in findings:
        if as_json:
            output.print_json(finding._asdict())
        else:
            mark = {True: "ok", False: "BAD", None: "-"}[finding.ok]
            echo(f"{mark:<4}{finding.what:<22} {finding.found}")
    if any(finding.ok is False for finding in findings):
        raise typer.Exit(DATA)


def _findings() -> Iterator[Finding]:
    from importlib.metadata import version

    from bayou.run.shards import resolve_threads

    yield Finding("bayou", True, bayou.__version__)
    yield Finding(
        "python", sys.version_info >= (3, 11), f"{platform.python_version()}, {sys.platform}"
    )
    for name in _CORE:
        yield Finding(name, True, version(name))
    yield Finding(
        "threads", True, f"{resolve_threads(None)} usable, {os.cpu_count()} in the machine"
    )
    yield _compiled_folder()
    yield _folder("temporary files", Path(tempfile.gettempdir()))
    yield _trial()
    for extra, modules in _EXTRAS.items():
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        if missing:
            yield Finding(
                extra, None, f"without {', '.join(missing)}: pip install 'bayou[{extra}]'"
            )
        else:
            yield Finding(extra, True, ", ".join(modules))


def _compiled_folder() -> Finding:
    """Folder of compiled code: NUMBA_CACHE_DIR, next to the sources, or the user's cache."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    beside = Path(bayou.__file__).parent / "kernels" / "__pycache__"
    if named:
        return _folder("compiled code", Path(named))
    if os.access(beside if beside.is_dir() else beside.parent, os.W_OK):
        return _folder("compiled code", beside)
    return _folder("compiled code", Path.home() / ".cache" / "numba")


def _folder(what: str, folder: Path) -> Finding:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return Finding(what, True, f"{folder} is writable")
    except OSError as error:
        reason = reason_of(error)
        return Finding(what, False, f"{folder}: {reason}; set NUMBA_CACHE_DIR to a writable folder")


def _trial() -> Finding:
    """Fit a small model; the first time this compiles the inner loops."""
    from bayou.data.synthetic import sample_lda

    corpus, _ = sample_lda(n_docs=50, n_topics=2, n_terms=20, seed=0)
    begun = time.monotonic()
    try:
        bayou.LDA(n_topics=2, random_state=0).fit(corpus)
    except Exception as error:
        return Finding("a trial fit", False, f"{type(error).__name__}: {error}")
    return Finding("a trial fit", True, f"{time.monotonic() - begun:.1f} s")
