"""The corpus depends on the versions installed: ranges and invariants, never exact numbers."""

import gzip
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from bayou.data import DataError
from bayou.datasets import Docstring, docstrings, iter_docstrings, load_docstrings, versions

_MODULE = '''
"""A package about rivers, with enough words in its description to be taken for a document."""

def meander(length, bends=3, *args, depth=1, **kwargs):
    """Lay a river with many bends through the plain.

    Parameters
    ----------
    length : float
        Not prose.

    Examples
    --------
    >>> meander(3)
    """

def _hidden(x):
    """Lay a river that nobody should ever see in the corpus."""

class Delta:
    """A place where a river divides into many arms before the sea."""

    def __init__(self, arms):
        pass

    def silt(self, tonnes):
        """Add silt to every arm of the delta in proportion to its flow."""

def twin():
    """Add silt to every arm of the delta in proportion to its flow."""
'''


@pytest.fixture(scope="module")
def cache(documentation: Path) -> Path:
    return documentation


@pytest.fixture(scope="module")
def records(cache: Path) -> Iterator[list[Docstring]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        yield list(iter_docstrings())


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small library in the place of the real ones, and an empty cache folder."""
    root = tmp_path / "scipy"
    (root / "tests").mkdir(parents=True)
    (root / "__init__.py").write_text('"""Rivers."""')
    (root / "stats").mkdir()
    (root / "stats" / "_flow.py").write_text(_MODULE)
    (root / "tests" / "flow.py").write_text(_MODULE.replace("river", "test"))
    (root / "broken.py").write_text("def (:")
    monkeypatch.setattr(docstrings, "iter_libraries", lambda: iter([("scipy", root)]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return root


def _cache_file(tmp_path: Path) -> Path:
    (path,) = (tmp_path / "cache" / "bayou").iterdir()
    return path


def test_records_of_a_small_library(library: Path) -> None:
    found = {r.id: r for r in iter_docstrings(min_words=5)}
    assert set(found) == {
        "scipy.stats.meander",
        "scipy.stats.Delta",
        "scipy.stats.Delta.silt",
    }
    meander = found["scipy.stats.meander"]
    assert meander.text == "Lay a river with many bends through the plain."
    assert meander.package == "scipy.stats"
    assert meander.labels == ("length", "bends", "depth")
    assert meander.target == 3
    assert found["scipy.stats.Delta"].labels == ("arms",)
    assert found["scipy.stats.Delta.silt"].labels == ("tonnes",)


def test_compiled_functions_are_read_from_add_newdoc(library: Path) -> None:
    (library / "_add_newdocs.py").write_text(
        """
add_newdoc("place", "flood", '''
    flood(x, /)
    --

    Cover the plain with water.

    Parameters
    ----------
    x, y : array
        Where.
    ''')
add_newdoc("place", "River", ("dry", '''Take all the water out again.'''))
add_newdoc("ebb", '''Let the water run off slowly.''')
"""
    )
    found = {r.id: r for r in iter_docstrings(min_words=5, cache=False)}
    assert found["scipy.flood"].text == "Cover the plain with water."
    assert found["scipy.flood"].labels == ("x", "y")
    assert "scipy.River.dry" in found
    assert "scipy.ebb" in found


def test_cache_gives_the_same_records(library: Path, tmp_path: Path) -> None:
    first = list(iter_docstrings(min_words=0))
    (library / "stats" / "_flow.py").unlink()
    assert list(iter_docstrings(min_words=0)) == first
    assert len(list(iter_docstrings(min_words=0, cache=False))) < len(first)
    assert [p.suffix for p in _cache_file(tmp_path).parent.iterdir()] == [".gz"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not gzip",
        gzip.compress(b"not json"),
        gzip.compress(b'{"format": 1, "records": 7}'),
        gzip.compress(b'{"format": 1, "records": 1}\n["a", 2, "c", ["d"]]'),
        gzip.compress(b'{"format": 1, "records": 1}\n["a"]'),
        gzip.compress(b'{"format": 1, "records": 1}\n{"a": 1}'),
        gzip.compress(b"\xff\xfe"),
    ],
    ids=["empty", "foreign", "not json", "too few", "no string", "short", "no list", "no text"],
)
def test_damaged_cache_is_built_again(library: Path, tmp_path: Path, content: bytes) -> None:
    first = list(iter_docstrings(min_words=0))
    path = _cache_file(tmp_path)
    whole = path.read_bytes()
    for damaged in (content, whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        assert list(iter_docstrings(min_words=0)) == first
        assert path.read_bytes() == whole


def test_cache_that_cannot_be_written_is_done_without(library: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert list(iter_docstrings(min_words=5))


def test_whole_corpus(records: list[Docstring]) -> None:
    assert 1_500 < len(records) < 20_000
    assert len({r.id for r in records}) == len(records)
    assert len({r.text for r in records}) == len(records)
    share = Counter(r.split for r in records)["test"] / len(records)
    assert 0.15 < share < 0.25
    packages = Counter(r.package for r in records)
    for name in ("numpy", "numpy.linalg", "scipy.stats", "sklearn.cluster", "asyncio"):
        assert packages[name] >= 5
    labels = Counter(name for r in records for name in r.labels)
    assert {"axis", "dtype", "random_state"} <= {name for name, n in labels.items() if n >= 20}
    assert not {"self", "cls"} & set(labels)


def test_text_is_prose(records: list[Docstring]) -> None:
    for record in records:
        assert ">>>" not in record.text
        assert "\n" not in record.text
        assert "----" not in record.text
        assert ".tests." not in record.id


def test_split_depends_on_the_name_alone() -> None:
    for name in ("scipy.stats.norm", "json.dumps", "numpy.mean"):
        one = Docstring(name, "text", "a", ())
        other = Docstring(name, "other text", "b", ("x",))
        assert one.split == other.split
    assert Docstring("numpy.mean", "", "numpy", ()).split in {"train", "test"}


def test_nothing_is_imported_to_be_read() -> None:
    code = (
        "import sys; from bayou.datasets.source import docstrings_in, iter_libraries;"
        "before = set(sys.modules);"
        "assert all(any(docstrings_in(*found)) for found in iter_libraries());"
        "assert list(docstrings_in(*list(iter_libraries())[-1]));"
        "new = set(sys.modules) - before;"
        "read = {'numpy', 'scipy', 'sklearn', 'abc', 'email'};"
        "print(sorted(m for m in new if m.split('.')[0] in read))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_versions_name_every_library() -> None:
    assert set(versions()) == {"python", "numpy", "scipy", "scikit-learn"}
    assert all(version[0].isdigit() for version in versions().values())


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(DataError, match="min_words must be 0 or more, got -1"):
        iter_docstrings(min_words=-1)
    with pytest.raises(DataError, match="subset must be one of 'all', 'train', 'test'"):
        load_docstrings(subset="dev")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="labels must be one of"):
        load_docstrings(labels="class")  # type: ignore[arg-type]


def test_no_sources_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docstrings, "iter_libraries", lambda: iter([]))
    with pytest.raises(DataError, match="Python installation that includes source files"):
        load_docstrings(cache=False)


def test_load_gives_parts_with_one_vocabulary(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    train = load_docstrings(subset="train")
    test = load_docstrings(subset="test")
    assert list(train.vocabulary) == list(test.vocabulary)
    assert not set(train.ids) & set(test.ids)
    assert train.n_docs > 3 * test.n_docs > 300
    assert len(train.vocabulary) > 1_000
    assert train.label_names == test.label_names
    assert {"axis", "dtype"} <= set(train.label_names)
    by_package = load_docstrings(subset="test", labels="package")
    assert by_package.ids == test.ids
    assert (by_package.labels.sum(axis=1) == 1).all()
