"""``bayou topics``: the topics of a model."""

from __future__ import annotations

from typing import Annotated

import typer

from bayou.cli import listing, model_file, options, output
from bayou.cli.terminal import echo


def topics(
    model: options.Model,
    n_terms: Annotated[
        int, typer.Option("--terms", "-n", min=1, metavar="N", help="Number of terms per topic.")
    ] = 10,
    as_json: options.AsJson = False,
) -> None:
    """Print the topics of a model, largest first.

    The share is the topic's share of all training words; for a tracker, of the
    words of its last slice. Topics of a supervised model have the classes with
    the largest positive weights. A model that learns the number of topics prints
    it first, with an interval. Topics with hardly any words are only counted;
    --json prints them too.

    Example: bayou topics reviews.bayou -n 20
    """
    loaded = model_file.load(model)
    estimator = getattr(loaded, "estimator_", loaded)
    found = listing.topics_of(estimator, n_terms)
    if not as_json:
        if number := listing.number_of_topics(estimator):
            echo(number)
        listing.print_topics(found, estimator)
        return
    for topic in found:
        terms = [[t, round(p, 6)] for t, p in zip(topic.terms, topic.probabilities, strict=True)]
        row = {"topic": topic.number, "share": round(topic.share, 6), "terms": terms}
        row["tokens"] = round(topic.tokens, 2)
        if topic.weights:
            row["weights"] = {name: round(weight, 6) for name, weight in topic.weights.items()}
        output.print_json(row)
