"""``bayou predict``: the topics of new texts and, of a supervised model, its answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayou.cli import answers, documents, model_file, options, output, remembered
from bayou.cli.answers import short
from bayou.cli.voice import Voice

if TYPE_CHECKING:
    from bayou.text_model import TextModel

KNOWN = "known_words"
_SIZE = 1000  # documents that are worked on at a time


def predict(
    model: options.Model,
    file: options.File,
    out: options.Output = "-",
    top: Annotated[
        int | None,
        typer.Option("--top", min=1, metavar="N", help="Only the N largest shares and classes."),
    ] = None,
    text: options.TextAgain = None,
    id: options.Id = None,
    format: options.Format = None,
    encoding_errors: options.EncodingErrors = "strict",
    max_line_bytes: options.MaxLineBytes = documents.MAX_LINE,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Say which topics new texts are about; the model does not change.

    Gives a row for each document: its id, its largest topic, the share of each
    topic, the share of its words that the model does not know, and how many it
    knows: of a text with none, only what is common is told. Topics that come and
    go (of a tracker, of an HDP) have permanent numbers, and names if given. A
    supervised model's prediction comes first: the class or labels with
    probabilities, or the number with its standard deviation.

    Example: bayou predict reviews.bayou new.csv -o topics.csv
    """
    voice = Voice(quiet, verbose)
    learned = model_file.load_text_model(model, threads)
    columns = documents.texts_only(text, id)
    source = documents.Source(file, columns, format, encoding_errors, max_line_bytes)
    source = remembered.beside(learned, source, text)
    n_docs = n_strange = 0
    with output.writing(out, [file, model]) as writer:
        for batch in documents.batches(source, _SIZE):
            said = _rows(learned, batch, top, writer.tabular)
            writer.write(said)
            n_docs += len(said)
            n_strange += sum(not row[KNOWN] for row in said)
            voice.detail(f"{n_docs:,} documents")
    if n_strange:
        voice.say(
            f"{n_strange:,} of {n_docs:,} documents have no word that the model knows ({KNOWN}: 0): "
            "what is said of them is what is most common"
        )


def _rows(
    model: TextModel, batch: documents.Batch, top: int | None, tabular: bool
) -> list[dict[str, Any]]:
    said = rows(model, batch.texts, top, tabular)
    return [{"id": name} | row for name, row in zip(batch.ids, said, strict=True)]


def rows(
    model: TextModel, texts: Iterable[str], top: int | None, tabular: bool
) -> list[dict[str, Any]]:
    """What is said of each text: answers first, then topics."""
    corpus, lengths = model._read(texts)
    shares = model.transform(corpus)
    known = corpus.doc_lengths()
    unknown = (lengths - known) / lengths.clip(min=1)
    ids, names = answers.topic_numbers(model), getattr(model.estimator_, "topic_names_", {})
    made = []
    for d, row in enumerate(answers.predicted(model, corpus, top, tabular)):
        best = int(shares[d].argmax())
        number = best if ids is None else ids[best]
        row |= {"topic": number, **({"name": names.get(number, "")} if names else {})}
        row |= {"share": short(shares[d, best]), "unknown": short(unknown[d]), KNOWN: int(known[d])}
        made.append(row | _topics(shares[d], ids, top, tabular))
    return made


def _topics(shares: Any, ids: list[int] | None, top: int | None, tabular: bool) -> dict[str, Any]:
    """Shares of all topics in order, or of the largest; topics that have permanent numbers by those."""
    numbers = range(len(shares)) if ids is None else ids
    if top is None:
        values = [short(share) for share in shares]
        if tabular:
            return {f"topic_{k}": v for k, v in zip(numbers, values, strict=True)}
        return {
            "topics": values if ids is None else [list(p) for p in zip(ids, values, strict=True)]
        }
    order = (-shares).argsort(kind="stable")[:top]
    pairs = [[numbers[k], short(shares[k])] for k in order.tolist()]
    if not tabular:
        return {"topics": pairs}
    return {
        key: value
        for i, (k, share) in enumerate(pairs, 1)
        for key, value in ((f"topic_{i}", k), (f"share_{i}", share))
    }
