"""Advice on standard error about the data and the choice of model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bayou.cli import catalogue, predictions
from bayou.cli.messages import Messages
from bayou.data.errors import several

if TYPE_CHECKING:
    from bayou.cli.documents import Batch
    from bayou.data.corpus import Corpus
    from bayou.data.text import Vectorizer

_SEPARATORS = (";", "|", ",", "/")
_SHARE_JOINED = 0.3  # of the label names; a single name with a comma is a name
_FEW_TOKENS = 100  # per topic: each of its ten first terms then occurs ten times at best
_FEW_DOCS = 1000
_FEW_STEPS = 30  # of a streaming model: topics of documentation have settled by then
_COMMON = 12  # dropped words that are shown
_SHOWN = 40  # characters of a label


def on_documents(corpus: Corpus, messages: Messages) -> None:
    """Print the numbers of documents, terms and tokens, and of documents without terms."""
    n, n_empty = corpus.n_docs, int((corpus.doc_lengths() == 0).sum())
    docs = f"{n:,} document{'s' * (n != 1)}"
    if n_empty:
        docs += f" ({n_empty:,} without any of the terms)"
    messages.info(f"{docs}, {corpus.n_terms:,} terms, {corpus.n_tokens:,.0f} tokens")


def on_words(vectorizer: Vectorizer, messages: Messages) -> None:
    """Print how many words `--max-df` dropped, and the most informative of them."""
    n_terms, first = vectorizer.common_terms_
    if n_terms:
        limit = vectorizer.max_df
        most = f"{limit:.0%} of the" if isinstance(limit, float) else f"{limit:,}"
        shown = ", ".join(first[:_COMMON]) + (", ..." if n_terms > _COMMON else "")
        messages.info(
            f"Dropped {several(n_terms, 'word')} in more than {most} documents: {shown}; "
            "--max-df 1.0 keeps them"
        )


class Blanks:
    """Counts the empty texts of batches."""

    def __init__(self) -> None:
        self.n_empty = 0

    def count(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The same batches, counted as they are read."""
        for batch in batches:
            self.n_empty += sum(not text.strip() for text in batch.texts)
            yield batch

    def report(self, messages: Messages) -> None:
        """Print how many there were, if any."""
        if self.n_empty:
            verb = "documents are" if self.n_empty > 1 else "document is"
            messages.info(f"{self.n_empty:,} {verb} empty and had no effect on the model")


def on_labels(names: Sequence[str] | None, separator: str | None, messages: Messages) -> None:
    """Point out labels that look like several labels in one field."""
    if separator or not names:
        return
    for mark in _SEPARATORS:
        joined = [name for name in names if len(_pieces(name, mark)) > 1]
        pieces = Counter(piece for name in names for piece in set(_pieces(name, mark)))
        shared = any(pieces[piece] > 1 for name in joined for piece in _pieces(name, mark))
        if len(joined) > 1 and len(joined) >= _SHARE_JOINED * len(names) and shared:
            messages.info(
                f"{len(joined):,} of {len(names):,} labels contain {mark!r}, such as "
                f"{joined[0][:_SHOWN]!r}: if a document has several labels, add --label-separator '{mark}'"
            )
            return


def _pieces(name: str, mark: str) -> list[str]:
    return [piece.strip() for piece in name.split(mark) if piece.strip()]


def on_fit(estimator: Any, corpus: Corpus, messages: Messages) -> None:
    """Point out a corpus that is too small for the model."""
    from bayou.inference.lda.stream import batch_size

    p, name = estimator.get_params(deep=False), catalogue.name_of(type(estimator))
    streams = {"n_passes", "batch_size"} <= set(p) and hasattr(estimator, "partial_fit")
    if streams and not predictions.is_supervised(estimator):
        size = p["batch_size"] or batch_size(corpus.n_docs)
        each = max(-(-corpus.n_docs // size), 1)
        if each * p["n_passes"] < _FEW_STEPS:
            messages.info(_few_steps(name, corpus.n_docs, each, p["n_passes"]))
    if "n_topics" in p and "hdp" not in name and not hasattr(estimator, "labels_"):
        _on_number(estimator.posterior_.topic_tokens, corpus, messages)


def _on_number(tokens: Any, corpus: Corpus, messages: Messages) -> None:
    """Point out that there are more topics than a small corpus fills."""
    n, mean = len(tokens), corpus.n_tokens / len(tokens)
    n_small = int((tokens < 0.5 * tokens.sum() / n).sum())
    if n > 1 and mean < _FEW_TOKENS:
        messages.info(
            f"{corpus.n_tokens:,.0f} tokens for {n} topics, {mean:.0f} per topic: fewer topics (-k) would "
            "have more words each"
        )
    elif corpus.n_docs < _FEW_DOCS and n_small > n / 2:
        messages.info(
            f"{n_small} of {n} topics have less than half of an even share of the words: fewer topics (-k) "
            "are easier to interpret"
        )


def _few_steps(name: str, n_docs: int, each: int, n_passes: int) -> str:
    """Message for few documents: another model, or more passes."""
    batch, steps = name.removeprefix("online-"), several(each * n_passes, "step")
    other = batch if batch != name and batch in catalogue.classes() else "lda"
    text = f"{name} is a streaming model, and {n_docs:,} documents give only {steps}: use --model {other}"
    if batch == name:  # more passes would overfit EM, which has no prior
        return text
    return f"{text}, or more passes with --set n_passes={-(-_FEW_STEPS // each)}"
