"""``bayou evaluate --progressive``: every document is predicted before it is learned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bayou.cli import documents, output, predictions
from bayou.cli.catalogue import name_of
from bayou.cli.messages import Messages
from bayou.cli.streams.learner import Learner, check_labelled
from bayou.cli.terminal import echo

if TYPE_CHECKING:
    from bayou.metrics import Progress
    from bayou.text_model import TextModel

_DOCUMENTS = 128  # predicted at a time, about
_ROWS = 12  # of the table; more are averaged
_LAST = 1000  # documents at the end that are also measured separately


def check(model: TextModel, path: Path) -> None:
    """Refuse a model that does not predict or is not a streaming model."""
    if not (hasattr(model, "partial_fit") and predictions.is_supervised(model.estimator_)):
        raise typer.BadParameter(
            f"{path} is a {name_of(type(model.estimator_))}; give a streaming model that predicts, such as "
            "online-med-lda",
            param_hint="--progressive",
        )


def run(
    learner: Learner, source: documents.Source, as_json: bool, out: Path | None, messages: Messages
) -> None:
    """Measure along the stream, print it, and save the model that has learned the documents."""
    from bayou.metrics import progressive

    adapter, before = _Adapter(learner), learner.n_seen
    found = progressive(adapter, adapter.batches(source))
    n_docs = learner.n_seen - before
    messages.info(f"{n_docs:,} documents, each predicted before it was learned")
    names = _names(predictions.kind_of(learner.model))
    total = {"documents": n_docs, "documents with answers": int(found.n_docs.sum())}
    measures = {**total, **_measures(found, names)}
    if as_json:
        shown = {name: output.finite_or_none(value) for name, value in measures.items()}
        output.print_json({**shown, "stream": _rows(found, names)})
    else:
        for name, value in measures.items():
            output.print_measure(name, value)
        _print_stream(found, names)
    if out is not None:
        learner.model.save(out)
        messages.info(f"Saved to {out}")


class _Adapter:
    """A learner as an estimator for `bayou.metrics.progressive`; new labels may come."""

    def __init__(self, learner: Learner) -> None:
        self._learner, self._model = learner, learner.model
        self._batch = documents.Batch([], [])
        self._width = 0  # known labels, with those of the batch

    def fit(self, X: Any, y: Any = None) -> Any:
        """Not called: scikit-learn asks whether there is such a method."""
        return self._model.fit(X, y)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        return self._model.__sklearn_tags__()

    def batches(self, source: documents.Source) -> Iterator[tuple[list[str], Any]]:
        """The texts and the truth; labels as the columns that the model will have."""
        mini = self._learner.mini_batch
        size = max(_DOCUMENTS // mini, 1) * mini  # whole mini-batches, so that few documents wait
        for batch in check_labelled(documents.batches(source, size), source):
            self._batch = batch
            yield batch.texts, self._truth(batch)

    def _truth(self, batch: documents.Batch) -> Any:
        import numpy as np

        inner = self._model.estimator_
        if predictions.is_regression(inner):
            missing = np.full(len(batch.texts), np.nan)
            return missing if batch.targets is None else np.array(batch.targets)
        rows = self._learner.labels_of(batch)
        if not inner.multi_label_:
            y = np.empty(len(rows), object)
            y[:] = [row[0] if row else None for row in rows]
            return y
        every = [*inner.classes_.tolist(), *self._learner.new_labels(rows)]
        place = {label: i for i, label in enumerate(every)}
        self._width = len(every)
        bits = np.zeros((len(rows), len(every)))
        for d, row in enumerate(rows):
            bits[d, [place[label] for label in row]] = 1.0
            if not row:
                bits[d] = np.nan
        return bits

    def predict(self, X: list[str]) -> Any:
        """Predictions of the model, negative for labels that it does not know."""
        import numpy as np

        found = self._model.predict(X)
        if np.ndim(found) == 2 and self._width > found.shape[1]:
            return np.pad(found, ((0, 0), (0, self._width - found.shape[1])))
        return found

    def partial_fit(self, X: list[str], y: Any) -> None:
        """Learn the batch as it is in the file."""
        self._learner.learn_batch(self._batch)


def _names(kind: str | None) -> dict[str, str]:
    """Names of the fields of a `Progress` for this kind of prediction."""
    if kind == "regression":
        return {"accuracy": "R2"}
    if kind == "multi-label":
        return {"f1": "micro-F1", "accuracy": "all labels right"}
    return {"accuracy": "accuracy"}


def _measures(found: Progress, names: dict[str, str]) -> dict[str, float]:
    """Means over the documents of the stream, and over the last 1,000 of a longer one."""
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
                name: output.finite_or_none(float(getattr(found, field)[i]))
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
    echo(f"\n{'seen before':>11} {'documents':>9}{heads}")
    for part in np.array_split(np.arange(n), min(n, _ROWS)):
        some = Progress(
            found.n_seen[part], found.n_docs[part], found.accuracy[part], found.f1[part]
        )
        cells = [some._replace(accuracy=getattr(some, field)).mean() for field in names]
        shown = "".join(f" {'-' if math.isnan(cell) else f'{cell:.4f}':>16}" for cell in cells)
        echo(f"{some.n_seen[0]:>11,} {some.n_docs.sum():>9,}{shown}")
    for field, name in names.items():
        one = found._replace(accuracy=getattr(found, field))
        values = one.accuracy[np.isfinite(one.accuracy)]
        if len(values):
            echo(f"\n{name}, {values.min():.2f} to {values.max():.2f}\n{one.curve()}")
