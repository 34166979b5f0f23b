"""``bayou topics``: the topics of a model."""

from __future__ import annotations

from typing import Annotated

import typer

from bayou.cli import listing, model_file, options, output


def topics(
    model: options.Model,
    n_terms: Annotated[
        int, typer.Option("--terms", "-n", min=1, metavar="N", help="Terms of each topic.")
    ] = 10,
    as_json: options.AsJson = False,
) -> None:
    """Print the topics of a model, largest first.

    The share is that of all words the model has learned from; of a tracker, of
    the words of its last slice. A topic of a
    supervised model has the classes it speaks for, with its weights. A model
    that has learned how many topics there are says so first, with an interval.
    Topics without words of their own are counted; --json has them too.

    Example: bayou topics reviews.bayou -n 20
    """
    learned = model_file.load(model)
    estimator = getattr(learned, "estimator_", learned)
    found = listing.topics_of(estimator, n_terms)
    if not as_json:
        if said := listing.number_told(estimator):
            typer.echo(said)
        listing.print_topics(found, estimator)
        return
    for topic in found:
        terms = [[t, round(p, 6)] for t, p in zip(topic.terms, topic.probabilities, strict=True)]
        row = {"topic": topic.number, "share": round(topic.share, 6), "terms": terms}
        row["tokens"] = round(topic.tokens, 2)
        if topic.weights:
            row["weights"] = {name: round(weight, 6) for name, weight in topic.weights.items()}
        output.print_json(row)
