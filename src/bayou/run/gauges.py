"""How a stream is doing: a line for the log, and the text that Prometheus reads, from a file or over HTTP."""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bayou.data.errors import DataError, several

_HELP = {
    "documents_total": ("counter", "Documents that were taken, over all runs"),
    "documents_per_second": ("gauge", "Documents a second since the last report"),
    "dead_letters_total": ("counter", "Records that could not be used, over all runs"),
    "repeated_total": ("counter", "Documents left out because they had come before"),
    "lag": ("gauge", "How much of the source is still to be read"),
    "waiting": ("gauge", "Documents that wait to be learned until their block is full"),
    "block": ("gauge", "Documents that are learned together"),
    "live_topics": ("gauge", "Topics with at least a tenth of an even share of the tokens"),
    "vocabulary_terms": ("gauge", "Terms that have a column"),
    "unknown_share": ("gauge", "Share of tokens without a column, of the latest documents"),
    "late_total": ("counter", "Documents that came when their slice was over, in this run"),
    "undated_total": ("counter", "Documents without the date that a tracker needs, in this run"),
    "alerts_total": ("counter", "Things that somebody should look at, in this run"),
    "checkpoints_total": ("counter", "Checkpoints written in this run"),
    "checkpoint_age_seconds": ("gauge", "Seconds since the last checkpoint"),
}


class Gauges:
    """The figures of a stream; kept by whoever changes them, shown as text."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.values: dict[str, float] = dict.fromkeys(_HELP, 0.0)
        self._before = (time.monotonic(), 0.0)
        self._saved = time.monotonic()

    def begin(self, n_docs: int) -> None:
        """The rate counts from here."""
        self._before = (time.monotonic(), float(n_docs))

    def count_checkpoint(self) -> None:
        """A checkpoint was written."""
        self.values["checkpoints_total"] += 1
        self._saved = time.monotonic()

    def update_rates(self) -> None:
        """Work out what follows from the time."""
        now, docs = time.monotonic(), self.values["documents_total"]
        then, before = self._before
        if now > then:
            self.values["documents_per_second"] = (docs - before) / (now - then)
        self._before = (now, docs)

    def line(self) -> str:
        """One line for a log."""
        v, lag = self.values, self.values["lag"]
        behind = "" if math.isnan(lag) else f", {lag:,.0f} {self.unit} behind"
        waiting = (
            f", {v['waiting']:,.0f} wait for a block of {v['block']:,.0f}" if v["waiting"] else ""
        )
        unknown = v["unknown_share"]
        parts = (
            f"{several(v['documents_total'], 'document')}, {v['documents_per_second']:,.0f} a second{behind}"
            + waiting,
            several(v["live_topics"], "live topic"),
            several(v["vocabulary_terms"], "term"),
            "" if math.isnan(unknown) else f"{unknown:.1%} unknown",
            several(v["dead_letters_total"], "dead letter"),
            several(v["alerts_total"], "alert"),
        )
        return ", ".join(part for part in parts if part)

    def text(self) -> str:
        """The figures as Prometheus reads them."""
        self.values["checkpoint_age_seconds"] = time.monotonic() - self._saved
        lines = []
        for name, (kind, about) in _HELP.items():
            full = f"bayou_stream_{name}"
            label = f'{{unit="{self.unit}"}}' if name == "lag" else ""
            value = self.values[name]
            shown = "NaN" if math.isnan(value) else f"{value:.10g}"
            lines += [f"# HELP {full} {about}", f"# TYPE {full} {kind}", f"{full}{label} {shown}"]
        return "\n".join(lines) + "\n"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Into a file, which is always whole."""
        part = Path(path).with_name(f".{Path(path).name}.{os.getpid()}.tmp")
        part.write_text(self.text(), encoding="utf-8")
        os.replace(part, path)


@contextlib.contextmanager
def serving(port: int | None, text: Callable[[], str]) -> Iterator[int | None]:
    """Answer ``GET /metrics`` on this machine alone; port 0 is any that is free, None is none."""
    if port is None:
        yield None
        return

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path.partition("?")[0] in ("/", "/metrics")
            body = text().encode() if found else b"try /metrics\n"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: it would stand among the rows."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise DataError(
            f"figures cannot be served on 127.0.0.1:{port}: {(error.strerror or str(error)).lower()}; give "
            "another --metrics-port"
        ) from None
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
