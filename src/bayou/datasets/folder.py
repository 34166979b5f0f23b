"""Corpora in a folder of the user: one sub-folder per corpus, in common formats.

``*.jsonl``                      texts, one JSON object per line: ``text``, and optionally ``id``,
                                 ``labels``, ``target``, ``date`` and ``split``
``train.svm``, ``test.svm``      counts in svmlight form, numbered from 0; a single ``*.svm`` has no split
``vocab.txt``, ``labels.txt``    next to svmlight files: line n, from 0, names term or label n
``train.meta.tsv``               next to ``train.svm``: the id and the date of each line
``docword.X.txt``                counts in UCI form, with the terms in ``vocab.X.txt``

All of them may be compressed with gzip.
"""

import difflib
import os
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from bayou.data import DataError, iter_records
from bayou.data.lines import Source

_VARIABLE = "BAYOU_DATA"


class CorpusFiles(NamedTuple):
    """One corpus of a folder, as `list_corpora` finds it."""

    name: str  # the name for load_corpus
    form: str  # "text", "svmlight" or "uci"
    files: dict[str, Path]  # by split; "all" without a split


def list_corpora(folder: Source | None = None) -> list[CorpusFiles]:
    """List the corpora in a folder.

    Parameters
    ----------
    folder : path, optional
        Default: the folder in the environment variable ``BAYOU_DATA``.

    Returns
    -------
    list of CorpusFiles
        Sorted by name. A sub-folder with several corpora gives names such as ``folder/file``. Files in
        other formats are ignored.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "pets", "texts.jsonl")
    ...     file.parent.mkdir()
    ...     _ = file.write_text('{"text": "a cat"}')
    ...     [(found.name, found.form) for found in list_corpora(folder)]
    [('pets', 'text')]
    """
    root = _root(folder)
    return list(chain.from_iterable(_scan(path) for path in sorted(root.iterdir())))


def _root(folder: Source | None) -> Path:
    given = os.environ.get(_VARIABLE, "") if folder is None else os.fspath(folder)
    if not given:
        raise DataError(
            f"no folder of corpora was given; pass folder=, or set {_VARIABLE} to its path"
        )
    if not Path(given).is_dir():
        source = f"{_VARIABLE} is {given!r}, which" if folder is None else f"{given!r}"
        raise DataError(f"{source} is not a folder; give the folder that holds the corpora")
    return Path(given)


def _scan(folder: Path) -> list[CorpusFiles]:
    """The corpora of one sub-folder."""
    if not folder.is_dir() or folder.name.startswith("."):
        return []
    svm, rest = {}, []
    for path in sorted(folder.iterdir()):
        stem = plain_name(path)
        if stem.endswith(".svm"):
            svm[stem.removesuffix(".svm")] = path
        elif stem.startswith("docword.") and stem.endswith(".txt"):
            rest.append((stem.removeprefix("docword.").removesuffix(".txt"), "uci", {"all": path}))
        elif stem.endswith(".jsonl") and _holds_texts(path):
            rest.append((stem.removesuffix(".jsonl"), "text", {"all": path}))
    if len(svm) == 1 and not svm.keys() & {"train", "test"}:
        svm = {"all": next(iter(svm.values()))}
    found = ([("svm", "svmlight", svm)] if svm else []) + rest
    alone = len(found) == 1
    return [
        CorpusFiles(folder.name if alone else f"{folder.name}/{part}", form, files)
        for part, form, files in found
    ]


def plain_name(path: Path) -> str:
    """The name of a file without the suffix .gz."""
    return path.name.removesuffix(".gz")


def _holds_texts(path: Path) -> bool:
    """Whether the first record has a text; label names and other data may be JSON lines too."""
    try:
        return "text" in next(iter_records(path, format="jsonl"), {})
    except (DataError, OSError):
        return True  # loading will report the error


def find_corpus(name: str, folder: Source | None) -> CorpusFiles:
    """The corpus of that name; the error for an unknown name lists the known ones."""
    if not isinstance(name, str) or not name:
        raise DataError(f"the name of a corpus must be a string, got {name!r:.80}")
    known = list_corpora(folder)
    names = [found.name for found in known]
    if name in names:
        return known[names.index(name)]
    parts = [other for other in names if other.startswith(f"{name}/")]
    if parts:
        raise DataError(f"{name!r} holds several corpora; load one of {format_names(parts)}")
    close = difflib.get_close_matches(name, names)
    hint = f"did you mean {format_names(close)}?" if close else f"there are: {format_names(names)}"
    raise DataError(f"no corpus {name!r} in {str(_root(folder))!r}; {hint}")


def format_names(names: Iterable[str]) -> str:
    """A list of names for a message."""
    return ", ".join(map(repr, names)) or "none"
