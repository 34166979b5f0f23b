"""Actions for an alert: run a command, or post to a server that the user has named."""

from __future__ import annotations

import base64
import contextlib
import http.client
import ipaddress
import os
import shlex
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import IO

from bayou.data.errors import reason_of

SECONDS = 10.0  # time limit of a command, or of a request with its repetition
PAUSE = 1.0  # seconds before a request is repeated

_OF_A_SHELL = frozenset(
    ["|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>>", "2>&1", "&>"]
)

Hook = Callable[[str], str | None]


def command(line: str) -> Hook:
    """A function that runs a command with a line of JSON as its standard input.

    The function returns None, or an error message. The command line is split by shell rules, but no shell is
    run. Background processes of the command are not awaited. A command that exceeds the time limit is killed
    with its process group.
    """
    words = shlex.split(line)
    if not words:
        raise ValueError("the command of a hook is empty; give a program to run")
    if operators := [word for word in words if word in _OF_A_SHELL]:
        whole = shlex.quote(line)
        raise ValueError(
            f"{operators[0]} is a shell operator, but no shell is run; start one: sh -c {whole}"
        )

    def run(text: str) -> str | None:
        try:
            # stderr is a file: a pipe would stay open as long as any background process runs
            with tempfile.TemporaryFile() as said:
                code = _wait_for_exit(words, text, said)
                if code is None:
                    return f"{words[0]} took over {SECONDS:g} s and was stopped"
                said.seek(0)
                told = said.read().decode(errors="replace").strip()[-200:]
        except OSError as error:
            return f"{words[0]} could not be run: {reason_of(error)}"
        return (
            None if code == 0 else f"{words[0]} ended with {code}" + (f": {told}" if told else "")
        )

    return run


def _wait_for_exit(words: list[str], text: str, said: IO[bytes]) -> int | None:
    """The exit code of a command; None if it exceeded the time limit and was killed."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=said,
        start_new_session=True,
    )
    try:
        process.communicate((text + "\n").encode("utf-8", "backslashreplace"), timeout=SECONDS)
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


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Does not follow redirects: alerts go only to the server that the user has named."""

    def redirect_request(self, *given: object, **named: object) -> None:
        return None


def webhook(url: str) -> Hook:
    """A function that posts a line of JSON to a URL; it returns None, or an error message.

    The request is repeated once if the server cannot be reached or fails, so a server may receive an alert
    twice. Redirects are not followed. Link-local, multicast and unspecified addresses are refused: they
    belong to the machine's own network, such as the metadata of a cloud.
    """
    server = _server(url)
    address, headers = _split_address(url)
    opener = urllib.request.build_opener(_NoRedirect)

    def send(text: str) -> str | None:
        """Post, and once more if the server could not be reached or failed."""
        problem, again = send_once(text)
        if problem is not None and again:
            time.sleep(PAUSE)
            problem, _ = send_once(text)
        return problem

    def send_once(text: str) -> tuple[str | None, bool]:
        asked = urllib.request.Request(address, text.encode("utf-8", "backslashreplace"), headers)
        try:
            if reason := _refuse_host(urllib.parse.urlsplit(address).hostname or ""):
                return f"{server} is not allowed: {reason}", False
            with opener.open(asked, timeout=SECONDS) as answer:
                answer.read(1)
            return None, False
        except urllib.error.HTTPError as error:
            return f"{server} answered {error.code}", error.code >= 500
        except http.client.HTTPException as error:  # its text may contain the address
            return f"{server} could not be reached: {type(error).__name__}", False
        except (OSError, ValueError) as error:
            return f"{server} could not be reached: {getattr(error, 'reason', error)}", True

    def post(text: str) -> str | None:
        # neither a slow name lookup nor a reply that arrives byte by byte is limited by the timeout
        said: list[str | None] = []
        thread = threading.Thread(target=lambda: said.append(send(text)), name="hook", daemon=True)
        thread.start()
        thread.join(SECONDS)
        return said[0] if said else f"{server} took over {SECONDS:g} s; the request was abandoned"

    return post


def _refuse_host(host: str) -> str:
    """Why no alert is sent to a host; an empty string if one may be."""
    for *_, place in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM):
        ip = ipaddress.ip_address(str(place[0]).partition("%")[0])
        ip = getattr(ip, "ipv4_mapped", None) or ip
        if ip.is_link_local or ip.is_multicast or ip.is_unspecified:
            return f"{ip} is a link-local, multicast or unspecified address"
    return ""


def _split_address(url: str) -> tuple[str, dict[str, str]]:
    """The address without user and password, which urllib would read as part of the host; and headers."""
    headers = {"Content-Type": "application/json", "User-Agent": "bayou"}
    parts = urllib.parse.urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if at:
        word = base64.b64encode(urllib.parse.unquote_to_bytes(user)).decode("ascii")
        headers["Authorization"] = f"Basic {word}"
    return parts._replace(netloc=host).geturl(), headers


def _server(url: str) -> str:
    """Host and port of an address, for messages, without a password."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        shown = url.rpartition("@")[2]
        raise ValueError(
            f"a webhook must be an address such as https://example.org/hook; got {shown!r}"
        ) from None
    return host if port is None else f"{host}:{port}"
