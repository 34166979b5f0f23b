"""One run of ``bayou track``: feeds a tracker, prints and writes its alerts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayou.cli import alerts, documents, interrupt, output
from bayou.cli.messages import Messages
from bayou.cli.terminal import echo
from bayou.data.errors import DataError, several

if TYPE_CHECKING:
    from bayou.data.text import Vectorizer
    from bayou.models.topic_tracker import TopicTracker
    from bayou.run.hooks import Hook

_BATCH = 256
_LONGEST = 4000  # characters of a text that are kept while its slice is open, to quote from


class TrackRun:
    """Feeds a tracker; prints its alerts and keeps the texts that they name."""

    def __init__(
        self,
        model: TopicTracker,
        vectorizer: Vectorizer,
        path: str | None,  # of the file of alerts
        hooks: list[Hook],
        messages: Messages,
    ) -> None:
        self.model, self.vectorizer, self.path = model, vectorizer, path
        self._messages, self._hooks = messages, hooks
        self._texts: dict[str, str] = {}  # of documents whose slice is open
        self.quotes: dict[str, str] = {}  # texts of documents that alerts name
        self.n_docs = self._n_undated = 0
        self._is_continued = hasattr(model, "state_")  # from an earlier command
        self._n_late = alerts.count_late(model) if self._is_continued else 0
        self._file: Any = None
        if path is not None and path != output.STDOUT:
            self._file = alerts.open_alerts(Path(path), append=self._is_continued)
        model.set_params(on_alert=self._send)

    def learn_all(self, source: documents.Source, keep_open: bool) -> bool:
        """Learn from all documents; gives whether Ctrl-C ended it."""
        brake = interrupt.Brake(self._messages)
        try:
            for batch in self._batches(source):
                corpus = self._corpus(batch)
                if corpus is None:
                    continue
                with brake:
                    self.model.set_params(callbacks=[brake])
                    self.model.partial_fit(corpus)
                    self.model.set_params(callbacks=None)
                self._drop_texts()
                if brake.pressed:
                    return True
            if not keep_open and hasattr(self.model, "_intake"):
                with brake:
                    self.model.flush()
        except KeyboardInterrupt:
            if brake.pressed:
                raise
            interrupt.acknowledge()
            return True
        finally:
            self.model.set_params(callbacks=None, on_alert=None)
            if self._file is not None:
                self._file.close()
        return False

    def check_learned(self) -> None:
        """Refuse a tracker that has learned nothing."""
        if hasattr(self.model, "state_"):
            return
        if not self.n_docs or not hasattr(self.model, "_intake"):
            raise DataError(
                f"there are no words in {several(self.n_docs, 'document')}; name the right column with "
                "--text, or give --stop-words none"
            )
        raise DataError(
            f"no slice has ended after {several(self.n_docs, 'document')}; give more documents, a shorter "
            "--slice, or a smaller --min-df"
        )

    def summary(self) -> str:
        """Summary of the run in one line."""
        model, by_date = self.model, isinstance(self.model.slice_by, str)
        counts = {
            "slice": model.state_.step,
            "alert": len(model.alerts()),
            "topic": len(model.topic_ids_),
        }
        found = ", ".join(several(n, what) for what, n in counts.items())
        read = several(self.n_docs, "document")
        parts = [f"{read} more; {found} so far" if self._is_continued else f"{read} in {found}"]
        if n := model.n_waiting_:
            parts.append(
                f"{several(n, 'document')} {'waits' if n == 1 else 'wait'} for the slice to end"
            )
        if (n := self._n_undated) and by_date:
            verbs = "has no date and takes" if n == 1 else "have no date and take"
            parts.append(f"{several(n, 'document')} {verbs} the time of the previous document")
        if n := alerts.count_late(model) - self._n_late:
            parts.append(
                f"{several(n, 'document')} came after their slices had ended{self._late_hint()}"
            )
        return "; ".join(parts)

    def _late_hint(self) -> str:
        dropped = " and were dropped" if self.model.late == "drop" else ""
        if self._is_continued:
            return (
                f"{dropped} (were they learned before? `bayou stream` keeps the position in a file)"
            )
        return f"{dropped} (--set grace=1 keeps slices open for longer)"

    def warnings(self) -> Iterator[str]:
        """Slices with too few documents, or with a date that may be wrong."""
        from bayou.inference.tracking.data_warnings import doubts

        model, mend = self.model, ("a longer --slice", "a smaller -k")
        names, by = model.slice_names_, model.slice_by
        return doubts(model.slices_, names, by, model.n_topics, mend, self._is_continued)

    def _batches(self, source: documents.Source) -> Iterator[documents.Batch]:
        from bayou.cli.streams import time_order

        with alerts.require_dates(isinstance(self.model.slice_by, str)):
            yield from time_order.batches(source, _BATCH, self.model, self._messages)

    def _corpus(self, batch: documents.Batch) -> Any:
        """A batch as counts of all of its words; None where there are no words yet."""
        from bayou.data.corpus import Corpus
        from bayou.data.counting import count_tokens

        counts, terms = count_tokens(self.vectorizer.tokens(batch.texts), vocabulary=None)
        names = [str(name) for name in batch.ids]
        self.n_docs += len(names)
        self._n_undated += batch.n_undated
        self._texts.update((n, t[:_LONGEST]) for n, t in zip(names, batch.texts, strict=True))
        if not len(terms) and not hasattr(self.model, "_intake"):
            return None
        return Corpus.from_matrix(counts, vocabulary=terms, times=batch.times, ids=names)

    def _send(self, alert: Any) -> None:
        """Print an alert, write it, and call the hooks."""
        json = alert.to_json()
        for name in alert.docs:
            if name in self._texts:
                self.quotes[name] = self._texts[name]
        echo(json if self.path == output.STDOUT else alerts.line(alert))
        if self._file is not None:
            self._file.write(json + "\n")
            self._file.flush()
        alerts.call_hooks(json, self._hooks, self._messages)

    def _drop_texts(self) -> None:
        """Forget the texts of slices that have ended."""
        if len(self._texts) > 4 * max(self.model.n_waiting_, _BATCH):
            parts = self.model._intake.waiting.values()
            waiting = {name for part in parts for corpus in part for name in corpus.ids or ()}
            self._texts = {name: text for name, text in self._texts.items() if name in waiting}
