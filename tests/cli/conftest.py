"""Small files of texts, a model of them, and two ways to run a command."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.samples import KEEP_ALL, texts
from typer.testing import CliRunner

from bayou.cli import app


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Run a command in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("BAYOU_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words, input=None, code=0):
        done = CliRunner().invoke(app, [str(word) for word in words], input=input)
        assert done.exit_code == code, (done.exit_code, done.stdout, done.stderr, done.exception)
        assert "Traceback" not in done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """pets.jsonl (with ids and classes), pets.csv, and fitted models of them."""
    folder = tmp_path_factory.mktemp("cli")
    with (folder / "pets.jsonl").open("w") as lines, (folder / "pets.csv").open("w") as table:
        table.write("name,body,class,day\n")
        for i, text in enumerate(texts()):
            kind = "fruit" if i % 2 else "beast"
            lines.write(json.dumps({"id": f"d{i}", "text": text, "label": kind}) + "\n")
            table.write(f"d{i},{text},{kind},2024-01-{i % 28 + 1:02d}\n")
    for name in ("lda", "online-lda"):
        words = ["fit", str(folder / "pets.jsonl"), "-m", name, "-k", "2", *KEEP_ALL]
        done = CliRunner().invoke(app, [*words, "-o", str(folder / f"{name}.bayou")])
        assert done.exit_code == 0, done.stderr
    return folder


def heed_ctrl_c():
    """A job in the background of a shell ignores Ctrl-C, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def process(tmp_path):
    """Run a command in a process of its own, as a user does."""

    def start(*words, **how):
        return subprocess.Popen(
            [sys.executable, "-m", "bayou", *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "80"},
            preexec_fn=heed_ctrl_c if os.name == "posix" else None,  # noqa: PLW1509 - one thread
            **{
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "text": True,
                **how,
            },
        )

    return start


@pytest.fixture
def small(tmp_path):
    """A file of ten documents; give lines to replace."""

    def write(name="small.jsonl", **lines):
        rows = [json.dumps({"text": text}) for text in texts(10)]
        for number, line in lines.items():
            rows[int(number.removeprefix("line")) - 1] = line
        path = Path(tmp_path, name)
        path.write_text("\n".join(rows) + "\n")
        return path

    return write
