"""``bayou update``: a model of a stream learns from more texts."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from bayou.cli import documents, listing, model_file, options, output
from bayou.cli.catalogue import name_of
from bayou.cli.fit import session_of
from bayou.cli.interrupt import Brake
from bayou.cli.shell import INTERRUPTED
from bayou.cli.voice import Voice

_BATCHES = 16  # mini-batches that are read at a time


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
    text: options.Text = "text",
    format: options.Format = None,
    encoding_errors: options.EncodingErrors = "strict",
    max_line_bytes: options.MaxLineBytes = documents.MAX_LINE,
    threads: options.Threads = None,
    dry_run: options.DryRun = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Let a model learn from more texts, in memory that does not grow.

    The model must be one of a stream, such as online-lda. Its vocabulary stays
    as it is: words it does not know are ignored and counted.

    Example: bayou update news.bayou today.jsonl
    """
    voice = Voice(quiet, verbose)
    out = model if out is None else out
    output.check_writable(out)
    learner = model_file.load_text_model(model, threads)
    if not hasattr(learner, "partial_fit"):
        raise typer.BadParameter(
            f"{model} is a {name_of(type(learner.estimator_))}, which learns from a whole corpus "
            "at once; fit one with --model online-lda to update it",
            param_hint="MODEL",
        )
    size = _BATCHES * learner.estimator_.batch_size
    source = documents.Source(
        file, documents.texts_only(text), format, encoding_errors, max_line_bytes
    )
    n_docs, known, unknown = 0, learner.n_known_, learner.n_unknown_
    with Brake(voice) as brake:
        for batch in documents.batches(source, size, skip):
            if not dry_run:
                learner.estimator_.set_params(callbacks=[brake])
                before = learner.estimator_.state_.n_seen
                learner.partial_fit(batch.texts)
                n_docs += learner.estimator_.state_.n_seen - before
            else:
                n_docs += len(batch.texts)
            voice.detail(f"{n_docs:,} documents")
            if brake.pressed:
                break
    if dry_run:
        typer.echo(f"would learn from {n_docs:,} documents and write {out}")
        return
    learner.save(out)
    known, unknown = learner.n_known_ - known, learner.n_unknown_ - unknown
    share = unknown / max(known + unknown, 1)
    voice.say(
        f"Learned from {n_docs:,} documents, {share:.1%} of their words unknown; saved to {out}"
    )
    if brake.pressed:
        words = _without_skip(session_of(ctx).args)
        again = shlex.join(["bayou", *words, "--skip", str(skip + n_docs)])
        voice.say(f"Stopped. Go on with:\n  {again}")
        raise typer.Exit(INTERRUPTED)
    listing.print_topics(listing.topics_of(learner.estimator_, 10))


def _without_skip(words: tuple[str, ...]) -> list[str]:
    """The command line less its ``--skip N``, which is about to change."""
    out, drop = [], False
    for word in words:
        if drop or word.startswith("--skip="):
            drop = False
        elif word == "--skip":
            drop = True
        else:
            out.append(word)
    return out
