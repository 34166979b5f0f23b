"""Metrics of a stream: a line for the log, and text for Prometheus, in a file or over HTTP."""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bayou.data.errors import DataError, reason_of, several

_HELP = {
    "documents_total": ("counter", "Documents read, over all runs"),
    "documents_per_second": ("gauge", "Documents per second since the last report"),
    "dead_letters_total": ("counter", "Records that could not be used, over all runs"),
    "repeated_total": ("counter", "Documents skipped as duplicates"),
    "lag": ("gauge", "Part of the source that is not read yet"),
    "waiting": ("gauge", "Documents that wait to be learned until their block is full"),
    "block": ("gauge", "Documents that are learned together"),
    "live_topics": ("gauge", "Topics with at least a tenth of an even share of the tokens"),
    "vocabulary_terms": ("gauge", "Terms that have a column"),
    "unknown_share": ("gauge", "Share of tokens without a column, of the latest documents"),
    "late_total": ("counter", "Documents that arrived after their slice was closed, in this run"),
    "undated_total": ("counter", "Documents without the date that a tracker needs, in this run"),
    "alerts_total": ("counter", "Alerts in this run"),
    "checkpoints_total": ("counter", "Checkpoints written in this run"),
    "checkpoint_age_seconds": ("gauge", "Seconds since the last checkpoint"),
}


class Gauges:
    """The metrics of a stream; the ingest loop updates ``values``."""

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.values: dict[str, float] = dict.fromkeys(_HELP, 0.0)
        self._before = (time.monotonic(), 0.0)
        self._saved = time.monotonic()

    def begin(self, n_docs: int) -> None:
        """Set the start of the rate measurement."""
        self._before = (time.monotonic(), float(n_docs))

    def count_checkpoint(self) -> None:
        """Record that a checkpoint was written."""
        self.values["checkpoints_total"] += 1
        self._saved = time.monotonic()

    def update_rates(self) -> None:
        """Update the metrics that depend on time."""
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
            f"{several(v['documents_total'], 'document')}, {v['documents_per_second']:,.0f} per second"
            + behind
            + waiting,
            several(v["live_topics"], "live topic"),
            several(v["vocabulary_terms"], "term"),
            "" if math.isnan(unknown) else f"{unknown:.1%} unknown",
            several(v["dead_letters_total"], "dead letter"),
            several(v["alerts_total"], "alert"),
        )
        return ", ".join(part for part in parts if part)

    def text(self) -> str:
        """The metrics in the Prometheus text format."""
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
        """Write the metrics to a file, atomically."""
        part = Path(path).with_name(f".{Path(path).name}.{os.getpid()}.tmp")
        part.write_text(self.text(), encoding="utf-8")
        os.replace(part, path)


@contextlib.contextmanager
def serving(port: int | None, text: Callable[[], str]) -> Iterator[int | None]:
    """Serve ``GET /metrics`` on the loopback interface; port 0 picks a free one, None serves nothing."""
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
            """Log nothing: the lines would mix with the rows."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise DataError(
            f"metrics cannot be served on 127.0.0.1:{port}: {reason_of(error)}; give "
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
