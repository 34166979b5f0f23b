"""Topics as lines of text."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Any, NamedTuple

from bayou.cli.predictions import TARGET, topic_numbers
from bayou.cli.terminal import echo

_N_CLASSES, _WIDEST = 2, 40
_WEIGHTS = "weights"  # heading of their column
_FEWEST = 10  # tokens of a topic that is printed; the terms of smaller ones come from the prior
_MOST = 20  # labels, and topics over labels, that are printed after a fit
_N_LABELS, _LEAST = 5, 0.01  # labels per topic that are printed, and their least probability


class Topic(NamedTuple):
    """One line of a list of topics."""

    number: int
    share: float  # of all training tokens; for a tracker, of the last slice
    terms: list[str]
    probabilities: list[float]
    weights: dict[str, float]  # of classes, largest first; empty without supervision
    tokens: float  # in training


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
    """The weights of one topic, largest first; two classes get a weight each."""
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


def _top_weights(weights: dict[str, float]) -> str:
    """The classes with the largest weights above zero, or the weight for a number."""
    if set(weights) == {TARGET}:
        return f"{weights[TARGET]:+.2f}"
    positive = [f"{name} {weight:+.2f}" for name, weight in weights.items() if weight > 0]
    return ", ".join(positive[:_N_CLASSES]) or "none"


def print_model(estimator: Any, n_terms: int, path: object) -> None:
    """Print the topics of a model or, for a model of labels, its labels and the topics over them."""
    if not hasattr(estimator, "labels_"):
        print_topics(topics_of(estimator, n_terms), estimator)
        return
    _print_labels(estimator, n_terms, path)
    if estimator.labels_.n_topics:
        echo("")
        _print_label_topics(estimator, path)


def _print_labels(estimator: Any, n_terms: int, path: object) -> None:
    """Print the largest labels, and all free topics, with their terms."""
    post = estimator.labels_
    names = [str(name) for name in estimator.classes_.tolist()]
    names += [f"free topic {k}" for k in range(post.n_columns - post.n_labels)]
    terms = estimator.vocabulary_ or [f"x{v}" for v in range(post.n_terms)]
    found, shares = post.top_terms(n_terms), post.totals / max(post.totals.sum(), 1e-300)
    order = (-shares[: post.n_labels]).argsort(kind="stable")[:_MOST].tolist()
    order += range(post.n_labels, post.n_columns)
    width = min(max(len("label"), *(len(names[y]) for y in order)), _WIDEST)
    echo(f"{'label':<{width}}  share  terms")
    for y in order:
        name = textwrap.shorten(names[y], width, placeholder="…")
        _print_wrapped(f"{name:<{width}} {shares[y]:>6.1%}  ", (terms[v] for v in found[y][0]))
    _print_rest(post.n_labels, f"labels: bayou labels {path}")


def _print_label_topics(estimator: Any, path: object) -> None:
    """Print the largest topics over labels with their labels."""
    post = estimator.labels_
    links, tokens = post.member_links(0), post.topic_tokens
    shares = tokens / max(tokens.sum(), 1e-300)
    names = [str(name) for name in estimator.classes_.tolist()]
    echo("topic  share  labels")
    for k in (-shares).argsort(kind="stable")[:_MOST]:
        best = (-links[k, : post.n_labels]).argsort(kind="stable")[:_N_LABELS]
        shown = [f"{names[y]} {links[k, y]:.0%}" for y in best if links[k, y] >= _LEAST]
        _print_wrapped(f"{int(k):>5} {shares[k]:>6.1%}  ", [", ".join(shown)])
    _print_rest(post.n_topics, f"topics: bayou topics {path}")


def _print_rest(n: int, what: str) -> None:
    if n > _MOST:
        echo(f"... and {n - _MOST:,} more {what}")


def number_of_topics(estimator: Any) -> str:
    """The number of topics with its interval; empty where the number is a parameter."""
    if not hasattr(estimator, "n_topics_interval"):
        return ""
    low, high = estimator.n_topics_interval(level=0.9)
    text = f"{estimator.n_topics_} topics (90 %: {low} to {high})"
    if hasattr(estimator, "n_large_"):
        low, high = estimator.n_topics_interval(level=0.9, large=True)
        text += f", {estimator.n_large_} of them large ({low} to {high})"
    return text


def print_topics(topics: list[Topic], estimator: Any = None) -> None:
    """Print one line per topic with enough words; all topics of a model of labels."""
    every, topics = topics, topics if hasattr(estimator, "labels_") else _with_words(topics)
    _print_lines(topics)
    if len(topics) < len(every):
        shown = {topic.number for topic in topics}
        share = sum(topic.share for topic in every if topic.number not in shown)
        echo(
            f"{len(every) - len(shown)} topics with fewer than {_FEWEST} tokens are not shown: "
            f"{share:.1%} of all tokens"
        )


def _with_words(topics: list[Topic]) -> list[Topic]:
    """Topics with enough tokens; if there are none, topics with any."""
    found = [topic for topic in topics if topic.tokens >= _FEWEST]
    return found or [topic for topic in topics if topic.tokens >= 1.0]


def _print_lines(topics: list[Topic]) -> None:
    weights = [_top_weights(topic.weights) for topic in topics]
    if not any(topic.weights for topic in topics):
        weights = []
    width = min(max(map(len, [_WEIGHTS, *weights])), _WIDEST) if weights else 0
    echo("topic  share  " + (f"{_WEIGHTS:<{width}}  " if weights else "") + "terms")
    for i, topic in enumerate(topics):
        head = f"{topic.number:>5} {topic.share:>6.1%}  "
        if weights:
            head += f"{textwrap.shorten(weights[i], width, placeholder='…'):<{width}}  "
        _print_wrapped(head, topic.terms[: int(topic.tokens)])  # no more words than tokens


def _print_wrapped(head: str, words: Iterable[str]) -> None:
    """Print a line; on a terminal the words are wrapped, with a hanging indent."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    body = " ".join(words)
    if width > len(head) + 20:
        body = textwrap.fill(body, width - len(head), break_on_hyphens=False)
        body = textwrap.indent(body, " " * len(head)).lstrip()
    echo(head + body)
