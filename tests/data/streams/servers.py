"""Real servers on this machine alone, started for a test and ended with it."""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

REDIS = shutil.which("redis-server")
_POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
POSTGRES = _POSTGRES[-1].parent if _POSTGRES else None


class Redis:
    """A server that keeps what it has when it is killed."""

    def __init__(self, folder):
        self.folder = folder
        self.url = f"unix://{folder}/redis.sock"

    def start(self):
        self.process = subprocess.Popen(
            [REDIS, "--port", "0", "--unixsocket", f"{self.folder}/redis.sock", "--dir", self.folder,
             "--appendonly", "yes", "--appendfsync", "always", "--save", ""],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        import redis

        self.db = redis.Redis.from_url(self.url)
        _waited(self.db.ping)

    def kill(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def redis_server(folder):
    server = Redis(str(folder))
    server.start()
    try:
        yield server
    finally:
        server.kill()


class Postgres:
    """A cluster of its own; initdb refuses root, so it may run as another user."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.user = "postgres" if os.getuid() == 0 else None
        if self.user:
            os.chown(folder, pwd.getpwnam(self.user).pw_uid, -1)
        self._run("initdb", "-D", self.folder / "data", "-A", "trust", "-U", "postgres", "-N")
        with socket.socket() as probe:  # last of all: what is free now may not be so in a second
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/postgres"

    def _run(self, name, *words):
        subprocess.run(
            [POSTGRES / name, *words], user=self.user, cwd=self.folder, check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def start(self):
        flags = ["-c", "listen_addresses=127.0.0.1", "-c", f"port={self.port}",
                 "-c", "fsync=off", "-c", f"unix_socket_directories={self.folder}"]  # fmt: skip
        log = self.folder / "log"
        with log.open("wb") as lines:
            self.process = subprocess.Popen(
                [POSTGRES / "postgres", "-D", self.folder / "data", *flags], user=self.user,
                cwd=self.folder, stdout=lines, stderr=lines,
            )  # fmt: skip
        import psycopg

        def ask():
            psycopg.connect(f"postgresql://postgres@127.0.0.1:{self.port}/postgres").close()

        _waited(ask, lambda: self.process.poll() is not None and log.read_text())

    def kill(self):
        """Kill the server and its processes, as when the machine runs out of memory."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        self.process.kill()
        for child in map(int, children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, 9)
        self.process.wait()
        _waited(lambda: _check_gone(children))

    def stop(self):
        self.process.send_signal(2)  # fast: connections are closed
        self.process.wait()


@contextlib.contextmanager
def postgres_server():
    """In a folder that is not pytest's: a session that begins shuts those to other users."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = Postgres(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _check_gone(pids):
    for pid in pids:
        state = Path(f"/proc/{pid}/stat")
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if state.read_text().rpartition(")")[2].split()[0] != "Z":
                raise RuntimeError(f"process {pid} is still there")


def _waited(call, ended=lambda: False):
    until = time.monotonic() + 60.0
    while True:
        try:
            call()
        except Exception:
            if why := ended():
                raise RuntimeError(f"the server has ended: {why}") from None
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return
