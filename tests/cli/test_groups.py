"""Groups of options: dataclasses whose fields are options of a verb."""

import inspect
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated

import pytest
import typer
from tests.cli.test_verbs import VERBS
from typer.testing import CliRunner

from bayou.cli import app, options
from bayou.cli.verbs.stream import StreamPlan
from bayou.cli.verbs.track import NewTracker


@dataclass(frozen=True)
class Inner:
    """A group in a group."""

    size: Annotated[int, typer.Option("--size", "-s", help="How large.")] = 3


@dataclass(frozen=True)
class Outer:
    """A group with an argument and an option."""

    name: Annotated[str, typer.Argument(metavar="NAME")]
    inner: Inner
    loud: Annotated[bool, typer.Option("--loud")] = False


@pytest.fixture
def made():
    found = []

    @options.with_groups
    def verb(ctx: typer.Context, outer: Outer, last: Annotated[str, typer.Option("--last")] = "z"):
        """What it does."""
        found.append((ctx.command_path, outer, last))

    one = typer.Typer()
    one.command()(verb)
    return one, verb, found


def test_fields_of_groups_become_options(made):
    one, verb, found = made
    assert list(inspect.signature(verb).parameters) == ["ctx", "name", "size", "loud", "last"]
    assert CliRunner().invoke(one, ["a", "-s", "7", "--loud"]).exit_code == 0
    assert found[0][1:] == (Outer("a", Inner(7), True), "z")
    assert CliRunner().invoke(one, ["b", "--last", "y"]).exit_code == 0
    assert found[1][1:] == (Outer("b", Inner(), False), "y")
    assert CliRunner().invoke(one, []).exit_code == 2, "an argument without a default is needed"
    assert CliRunner().invoke(one, ["b", "--size", "x"]).exit_code == 2
    help_ = CliRunner().invoke(one, ["--help"]).stdout
    assert "What it does." in help_
    assert "How large." in help_


def test_flags_of_a_group():
    assert options.flags_of(Inner) == {"size": "--size"}
    assert options.flags_of(NewTracker)["slice_"] == "--slice"


def test_no_option_is_in_two_groups_of_a_plan():
    """Values are handed over by name: a name that two groups share would be one option for both."""

    def names(group):
        for f in fields(group):
            kind = inspect.get_annotations(group, eval_str=True).get(f.name)
            if is_dataclass(kind):
                yield from names(kind)
            else:
                yield f.name

    every = list(names(StreamPlan))
    assert len(every) == len(set(every)) > 30


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_of_a_verb_has_a_help_text_and_one_meaning(verb):
    command = typer.main.get_command(app).commands[verb]
    spellings = [word for p in command.params for word in p.opts]
    assert len(spellings) == len(set(spellings))
    for p in command.params:
        assert p.help, f"{verb} {p.name}"
        assert p.help.endswith((".", "!")), p.help
