"""Load a corpus that `list_corpora` has found."""

import re
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bayou.data import Corpus, DataError, Vectorizer, iter_records, read
from bayou.data.lines import Source, read_names
from bayou.data.times import parse_time
from bayou.datasets.folder import CorpusFiles, find_corpus, format_names, plain_name

_DAY_OF_YEAR = re.compile(r"(\d{4})-(?:day-)?(\d{1,3})", re.ASCII)


class _Fields(NamedTuple):
    """Field names of a text record by meaning, as in `bayou.data.read`."""

    label: str | None = None
    target: str | None = None
    time: str | None = None


def load_corpus(
    name: str,
    *,
    folder: Source | None = None,
    split: str = "all",
    vectorizer: Vectorizer | None = None,
    label: str | None = None,
    target: str | None = None,
    time: str | None = None,
) -> Corpus:
    """Load a corpus from a folder of corpora.

    Parameters
    ----------
    name : str
        A name from `list_corpora`.
    folder : path, optional
        Default: the folder in the environment variable ``BAYOU_DATA``.
    split : str
        "train", "test" or another part of the corpus; "all" is every document.
    vectorizer : Vectorizer, optional
        Counts the terms of texts. Default: ``Vectorizer()``. A vectoriser that is not fitted is
        fitted here: on all documents if all are loaded, otherwise on the training part if there
        is one. The test part therefore has the terms of the training part. Not for counts.
    label, target : str, optional
        Fields of texts to use as labels and as targets, as in `bayou.data.read`. The label names
        are the same for all parts.
    time : str, optional
        Field of texts with the date; an empty string ignores dates.

    Returns
    -------
    Corpus

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "pets", "texts.jsonl")
    ...     file.parent.mkdir()
    ...     _ = file.write_text('{"text": "a cat", "labels": ["yes"], "date": "2024-05-31"}')
    ...     load_corpus("pets", folder=folder)
    Corpus(1 documents, 1 terms, 1 tokens, 1 labels, times)
    """
    found = find_corpus(name, folder)
    fields = _Fields(label, target, time)
    if found.form == "text":
        return _load_text(found, split, vectorizer, fields)
    if vectorizer is not None or label is not None or target is not None or time:
        raise DataError(
            f"corpus {name!r} holds counts, not texts; leave out vectorizer, label and target, "
            'and pass no time or ""'
        )
    parts = _choose_files(found, split)
    return _stack_corpora([_load_counts(found, path, dated=time is None) for path in parts])


def _choose_files(found: CorpusFiles, split: str) -> list[Path]:
    if split in found.files:
        return [found.files[split]]
    if split == "all":  # training documents first
        order = sorted(found.files, key=lambda part: (part != "train", part))
        return [found.files[part] for part in order]
    raise _no_such_split(found.name, split, found.files.keys() - {"all"})


def _no_such_split(name: str, split: str, there: Iterable[str]) -> DataError:
    parts = sorted(there)
    what = (
        f"its parts are {format_names(parts)} and 'all'" if parts else 'it has no split; use "all"'
    )
    return DataError(f"corpus {name!r} has no part {split!r}; {what}")


def _load_text(
    found: CorpusFiles, split: str, vectorizer: Vectorizer | None, fields: _Fields
) -> Corpus:
    path = found.files["all"]
    labels, names = _survey(path, fields.label)
    if split != "all" and split not in labels:
        raise _no_such_split(found.name, split, filter(None, labels))
    counter = Vectorizer() if vectorizer is None else vectorizer
    if split not in ("all", "train") and "train" in labels and not hasattr(counter, "vocabulary_"):
        read(path, split="train", vectorizer=counter, label="", target="", time="", id="")
    labelled = any(labels.values()) if split == "all" else labels[split]
    return read(
        path,
        split=None if split == "all" else split,
        vectorizer=counter,
        label_names=names if labelled else None,
        **fields._asdict(),
    )


