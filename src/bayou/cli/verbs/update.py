"""``bayou update``: a streaming model learns from more texts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayou.cli import documents, listing, model_file, options, output
from bayou.cli.messages import Messages
from bayou.cli.shell import INTERRUPTED, session_of
from bayou.cli.streams.learner import Learner, check_labelled
from bayou.cli.terminal import echo
from bayou.cli.training import checkpoint_path, resume_command
from bayou.data.errors import ModelFileError

if TYPE_CHECKING:
    from bayou.text_model import TextModel


@dataclass(frozen=True)
class UpdateOptions(options.Checkpoints):
    """Output file and documents to skip."""

    out: options.ModelOutput = None
    skip: Annotated[
        int, typer.Option("--skip", min=0, metavar="N", help="Skip the first N documents.")
    ] = 0


@options.with_groups
def update(
    ctx: typer.Context,
    model: options.Model,
    file: options.File,
    what: UpdateOptions,
    input: options.LabelledInput,
    run: options.Run,
) -> None:
    """Let a model learn from more texts, in constant memory.

    The model must be a streaming one, such as online-lda or online-med-lda. Its
    vocabulary does not change: unknown words are ignored and counted. Unknown
    labels are added to the model.

    Example: bayou update mail.bayou today.jsonl
    """
    messages, out = run.messages(), _output(what, model, file)
    documents.check_there(file)
    learner = Learner(model_file.load_text_model(model, run.threads))
    learner.check_updatable(model)
    columns = learner.columns(input.text, input.label, input.target)
    kept, skip = _checkpoint(what, out), what.skip
    if what.resume and kept is not None:
        learner.model, n_done = _resume(kept, learner, run.threads, messages)
        skip += n_done
    source = input.source(file, columns, learner.model)
    batches = check_labelled(documents.batches(source, learner.block_size, skip), source)
    if what.dry_run:
        n_docs = sum(len(batch.texts) for batch in batches)
        echo(f"would learn from {n_docs:,} documents and write {out}")
        return
    n_docs, is_stopped = _learn(learner, batches, out, kept, messages)
    if is_stopped:
        args = session_of(ctx).args
        words = ["bayou", *_without_skip(args, model, out), "--skip", str(skip + n_docs)]
        again = resume_command(args) if kept else shlex.join(words)
        messages.info(f"Stopped. Continue with:\n  {again}")
        raise typer.Exit(INTERRUPTED)
    listing.print_model(learner.estimator, 10, out)


def _output(what: UpdateOptions, model: Path, file: str) -> Path:
    """Path of the updated model. Default: overwrite the given model."""
    if what.out is not None:
        output.check_model(what.out, unlike=[file])
    out = model if what.out is None else what.out
    output.check_writable(out)
    return out


def _learn(
    learner: Learner,
    batches: Iterator[documents.Batch],
    out: Path,
    kept: Path | None,
    messages: Messages,
) -> tuple[int, bool]:
    """Learn and save; gives the number of documents, and whether Ctrl-C ended it."""
    model = learner.model
    n_known, n_unknown = model.n_known_, model.n_unknown_
    n_docs, is_stopped = learner.learn_all(batches, kept, messages)
    path = kept if is_stopped and kept is not None else out
    model.save(path)
    known, unknown = model.n_known_ - n_known, model.n_unknown_ - n_unknown
    share = unknown / max(known + unknown, 1)
    messages.info(
        f"Learned from {n_docs:,} documents, {share:.1%} of their words unknown; saved to {path}"
    )
    if kept is not None and not is_stopped:
        kept.unlink(missing_ok=True)  # nothing is left to resume
    return n_docs, is_stopped


def _checkpoint(what: UpdateOptions, out: Path) -> Path | None:
    folder = what.checkpoint_dir
    if folder is None:
        if what.resume:
            raise typer.BadParameter(
                "there is nothing to resume without --checkpoint-dir; to continue after Ctrl-C, give the "
                "--skip that was printed",
                param_hint="--resume",
            )
        return None
    path = checkpoint_path(folder, out, what.resume)
    if not what.dry_run:
        folder.mkdir(exist_ok=True)
    return path


def _resume(
    kept: Path, learner: Learner, threads: int | None, messages: Messages
) -> tuple[TextModel, int]:
    """The model in a checkpoint, and how many documents it has learned since it was this one."""
    model = learner.model
    if not kept.exists():
        messages.info(f"There is no checkpoint in {kept}; starting from the beginning.")
        return model, 0
    found = model_file.load_text_model(kept, threads)
    n_docs = Learner(found).n_seen - learner.n_seen
    is_same = found.estimator_.get_params() == model.estimator_.get_params()
    grows = found.growth is not None and found.growth == model.growth
    if not is_same or n_docs < 0 or not (grows or found.vocabulary_ == model.vocabulary_):
        raise ModelFileError(
            f"the checkpoint {kept} was not made from this model; give the model it was made from, "
            "or remove the checkpoint"
        )
    messages.info(f"Resuming after {n_docs:,} documents")
    return found, n_docs


def _without_skip(words: tuple[str, ...], model: Path, out: Path) -> list[str]:
    """The words of a command without its ``--skip N``, for the model that was saved."""
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
