"""``bayou fit``: from a file of texts to a model, its topics and, if wanted, a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayou.cli import (
    advice,
    answers,
    catalogue,
    documents,
    fit_stream,
    listing,
    options,
    output,
    remembered,
    settings,
    training,
)
from bayou.cli.report import available, write_report
from bayou.cli.shell import session_of
from bayou.cli.voice import Voice
from bayou.data.errors import DataError

if TYPE_CHECKING:
    from bayou.data.corpus import Corpus

_OUT = Path("model.bayou")
_WORDS, _RUN = "Words", "Running"


def fit(  # one parameter a flag
    ctx: typer.Context,
    file: options.File,
    out: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to save the model; else model.bayou, unless there is one.",
        ),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="NAME", help="Which model; see `bayou models`.")
    ] = "lda",
    topics: Annotated[
        int | None,
        typer.Option(
            "--topics",
            "-k",
            min=1,
            metavar="N",
            help="How many topics to find; else the model's own.",
        ),
    ] = None,
    settings_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of the model; may be repeated."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Also write a report, as one HTML file."),
    ] = None,
    stop_words: Annotated[
        str,
        typer.Option(
            "--stop-words",
            metavar="LANG",
            help="Leave out common words: english, german, fr, ... or none.",
            rich_help_panel=_WORDS,
        ),
    ] = "english",
    min_df: Annotated[
        str,
        typer.Option(
            "--min-df",
            metavar="N",
            help="Keep words of at least so many documents, or such a share (0.01).",
            rich_help_panel=_WORDS,
        ),
    ] = "2",
    max_df: Annotated[
        str,
        typer.Option(
            "--max-df",
            metavar="N",
            help="Keep words of at most so many documents, or such a share.",
            rich_help_panel=_WORDS,
        ),
    ] = "0.5",
    max_features: Annotated[
        int | None,
        typer.Option(
            "--max-features",
            min=1,
            metavar="N",
            help="Keep the most frequent words only.",
            rich_help_panel=_WORDS,
        ),
    ] = None,
    ngrams: Annotated[
        int,
        typer.Option(
            "--ngrams",
            min=1,
            max=9,
            metavar="N",
            help="Count runs of up to so many words as terms too.",
            rich_help_panel=_WORDS,
        ),
    ] = 1,
    text: options.Text = "text",
    label: options.Label = None,
    label_separator: options.LabelSeparator = None,
    target: options.Target = None,
    time: options.Time = None,
    id: options.Id = None,
    format: options.Format = None,
    encoding_errors: options.EncodingErrors = "strict",
    max_line_bytes: options.MaxLineBytes = documents.MAX_LINE,
    first: Annotated[
        int | None,
        typer.Option(
            "--first",
            min=1,
            metavar="N",
            help="Models of a stream: words from the first N documents, the rest learned as it comes.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    max_time: Annotated[
        float | None,
        typer.Option(
            "--max-time",
            metavar="SECONDS",
            help="Begin no further pass after this.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    checkpoint_dir: options.CheckpointDir = None,
    resume: options.Resume = False,
    dry_run: options.DryRun = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Learn topics from a file of texts, save the model and print its topics.

    From a file to a report in one line:

    bayou fit reviews.csv --text review -k 20 --report reviews.html

    From documents that never end, in memory that does not grow; words are chosen
    from the first 10,000 unless --first says otherwise:

    tail -f mail.jsonl | bayou fit - --model online-med-lda --label folder

    With a class, labels or a number to predict:

    bayou fit mail.csv --model med-lda --label folder

    Without a file at hand, builtin:docstrings is one; its columns are text,
    package, parameters and n_parameters.
    """
    model = catalogue.choose(model, label, target)
    documents.check_there(file)
    from bayou.data.table import Columns
    from bayou.data.text import Vectorizer
    from bayou.text_model import TextModel

    voice, session = Voice(quiet, verbose), session_of(ctx)
    kind = catalogue.find(model)
    flags = {"n_topics": settings.Flag("--topics", topics, settings.said(ctx, "topics"))}
    given = settings.read(kind, settings_ or (), session.settings.get("fit", {}), flags)
    estimator = kind(**given, random_state=seed, n_threads=threads, max_time=max_time)
    check_parameters(estimator)
    vectorizer = Vectorizer(
        stop_words=None if stop_words.lower() == "none" else stop_words,
        min_df=_limit("--min-df", min_df),
        max_df=_limit("--max-df", max_df),
        max_features=max_features,
        ngrams=(1, ngrams),
    )
    if report is None and not answers.are_learned(kind) and (label, target, time) != (None,) * 3:
        voice.say(
            f"{model} learns from the text alone; --label, --target and --time serve --report"
        )
    out = _free(resume) if out is None else out
    output.check_model(out, unlike=[file])
    begun = fit_stream.wanted(kind, file, first)
    if begun is not None:
        fit_stream.check_unused(report)
    if report is not None:
        output.check_page(report, "--report", [file, out])
        available()
    kept = training.checkpoint_for(kind, checkpoint_dir, out, resume, voice)
    guessed = None if report is not None else ""  # what nobody looks at need not be readable
    columns = Columns(text, *(guessed if c is None else c for c in (label, target, time, id)))
    source = documents.Source(
        file, columns, format, encoding_errors, max_line_bytes, label_separator
    )
    text_model = TextModel(estimator=estimator, vectorizer=vectorizer)
    remembered.keep(text_model, source)
    if begun is not None:
        fit_stream.fit(text_model, source, begun, out, dry_run, voice)
        if not dry_run:
            listing.print_learned(text_model.estimator_, 10, out)
        return
    corpus, texts = documents.read_corpus(source, vectorizer, keep_texts=report is not None)
    _check_terms(corpus)
    advice.on_documents(corpus, voice)
    if answers.are_learned(kind):
        advice.on_labels(corpus.label_names, label_separator, voice)
    if dry_run:
        typer.echo(f"would fit {estimator!r} and write {out}")
        return
    training.train(session, text_model, corpus, kept, out, voice, documents.flags(source))
    text_model.save(out)
    voice.say(f"Saved to {out}")
    listing.print_learned(text_model.estimator_, 10, out)
    advice.on_fit(text_model.estimator_, corpus, voice)
    if report is not None:
        write_report(report, text_model, corpus, texts, title=documents.title_of(file), voice=voice)


def _free(resume: bool) -> Path:
    """Where a model goes that was given no place: never over another one."""
    if _OUT.exists() and not resume:
        raise typer.BadParameter(
            f"{_OUT} is there already; name another file, or write -o {_OUT} to replace it",
            param_hint="--output",
        )
    return _OUT


def check_parameters(estimator: Any) -> None:
    """Refuse hyper-parameters before the data are read."""
    try:
        estimator._checked_parameters()
    except DataError:
        raise
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _limit(flag: str, text: str) -> float:
    """``5`` is a number of documents, ``0.5`` is a share of them."""
    try:
        return int(text) if text.strip().lstrip("+-").isdigit() else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number", param_hint=flag) from None


def _check_terms(corpus: Corpus) -> None:
    if not corpus.n_terms:
        raise DataError(
            f"no term is left; documents: {corpus.n_docs}; lower --min-df, raise --max-df, give "
            "--stop-words none or more documents"
        )
