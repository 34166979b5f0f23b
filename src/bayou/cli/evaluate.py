"""``bayou evaluate``: how well a model predicts texts it has not seen, and how its topics read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import typer

from bayou.cli import documents, model_file, options, output
from bayou.cli.voice import Voice

if TYPE_CHECKING:
    from bayou.text_model import TextModel

_TOP = 10  # terms of a topic that coherence and diversity look at


def evaluate(
    model: options.Model,
    file: options.File,
    as_json: options.AsJson = False,
    text: options.Text = "text",
    format: options.Format = None,
    encoding_errors: options.EncodingErrors = "strict",
    max_line_bytes: options.MaxLineBytes = documents.MAX_LINE,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Measure a model on texts that it was not fitted to.

    Perplexity: half of each document is predicted from the other half; lower is
    better. Coherence (NPMI, -1 to 1): do the top words of a topic occur together
    in these documents? Diversity: the share of top words that only one topic has.

    Example: bayou evaluate reviews.bayou held-out.csv
    """
    voice = Voice(quiet, verbose)
    learned = model_file.load_text_model(model, threads)
    source = documents.Source(
        file, documents.texts_only(text), format, encoding_errors, max_line_bytes
    )
    corpus, _ = documents.read_corpus(source, learned.vectorizer_)
    voice.say(f"{corpus.n_docs:,} documents, {corpus.n_tokens:,.0f} known tokens")
    found = _measures(learned, corpus)
    if as_json:
        output.print_json({name: _finite(value) for name, value in found.items()})
        return
    for name, value in found.items():
        shown = f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
        typer.echo(f"{name:<24} {'not defined' if _finite(value) is None else shown:>14}")


def _measures(model: TextModel, corpus: Any) -> dict[str, float]:
    import numpy as np

    from bayou.metrics import diversity, npmi

    score = model.log_likelihood(corpus)
    top = min(_TOP, corpus.n_terms)
    coherence = npmi(model.components_, corpus.counts, top_n=top) if top > 1 else [np.nan]
    return {
        "documents": corpus.n_docs,
        "known tokens": int(corpus.n_tokens),
        "log-likelihood a token": score,
        "perplexity": float(np.exp(-score)),
        "coherence (NPMI)": float(np.mean(coherence)),
        "diversity": float(diversity(model.components_, top_n=top)),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
