"""Contribution of each term to the topic proportions of a document, under fixed topics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayou.data.counting import count_tokens
from bayou.data.counts import as_counts
from bayou.data.vocabulary import Vocabulary
from bayou.inference.lda import documents, fold_in
from bayou.results.explanation import Explanation
from bayou.results.posterior import Posterior


def explain(post: Posterior, known: Vocabulary, tokens: Sequence[str]) -> Explanation:
    """Explain the topic proportions of one document under fixed topics."""
    seen = dict.fromkeys(tokens)
    terms = tuple(token for token in seen if token in known)
    counts, _ = as_counts(count_tokens([tokens], vocabulary=known)[0])
    pairs = documents.pairs_of(counts)
    place = {int(v): i for i, v in enumerate(pairs.terms)}
    order = [place[known.index(term)] for term in terms]
    proportions = post.transform(counts)[0]
    base = post.alpha / (post.alpha.sum() + pairs.n_tokens)
    if post.single:  # every token has the topic of its document
        topics = np.tile(proportions, (len(order), 1))
        base = np.zeros_like(proportions) if order else proportions
    else:
        topics = fold_in.pair_topics(post.rows, post.alpha, pairs)[order]
    return Explanation(
        proportions=proportions,
        base=base,
        terms=terms,
        counts=pairs.counts[order].astype(np.float64),
        topics=topics,
        unknown=tuple(token for token in seen if token not in known),
    )
