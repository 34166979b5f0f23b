"""``bayou fit``: fit a model to a file of texts, print its topics and write a report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayou.cli import advice, catalogue, documents, listing, options, output, predictions, settings
from bayou.cli.columns import keep_names
from bayou.cli.messages import Messages
from bayou.cli.shell import session_of
from bayou.cli.streams import fit_stream
from bayou.cli.streams.learner import NO_TERMS
from bayou.cli.terminal import echo
from bayou.cli.training import Job, checkpoint_for, train
from bayou.cli.verbs.report import load_report, write_report
from bayou.data.errors import DataError

if TYPE_CHECKING:
    from bayou.data.table import Columns
    from bayou.data.text import Vectorizer
    from bayou.text_model import TextModel

_OUT = Path("model.bayou")


# fmt: off
@dataclass(frozen=True)
class ModelOptions:
    """The model to fit and the files to write."""

    out: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="FILE",
        help="Where to save the model. Default: model.bayou, if there is no such file.")] = None
    model: Annotated[str, typer.Option(
        "--model", "-m", metavar="NAME", help="The model; see `bayou models`.")] = "lda"
    topics: Annotated[int | None, typer.Option(
        "--topics", "-k", min=1, metavar="N", help="Number of topics. Default: the model's.")] = None
    settings: options.Settings = None
    report: Annotated[Path | None, typer.Option(
        "--report", metavar="FILE", help="Also write a report, one HTML file.")] = None


@dataclass(frozen=True)
class Words(options.WordOptions):
    """Choice of terms."""

    min_df: Annotated[str, options.words_option(
        "--min-df", metavar="N",
        help="Drop words in fewer than N documents (or this fraction of documents).")] = "2"
    max_df: Annotated[str, options.words_option(
        "--max-df", metavar="N",
        help="Drop words in more than N documents (or this fraction of documents).")] = "0.5"
    max_features: Annotated[int | None, options.words_option(
        "--max-features", min=1, metavar="N", help="Keep only the N most frequent words.")] = None

    def vectorizer(self) -> Vectorizer:
        """The vectorizer with these options."""
        from bayou.data.text import Vectorizer

        return Vectorizer(
            **self.word_settings(),
            min_df=_limit("--min-df", self.min_df),
            max_df=_limit("--max-df", self.max_df),
            max_features=self.max_features,
        )


@dataclass(frozen=True)
class FitInput(options.FullInput):
    """Documents, which no model has read before."""

    text: Annotated[str | None, options.column_option(
        "--text", metavar="NAME", help="Column of the text. Default: `text`.")] = None

    def columns(self, guess: bool) -> Columns:
        """The columns; those without a name are looked for (``guess``) or left out."""
        from bayou.data.table import Columns

        others = (self.label, self.target, self.time, self.id)
        return Columns(self.text or "text", *(c if c is not None or guess else "" for c in others))


@dataclass(frozen=True)
class TrainingOptions(options.Checkpoints):
    """Options of training."""

    first: options.First = None
    seed: options.Seed = 0
    max_time: options.MaxTime = None
# fmt: on


@options.with_groups
def fit(
    ctx: typer.Context,
    file: options.File,
    what: ModelOptions,
    words: Words,
    input: FitInput,
    how: TrainingOptions,
    run: options.Run,
) -> None:
    """Learn topics from a file of texts, save the model and print its topics.

    From a file to a report:

    bayou fit reviews.csv --text review -k 20 --report reviews.html

    From an endless stream; words come from the first 10,000 documents or --first:

    tail -f mail.jsonl | bayou fit - --model online-med-lda --label folder

    With a class, labels or a number to predict:

    bayou fit mail.csv --model med-lda --label folder

    For trials: builtin:docstrings (text, package, parameters, n_parameters).
    """
    what = replace(what, model=catalogue.choose(what.model, input.label, input.target))
    documents.check_there(file)
    model = _text_model(ctx, what, words, how, run.threads)
    messages, kind = run.messages(), type(model.estimator)
    _note_unused(what, input, messages)
    out = _output(what, file, how.resume)
    first = fit_stream.first_documents(kind, file, how.first, what.report)
    _check_report(what.report, [file, out])
    job = Job(session_of(ctx).args, out, checkpoint_for(kind, how, out, messages), messages)
    source = input.source(file, input.columns(guess=what.report is not None))
    keep_names(model, source)
    if first is None:
        _fit_corpus(job, model, source, what.report, how.dry_run)
    else:
        fit_stream.fit(model, source, first, out, how.dry_run, messages)


def _text_model(
    ctx: typer.Context, what: ModelOptions, words: Words, how: TrainingOptions, threads: int | None
) -> TextModel:
    """The model to fit, with checked parameters."""
    from bayou.text_model import TextModel

    kind = catalogue.find(what.model)
    flags = {"n_topics": settings.Flag("--topics", what.topics, settings.is_given(ctx, "topics"))}
    table = session_of(ctx).settings.get("fit", {})
    given = settings.read(kind, what.settings or (), table, flags)
    estimator = kind(**given, random_state=how.seed, n_threads=threads, max_time=how.max_time)
    check_parameters(estimator)
    return TextModel(estimator=estimator, vectorizer=words.vectorizer())


def _fit_corpus(
    job: Job, model: TextModel, source: documents.Source, report: Path | None, dry_run: bool
) -> None:
    """Fit all documents at once, save, print and report."""
    corpus, texts = documents.read_corpus(source, model.vectorizer, keep_texts=report is not None)
    if not corpus.n_terms:
        raise DataError(f"no term is left; documents: {corpus.n_docs}; {NO_TERMS}")
    advice.on_documents(corpus, job.messages)
    advice.on_words(model.vectorizer, job.messages)
    if predictions.is_supervised(model.estimator):
        advice.on_labels(corpus.label_names, source.label_separator, job.messages)
    if dry_run:
        echo(f"would fit {model.estimator!r} and write {job.out}")
        return
    train(job, model, corpus, documents.flags(source))
    model.save(job.out)
    job.messages.info(f"Saved to {job.out}")
    listing.print_model(model.estimator_, 10, job.out)
    advice.on_fit(model.estimator_, corpus, job.messages)
    if report is not None:
        title = documents.title_of(source.path)
        write_report(report, model, corpus, texts, title=title, messages=job.messages)


def _note_unused(what: ModelOptions, input: FitInput, messages: Messages) -> None:
    """Print that options are not used, where neither the model nor a report uses them."""
    if what.report is not None or catalogue.entry(what.model).labels:
        return
    if (input.label, input.target, input.time) != (None, None, None):
        messages.info(
            f"{what.model} learns from the text alone; --label, --target and --time are used by --report only"
        )


def _check_report(report: Path | None, others: list[Any]) -> None:
    if report is not None:
        output.check_page(report, "--report", others)
        load_report()


def _output(what: ModelOptions, file: str, resume: bool) -> Path:
    """The path of the model; the default must not exist yet."""
    if what.out is None and _OUT.exists() and not resume:
        raise typer.BadParameter(
            f"{_OUT} already exists; name another file, or give -o {_OUT} to overwrite it",
            param_hint="--output",
        )
    out = _OUT if what.out is None else what.out
    output.check_model(out, unlike=[file])
    return out


def check_parameters(estimator: Any) -> None:
    """Refuse hyper-parameters before the data are read."""
    try:
        estimator.check_params()
    except DataError:
        raise
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _limit(flag: str, text: str) -> float:
    """``5`` is a number of documents, ``0.5`` a fraction of them."""
    try:
        return int(text) if text.strip().lstrip("+-").isdigit() else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number", param_hint=flag) from None
