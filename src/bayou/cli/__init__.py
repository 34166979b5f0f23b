"""The command line, ``bayou``: one file a verb; a verb parses, calls and prints.

Results go to standard output; progress and errors go to standard error. Exit codes: 0 done, 1 the
data is at fault, 2 the command line is, 3 the model file is, 130 interrupted.
"""

from pathlib import Path
from typing import Annotated

import typer

from bayou import __version__
from bayou.cli import config
from bayou.cli.demo import demo
from bayou.cli.doctor import doctor
from bayou.cli.evaluate import evaluate
from bayou.cli.explain import explain
from bayou.cli.fit import fit
from bayou.cli.ingest import stream_
from bayou.cli.inspect import inspect
from bayou.cli.models import models
from bayou.cli.predict import predict
from bayou.cli.report import report
from bayou.cli.shell import Shell
from bayou.cli.topics import topics
from bayou.cli.track import track
from bayou.cli.update import update

__all__ = ["app"]

app = typer.Typer(
    name="bayou",
    cls=Shell,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bayou {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    ctx: typer.Context,
    config_file: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Options from here, not from bayou.toml."),
    ] = None,
    verbose: Annotated[  # looked up before anything is parsed, by `Session.verbose`
        bool, typer.Option("--verbose", "-v", help="Show where an error came from.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    """Topic models that learn from labels and from streams.

    Results go to standard output, everything else to standard error. Options may
    stand in bayou.toml and in the environment too (BAYOU_SEED, BAYOU_FIT_MODEL).
    """
    if {"--help", "-h"} & set(ctx.obj.args):
        return  # a broken bayou.toml must not hide the manual
    verbs = ctx.command.commands  # type: ignore[attr-defined]
    defaults = config.load(config_file, verbs)
    ctx.default_map = {**defaults.options}
    ctx.obj.settings.update(defaults.settings)


for _panel, _verbs in {
    "Begin": (demo, fit, report, track),
    "Use a model": (predict, explain, topics, evaluate, update, stream_),
    "Look around": (models, inspect, doctor),
}.items():
    for _verb in _verbs:
        app.command(_verb.__name__.rstrip("_"), rich_help_panel=_panel)(_verb)
