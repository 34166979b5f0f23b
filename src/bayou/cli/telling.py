"""What ``bayou track`` tells while it reads: a line an alert, files, hooks; and how right it was."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bayou.cli import documents, interrupt, output
from bayou.cli.voice import Voice
from bayou.data.errors import DataError, several

if TYPE_CHECKING:
    from bayou.data.text import Vectorizer
    from bayou.models.topic_tracker import TopicTracker
    from bayou.run.hooks import Hook

_BATCH = 256
_LEAST = 1e-4  # of the weight of the first word: a fixed topic has a trace alone of others
_LONGEST = 4000  # characters of a text that are kept while its slice is open, to quote from


class Teller:
    """Feeds a tracker and tells what it says; keeps the texts that alerts rest on."""

    def __init__(
        self,
        model: TopicTracker,
        vectorizer: Vectorizer,
        alerts: str | None,
        hooks: list[Hook],
        voice: Voice,
    ) -> None:
        self.model, self.vectorizer, self.voice, self.hooks = model, vectorizer, voice, hooks
        self.texts: dict[str, str] = {}  # of documents whose slice is open
        self.kept: dict[str, str] = {}  # of documents that alerts name
        self.n_docs = self.n_undated = 0
        self.begun = hasattr(model, "state_")  # by an earlier command
        self._n_late = n_late(model) if self.begun else 0
        self._lines: Any = None
        self.path = alerts
        if alerts is not None and alerts != output.STDOUT:
            self._lines = _lines(Path(alerts), more=self.begun)
        model.set_params(on_alert=self._tell)

    def follow(self, source: documents.Source, keep_open: bool) -> bool:
        """Learn from all documents; gives whether Ctrl-C ended it."""
        brake = interrupt.Brake(self.voice)
        try:
            for batch in self._batches(source):
                corpus = self._corpus(batch)
                if corpus is None:
                    continue
                with brake:
                    self.model.set_params(callbacks=[brake])
                    self.model.partial_fit(corpus)
                    self.model.set_params(callbacks=None)
                self._prune()
                if brake.pressed:
                    return True
            if not keep_open and hasattr(self.model, "_intake"):
                with brake:
                    self.model.flush()
        except KeyboardInterrupt:
            if brake.pressed:
                raise
            interrupt.heard()
            return True
        finally:
            self.model.set_params(callbacks=None, on_alert=None)
            if self._lines is not None:
                self._lines.close()
        return False

    def _batches(self, source: documents.Source) -> Iterator[documents.Batch]:
        from bayou.cli import in_order

        with about_dates(isinstance(self.model.slice_by, str)):
            yield from in_order.batches(source, _BATCH, self.model, self.voice)

    def account(self) -> str:
        """What was read and found, in a sentence."""
        model = self.model
        parts = (
            (model.state_.step, "slice"),
            (len(model.alerts()), "alert"),
            (len(model.topic_ids_), "topic"),
        )
        found = ", ".join(several(n, what) for n, what in parts)
        n, late = model.n_waiting_, n_late(model) - self._n_late
        read = several(self.n_docs, "document")
        said = f"{read} more; {found} so far" if self.begun else f"{read} in {found}"
        if n:
            said += (
                f"; {several(n, 'document')} {'waits' if n == 1 else 'wait'} for the slice to end"
            )
        if self.n_undated and isinstance(model.slice_by, str):
            one = self.n_undated == 1
            said += (
                f"; {several(self.n_undated, 'document')} {'has' if one else 'have'} no date and "
                f"{'counts' if one else 'count'} to the time of the one before"
            )
        if late:
            lost = " and are left out" if model.late == "drop" else ""
            said += (
                f"; {several(late, 'document')} came late, with slices of their time over{lost} "
            )
            if self.begun:
                said += "(were they learned before? `bayou stream` knows how far a file was read)"
            else:
                said += "(--set grace=1 would hold slices open for longer)"
        return said

    def doubts(self) -> Iterator[str]:
        """What is to be said of slices on which too little rests."""
        from bayou.inference.tracking.data_warnings import doubts

        model, mend = self.model, ("a longer --slice", "a smaller -k")
        names, by = model.slice_names_, model.slice_by
        return doubts(model.slices_, names, by, model.n_topics, mend, self.begun)

    def _corpus(self, batch: documents.Batch) -> Any:
        """A batch as counts of all of its words; None where there are no words yet."""
        from bayou.data.corpus import Corpus
        from bayou.data.counting import count_tokens

        counts, terms = count_tokens(self.vectorizer.tokens(batch.texts), vocabulary=None)
        names = [str(name) for name in batch.ids]
        self.n_docs += len(names)
        self.n_undated += batch.n_undated
        self.texts.update((n, t[:_LONGEST]) for n, t in zip(names, batch.texts, strict=True))
        if not len(terms) and not hasattr(self.model, "_intake"):
            return None
        return Corpus.from_matrix(counts, vocabulary=terms, times=batch.times, ids=names)

    def _tell(self, alert: Any) -> None:
        line = alert.to_json()
        for name in alert.docs:
            if name in self.texts:
                self.kept[name] = self.texts[name]
        if self.path == output.STDOUT:
            typer.echo(line)
        else:
            typer.echo(told(alert))
        if self._lines is not None:
            self._lines.write(line + "\n")
            self._lines.flush()
        pass_on(line, self.hooks, self.voice)

    def _prune(self) -> None:
        """Forget the texts of slices that are over."""
        if len(self.texts) > 4 * max(self.model.n_waiting_, _BATCH):
            parts = self.model._intake.waiting.values()
            waiting = {name for part in parts for corpus in part for name in corpus.ids or ()}
            self.texts = {name: text for name, text in self.texts.items() if name in waiting}


def _lines(path: Path, more: bool) -> Any:
    """A file of alerts: a new one, or where a tracker goes on the same with more."""
    file = path.open("a" if more else "w", encoding="utf-8", errors="backslashreplace")
    if more and path.is_file() and path.read_bytes()[-1:] not in (b"", b"\n"):
        file.write("\n")  # behind a line that was cut short
    return file


def hooks_of(on_alert: str | None, webhook: str | None) -> list[Hook]:
    """What is to be done with alerts, as given on the command line."""
    from bayou.run import hooks

    out = []
    for given, make, flag in (
        (on_alert, hooks.command, "--on-alert"), (webhook, hooks.webhook, "--webhook")
    ):  # fmt: skip
        if given is not None:
            try:
                out.append(make(given))
            except ValueError as error:
                raise typer.BadParameter(str(error), param_hint=flag) from None
    return out


def pass_on(line: str, hooks: list[Hook], voice: Voice) -> None:
    """An alert as JSON to every hook; one that fails is reported and stops nothing."""
    for hook in hooks:
        problem = hook(line)
        if problem is not None:
            voice.say(f"The alert was not passed on: {problem}")


def told(alert: Any) -> str:
    """An alert as one line."""
    who = "documents" if alert.topic < 0 else f"topic {alert.topic}"
    words = " ".join(alert.words[:6])
    if alert.kind == "surprise":
        words = f"that fit no topic: {words or ', '.join(alert.docs)}"
    shares = ""
    if alert.kind in ("rise", "fall", "born", "split", "dormant", "revived", "dead", "merged"):
        shares = f"  {alert.before:.1%} -> {alert.after:.1%}"
    more = f" ({alert.other})" if alert.other >= 0 else ""
    return f"{alert.date:<12} {alert.kind:<9} {who:<10}{more}{shares}  {words}"


@contextlib.contextmanager
def about_dates(needed: bool) -> Iterator[None]:
    """Where dates are needed, an error about one does not say how to do without any."""
    try:
        yield
    except DataError as error:
        if not needed:
            raise
        raise DataError(
            str(error).replace(
                'or pass time="" to ignore it',
                "or leave it empty, and the document counts to the time of the one before",
            )
        ) from None


def n_late(model: TopicTracker) -> int:
    """Documents so far that came when their slice was over, those that were left out among them."""
    intake = model._intake
    return int(model.slices_.n_late.sum()) + sum(intake.n_late.values()) + int(intake.n_dropped)


def topics_of(model: TopicTracker) -> Iterator[str]:
    """The topics as they stand, the largest first: number, share of the last slice, words."""
    state, names, shares = model.state_, model.topic_names_, model.topic_shares_
    terms, weights = model.top_terms(8), model.components_
    for k in (-shares).argsort(kind="stable"):
        id_ = int(state.ids[k])
        asleep = "  asleep" if state.silent[k] else ""
        who = f"topic {id_}" + (f" ({names[id_]})" if id_ in names else "")
        own = int((weights[k] > _LEAST * weights[k].max()).sum())
        yield f"{who:<11} {shares[k]:>6.1%}{asleep}  {' '.join(terms[k][:own])}".rstrip()


def judged(alerts: list[Any]) -> Iterator[str]:
    """How the alerts compare with the events that were planted."""
    from bayou.datasets import make_news
    from bayou.metrics.events import match_events

    events = make_news()[1].events
    matched = match_events(alerts, events)
    for event, its in matched.found:
        kinds = ", ".join(dict.fromkeys(f"{a.kind} in {a.date}" for a in its))
        yield f"found   {event.date} {event.kind:<7} {' '.join((event.gained or event.lost)[:4])}: {kinds}"
    for event in matched.missed:
        yield f"missed  {event.date} {event.kind:<7} {' '.join((event.gained or event.lost)[:4])}"
    for alert in matched.false:
        yield f"false   {told(alert)}"
    yield (
        f"{len(matched.found)} found, {len(matched.missed)} missed of {len(events)} planted events; "
        f"{len(matched.false)} of {len(alerts)} alerts false"
    )
