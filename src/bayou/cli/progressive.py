"""``bayou evaluate --progressive``: every document is predicted before it is learned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bayou.cli import answers, documents, output, stream
from bayou.cli.catalogue import name_of
from bayou.cli.voice import Voice

if TYPE_CHECKING:
    from bayou.metrics import Progress
    from bayou.text_model import TextModel

_DOCUMENTS = 128  # about so many are predicted at a time
_ROWS = 12  # of the table; more are averaged
_LAST = 1000  # documents at the end that are also measured on their own


def check(model: TextModel, path: Path) -> None:
    """Refuse a model that does not predict, or does not learn from a stream."""
    if not (hasattr(model, "partial_fit") and answers.are_learned(model.estimator_)):
        raise typer.BadParameter(
            f"{path} is a {name_of(type(model.estimator_))}; only models that predict and learn from "
            "a stream, such as online-med-lda, are measured along one",
            param_hint="--progressive",
        )


def run(model: TextModel, source: documents.Source, as_json: bool, voice: Voice) -> None:
    """Measure along the stream and print it; the model has learned the documents then."""
    from bayou.metrics import progressive

    learner = _Learner(model)
    before = stream.seen(model)
    found = progressive(learner, learner.batches(source))
    n_docs = stream.seen(model) - before
    voice.say(f"{n_docs:,} documents, each predicted before it was learned")
    names = _names(answers.kind_of(model))
    total = {"documents": n_docs, "documents with answers": int(found.n_docs.sum())}
    measures = {**total, **_measures(found, names)}
    if as_json:
        shown = {name: output.finite(value) for name, value in measures.items()}
        output.print_json({**shown, "stream": _rows(found, names)})
        return
    for name, value in measures.items():
        output.print_measure(name, value)
    _print_stream(found, names)


class _Learner:
    """A model of texts as `progressive` takes it: labels may come that it has not met."""

    def __init__(self, model: TextModel) -> None:
        self._model = model
        self._batch = documents.Batch([], [])
        self._width = 0  # labels known, with those of the batch

    def fit(self, X: Any, y: Any = None) -> Any:
        """Only what is fitted is measured here; scikit-learn asks whether there is such a method."""
        return self._model.fit(X, y)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        return self._model.__sklearn_tags__()

    def batches(self, source: documents.Source) -> Iterator[tuple[list[str], Any]]:
        """The texts and the truth; labels as the columns that the model will have."""
        mini = stream.mini_batch(self._model.estimator_)
        size = max(_DOCUMENTS // mini, 1) * mini  # whole mini-batches, so that few documents wait
        for i, batch in enumerate(documents.batches(source, size)):
            if i == 0:
                stream.check_labelled(batch, source)
            self._batch = batch
            yield batch.texts, self._truth(batch)

    def _truth(self, batch: documents.Batch) -> Any:
        import numpy as np

        inner = self._model.estimator_
        if answers.is_regression(inner):
            missing = np.full(len(batch.texts), np.nan)
            return missing if batch.targets is None else np.array(batch.targets)
        rows = stream.label_rows(inner, batch)
        if not inner.multi_label_:
            y = np.empty(len(rows), object)
            y[:] = [row[0] if row else None for row in rows]
            return y
        every = [*inner.classes_.tolist(), *stream.strange(inner.classes_, rows)]
        place = {label: i for i, label in enumerate(every)}
        self._width = len(every)
        bits = np.zeros((len(rows), len(every)))
        for d, row in enumerate(rows):
            bits[d, [place[label] for label in row]] = 1.0
            if not row:
                bits[d] = np.nan
        return bits

    def predict(self, X: list[str]) -> Any:
        """What the model says, with a no for labels that it has not met."""
        import numpy as np

        said = self._model.predict(X)
        if np.ndim(said) == 2 and self._width > said.shape[1]:
            return np.pad(said, ((0, 0), (0, self._width - said.shape[1])))
        return said

    def partial_fit(self, X: list[str], y: Any) -> None:
        """Learn the batch as it stands in the file."""
        stream.learn(self._model, self._batch)


def _names(kind: str | None) -> dict[str, str]:
    """What the fields of a `Progress` are called for this kind of answers."""
    if kind == "regression":
        return {"accuracy": "R2"}
    if kind == "multi-label":
        return {"f1": "micro-F1", "accuracy": "all labels right"}
    return {"accuracy": "accuracy"}


def _measures(found: Progress, names: dict[str, str]) -> dict[str, float]:
    """Means over the documents of the stream, and over the last of them where it is longer."""
    out = {}
    long = int(found.n_docs.sum()) > _LAST
    for field, name in names.items():
        one = found._replace(accuracy=getattr(found, field))
        out[name] = one.mean()
        if long:
            out[f"{name}, last {_LAST:,}"] = one.mean(_LAST)
    return out


def _rows(found: Progress, names: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "seen": int(found.n_seen[i]),
            "documents": int(found.n_docs[i]),
            **{
                name: output.finite(float(getattr(found, field)[i]))
                for field, name in names.items()
            },
        }
        for i in range(len(found.n_seen))
    ]


def _print_stream(found: Progress, names: dict[str, str]) -> None:
    """The measures along the stream as a table, and as one line of text each."""
    import numpy as np

    from bayou.metrics import Progress

    n = len(found.n_seen)
    heads = "".join(f" {name:>16}" for name in names.values())
    typer.echo(f"\n{'seen before':>11} {'documents':>9}{heads}")
    for part in np.array_split(np.arange(n), min(n, _ROWS)):
        some = Progress(
            found.n_seen[part], found.n_docs[part], found.accuracy[part], found.f1[part]
        )
        cells = [some._replace(accuracy=getattr(some, field)).mean() for field in names]
        shown = "".join(f" {'-' if math.isnan(cell) else f'{cell:.4f}':>16}" for cell in cells)
        typer.echo(f"{some.n_seen[0]:>11,} {some.n_docs.sum():>9,}{shown}")
    for field, name in names.items():
        one = found._replace(accuracy=getattr(found, field))
        values = one.accuracy[np.isfinite(one.accuracy)]
        if len(values):
            typer.echo(f"\n{name}, {values.min():.2f} to {values.max():.2f}\n{one.curve()}")
