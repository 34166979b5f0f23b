"""Topics as lines of text."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Any, NamedTuple

import typer

from bayou.cli.answers import TARGET, topic_numbers

_N_CLASSES, _WIDEST = 2, 40
_FEWEST = 10  # tokens of a topic that is shown; what is said of fewer is said by the prior
_MOST = 20  # labels, and topics over them, that are listed after a fit
_N_LABELS, _LEAST = 5, 0.01  # labels of a topic, and the probability of one that is listed


class Topic(NamedTuple):
    """One line of a list of topics."""

    number: int
    share: float  # of all tokens that were learned from, of a tracker in the last slice
    terms: list[str]
    probabilities: list[float]
    weights: dict[str, float]  # what it speaks for, most first; empty without supervision
    tokens: float  # that it was learned from


def topics_of(estimator: Any, n_terms: int) -> list[Topic]:
    """The topics, largest share first."""
    post, numbers = estimator.posterior_, topic_numbers(estimator)
    shares = getattr(estimator, "topic_shares_", None)  # of a tracker, in its last slice
    if shares is None:
        shares = post.topic_tokens / max(post.topic_tokens.sum(), 1e-300)
    names = estimator.top_terms(n_terms)
    order = (-post.rows).argsort(axis=0, kind="stable")[:n_terms]
    return [
        Topic(
            int(k) if numbers is None else numbers[k],
            float(shares[k]),
            names[k],
            post.rows[order[:, k], k].astype(float).tolist(),
            _weights(estimator, int(k)),
            float(post.topic_tokens[k]),
        )
        for k in (-shares).argsort(kind="stable")
    ]


def _weights(estimator: Any, k: int) -> dict[str, float]:
    """The weights of one topic, largest first; of two classes both are named."""
    response = getattr(estimator, "response_", None)
    if response is None:
        return {}
    labels = getattr(estimator, "labels_", None)
    if labels is not None and not labels.n_topics:
        return {str(response.classes[k]): 1.0} if k < labels.n_labels else {}
    weights = response.weights if labels is None else labels.member_links(0)
    given = [float(w) for w in weights[k]]
    if response.kind == "binary" and labels is None:
        given = [-given[0], given[0]]
    if response.kind == "regression":
        names = [TARGET] if len(given) == 1 else [f"{TARGET} {i}" for i in range(len(given))]
        return dict(zip(names, given, strict=True))
    pairs = zip((str(name) for name in response.classes), given, strict=True)
    return dict(sorted(pairs, key=lambda pair: -pair[1]))


def _speaks_for(weights: dict[str, float]) -> str:
    """The classes with the largest weights above zero, or the weight for a number."""
    if set(weights) == {TARGET}:
        return f"{weights[TARGET]:+.2f}"
    most = [f"{name} {weight:+.2f}" for name, weight in weights.items() if weight > 0]
    return ", ".join(most[:_N_CLASSES]) or "none"


def print_learned(estimator: Any, n_terms: int, path: object) -> None:
    """What a model has learned: topics or, of a model of labels, labels and what holds them together."""
    if not hasattr(estimator, "labels_"):
        print_topics(topics_of(estimator, n_terms), estimator)
        return
    _print_labels(estimator, n_terms, path)
    if estimator.labels_.n_topics:
        typer.echo("")
        _print_label_topics(estimator, path)


def _print_labels(estimator: Any, n_terms: int, path: object) -> None:
    """The largest labels, and all free topics, with their terms."""
    post = estimator.labels_
    names = [str(name) for name in estimator.classes_.tolist()]
    names += [f"free topic {k}" for k in range(post.n_columns - post.n_labels)]
    terms = estimator.vocabulary_ or [f"x{v}" for v in range(post.n_terms)]
    found, shares = post.top_terms(n_terms), post.totals / max(post.totals.sum(), 1e-300)
    order = (-shares[: post.n_labels]).argsort(kind="stable")[:_MOST].tolist()
    order += range(post.n_labels, post.n_columns)
    room = min(max(len("label"), *(len(names[y]) for y in order)), _WIDEST)
    typer.echo(f"{'label':<{room}}  share  terms")
    for y in order:
        name = textwrap.shorten(names[y], room, placeholder="…")
        _print_folded(f"{name:<{room}} {shares[y]:>6.1%}  ", (terms[v] for v in found[y][0]))
    _say_more(post.n_labels, f"labels: bayou labels {path}")


def _print_label_topics(estimator: Any, path: object) -> None:
    """The largest topics over labels with their labels."""
    post = estimator.labels_
    links, tokens = post.member_links(0), post.topic_tokens
    shares = tokens / max(tokens.sum(), 1e-300)
    names = [str(name) for name in estimator.classes_.tolist()]
    typer.echo("topic  share  labels")
    for k in (-shares).argsort(kind="stable")[:_MOST]:
        best = (-links[k, : post.n_labels]).argsort(kind="stable")[:_N_LABELS]
        said = [f"{names[y]} {links[k, y]:.0%}" for y in best if links[k, y] >= _LEAST]
        _print_folded(f"{int(k):>5} {shares[k]:>6.1%}  ", [", ".join(said)])
    _say_more(post.n_topics, f"topics: bayou topics {path}")


def _say_more(n: int, what: str) -> None:
    if n > _MOST:
        typer.echo(f"... and {n - _MOST:,} more {what}")


def number_told(estimator: Any) -> str:
    """How many topics there are and how sure that is; nothing where the number was given beforehand."""
    if not hasattr(estimator, "n_topics_interval"):
        return ""
    low, high = estimator.n_topics_interval(level=0.9)
    said = f"{estimator.n_topics_} topics (90 %: {low} to {high})"
    if hasattr(estimator, "n_large_"):
        low, high = estimator.n_topics_interval(level=0.9, large=True)
        said += f", {estimator.n_large_} of them large ({low} to {high})"
    return said


def print_topics(topics: list[Topic], estimator: Any = None) -> None:
    """A line a topic with words; topics of labels are shown whatever they hold."""
    every, topics = topics, topics if hasattr(estimator, "labels_") else _with_words(topics)
    _print_lines(topics)
    if len(topics) < len(every):
        shown = {topic.number for topic in topics}
        share = sum(topic.share for topic in every if topic.number not in shown)
        typer.echo(
            f"{len(every) - len(shown)} topics have no words of their own and are not shown: fewer than "
            f"{_FEWEST} tokens each, {share:.1%} of all"
        )


def _with_words(topics: list[Topic]) -> list[Topic]:
    """Those with tokens enough to name words; where none has, those with any."""
    found = [topic for topic in topics if topic.tokens >= _FEWEST]
    return found or [topic for topic in topics if topic.tokens >= 1.0]


def _print_lines(topics: list[Topic]) -> None:
    said = [_speaks_for(topic.weights) for topic in topics]
    if not any(topic.weights for topic in topics):
        said = []
    room = min(max(map(len, ["speaks for", *said])), _WIDEST) if said else 0
    typer.echo("topic  share  " + (f"{'speaks for':<{room}}  " if said else "") + "terms")
    for i, topic in enumerate(topics):
        head = f"{topic.number:>5} {topic.share:>6.1%}  "
        if said:
            head += f"{textwrap.shorten(said[i], room, placeholder='…'):<{room}}  "
        _print_folded(head, topic.terms[: int(topic.tokens)])  # no more words than tokens


def _print_folded(head: str, words: Iterable[str]) -> None:
    """A line; on a terminal what follows its head is folded under its first word."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    body = " ".join(words)
    if width > len(head) + 20:
        body = textwrap.fill(body, width - len(head), break_on_hyphens=False)
        body = textwrap.indent(body, " " * len(head)).lstrip()
    typer.echo(head + body)
