"""How the command line ends: one sentence for every error, and an exit code that never changes."""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

import typer
from rich.console import Console
from typer.core import TyperGroup

from bayou.cli import interrupt
from bayou.data.errors import BayouError, ModelFileError

OK, DATA, USAGE, MODEL_FILE, INTERRUPTED = 0, 1, 2, 3, 130

_HINTS = {
    errno.ENOENT: "check the path",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.EISDIR: "name a file",
    errno.ENOTDIR: "check the path",
    errno.ENOSPC: "free some space or write elsewhere",
    errno.EDQUOT: "free some space or write elsewhere",
    errno.EROFS: "write elsewhere",
}
# The library speaks of its arguments; here they are flags.
_AS_FLAGS = (
    (re.compile(r"\bwith (text|label|target|time|id)="), r"with --\1"),
    (re.compile(r"\bgive time=, or slice_by= a number\b"), "give --time, or --slice a number"),
    (re.compile(r'\bpass (target|time)=""'), r'pass --\1 ""'),
    (re.compile(r"\bpass format= one of"), "pass --format, one of"),
    (re.compile(r'pass encoding_errors="replace"'), "pass --encoding-errors replace"),
    (re.compile(r"\braise max_line_bytes\b"), "raise --max-line-bytes"),
    (
        re.compile(
            r'\bstop_words must be a language such as "english" or "de", None or a list of words'
        ),
        "--stop-words must be a language such as english or de, or none",
    ),
    (re.compile(r"^y has one class only"), "the label column has one class only"),
)


class Session(NamedTuple):
    """What the whole command line knows: its words, and the ``set`` tables of bayou.toml."""

    args: tuple[str, ...]
    settings: dict[str, dict[str, Any]]

    @property
    def verbose(self) -> bool:
        """Whether tracebacks are wanted; asked before the words are parsed."""
        return "-v" in self.args or "--verbose" in self.args


def session_of(ctx: typer.Context) -> Session:
    """What the whole command line knows."""
    session: Session = ctx.find_root().obj
    return session


class Shell(TyperGroup):
    """The group of all verbs; no exception leaves it."""

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the words given and leave with an exit code."""
        words = list(sys.argv[1:] if args is None else args)
        extra.setdefault("obj", Session(tuple(words), {}))
        if hasattr(sys.stdout, "reconfigure"):  # a terminal that cannot show a term must not fail
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            with interrupt.insisting():
                code = super().main(
                    words, prog_name or "bayou", complete_var, standalone_mode=False, **extra
                )
        except (KeyboardInterrupt, typer.Abort):  # before a verb had begun
            complain("interrupted; nothing was done")
            code = INTERRUPTED
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            code = _misused(error)
        code = code if isinstance(code, int) else OK
        if standalone_mode:
            sys.exit(code)
        return code

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run a verb; turn what it raises into a sentence and a code."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            interrupt.heard()
            complain("interrupted; nothing more was written")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader has seen enough: `bayou predict ... | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(OK) from None
        except Exception as error:
            if hasattr(error, "format_message"):  # about the command line; `main` has words for it
                raise
            if ctx.obj.verbose:
                traceback.print_exc(file=sys.stderr)
            code, text = sentence(error)
            complain(text)
            _abandon_stdout(error)
            raise typer.Exit(code) from None


def sentence(error: Exception) -> tuple[int, str]:
    """The exit code and the one sentence for an error."""
    if isinstance(error, BayouError):
        return (MODEL_FILE if isinstance(error, ModelFileError) else DATA), as_flags(str(error))
    if isinstance(error, OSError) and error.errno is not None:
        where = f"{os.fspath(error.filename)}: " if error.filename is not None else ""
        hint = _HINTS.get(error.errno, "try again or use another path")
        reason = (error.strerror or "cannot be used").lower()
        return DATA, f"{where}{reason}; {hint}"
    if isinstance(error, OSError):
        return DATA, str(error)
    if isinstance(error, MemoryError):
        return DATA, "out of memory; use fewer documents, terms (--max-features) or topics"
    kind = type(error).__name__
    return (
        DATA,
        f"an error in bayou itself ({kind}: {error!s:.200}); `bayou -v ...` shows where; please report it",
    )


def as_flags(text: str) -> str:
    """What the library says of its arguments, said of flags."""
    for pattern, flag in _AS_FLAGS:
        text = pattern.sub(flag, text)
    return text


def complain(text: str) -> None:
    """Say what went wrong on standard error."""
    line = " ".join(f"bayou: {text}".split())
    Console(stderr=True, highlight=False).print(line, style="red", markup=False, soft_wrap=True)


def _misused(error: Any) -> int:
    """A wrong command line: what is wrong with it, and where its manual is."""
    ctx: Any = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        if error.format_message().strip():  # else it has been printed already
            typer.echo(error.format_message(), err=True)
        return USAGE
    path = ctx.command_path if ctx is not None else "bayou"
    text = error.format_message().rstrip(".")
    if "Input should" in text and ctx is not None:
        text += _came(text, ctx.find_root().obj.args)
    complain(
        f"{text} See '{path} --help'" if text.endswith("?") else f"{text}; see '{path} --help'"
    )
    return USAGE


def _came(text: str, words: Sequence[str]) -> str:
    """What was given to the flag that a message names, as the end of that message."""
    for flag in re.findall(r"'(-[\w-]+)'", text):
        for i, word in enumerate(words):
            if word == flag and i + 1 < len(words):
                return f"; got {words[i + 1]!r}"
            if word.startswith(f"{flag}=") or (len(flag) == 2 and word.startswith(flag)):
                return f"; got {word[len(flag) :].lstrip('=')!r}"
    return ""


def _abandon_stdout(error: Exception) -> None:
    """After a full disk, what is still buffered would fail once more when Python ends."""
    if isinstance(error, OSError) and error.filename is None:
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
