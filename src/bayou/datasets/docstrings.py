"""The built-in corpus: the documentation of Python, NumPy, SciPy and scikit-learn.

The text is read from the installed source files, so nothing is shipped or downloaded. It differs
slightly between versions of the libraries: report `versions` with a result.
"""

import gzip
import hashlib
import json
import os
import platform
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, get_args

from bayou.data import Corpus, DataError
from bayou.datasets.prose import n_words, prose
from bayou.datasets.source import SourceDocstring, docstrings_in, iter_libraries

Split = Literal["train", "test"]
Subset = Literal["all", "train", "test"]
Labels = Literal["parameters", "package"]

_FORMAT = 1  # of the cache; increase it when the parsing of source files changes
_DISTRIBUTIONS = ("numpy", "scipy", "scikit-learn")


@dataclass(frozen=True, slots=True)
class Docstring:
    """The documentation of one public function, class, method or module."""

    id: str  # public dotted name
    text: str  # prose, without the sections on parameters, examples and references
    package: str  # the class label: "scipy.stats", "numpy.linalg", "json", ...
    labels: tuple[str, ...]  # names of its parameters

    @property
    def target(self) -> int:
        """The number of parameters."""
        return len(self.labels)

    @property
    def split(self) -> Split:
        """The part of the fixed split: by a hash of the name, one in five is in "test"."""
        digest = hashlib.sha256(self.id.encode()).digest()
        return "test" if int.from_bytes(digest[:8], "big") % 5 == 0 else "train"


def versions() -> dict[str, str]:
    """Return the versions of the libraries whose documentation is read.

    Examples
    --------
    >>> sorted(versions())
    ['numpy', 'python', 'scikit-learn', 'scipy']
    """
    found = {"python": platform.python_version()}
    for name in _DISTRIBUTIONS:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def iter_docstrings(*, min_words: int = 30, cache: bool = True) -> Iterator[Docstring]:
    """Yield the documentation of the installed libraries, one record per documented name.

    No library is imported: source files are parsed. The first call takes some seconds and writes
    the records to the user's cache folder. If that folder is not writable, every call parses again.

    Parameters
    ----------
    min_words : int
        Skip records with fewer words of prose.
    cache : bool
        Read and write the cache. A damaged cache is rebuilt.

    Yields
    ------
    Docstring
        In the order Python, NumPy, SciPy, scikit-learn, by name within each. Names and texts
        are unique.
    """
    if min_words < 0:
        raise DataError(f"min_words must be 0 or more, got {min_words}")
    path = _cache_path() if cache else None
    records = _read_cache(path) if path else None
    if records is None:
        records = _unique(_read_sources())
        if path:
            _write_cache(path, records)
    return (record for record in records if n_words(record.text) >= min_words)


def load_docstrings(
    *,
    subset: Subset = "all",
    labels: Labels = "parameters",
    min_words: int = 30,
    min_df: int = 5,
    max_df: float = 0.2,
    min_label_docs: int = 20,
    cache: bool = True,
) -> Corpus:
    """Load the built-in corpus: the documentation of Python and three libraries.

    Parameters
    ----------
    subset : {"all", "train", "test"}
        The fixed split keeps one name in five for testing. The test part has the vocabulary of
        the training part.
    labels : {"parameters", "package"}
        The labels: the names of a function's parameters (several per document, and strongly
        dependent), or its sub-package (exactly one per document).
    min_words : int
        Skip documents with fewer words.
    min_df, max_df : int, float
        Drop terms in fewer than ``min_df`` documents, or in a larger fraction than ``max_df``.
    min_label_docs : int
        Drop parameter names with fewer documents; sub-packages with fewer documents are merged
        under the name of their library.
    cache : bool
        Cache the parsed documentation in the user's cache folder.

    Returns
    -------
    Corpus
        With labels, the number of parameters as targets, and dotted names as ids.
    """
    _check_choice("subset", subset, get_args(Subset))
    _check_choice("labels", labels, get_args(Labels))
    records = list(iter_docstrings(min_words=min_words, cache=cache))
    if not records:
        raise DataError(
            f"no documentation of {min_words} words or more was found in the source files of "
            "Python and its libraries; use a Python installation that includes source files"
        )
    named = _label_names(records, labels, min_label_docs)

    def corpus(part: Subset, like: Corpus | None = None) -> Corpus:
        chosen = [i for i, record in enumerate(records) if part in ("all", record.split)]
        return Corpus.from_text(
            [records[i].text for i in chosen],
            vocabulary=None if like is None else like.vocabulary,
            min_df=min_df if like is None else 1,
            max_df=max_df if like is None else 1.0,
            stop_words="english",
            labels=[named[i] for i in chosen],
            label_names=sorted({name for names in named for name in names}),
            targets=[float(records[i].target) for i in chosen],
            ids=[records[i].id for i in chosen],
        )

    return corpus("test", like=corpus("train")) if subset == "test" else corpus(subset)


