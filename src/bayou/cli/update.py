"""``bayou update``: a model of a stream learns from more texts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayou.cli import documents, listing, model_file, options, output, remembered, stream, training
from bayou.cli.shell import INTERRUPTED, session_of
from bayou.cli.voice import Voice
from bayou.data.errors import ModelFileError

if TYPE_CHECKING:
    from bayou.text_model import TextModel


def update(
    ctx: typer.Context,
    model: options.Model,
    file: options.File,
    out: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to save it; else over the old one."
        ),
    ] = None,
    skip: Annotated[
        int,
        typer.Option("--skip", min=0, metavar="N", help="Leave out the first so many documents."),
    ] = 0,
    text: options.TextAgain = None,
    label: options.Label = None,
    label_separator: options.LabelSeparator = None,
    target: options.Target = None,
    format: options.Format = None,
    encoding_errors: options.EncodingErrors = "strict",
    max_line_bytes: options.MaxLineBytes = documents.MAX_LINE,
    threads: options.Threads = None,
    checkpoint_dir: options.CheckpointDir = None,
    resume: options.Resume = False,
    dry_run: options.DryRun = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Let a model learn from more texts, in memory that does not grow.

    The model must be one of a stream, such as online-lda or online-med-lda. Its
    vocabulary stays as it is: words it does not know are ignored and counted.
    Labels that it does not know become labels of its own.

    Example: bayou update mail.bayou today.jsonl
    """
    voice, session = Voice(quiet, verbose), session_of(ctx)
    if out is not None:
        output.check_model(out, unlike=[file])
    out = model if out is None else out
    output.check_writable(out)
    documents.check_there(file)
    learner = model_file.load_text_model(model, threads)
    stream.check_able(learner, model)
    columns = stream.columns_of(learner, text, label, target)
    kept = _kept(checkpoint_dir, out, resume, dry_run)
    if resume and kept is not None:
        learner, done = _resumed(kept, learner, threads, voice)
        skip += done
    source = documents.Source(
        file, columns, format, encoding_errors, max_line_bytes, label_separator
    )
    source = remembered.beside(learner, source, text)
    before = learner.n_known_, learner.n_unknown_
    batches = _labelled(documents.batches(source, stream.size_of(learner), skip), source)
    n_docs, stopped = stream.learn_all(learner, batches, kept, dry_run, voice)
    if dry_run:
        typer.echo(f"would learn from {n_docs:,} documents and write {out}")
        return
    to = kept if stopped and kept is not None else out
    learner.save(to)
    known, unknown = learner.n_known_ - before[0], learner.n_unknown_ - before[1]
    share = unknown / max(known + unknown, 1)
    voice.say(
        f"Learned from {n_docs:,} documents, {share:.1%} of their words unknown; saved to {to}"
    )
    if stopped:
        words = _again(session.args, model, out) + ["--skip", str(skip + n_docs)]
        again = training.again(session.args) if kept else shlex.join(["bayou", *words])
        voice.say(f"Stopped. Go on with:\n  {again}")
        raise typer.Exit(INTERRUPTED)
    if kept is not None:
        kept.unlink(missing_ok=True)  # nothing is left to resume
    listing.print_learned(learner.estimator_, 10, out)


def _kept(folder: Path | None, out: Path, resume: bool, dry_run: bool) -> Path | None:
    if folder is None:
        if resume:
            raise typer.BadParameter(
                "without --checkpoint-dir there is nothing to resume; to go on after Ctrl-C, give "
                "the --skip that it printed",
                param_hint="--resume",
            )
        return None
    path = training.place(folder, out, resume)
    if not dry_run:
        folder.mkdir(exist_ok=True)
    return path


def _resumed(
    kept: Path, model: TextModel, threads: int | None, voice: Voice
) -> tuple[TextModel, int]:
    """The model in a checkpoint, and how many documents it has learned since it was this one."""
    if not kept.exists():
        voice.say(f"There is no checkpoint in {kept}; beginning anew.")
        return model, 0
    found = model_file.load_text_model(kept, threads)
    n_docs = stream.seen(found) - stream.seen(model)
    same = found.estimator_.get_params() == model.estimator_.get_params()
    grows = found.growth is not None and found.growth == model.growth
    if not same or n_docs < 0 or not (grows or found.vocabulary_ == model.vocabulary_):
        raise ModelFileError(
            f"the checkpoint {kept} was not made from this model; give the model it was made from, "
            "or remove the checkpoint"
        )
    voice.say(f"Going on after {n_docs:,} documents")
    return found, n_docs


def _labelled(
    batches: Iterator[documents.Batch], source: documents.Source
) -> Iterator[documents.Batch]:
    for i, batch in enumerate(batches):
        if i == 0:
            stream.check_labelled(batch, source)
        yield batch


def _again(words: tuple[str, ...], model: Path, out: Path) -> list[str]:
    """The command line that goes on: from what was saved, less its ``--skip N``."""
    kept, drop = [], False
    for word in words:
        if drop or word.startswith("--skip="):
            drop = False
        elif word == "--skip":
            drop = True
        else:
            kept.append(word)
    if str(model) in kept:
        kept[kept.index(str(model))] = str(out)
    return kept
