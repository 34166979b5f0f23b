"""``bayou predict``: topics of new texts and predictions of supervised models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayou.cli import documents, model_file, options, output, predictions
from bayou.cli.predictions import as_decimal

if TYPE_CHECKING:
    from bayou.text_model import TextModel

KNOWN = "known_words"
_SIZE = 1000  # documents per batch


@options.with_groups
def predict(
    model: options.Model,
    file: options.File,
    input: options.NamedInput,
    run: options.Run,
    out: options.Output = "-",
    top: Annotated[
        int | None,
        typer.Option(
            "--top", min=1, metavar="N", help="Write only the N largest shares and classes."
        ),
    ] = None,
) -> None:
    """Predict topics, classes, labels or numbers of new texts; the model does not change.

    Writes one row per document: its id, its largest topic, the share of each
    topic, the share of unknown words and the number of known words. A text
    without known words gets the prior. Topics that come and go (tracker, HDP)
    have permanent numbers, and names if given. The prediction of a supervised
    model comes first: the class or labels with probabilities, or the number
    with its standard deviation.

    Example: bayou predict reviews.bayou new.csv -o topics.csv
    """
    messages = run.messages()
    text_model = model_file.load_text_model(model, run.threads)
    source = input.source(file, documents.texts_only(input.text, input.id), text_model)
    n_docs = n_unknown = 0
    with output.writing(out, [file, model]) as writer:
        for batch in documents.batches(source, _SIZE):
            rows = predict_rows(text_model, batch.texts, top, writer.tabular)
            writer.write([{"id": i} | row for i, row in zip(batch.ids, rows, strict=True)])
            n_docs += len(rows)
            n_unknown += sum(not row[KNOWN] for row in rows)
            messages.detail(f"{n_docs:,} documents")
    if n_unknown:
        messages.info(
            f"{n_unknown:,} of {n_docs:,} documents have no known word ({KNOWN}: 0): their predictions are "
            "those of the prior"
        )


def predict_rows(
    model: TextModel, texts: Iterable[str], top: int | None, tabular: bool
) -> list[dict[str, Any]]:
    """One row per text: predictions first, then topics."""
    corpus, lengths = model._read(texts)
    shares = model.transform(corpus)
    known = corpus.doc_lengths()
    unknown = (lengths - known) / lengths.clip(min=1)
    ids, names = predictions.topic_numbers(model), getattr(model.estimator_, "topic_names_", {})
    out = []
    for d, row in enumerate(predictions.prediction_rows(model, corpus, top, tabular)):
        best = int(shares[d].argmax())
        number = best if ids is None else ids[best]
        row |= {"topic": number, **({"name": names.get(number, "")} if names else {})}
        row |= {
            "share": as_decimal(shares[d, best]),
            "unknown": as_decimal(unknown[d]),
            KNOWN: int(known[d]),
        }
        out.append(row | _topics(shares[d], ids, top, tabular))
    return out


def _topics(shares: Any, ids: list[int] | None, top: int | None, tabular: bool) -> dict[str, Any]:
    """Shares of all topics in order, or of the largest; under permanent numbers where there are any."""
    numbers = range(len(shares)) if ids is None else ids
    if top is None:
        values = [as_decimal(share) for share in shares]
        if tabular:
            return {f"topic_{k}": v for k, v in zip(numbers, values, strict=True)}
        return {
            "topics": values if ids is None else [list(p) for p in zip(ids, values, strict=True)]
        }
    order = (-shares).argsort(kind="stable")[:top]
    pairs = [[numbers[k], as_decimal(shares[k])] for k in order.tolist()]
    if not tabular:
        return {"topics": pairs}
    return {
        key: value
        for i, (k, share) in enumerate(pairs, 1)
        for key, value in ((f"topic_{i}", k), (f"share_{i}", share))
    }