def _survey(path: Path, label: str | None) -> tuple[dict[str, bool], list[str] | None]:
    """The splits, each with whether it has labels; and the names of all labels."""
    fields = ("labels", "label") if label is None else (label,)
    splits: dict[str, bool] = {}
    names: set[Any] = set()
    for record in iter_records(path, format="jsonl"):
        field = next((field for field in fields if field in record), None)
        split = record.get("split")
        split = split if isinstance(split, str) else ""
        splits[split] = splits.get(split, False) or field is not None
        names.update(_labels(record, field))
    # whole numbers together with names would be read as positions in the list
    plain = bool(names) and all(isinstance(name, str) for name in names)
    return splits, sorted(names) if plain else None


def _labels(record: Mapping[str, Any], field: str | None) -> Iterable[Any]:
    value = record[field] if field else None
    if isinstance(value, str):
        return [value.strip()] if value.strip() else []
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str | int | float)]


def _load_counts(found: CorpusFiles, path: Path, *, dated: bool) -> Corpus:
    form = found.form
    stem = plain_name(path).removeprefix("docword.") if form == "uci" else "txt"
    terms = _beside(path, f"vocab.{stem}")
    if terms is None:
        raise DataError(f"no vocab.{stem} next to {path}; it must name the terms, one per line")
    label_names = _beside(path, "labels.txt") if form == "svmlight" else None
    try:
        corpus = read(path, format=form, vocabulary=terms, label_names=label_names)
    except DataError as error:
        raise DataError(f"{found.name!r} cannot be read as counts of terms: {error}") from None
    if corpus.labels is not None and label_names is None:
        raise DataError(f"no labels.txt next to {path}; it must name the labels, one per line")
    meta = _beside(path, f"{plain_name(path).removesuffix('.svm')}.meta.tsv")
    if meta is None:
        return corpus
    ids, times = _meta(meta, corpus.n_docs, dated=dated)
    return Corpus.from_matrix(
        corpus.counts,
        vocabulary=corpus.vocabulary,
        labels=corpus.labels,
        label_names=corpus.label_names,
        ids=ids,
        times=times,
    )


def _beside(path: Path, name: str) -> Path | None:
    found = (path.with_name(name + suffix) for suffix in ("", ".gz"))
    return next((file for file in found if file.exists()), None)


def _meta(path: Path, n_docs: int, *, dated: bool) -> tuple[list[str], list[Any] | None]:
    """Read the ids of the documents, and their times if ``dated``."""
    rows = [line.split("\t") for line in read_names(path)]
    if len(rows) != n_docs:
        raise DataError(f"{path}: {len(rows)} lines for {n_docs} documents")
    times = []
    for number, row in enumerate(rows, 1):
        if len(row) < 2:
            raise DataError(f"{path}, line {number}: expected an id, a tab and a date")
        try:
            times.append(parse_time(_time(row[1])) if dated else None)
        except DataError as error:
            raise DataError(f'{path}, line {number}: {error}; or pass time=""') from None
    return [row[0] for row in rows], times if dated else None


def _time(text: str) -> str | date:
    """Convert the day of a year (2008-182 or 2008-day-182); return other dates unchanged."""
    match = _DAY_OF_YEAR.fullmatch(text)
    if match is None or not 1 <= int(match[2]) <= 366 or (len(match[2]) < 3 and "day" not in text):
        return text
    return date(int(match[1]), 1, 1) + timedelta(days=int(match[2]) - 1)


def _stack_corpora(parts: list[Corpus]) -> Corpus:
    """Join corpora with the same terms and labels; fields that one of them lacks are dropped."""
    if len(parts) == 1:
        return parts[0]
    labels, times, ids = ([getattr(p, what) for p in parts] for what in ("labels", "times", "ids"))
    labelled = all(part is not None for part in labels)
    return Corpus.from_matrix(
        sp.csr_array(sp.vstack([part.counts for part in parts])),
        vocabulary=parts[0].vocabulary,
        labels=sp.csr_array(sp.vstack(labels)) if labelled else None,
        label_names=parts[0].label_names if labelled else None,
        times=np.concatenate(times) if all(part is not None for part in times) else None,
        ids=[*chain(*ids)] if all(part is not None for part in ids) else None,
    )