def docstring_records(
    *, subset: Subset = "all", min_words: int = 30, min_label_docs: int = 20, cache: bool = True
) -> Iterator[dict[str, Any]]:
    """Yield the built-in corpus as records, in the form of JSON lines.

    Parameters
    ----------
    subset : {"all", "train", "test"}
    min_words, min_label_docs, cache
        As in `load_docstrings`.

    Yields
    ------
    dict
        ``id``, ``text``, ``package`` (one class), ``parameters`` (a list of labels), ``n_parameters`` (a
        number) and ``split``.
    """
    _check_choice("subset", subset, get_args(Subset))
    records = list(iter_docstrings(min_words=min_words, cache=cache))
    packages = _label_names(records, "package", min_label_docs)
    parameters = _label_names(records, "parameters", min_label_docs)
    for record, (package,), names in zip(records, packages, parameters, strict=True):
        if subset in ("all", record.split):
            yield {
                "id": record.id,
                "text": record.text,
                "package": package,
                "parameters": names,
                "n_parameters": record.target,
                "split": record.split,
            }


def _check_choice(name: str, given: str, choices: Iterable[str]) -> None:
    if given not in choices:
        raise DataError(f"{name} must be one of {', '.join(map(repr, choices))}, got {given!r}")


def _label_names(records: list[Docstring], kind: Labels, min_docs: int) -> list[list[str]]:
    """Return the labels of each record; counts are taken over both parts of the split."""
    if kind == "parameters":
        counts = Counter(name for record in records for name in record.labels)
        return [[name for name in record.labels if counts[name] >= min_docs] for record in records]
    sizes = Counter(record.package for record in records)
    return [
        [record.package if sizes[record.package] >= min_docs else library_of(record.package)]
        for record in records
    ]


def library_of(package: str) -> str:
    """Return the library of a sub-package, "python" for the standard library.

    Examples
    --------
    >>> library_of("scipy.stats"), library_of("json")
    ('scipy', 'python')
    """
    first = package.partition(".")[0]
    return first if first in {"numpy", "scipy", "sklearn"} else "python"


def _read_sources() -> Iterator[SourceDocstring]:
    for library, root in iter_libraries():
        yield from docstrings_in(library, root)


def _unique(found: Iterable[SourceDocstring]) -> list[Docstring]:
    """Keep the first of equal texts; if a public name is already used, take the full path."""
    ids: set[str] = set()
    texts: set[str] = set()
    records = []
    for item in found:
        text = prose(item.docstring)
        name = item.name if item.name not in ids else item.path
        if text and text not in texts and name not in ids:
            texts.add(text)
            ids.add(name)
            labels = tuple(dict.fromkeys(item.parameters))
            records.append(Docstring(name, text, item.package, labels))
    return records


def _cache_path() -> Path | None:
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home folder
        return None
    if sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        folder = home / "Library" / "Caches"
    else:
        folder = home / ".cache"
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if chosen.is_absolute():  # the XDG specification says to ignore a relative path
        folder = chosen
    # The folders are part of the key: two environments may have equal versions, one without sources.
    key = json.dumps([_FORMAT, versions(), [str(root) for _, root in iter_libraries()]])
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return folder / "bayou" / f"docstrings-{digest}.jsonl.gz"


def _write_cache(path: Path, records: list[Docstring]) -> None:
    lines = [json.dumps({"format": _FORMAT, "records": len(records)})]
    lines += [json.dumps([r.id, r.text, r.package, r.labels]) for r in records]
    packed = gzip.compress("\n".join(lines).encode(), mtime=0)
    partial: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            partial = file.name
            file.write(packed)
        os.replace(partial, path)
    except OSError:  # the cache is optional: without it, calls only take longer
        if partial:
            with suppress(OSError):
                os.unlink(partial)


def _read_cache(path: Path) -> list[Docstring] | None:
    """Return the records, or None if the file is missing, damaged or of another format."""
    try:
        head, *lines = gzip.decompress(path.read_bytes()).decode().split("\n")
        records = [_record(*json.loads(line)) for line in lines]
        if json.loads(head) != {"format": _FORMAT, "records": len(records)}:
            return None
    except (OSError, EOFError, zlib.error, ValueError, TypeError, AttributeError):
        return None
    return records


def _record(name: str, text: str, package: str, labels: list[str]) -> Docstring:
    if not all(isinstance(value, str) for value in (name, text, package, *labels)):
        raise TypeError("a record of the cache must hold strings")
    return Docstring(name, text, package, tuple(labels))
