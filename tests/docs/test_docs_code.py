"""What the pages show runs: every Python block, those of one page one after the other.

A block that is not meant to run has the line ``<!-- not run -->`` right above it.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
NOT_RUN = "<!-- not run -->"
BLOCK = re.compile(r"(?P<above>[^\n]*)\n```python\n(?P<code>.*?)\n```\s", re.DOTALL)


def _blocks(page: Path) -> list[tuple[int, str]]:
    """The number of its first line, and the code, of each block that is meant to run."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start("code")), match["code"])
        for match in BLOCK.finditer(text)
        if match["above"].strip() != NOT_RUN
    ]


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


WITH_CODE = [page for page in PAGES if _blocks(page)]


def test_the_pages_have_code():
    names = {_name(page) for page in WITH_CODE}
    assert {"README.md", "docs/index.md", "docs/questions/never_ends.md"} <= names
    assert "docs/adding_a_model.md" not in names  # a skeleton, marked as such


@pytest.mark.parametrize("page", WITH_CODE, ids=_name)
def test_code_of_a_page(page, tmp_path, documentation, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(documentation))
    shared = {"__name__": "page"}
    for line, code in _blocks(page):
        # as many empty lines above as in the page, so that a traceback names its lines
        exec(compile("\n" * line + code, str(page), "exec"), shared)
