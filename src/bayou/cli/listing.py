"""Topics as lines of text."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import Any, NamedTuple

import typer


class Topic(NamedTuple):
    """One line of a list of topics."""

    number: int
    share: float  # of all tokens that were learned from
    terms: list[str]
    probabilities: list[float]


def topics_of(estimator: Any, n_terms: int) -> list[Topic]:
    """The topics, largest share first."""
    post = estimator.posterior_
    shares = post.topic_tokens / max(post.topic_tokens.sum(), 1e-300)
    names = estimator.top_terms(n_terms)
    order = (-post.rows).argsort(axis=0, kind="stable")[:n_terms]
    return [
        Topic(int(k), float(shares[k]), names[k], post.rows[order[:, k], k].astype(float).tolist())
        for k in (-shares).argsort(kind="stable")
    ]


def print_topics(topics: list[Topic]) -> None:
    """A line a topic; on a terminal long lines are folded under their first word."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    typer.echo("topic  share  terms")
    for topic in topics:
        head = f"{topic.number:>5} {topic.share:>6.1%}  "
        body = " ".join(topic.terms)
        if width > len(head) + 20:
            body = textwrap.fill(body, width - len(head), break_on_hyphens=False)
            body = textwrap.indent(body, " " * len(head)).lstrip()
        typer.echo(head + body)
