"""The command line, ``bayou``. `verbs` has one file per verb, `streams` the runs that learn from streams.

Results go to standard output; progress and errors go to standard error. Exit codes: 0 success, 1 error in the
data, 2 error in the command line, 3 error in the model file, 130 interrupted.
"""

from pathlib import Path
from typing import Annotated

import typer

from bayou import __version__
from bayou.cli import config
from bayou.cli.shell import Shell
from bayou.cli.terminal import echo
from bayou.cli.verbs.demo import demo
from bayou.cli.verbs.doctor import doctor
from bayou.cli.verbs.evaluate import evaluate
from bayou.cli.verbs.explain import explain
from bayou.cli.verbs.find import find
from bayou.cli.verbs.fit import fit
from bayou.cli.verbs.inspect import inspect
from bayou.cli.verbs.labels import labels
from bayou.cli.verbs.models import models
from bayou.cli.verbs.predict import predict
from bayou.cli.verbs.report import report
from bayou.cli.verbs.stream import stream
from bayou.cli.verbs.topics import topics
from bayou.cli.verbs.track import track
from bayou.cli.verbs.update import update

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
        echo(f"bayou {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    ctx: typer.Context,
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE", help="Read options from this file instead of bayou.toml."
        ),
    ] = None,
    verbose: Annotated[  # read by `Session.verbose`, before parsing
        bool, typer.Option("--verbose", "-v", help="Print tracebacks of errors.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Topic models that learn from labels and from streams.

    Results go to standard output, everything else to standard error. Options can
    also be given in bayou.toml and in the environment (BAYOU_SEED, BAYOU_FIT_MODEL).
    """
    if {"--help", "-h"} & set(ctx.obj.args):
        return  # a broken bayou.toml must not hide the help
    verbs = ctx.command.commands  # type: ignore[attr-defined]
    defaults = config.load(config_file, verbs)
    ctx.default_map = {**defaults.options}
    ctx.obj.settings.update(defaults.settings)


for _panel, _verbs in {
    "Start": (demo, fit, report, track),
    "Use a model": (predict, explain, find, topics, evaluate, update, stream, labels),
    "Inspect": (models, inspect, doctor),
}.items():
    for _verb in _verbs:
        app.command(_verb.__name__, rich_help_panel=_panel)(_verb)
