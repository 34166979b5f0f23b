"""Training that can be interrupted: where it is kept, and how to go on."""

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
from bayou.cli.shell import INTERRUPTED, Session
from bayou.cli.voice import Voice

if TYPE_CHECKING:
    from bayou.data.corpus import Corpus
    from bayou.text_model import TextModel

_NEVER = 2**31 - 1  # passes between two checkpoints when only an interrupt is to write one
_EVERY = 10
FLAG = "--checkpoint-dir"


class Checkpoint(NamedTuple):
    """Where training is kept when it is interrupted."""

    path: Path
    asked_for: bool  # named by the user: written along the way too

    def options(self) -> dict[str, Any]:
        """What the estimator's `fit` is told."""
        return {
            "checkpoint": self.path,
            "checkpoint_every": _EVERY if self.asked_for else _NEVER,
        }


def checkpoint_for(
    kind: Any, folder: Path | None, out: Path, resume: bool, voice: Voice
) -> Checkpoint | None:
    """Where this training is kept, if its model can be: in the folder, else beside the model."""
    if "checkpoint" not in inspect.signature(kind.fit).parameters:
        if folder is not None or resume:
            raise typer.BadParameter(
                f"{catalogue.name_of(kind)} has no checkpoints; Ctrl-C saves the model as it is, "
                "and it goes on learning with `bayou update`",
                param_hint="--resume" if resume else FLAG,
            )
        return None
    path = place(folder, out, resume)
    if resume and not path.exists():
        voice.say(f"There is no checkpoint in {path}; beginning anew.")
    return Checkpoint(path, folder is not None)


def place(folder: Path | None, out: Path, resume: bool) -> Path:
    """The file of a checkpoint; one that is there already must be meant."""
    folder = out.parent if folder is None else folder
    path = folder / f"{out.name}.checkpoint"
    if folder.exists() and not folder.is_dir():
        raise typer.BadParameter(f"{folder} is a file; name a folder", param_hint=FLAG)
    output.check_writable(path if folder.exists() else folder, FLAG)  # it is made when needed
    if path.exists() and not resume:
        raise typer.BadParameter(
            f"there is a checkpoint in {path}; add --resume to go on from it, or remove it",
            param_hint=FLAG,
        )
    return path


def again(words: Sequence[str]) -> str:
    """The command that goes on from a checkpoint."""
    return shlex.join(["bayou", *(word for word in words if word != "--resume"), "--resume"])


def train(
    session: Session,
    model: TextModel,
    corpus: Corpus,
    kept: Checkpoint | None,
    out: Path,
    voice: Voice,
    reading: Sequence[str] = (),
) -> None:
    """Fit; on Ctrl-C leave what there is and say how to go on, ``reading`` documents the same way."""
    begun = time.monotonic()
    if kept is not None:
        kept.path.parent.mkdir(exist_ok=True)
    with Brake(voice) as brake:
        model.estimator.set_params(callbacks=[voice.told, brake], progress=voice.progress)
        model.fit(corpus, **({} if kept is None else kept.options()))
        model.estimator_.set_params(callbacks=None)
    seconds = time.monotonic() - begun
    n_iter = model.estimator_.n_iter_
    if brake.stopped:
        _leave(session, model, kept, out, voice, n_iter, reading)
    max_time = model.estimator.max_time
    timed_out = max_time is not None and seconds >= max_time
    if kept is not None and not (kept.asked_for and timed_out):
        kept.path.unlink(missing_ok=True)  # nothing is left to resume
    steps = _steps(model.estimator_, n_iter)
    voice.say(f"Fitted {_counted(model.estimator_)} in {steps}, {seconds:.1f} s")
    scores = model.estimator_.posterior_.scores
    if len(scores) and math.isfinite(scores[-1]):
        voice.say(f"Log-likelihood {scores[-1]:.4f} a token while fitting")


def _counted(estimator: Any) -> str:
    """How many topics there are, or labels and topics over them."""
    labels = getattr(estimator, "labels_", None)
    if labels is None:
        return f"{len(estimator.components_)} topics"
    above = f" and {labels.n_topics:,} topics over them" if labels.n_topics else ""
    return f"{labels.n_labels:,} labels{above}"


def _steps(estimator: Any, n: int) -> str:
    """What training was made of: passes over the documents or, of a stream, mini-batches."""
    counted = getattr(getattr(estimator, "state_", None), "step", None)
    name = "mini-batch" if hasattr(estimator, "partial_fit") and counted == n else "pass"
    return f"{n:,} {name}" if n == 1 else f"{n:,} {name}es"


def _leave(
    session: Session,
    model: TextModel,
    kept: Checkpoint | None,
    out: Path,
    voice: Voice,
    n_iter: int,
    reading: Sequence[str],
) -> None:
    if kept is not None:
        voice.say(
            f"Stopped after {n_iter} passes, kept in {kept.path}. Go on with:\n"
            f"  {again(session.args)}"
        )
    else:
        model.save(out)
        voice.say(
            f"Stopped after {n_iter} mini-batches; the model so far is in {out}. Go on with:\n"
            f"  {shlex.join(['bayou', 'update', str(out), 'FILE', *reading])}"
        )
    raise typer.Exit(INTERRUPTED)
