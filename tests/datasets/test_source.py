from pathlib import Path

import pytest

from bayou.datasets.source import docstrings_in, iter_libraries, package_of, public_name


@pytest.mark.parametrize(
    ("path", "name", "package"),
    [
        ("scipy.stats._morestats", "scipy.stats", "scipy.stats"),
        ("scipy.sparse.linalg._isolve.iterative", "scipy.sparse.linalg.iterative", "scipy.sparse"),
        ("numpy._core.fromnumeric", "numpy", "numpy"),
        ("numpy.lib._npyio_impl", "numpy", "numpy"),
        ("numpy.linalg._linalg", "numpy.linalg", "numpy.linalg"),
        ("numpy._core", "numpy", "numpy"),
        ("xml.dom.minidom", "xml.dom.minidom", "xml"),
        ("json", "json", "json"),
    ],
)
def test_public_names(path: str, name: str, package: str) -> None:
    assert public_name(path) == name
    assert package_of(path) == package


def test_every_library_is_found() -> None:
    assert [name for name, _ in iter_libraries()] == ["", "numpy", "scipy", "sklearn"]
    assert all(root.is_dir() for _, root in iter_libraries())


def test_files_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "binary.py").write_bytes(b"\x00\xff")
    (tmp_path / "latin.py").write_bytes(b'# coding: latin-1\n"""Caf\xe9."""\n')
    (tmp_path / "template.py").write_text("{{ not python }} x")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "_private.py").write_text('"""Private in the standard library."""')
    found = {item.name: item.docstring for item in docstrings_in("", tmp_path)}
    assert found == {"latin": "Café."}
    assert list(docstrings_in("", tmp_path / "missing")) == []
