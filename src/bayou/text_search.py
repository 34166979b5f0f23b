"""Documents that score highest for a topic, for a label, or by likeness to a text; with their passages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data.errors import DataError
from bayou.data.passages import WIDTH, Passage, best_passage
from bayou.data.text import TokenizedTexts
from bayou.data.text_input import as_texts
from bayou.results.explanation import Explanation, LabelExplanation, MarginExplanation

TOPIC, LABEL, LIKE = "topic", "label", "like"
_AT_ONCE = 1000  # documents that are scored together


class Found(NamedTuple):
    """A document that was found: its position among the texts, its score and the passage that made it."""

    position: int
    score: float
    passage: Passage


class Query(NamedTuple):
    """What is looked for: a column of topics or classes, or the topic proportions of a text."""

    kind: str
    column: int
    like: NDArray[np.float64] | None = None


def make_query(model: Any, topic: int | None, label: Any, like: str | None) -> Query:
    """Check that exactly one question is asked, and look up its topic or label."""
    given = [name for name, v in ((TOPIC, topic), (LABEL, label), (LIKE, like)) if v is not None]
    if len(given) != 1:
        what = " and ".join(given) or "none of them"
        raise DataError(f"give one of topic, label and like; got {what}")
    if like is not None:
        shares = model.transform([like])
        if not model.corpus([like]).n_tokens:
            raise DataError(
                f"no word of {like!r:.80} is in the model's vocabulary; use other words"
            )
        return Query(LIKE, 0, shares[0])
    if label is not None:
        return Query(LABEL, _label_column(model, label))
    ids = getattr(model.estimator_, "topic_ids_", None)
    numbers = range(len(model.get_feature_names_out())) if ids is None else [int(i) for i in ids]
    if topic is None or topic not in numbers:
        few = f"0 to {len(numbers) - 1}" if ids is None else ", ".join(map(str, numbers))
        raise DataError(f"the model has no topic {topic!r}; its topics are {few:.200}")
    return Query(TOPIC, list(numbers).index(topic))


def _label_column(model: Any, label: Any) -> int:
    if not hasattr(model.estimator_, "classes_"):
        name = type(model.estimator_).__name__
        raise DataError(f"{name} predicts no labels; search by topic or by likeness to a text")
    names = [str(name) for name in model.classes_.tolist()]
    if str(label) not in names:
        few = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise DataError(f"the model has no label {str(label)!r:.80}; its labels are {few:.300}")
    return names.index(str(label))


def score_texts(model: Any, texts: Sequence[str], query: Query) -> NDArray[np.float64]:
    """Score of each text: share of the topic, probability of the label, or likeness.

    Likeness is the Bhattacharyya coefficient of topic proportions: sum over k of sqrt(theta_k q_k), between 0
    and 1. Texts without known words score minus infinity: they have only the prior.
    """
    corpus = model.corpus(texts)
    known = model.estimator_._align(corpus).doc_lengths() > 0
    if query.kind == LABEL:
        values = model.predict_proba(corpus)[:, query.column]
    elif query.like is not None:
        values = np.sqrt(model.transform(corpus) * query.like).sum(axis=1)
    else:
        values = model.transform(corpus)[:, query.column]
    return np.where(known, values, -np.inf)


def find_passages(
    model: Any, texts: Sequence[str], query: Query, width: int = WIDTH
) -> list[Passage]:
    """The passage of each text whose words contribute most to its score.

    Nearly all words of a document with one topic contribute alike, also those that occur everywhere. So the
    contribution of a word is multiplied by the score that the word has alone.
    """
    explanations = model.explain(texts)
    terms = sorted({term for found in explanations for term in found.terms})
    alone = dict(zip(terms, _scores_alone(model, terms, query), strict=True))
    out = []
    for text, found in zip(texts, explanations, strict=True):
        parts = _score_parts(found, query) / np.maximum(found.counts, 1e-300)
        pairs = zip(found.terms, parts.tolist(), strict=True)
        weights = {term: part * alone[term] for term, part in pairs}
        out.append(best_passage(text, weights, model.vectorizer_, width))
    return out


def _scores_alone(model: Any, terms: Sequence[str], query: Query) -> list[float]:
    """The score of each term as a document of its own."""
    if not terms:
        return []
    scores = score_texts(model, TokenizedTexts([term] for term in terms), query)
    return [max(score, 0.0) for score in scores.tolist()]


def _score_parts(found: Any, query: Query) -> NDArray[np.float64]:
    """Contribution of each term of a document to its score."""
    if query.kind == LABEL:
        parts, column = found.parts, query.column
        if parts.shape[1] == 1:  # two classes have one score, of the second
            return np.asarray(parts[:, 0] * (1.0 if column else -1.0))
        return np.asarray(parts[:, column])
    shares, prior = _topic_shares(found)
    if query.like is None:
        inside = query.column < shares.shape[1]
        return np.asarray(shares[:, query.column] if inside else np.zeros(len(shares)))
    theta = np.maximum(prior + shares.sum(axis=0), 1e-300)
    return np.asarray(shares @ np.sqrt(query.like[: len(theta)] / theta))


def _topic_shares(found: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Contribution of each term to the topic proportions (terms, topics), and the prior's."""
    if isinstance(found, Explanation):
        return found.parts, found.base
    if isinstance(found, LabelExplanation) and not found.shares.shape[1]:
        return (
            found.votes,
            found.base,
        )  # the topics of a model without topics over labels are its labels
    prior = found.prior if isinstance(found, LabelExplanation) else None
    assert isinstance(found, LabelExplanation | MarginExplanation)
    return found.shares, np.zeros(found.shares.shape[1]) if prior is None else prior


class Best:
    """The ``top`` best documents of those given so far, in constant memory; the earlier of equals first."""

    def __init__(self, top: int) -> None:
        self.top = top
        self.n_docs = 0
        self.rows: list[tuple[float, int, Any, str]] = []  # score, position, id, text

    def add(self, scores: NDArray[np.float64], ids: Sequence[Any], texts: Sequence[str]) -> None:
        """Keep those of some documents that are among the best."""
        at = range(self.n_docs, self.n_docs + len(texts))
        rows = zip(scores.tolist(), at, ids, texts, strict=True)
        self.rows += [row for row in rows if row[0] > -np.inf]
        self.rows = sorted(self.rows, key=lambda row: (-row[0], row[1]))[: self.top]
        self.n_docs += len(texts)


def find(
    model: Any,
    X: Iterable[str],
    topic: int | None,
    label: Any,
    like: str | None,
    top: int,
    width: int,
) -> list[Found]:
    """See `TextModel.find`."""
    if not isinstance(top, int) or top < 1:
        raise DataError(f"top must be a whole number from 1, got {top!r:.80}")
    query, best, some = make_query(model, topic, label, like), Best(top), list[str]()
    for text in as_texts(X):
        some.append(text)
        if len(some) == _AT_ONCE:
            best.add(score_texts(model, some, query), some, some)
            some = []
    if some:
        best.add(score_texts(model, some, query), some, some)
    passages = find_passages(model, [row[3] for row in best.rows], query, width)
    return [Found(row[1], row[0], p) for row, p in zip(best.rows, passages, strict=True)]
