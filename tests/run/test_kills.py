"""SIGKILL at random moments: the end is that of an undisturbed run, byte for byte."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def killed(folder, *flags):
    words = [sys.executable, "-m", "tests.run.kills", str(folder), *flags]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout


def test_twenty_kills(tmp_path):
    said = killed(tmp_path / "run", "--kills", "20", "--docs", "1600", "--block", "24")
    assert said == "files: 20 kills, 1600 documents: 0 lost, 0 twice, identical\n"


@pytest.mark.slow
def test_two_hundred_kills(tmp_path):
    said = killed(tmp_path / "run", "--kills", "200", "--docs", "12000", "--block", "16")
    assert said.startswith("files: 200 kills")


@pytest.mark.slow
def test_two_hundred_kills_of_the_command_line(tmp_path):
    said = killed(tmp_path / "run", "--kills", "200", "--docs", "20000", "--block", "16", "--real")
    assert said.startswith("files: 200 kills")
