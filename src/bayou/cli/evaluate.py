"""``bayou evaluate``: how well a model predicts texts it has not seen, and how its topics read."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from bayou.cli import (
    answers,
    documents,
    model_file,
    options,
    output,
    progressive,
    remembered,
    stream,
)
from bayou.cli.voice import Voice

if TYPE_CHECKING:
    from bayou.data.corpus import Corpus
    from bayou.text_model import TextModel

_TOP = 10  # terms of a topic that coherence and diversity look at


def evaluate(
    model: options.Model,
    file: options.File,
    as_json: options.AsJson = False,
    along: Annotated[
        bool,
        typer.Option("--progressive", help="Predict documents before learning them, in order."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="With --progressive: save what has learned them; else nothing is.",
        ),
    ] = None,
    text: options.TextAgain = None,
    label: options.Label = None,
    label_separator: options.LabelSeparator = None,
    target: options.Target = None,
    format: options.Format = None,
    encoding_errors: options.EncodingErrors = "strict",
    max_line_bytes: options.MaxLineBytes = documents.MAX_LINE,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Measure a model on texts that it was not fitted to.

    Perplexity: half of each document is predicted from the other half; lower is
    better. Coherence (NPMI, -1 to 1): do the top words of a topic occur together
    in these documents? Diversity: the share of top words that only one topic has.
    A supervised model is also measured on what it predicts, where --label or
    --target gives the truth: accuracy or F1 with a table of classes, or R2.

    With --progressive a model of a stream predicts documents and then learns
    them, some at a time: the table says how well, from the first to the last.

    Example: bayou evaluate reviews.bayou held-out.csv
    """
    voice = Voice(quiet, verbose)
    if out is not None:
        _check_output(out, file, along)
    learned = model_file.load_text_model(model, threads)
    if along:
        progressive.check(learned, model)
        columns = stream.columns_of(learned, text, label, target)
    else:
        columns = answers.columns(learned, text, label, target)
    source = documents.Source(
        file, columns, format, encoding_errors, max_line_bytes, label_separator
    )
    source = remembered.beside(learned, source, text)
    if along:
        progressive.run(learned, source, as_json, voice)
        if out is not None:
            learned.save(out)
            voice.say(f"Saved to {out}")
        return
    corpus, _ = documents.read_corpus(source, learned.vectorizer_)
    voice.say(f"{corpus.n_docs:,} documents, {corpus.n_tokens:,.0f} known tokens")
    found, table = _measures(learned, corpus), _predictions(learned, corpus, voice)
    found |= table.measures
    if as_json:
        rows = [
            {name: output.finite(value) for name, value in row._asdict().items()}
            for row in table.rows
        ]
        beside = {"classes": rows} if rows else {}
        output.print_json({name: output.finite(value) for name, value in found.items()} | beside)
        return
    for name, value in found.items():
        output.print_measure(name, value)
    _print_classes(table.rows)


def _check_output(out: Path, file: str, along: bool) -> None:
    if not along:
        raise typer.BadParameter(
            "nothing is learned without --progressive; results go to standard output",
            param_hint="--output",
        )
    output.check_model(out, unlike=[file])


class _Predictions(NamedTuple):
    """How well a supervised model predicts, over all and class by class."""

    measures: dict[str, float]
    rows: list[Any]


def _predictions(model: TextModel, corpus: Corpus, voice: Voice) -> _Predictions:
    kind = answers.kind_of(model)
    if kind is None:
        return _Predictions({}, [])
    from bayou import metrics

    if kind == "regression":
        if corpus.targets is None:
            _miss(model, "target", voice)
            return _Predictions({}, [])
        said = model.predict(corpus)
        return _Predictions(metrics.number_measures(corpus.targets.reshape(said.shape), said), [])
    if corpus.labels is None:
        _miss(model, "label", voice)
        return _Predictions({}, [])
    found = metrics.outcomes(model, corpus)
    strange = int((found.n_strange > 0).sum())
    if strange:
        voice.say(f"{strange:,} documents have labels that the model has not learned: missed")
    counted = {"documents with labels": len(found.truth)}
    return _Predictions(counted | metrics.label_measures(found), metrics.class_scores(found))


def _miss(model: TextModel, what: str, voice: Voice) -> None:
    """Say that the truth was not found, and under which name it was looked for."""
    name = remembered.names(model).get(what, what)
    voice.say(f"No column `{name}`: name it with --{what} to measure the predictions")


def _print_classes(rows: list[Any]) -> None:
    if not rows:
        return
    wide = min(max(len("class"), *(len(row.name) for row in rows)), 40)
    typer.echo(f"\n{'class':<{wide}} {'documents':>9} {'precision':>9} {'recall':>9} {'F1':>9}")
    for row in rows:
        shown = " ".join(
            f"{'-' if output.finite(value) is None else f'{value:.4f}':>9}" for value in row[2:]
        )
        typer.echo(
            f"{textwrap.shorten(row.name, wide, placeholder='…'):<{wide}} {row.n_docs:>9,} {shown}"
        )


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
