"""Remarks for those who would not notice: on standard error, and nothing but remarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bayou.cli import answers, catalogue
from bayou.cli.voice import Voice

if TYPE_CHECKING:
    from bayou.cli.documents import Batch
    from bayou.data.corpus import Corpus

_SEPARATORS = (";", "|", ",", "/")
_SHARE_JOINED = 0.3  # of the label names; one name with a comma is a name
_FEW_TOKENS = 100  # a topic: its ten first terms were then met about ten times each, at best
_FEW_DOCS = 1000
_FEW_STEPS = 30  # of a model of a stream: on documentation its topics have settled by then
_TELLING = 40  # characters of a label that are shown


def on_documents(corpus: Corpus, voice: Voice) -> None:
    """How much there is to learn from, and how many documents have nothing to teach."""
    n, n_empty = corpus.n_docs, int((corpus.doc_lengths() == 0).sum())
    docs = f"{n:,} document{'s' * (n != 1)}"
    if n_empty:
        docs += f" ({n_empty:,} without any of the terms)"
    voice.say(f"{docs}, {corpus.n_terms:,} terms, {corpus.n_tokens:,.0f} tokens")


class Blanks:
    """Counts the empty texts of batches that stream by."""

    def __init__(self) -> None:
        self.n_empty = 0

    def counted(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The same batches."""
        for batch in batches:
            self.n_empty += sum(not text.strip() for text in batch.texts)
            yield batch

    def tell(self, voice: Voice) -> None:
        """Say how many there were, if any."""
        if self.n_empty:
            said = "documents are" if self.n_empty > 1 else "document is"
            voice.say(f"{self.n_empty:,} {said} empty: there is nothing to learn in them")


def on_labels(names: Sequence[str] | None, separator: str | None, voice: Voice) -> None:
    """Ask about labels that look like several in one field."""
    if separator or not names:
        return
    for mark in _SEPARATORS:
        joined = [name for name in names if len(_pieces(name, mark)) > 1]
        pieces = Counter(piece for name in names for piece in set(_pieces(name, mark)))
        shared = any(pieces[piece] > 1 for name in joined for piece in _pieces(name, mark))
        if len(joined) > 1 and len(joined) >= _SHARE_JOINED * len(names) and shared:
            voice.say(
                f"{len(joined):,} of {len(names):,} labels hold {mark!r}, such as "
                f"{joined[0][:_TELLING]!r}: if a document has several labels, add --label-separator '{mark}'"
            )
            return


def _pieces(name: str, mark: str) -> list[str]:
    return [piece.strip() for piece in name.split(mark) if piece.strip()]


def on_fit(estimator: Any, corpus: Corpus, voice: Voice) -> None:
    """Say where a corpus is too small for what was asked of it."""
    from bayou.inference.lda.stream import batch_size

    p, name = estimator.get_params(deep=False), catalogue.name_of(type(estimator))
    streams = {"n_passes", "batch_size"} <= set(p) and hasattr(estimator, "partial_fit")
    if streams and not answers.are_learned(estimator):
        size = p["batch_size"] or batch_size(corpus.n_docs)
        each = max(-(-corpus.n_docs // size), 1)
        if each * p["n_passes"] < _FEW_STEPS:
            voice.say(_few_steps(name, corpus.n_docs, each, p["n_passes"]))
    if "n_topics" in p and "hdp" not in name and not hasattr(estimator, "labels_"):
        _on_number(estimator.posterior_.topic_tokens, corpus, voice)


def _on_number(tokens: Any, corpus: Corpus, voice: Voice) -> None:
    """Say that there are more topics than a small corpus fills."""
    n, mean = len(tokens), corpus.n_tokens / len(tokens)
    n_small = int((tokens < 0.5 * tokens.sum() / n).sum())
    if n > 1 and mean < _FEW_TOKENS:
        voice.say(
            f"{corpus.n_tokens:,.0f} tokens for {n} topics, {mean:.0f} each: ask for fewer topics with -k to "
            "read more in each"
        )
    elif corpus.n_docs < _FEW_DOCS and n_small > n / 2:
        voice.say(
            f"{n_small} of {n} topics have less than half of an even share of the words: fewer topics (-k) "
            "are easier to read"
        )


def _few_steps(name: str, n_docs: int, each: int, n_passes: int) -> str:
    """Which model to take for few documents, or how to let this one go on."""
    batch = name.removeprefix("online-")
    other = batch if batch != name and batch in catalogue.classes() else "lda"
    said = (
        f"{name} is made for streams, and {n_docs:,} documents in {n_passes} passes are {each * n_passes} "
        f"steps: take --model {other}"
    )
    if batch == name:  # more passes would fit an EM without a prior to every word
        return said
    return f"{said}, or more passes with --set n_passes={-(-_FEW_STEPS // each)}"
