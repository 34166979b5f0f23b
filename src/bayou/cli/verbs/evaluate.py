"""``bayou evaluate``: held-out likelihood, topic quality and prediction measures."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from bayou.cli import documents, model_file, options, output, predictions
from bayou.cli.columns import names_in
from bayou.cli.messages import Messages
from bayou.cli.streams import progressive
from bayou.cli.streams.learner import Learner
from bayou.cli.terminal import echo

if TYPE_CHECKING:
    from bayou.data.corpus import Corpus
    from bayou.text_model import TextModel

_TOP = 10  # terms per topic that coherence and diversity use
_Progressive = Annotated[
    bool, typer.Option("--progressive", help="Predict documents before learning them, in order.")
]
_Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="With --progressive: save the model that has learned the documents.",
    ),
]


@options.with_groups
def evaluate(
    model: options.Model,
    file: options.File,
    input: options.LabelledInput,
    run: options.Run,
    as_json: options.AsJson = False,
    along: _Progressive = False,
    out: _Output = None,
) -> None:
    """Measure a model on texts that it was not fitted to.

    Perplexity: half of each document is predicted from the other half; lower is
    better. Coherence (NPMI, -1 to 1): do the top words of a topic occur together
    in these documents? Diversity: the share of top words that only one topic has.
    The predictions of a supervised model are measured too, where --label or
    --target gives the truth: accuracy or F1 with a table of classes, or R2.
    Calibration error: the mean distance between stated probabilities and the
    share of predictions that are right, with a table of both.

    With --progressive a streaming model predicts documents and then learns them,
    a mini-batch at a time. The table shows the measures along the stream.

    Example: bayou evaluate reviews.bayou held-out.csv
    """
    messages = run.messages()
    _check_output(out, file, along)
    text_model = model_file.load_text_model(model, run.threads)
    named = (input.text, input.label, input.target)
    if along:
        progressive.check(text_model, model)
        learner = Learner(text_model)
        source = input.source(file, learner.columns(*named), text_model)
        progressive.run(learner, source, as_json, out, messages)
        return
    source = input.source(file, predictions.columns(text_model, *named), text_model)
    corpus, _ = documents.read_corpus(source, text_model.vectorizer_)
    messages.info(f"{corpus.n_docs:,} documents, {corpus.n_tokens:,.0f} known tokens")
    _print(_measures(text_model, corpus), _predictions(text_model, corpus, messages), as_json)


def _print(found: dict[str, float], table: _Predictions, as_json: bool) -> None:
    found |= table.measures
    if as_json:
        rows = [
            {name: output.finite_or_none(value) for name, value in row._asdict().items()}
            for row in table.rows
        ]
        beside: dict[str, Any] = {"classes": rows} if rows else {}
        if table.bins:
            beside["reliability"] = [row._asdict() for row in table.bins]
        output.print_json(
            {name: output.finite_or_none(value) for name, value in found.items()} | beside
        )
        return
    for name, value in found.items():
        output.print_measure(name, value)
    _print_classes(table.rows)
    _print_bins(table.bins)


def _check_output(out: Path | None, file: str, along: bool) -> None:
    if out is None:
        return
    if not along:
        raise typer.BadParameter(
            "the model changes with --progressive only; results go to standard output",
            param_hint="--output",
        )
    output.check_model(out, unlike=[file])


class _Predictions(NamedTuple):
    """Measures of predictions, over all and per class."""

    measures: dict[str, float]
    rows: list[Any]
    bins: list[Any]  # of `reliability_table`


def _predictions(model: TextModel, corpus: Corpus, messages: Messages) -> _Predictions:
    kind = predictions.kind_of(model)
    if kind is None:
        return _Predictions({}, [], [])
    from bayou import metrics

    if kind == "regression":
        if corpus.targets is None:
            _note_missing(model, "target", messages)
            return _Predictions({}, [], [])
        predicted = model.predict(corpus)
        truth = corpus.targets.reshape(predicted.shape)
        return _Predictions(metrics.number_measures(truth, predicted), [], [])
    if corpus.labels is None:
        _note_missing(model, "label", messages)
        return _Predictions({}, [], [])
    found = metrics.outcomes(model, corpus)
    n_unknown = int((found.n_strange > 0).sum())
    if n_unknown:
        messages.info(
            f"{n_unknown:,} documents have labels that the model does not know; these count as missed"
        )
    counted = {"documents with labels": len(found.truth)}
    bins = []
    if found.probabilities is not None:
        bins = metrics.reliability_table(found.probabilities, found.truth, several=found.several)
    return _Predictions(counted | metrics.label_measures(found), metrics.class_scores(found), bins)


def _note_missing(model: TextModel, what: str, messages: Messages) -> None:
    """Print that the truth was not found, and the column name that was tried."""
    name = names_in(model).get(what, what)
    messages.info(f"No column `{name}`: name it with --{what} to measure the predictions")


def _print_classes(rows: list[Any]) -> None:
    if not rows:
        return
    wide = min(max(len("class"), *(len(row.name) for row in rows)), 40)
    echo(f"\n{'class':<{wide}} {'documents':>9} {'precision':>9} {'recall':>9} {'F1':>9}")
    for row in rows:
        shown = " ".join(
            f"{'-' if output.finite_or_none(value) is None else f'{value:.4f}':>9}"
            for value in row[2:]
        )
        echo(
            f"{textwrap.shorten(row.name, wide, placeholder='…'):<{wide}} {row.n_docs:>9,} {shown}"
        )


def _print_bins(bins: list[Any]) -> None:
    if not bins:
        return
    echo(f"\n{'probability':<11} {'predictions':>11} {'stated':>9} {'right':>9}")
    for row in bins:
        span = f"{row.low:.1f} - {row.high:.1f}"
        echo(f"{span:<11} {row.n:>11,} {row.probability:>9.4f} {row.right:>9.4f}")


def _measures(model: TextModel, corpus: Any) -> dict[str, float]:
    import numpy as np

    from bayou.metrics import diversity, npmi

    score = model.log_likelihood(corpus)
    top = min(_TOP, corpus.n_terms)
    coherence = npmi(model.components_, corpus.counts, top_n=top) if top > 1 else [np.nan]
    return {
        "documents": corpus.n_docs,
        "known tokens": int(corpus.n_tokens),
        "log-likelihood a token": score,
        "perplexity": float(np.exp(-score)),
        "coherence (NPMI)": float(np.mean(coherence)),
        "diversity": float(diversity(model.components_, top_n=top)),
    }
