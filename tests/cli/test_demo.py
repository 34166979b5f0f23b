"""The command line as a user runs it: in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bayou


@pytest.fixture(scope="module")
def cache(documentation: Path) -> Path:
    return documentation


def _run(*args: str, cwd: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bayou", *args],
        cwd=cwd,
        env={**os.environ, "XDG_CACHE_HOME": str(cache), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=600,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_version(tmp_path: Path, cache: Path) -> None:
    done = _run("--version", cwd=tmp_path, cache=cache)
    assert (done.returncode, done.stdout) == (0, f"bayou {bayou.__version__}\n")


def test_help_names_the_verbs(tmp_path: Path, cache: Path) -> None:
    done = _run("--help", cwd=tmp_path, cache=cache)
    assert done.returncode == 0
    assert "demo" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_demo_shows_topics_and_saves_a_model(tmp_path: Path, cache: Path) -> None:
    done = _run("demo", "--topics", "10", "--output", "demo.bayou", cwd=tmp_path, cache=cache)
    assert done.returncode == 0, done.stderr
    for part in ("training documents", "numpy", "scipy.", "perplexity", "demo.bayou"):
        assert part in done.stdout
    assert "Fitting 10 topics" in done.stderr
    assert "Fitting" not in done.stdout
    assert "\x1b" not in done.stdout  # no colours off a terminal
    assert bayou.load(tmp_path / "demo.bayou").components_.shape[0] == 10


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--topics", "1"], "--topics"),
        (["--output", "no/such/folder/x.bayou"], "does not exist"),
        (["--colour"], "No such option"),
    ],
)
def test_wrong_options_are_usage_errors(
    tmp_path: Path, cache: Path, args: list[str], message: str
) -> None:
    done = _run("demo", *args, cwd=tmp_path, cache=cache)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not done.stdout
