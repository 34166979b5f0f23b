"""Hooks: whatever a command, a server or an address does is a sentence, and no password is in it."""

import contextlib
import os
import signal
import socket
import sys
import threading
import time

import pytest

from bayou.run import hooks
from bayou.run.hooks import command, webhook

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")

HEARD = []


@contextlib.contextmanager
def answering(data):
    """A server that says this, whatever it is asked; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as ear:

        def answer():
            told, _ = ear.accept()
            with told:
                HEARD.append(told.recv(65536))
                told.sendall(data)

        thread = threading.Thread(target=answer)
        thread.start()
        yield ear.getsockname()[1]
        thread.join()


@pytest.mark.parametrize("data", [b"SSH-2.0-x\r\n", b"", b"HTTP/1.1 x\r\n\r\n"])
def test_a_server_that_does_not_speak_http(data):
    with answering(data) as port:
        assert f"127.0.0.1:{port} could not be reached" in webhook(f"http://127.0.0.1:{port}/")(
            "{}"
        )


def test_a_server_that_refuses():
    with answering(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n") as port:
        assert webhook(f"http://127.0.0.1:{port}/")("{}") == f"127.0.0.1:{port} answered 403"


def test_user_and_password_go_to_the_server_and_into_no_message():
    with answering(b"HTTP/1.1 200 Yes\r\nContent-Length: 0\r\n\r\n") as port:
        assert webhook(f"http://ann:se%40cret@127.0.0.1:{port}/x")("{}") is None
    assert b"Authorization: Basic YW5uOnNlQGNyZXQ=\r\n" in HEARD[-1]
    assert HEARD[-1].startswith(b"POST /x HTTP/1.1\r\n")
    said = webhook(f"http://ann:secret@127.0.0.1:{port}/a b")("{}")  # no address has blanks
    assert said == f"127.0.0.1:{port} could not be reached: InvalidURL"
    said = webhook(f"http://ann:secret@127.0.0.1:{port}/x")("{}")  # the server is gone
    assert said.startswith(f"127.0.0.1:{port} could not be reached: ")
    assert "secret" not in said
    assert "ann" not in said


@pytest.mark.parametrize(
    "url",
    [
        "ftp://me:secret@host/x",
        "me:secret@host/x",
        "http://me:secret@host:port/x",
        "http://me:secret@[host/x",
        "http://me:secret@/x",
        "http://me:secret@ho\u2100st/x",
    ],
)
def test_what_is_no_address_is_refused_without_its_password(url):
    with pytest.raises(ValueError, match="a webhook must be an address") as caught:
        webhook(url)
    assert "secret" not in str(caught.value)


@posix
def test_commands_end_as_they_like(tmp_path):
    heard = tmp_path / "heard"
    assert command(f"sh -c 'cat > {heard}'")('{"kind": "born"}') is None
    assert heard.read_text() == '{"kind": "born"}\n'
    assert command("true")("{}" * 100_000) is None  # it does not listen
    assert command("sh -c 'exit 3'")("{}") == "sh ended with 3"
    assert command("sh -c 'echo no desk >&2; exit 3'")("{}") == "sh ended with 3: no desk"
    assert command("no-such-command-at-all")("{}").startswith(
        "no-such-command-at-all could not be run"
    )


@posix
def test_what_a_command_leaves_in_the_background_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(hooks, "SECONDS", 5.0)
    pid = tmp_path / "pid"
    assert command(f"sh -c 'sleep 60 & echo $! > {pid}'")("{}") is None
    os.kill(int(pid.read_text()), signal.SIGKILL)  # it was still there


@posix
def test_a_command_that_hangs_is_ended_with_all_that_it_has_started(tmp_path, monkeypatch):
    monkeypatch.setattr(hooks, "SECONDS", 3.0)  # in which a shell is sure to have started
    pid = tmp_path / "pid"
    said = command(f"sh -c 'sleep 60 & echo $! > {pid}; wait'")("{}")
    assert said == "sh took over 3 s and was stopped"
    assert _is_gone(int(pid.read_text()))


def _is_gone(pid, seconds=10.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":  # init has not looked yet
                    return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_a_server_that_answers_byte_by_byte_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(hooks, "SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as ear:
        done = threading.Event()

        def trickle():
            told, _ = ear.accept()
            with told, contextlib.suppress(OSError):
                while not done.wait(0.1):
                    told.sendall(b"H")

        thread = threading.Thread(target=trickle)
        thread.start()
        port = ear.getsockname()[1]
        said = webhook(f"http://127.0.0.1:{port}/")("{}")
        done.set()
        thread.join()
    assert said == f"127.0.0.1:{port} took over 0.5 s; the request was abandoned"


@pytest.mark.parametrize(
    "line", ["cat >> all.jsonl", "jq .kind | mail me", "a && b", "a ; b", "cat 2> e"]
)
def test_what_only_a_shell_understands_is_refused_and_shown_to_one(line):
    sign = next(word for word in line.split() if not word.isalnum() and "." not in word)
    with pytest.raises(ValueError, match="is a shell operator, but no shell is run") as said:
        hooks.command(line)
    assert str(said.value).startswith(sign)
    assert str(said.value).endswith(f"sh -c '{line}'")


def test_a_shell_may_be_the_command(tmp_path):
    out = tmp_path / "all.jsonl"
    hook = hooks.command(f"sh -c 'cat >> {out}; echo >> {out}'")
    assert hook('{"kind": "rise"}') is None
    assert out.read_text().startswith('{"kind": "rise"}')


def test_text_that_utf8_cannot_encode_is_sent_escaped(tmp_path):
    assert hooks.command(f"cp /dev/stdin {tmp_path / 'got'}")('{"id": "x\ud800"}') is None
    assert (tmp_path / "got").read_text() == '{"id": "x\\ud800"}\n'


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "[fe80::1]", "0.0.0.0", "224.0.0.1", "[::ffff:169.254.1.1]"]
)
def test_addresses_of_the_machine_s_own_network_are_refused(host):
    assert "is not allowed" in webhook(f"http://{host}/latest")("{}")


def test_a_server_that_fails_is_asked_once_more(monkeypatch):
    monkeypatch.setattr(hooks, "PAUSE", 0.01)
    answers = [b"HTTP/1.1 503 x\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 404 x\r\n\r\n"]
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as ear:

        def answer():
            for said in answers:
                told, _ = ear.accept()
                with told:
                    asked.append(told.recv(65536))
                    told.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        post = webhook(f"http://127.0.0.1:{ear.getsockname()[1]}")
        assert post("{}") is None
        assert len(asked) == 2
        assert "answered 404" in post("{}")  # a mistake of the request is not repeated
        thread.join()
    assert len(asked) == 3
