"""Training that can be interrupted and resumed."""

from __future__ import annotations

import inspect
import math
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from bayou.cli import catalogue, output
from bayou.cli.interrupt import Brake
from bayou.cli.messages import Messages
from bayou.cli.options import Checkpoints
from bayou.cli.shell import INTERRUPTED

if TYPE_CHECKING:
    from bayou.data.corpus import Corpus
    from bayou.text_model import TextModel

_NEVER = 2**31 - 1  # passes between two checkpoints, when only an interrupt writes one
_EVERY = 10
FLAG = "--checkpoint-dir"


class Checkpoint(NamedTuple):
    """The checkpoint of a training run."""

    path: Path
    asked_for: bool  # named by the user: also written at intervals

    def options(self) -> dict[str, Any]:
        """Arguments of the estimator's `fit`."""
        return {
            "checkpoint": self.path,
            "checkpoint_every": _EVERY if self.asked_for else _NEVER,
        }


class Job(NamedTuple):
    """A command that trains a model."""

    words: tuple[str, ...]  # of the command line
    out: Path
    checkpoint: Checkpoint | None
    messages: Messages


def checkpoint_for(
    kind: Any, wanted: Checkpoints, out: Path, messages: Messages
) -> Checkpoint | None:
    """The checkpoint of this training: in the folder, else next to the model; None if the model has none."""
    folder, resume = wanted.checkpoint_dir, wanted.resume
    if "checkpoint" not in inspect.signature(kind.fit).parameters:
        if folder is not None or resume:
            raise typer.BadParameter(
                f"{catalogue.name_of(kind)} has no checkpoints; Ctrl-C saves the model as it is, and `bayou "
                "update` continues it",
                param_hint="--resume" if resume else FLAG,
            )
        return None
    path = checkpoint_path(folder, out, resume)
    if resume and not path.exists():
        messages.info(f"There is no checkpoint in {path}; starting from the beginning.")
    return Checkpoint(path, folder is not None)


def checkpoint_path(folder: Path | None, out: Path, resume: bool) -> Path:
    """The file of a checkpoint; an existing one needs ``resume``."""
    folder = out.parent if folder is None else folder
    path = folder / f"{out.name}.checkpoint"
    if folder.exists() and not folder.is_dir():
        raise typer.BadParameter(f"{folder} is a file; name a folder", param_hint=FLAG)
    output.check_writable(path if folder.exists() else folder, FLAG)  # created when needed
    if path.exists() and not resume:
        raise typer.BadParameter(
            f"there is a checkpoint in {path}; add --resume to continue it, or remove it",
            param_hint=FLAG,
        )
    return path


def resume_command(words: Sequence[str]) -> str:
    """The command that continues from a checkpoint."""
    return shlex.join(["bayou", *(word for word in words if word != "--resume"), "--resume"])


def train(job: Job, model: TextModel, corpus: Corpus, reading: Sequence[str] = ()) -> None:
    """Fit. On Ctrl-C keep what there is and print the command that continues.

    ``reading`` are the options that read the same documents.
    """
    kept, messages, begun = job.checkpoint, job.messages, time.monotonic()
    if kept is not None:
        kept.path.parent.mkdir(exist_ok=True)
    with Brake(messages) as brake:
        model.estimator.set_params(
            callbacks=[messages.on_pass, brake], progress=messages.shows_progress
        )
        model.fit(corpus, **({} if kept is None else kept.options()))
        model.estimator_.set_params(callbacks=None)
    seconds = time.monotonic() - begun
    n_iter = model.estimator_.n_iter_
    if brake.stopped:
        _stop(job, model, n_iter, reading)
    max_time = model.estimator.max_time
    timed_out = max_time is not None and seconds >= max_time
    if kept is not None and not (kept.asked_for and timed_out):
        kept.path.unlink(missing_ok=True)  # nothing is left to resume
    steps = _steps(model.estimator_, n_iter)
    messages.info(f"Fitted {_size(model.estimator_)} in {steps}, {seconds:.1f} s")
    scores = model.estimator_.posterior_.scores
    if len(scores) and math.isfinite(scores[-1]):
        messages.info(f"Training log-likelihood {scores[-1]:.4f} per token")


def _size(estimator: Any) -> str:
    """The number of topics, or of labels and topics over them."""
    labels = getattr(estimator, "labels_", None)
    if labels is None:
        return f"{len(estimator.components_)} topics"
    above = f" and {labels.n_topics:,} topics over them" if labels.n_topics else ""
    return f"{labels.n_labels:,} labels{above}"


def _steps(estimator: Any, n: int) -> str:
    """Number of passes over the documents or, for a stream, of mini-batches."""
    step = getattr(getattr(estimator, "state_", None), "step", None)
    name = "mini-batch" if hasattr(estimator, "partial_fit") and step == n else "pass"
    return f"{n:,} {name}" if n == 1 else f"{n:,} {name}es"


def _stop(job: Job, model: TextModel, n_iter: int, reading: Sequence[str]) -> None:
    if job.checkpoint is not None:
        job.messages.info(
            f"Stopped after {n_iter} passes; checkpoint in {job.checkpoint.path}. Continue with:\n"
            f"  {resume_command(job.words)}"
        )
    else:
        model.save(job.out)
        job.messages.info(
            f"Stopped after {n_iter} mini-batches; saved to {job.out}. Continue with:\n"
            f"  {shlex.join(['bayou', 'update', str(job.out), 'FILE', *reading])}"
        )
    raise typer.Exit(INTERRUPTED)
