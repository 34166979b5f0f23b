"""What the sources cite is in the bibliography, under the same key, once."""

import ast
import re
from collections import Counter
from pathlib import Path

import bayou

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
CITED = re.compile(r"\[([A-Z][A-Za-z]+\d\d[a-z]?)\]")
DEFINED = re.compile(r"^\[([A-Z][A-Za-z]+\d\d[a-z]?)\] ([A-Z][A-Za-z-]+)", re.MULTILINE)
ENTRY = re.compile(r"^@\w+\{(\w+),(.*?)^\}", re.MULTILINE | re.DOTALL)

BIB = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")


def _docstrings(path):
    """Module docstring first, then those of classes and functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""


def test_every_citation_is_in_the_bibliography():
    keys = {key for key, _ in ENTRY.findall(BIB)}
    cited = {key for path in SOURCES for key in CITED.findall(path.read_text(encoding="utf-8"))}
    assert len(cited) > 15
    assert cited <= keys, f"missing from docs/references.bib: {sorted(cited - keys)}"


def test_every_citation_is_spelled_out_in_the_file_that_makes_it():
    for path in SOURCES:
        cited = set(CITED.findall(path.read_text(encoding="utf-8")))
        spelled = {key for doc in _docstrings(path) for key, _ in DEFINED.findall(doc)}
        assert cited == spelled, f"{path.name}: {sorted(cited ^ spelled)}"


def test_keys_name_the_first_author_and_the_year():
    entries = ENTRY.findall(BIB)
    assert len(entries) == BIB.count("\n@") + 1
    assert max(Counter(key for key, _ in entries).values()) == 1
    titles = Counter(re.search(r"title\s*= \{(.*)\}", body)[1].lower() for _, body in entries)
    assert max(titles.values()) == 1
    for key, body in entries:
        year = re.search(r"year\s*= \{(\d+)\}", body)[1]
        assert key.rstrip("abc").endswith(year[2:]), key
        author = re.search(r"author\s*= \{(.*)", body)[1].replace('{\\"o}', "oe")
        assert author.startswith(re.match(r"[A-Z][a-z]+", key)[0]), key


def test_the_version_to_cite_is_the_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", text, re.MULTILINE)[1] == bayou.__version__
