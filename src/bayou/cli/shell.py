"""Errors of the command line: one sentence each, and a fixed exit code."""

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
from bayou.cli.terminal import echo
from bayou.data.errors import BayouError, ModelFileError
from bayou.data.untrusted import for_terminal

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
# Messages of the library name its arguments; on the command line these are flags.
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
        "--stop-words must be a language such as english or de, a file, or none",
    ),
    (re.compile(r"^y has one class only"), "the label column has one class only"),
)


class Session(NamedTuple):
    """The words of the command line, and the ``set`` tables of bayou.toml."""

    args: tuple[str, ...]
    settings: dict[str, dict[str, Any]]

    @property
    def verbose(self) -> bool:
        """Whether to print tracebacks; needed before the words are parsed."""
        return "-v" in self.args or "--verbose" in self.args


def session_of(ctx: typer.Context) -> Session:
    """The session of a command."""
    session: Session = ctx.find_root().obj
    return session


class Shell(TyperGroup):
    """The group of all verbs; turns exceptions into messages and exit codes."""

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line and exit with a code."""
        words = list(sys.argv[1:] if args is None else args)
        extra.setdefault("obj", Session(tuple(words), {}))
        if hasattr(sys.stdout, "reconfigure"):  # for terminals that cannot show a term
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            with interrupt.repeat_until_acknowledged():
                code = super().main(
                    words, prog_name or "bayou", complete_var, standalone_mode=False, **extra
                )
        except (KeyboardInterrupt, typer.Abort):  # before a verb had begun
            print_error("interrupted; nothing was done")
            code = INTERRUPTED
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            code = _usage_error(error)
        code = code if isinstance(code, int) else OK
        if standalone_mode:
            sys.exit(code)
        return code

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run a verb; turn an exception into a sentence and a code."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            interrupt.acknowledge()
            print_error("interrupted; nothing more was written")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader has closed the pipe: `bayou predict ... | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(OK) from None
        except Exception as error:
            if hasattr(error, "format_message"):  # a usage error, which `main` prints
                raise
            if ctx.obj.verbose:
                print(for_terminal(traceback.format_exc()), end="", file=sys.stderr)
            code, text = sentence(error)
            print_error(text)
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
        f"internal error ({kind}: {error!s:.200}); `bayou -v ...` prints a traceback; please report it",
    )


def as_flags(text: str) -> str:
    """A message of the library with flags in place of arguments."""
    for pattern, flag in _AS_FLAGS:
        text = pattern.sub(flag, text)
    return text


def print_error(text: str) -> None:
    """Print an error on standard error."""
    line = for_terminal(" ".join(f"bayou: {text}".split()))
    Console(stderr=True, highlight=False).print(line, style="red", markup=False, soft_wrap=True)


def _usage_error(error: Any) -> int:
    """Print what is wrong with a command line, and where its help is."""
    ctx: Any = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        if error.format_message().strip():  # otherwise it was printed already
            echo(error.format_message(), err=True)
        return USAGE
    path = ctx.command_path if ctx is not None else "bayou"
    text = error.format_message().rstrip(".")
    if "Input should" in text and ctx is not None:
        text += _flag_value(text, ctx.find_root().obj.args)
    print_error(
        f"{text} See '{path} --help'" if text.endswith("?") else f"{text}; see '{path} --help'"
    )
    return USAGE


def _flag_value(text: str, words: Sequence[str]) -> str:
    """The value of the flag that a message names, as the end of the message."""
    for flag in re.findall(r"'(-[\w-]+)'", text):
        for i, word in enumerate(words):
            if word == flag and i + 1 < len(words):
                return f"; got {words[i + 1]!r}"
            if word.startswith(f"{flag}=") or (len(flag) == 2 and word.startswith(flag)):
                return f"; got {word[len(flag) :].lstrip('=')!r}"
    return ""


def _abandon_stdout(error: Exception) -> None:
    """After a full disk, discard what is buffered: it would fail again when Python exits."""
    if isinstance(error, OSError) and error.filename is None:
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
