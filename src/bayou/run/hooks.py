"""Something to do about an alert: run a command, or tell a server that the user has named."""

from __future__ import annotations

import base64
import contextlib
import http.client
import os
import shlex
import signal
import subprocess
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import IO

SECONDS = 10.0  # that a command or a server may take

_OF_A_SHELL = frozenset(
    ["|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>>", "2>&1", "&>"]
)

Hook = Callable[[str], str | None]


def command(line: str) -> Hook:
    """A function that runs a command with a line of JSON as its standard input.

    It gives None, or in a sentence what went wrong. The line is split as a shell would, and no shell is run.
    What the command leaves in the background is not waited for; one that takes too long is ended with all
    that it has started.
    """
    words = shlex.split(line)
    if not words:
        raise ValueError("the command of a hook is empty")
    if strange := [word for word in words if word in _OF_A_SHELL]:
        whole = shlex.quote(line)
        raise ValueError(
            f"{strange[0]} is for a shell, and none is run; give it to one: sh -c {whole}"
        )

    def run(text: str) -> str | None:
        try:
            # a file for what it says: a pipe would be open for as long as anything in the background is
            with tempfile.TemporaryFile() as said:
                code = _wait_for_exit(words, text, said)
                if code is None:
                    return f"{words[0]} took over {SECONDS:g} s and was stopped"
                said.seek(0)
                told = said.read().decode(errors="replace").strip()[-200:]
        except OSError as error:
            return f"{words[0]} could not be run: {(error.strerror or str(error)).lower()}"
        return (
            None if code == 0 else f"{words[0]} ended with {code}" + (f": {told}" if told else "")
        )

    return run


def _wait_for_exit(words: list[str], text: str, said: IO[bytes]) -> int | None:
    """The exit code of a command; None for one that had to be stopped."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=said,
        start_new_session=True,
    )
    try:
        process.communicate((text + "\n").encode(), timeout=SECONDS)
    except BaseException as error:
        _stop(process)
        if isinstance(error, subprocess.TimeoutExpired):
            return None
        raise
    return process.returncode


def _stop(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


class _Stay(urllib.request.HTTPRedirectHandler):
    """A server that was named is the one that is told: what it sends elsewhere is not followed."""

    def redirect_request(self, *given: object, **named: object) -> None:
        return None


def webhook(url: str) -> Hook:
    """A function that posts a line of JSON to a URL; it gives None, or what went wrong."""
    server = _server(url)
    address, headers = _split_address(url)
    opener = urllib.request.build_opener(_Stay)

    def send(text: str) -> str | None:
        asked = urllib.request.Request(address, text.encode(), headers)
        try:
            with opener.open(asked, timeout=SECONDS) as answer:
                answer.read(1)
            return None
        except urllib.error.HTTPError as error:
            return f"{server} answered {error.code}"
        except http.client.HTTPException as error:  # its text may repeat the address
            return f"{server} could not be told: {type(error).__name__}"
        except (OSError, ValueError) as error:
            return f"{server} could not be told: {getattr(error, 'reason', error)}"

    def post(text: str) -> str | None:
        # a name that is not found for long, or an answer that comes byte by byte, has no end of its own
        said: list[str | None] = []
        thread = threading.Thread(target=lambda: said.append(send(text)), name="hook", daemon=True)
        thread.start()
        thread.join(SECONDS)
        return said[0] if said else f"{server} took over {SECONDS:g} s and is not waited for"

    return post


def _split_address(url: str) -> tuple[str, dict[str, str]]:
    """The address without user and password, which would be taken for a part of the host; and the headers."""
    headers = {"Content-Type": "application/json", "User-Agent": "bayou"}
    parts = urllib.parse.urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if at:
        word = base64.b64encode(urllib.parse.unquote_to_bytes(user)).decode("ascii")
        headers["Authorization"] = f"Basic {word}"
    return parts._replace(netloc=host).geturl(), headers


def _server(url: str) -> str:
    """Host and port of an address: who is named in messages, without a password."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        shown = url.rpartition("@")[2]
        raise ValueError(
            f"a webhook is an address such as https://example.org/hook; got {shown!r}"
        ) from None
    return host if port is None else f"{host}:{port}"
