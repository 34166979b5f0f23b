"""The corpora of the benchmarks, read from the folder in BAYOU_DATA."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bayou import Corpus
from bayou.data import iter_records, read
from bayou.metrics import completion_halves, document_completion, npmi

N_TEST = 1000


class Bench:
    """Training and test documents, and one evaluator for all."""

    def __init__(self, name: str, train: Corpus, test: Corpus) -> None:
        self.name, self.train, self.test = name, train, test
        few = test[np.random.default_rng(20).permutation(test.n_docs)[:N_TEST]]
        self.few = few
        observed, scored = completion_halves(few.counts)
        self.observed, self.scored = Corpus.from_matrix(observed), Corpus.from_matrix(scored)
        self.n_tokens = float(train.n_tokens)

    def describe(self) -> str:
        return (
            f"{self.name}: {self.train.n_docs:,} documents, {self.n_tokens:,.0f} tokens, "
            f"{self.train.n_terms:,} terms; {self.few.n_docs:,} test documents"
        )

    @cached_property
    def _texts(self) -> list[list[str]]:
        return list(self.words(self.train))

    def documents(self) -> Iterator[list[str]]:
        """Training documents as lists of term numbers in letters; empty ones left out."""
        return (doc for doc in self._texts if doc)

    def words(self, corpus: Corpus) -> Iterator[list[str]]:
        indptr, terms = corpus.tokens()
        names = [str(v) for v in range(corpus.n_terms)]
        for lo, hi in pairwise(indptr):
            yield [names[v] for v in terms[lo:hi]]

    def score(self, rows: np.ndarray, alpha: np.ndarray) -> float:
        """Document completion by EM fold-in; rows are terms x topics."""
        from bayou.inference.lda import documents as lda_documents
        from bayou.inference.lda import fold_in
        from bayou.run.shards import Workers

        with Workers(1) as workers:
            observed, scored = (
                lda_documents.pairs_of(c.counts) for c in (self.observed, self.scored)
            )
            kept = np.ascontiguousarray(rows, np.float32)
            return fold_in.completion(kept, alpha, observed, scored, workers.each)

    def score_theta(self, theta: np.ndarray, rows: np.ndarray, scored: Corpus) -> float:
        """Mean log-probability of the scored tokens under given proportions."""
        entries = csr_array(scored.counts).tocoo()
        p = np.einsum("ij,ij->i", theta[entries.coords[0]], rows[entries.coords[1]])
        return float((entries.data * np.log(p)).sum() / entries.data.sum())

    def completion(self, transform: Any, model: Any) -> float:
        theta = transform(self.observed)
        return self.score_theta(theta, model.components_.T, self.scored)

    def gibbs(self, curve: Any) -> float:
        """The second evaluator: Gibbs fold-in on 300 test documents."""
        topics = curve.rows.T.astype(np.float64)
        topics /= topics.sum(axis=1, keepdims=True)
        return document_completion(topics, curve.alpha, self.few.counts[:300], inference="gibbs")

    def npmi(self, curve: Any) -> float:
        """Mean coherence of the topics' ten first terms on the training documents."""
        topics = curve.rows.T.astype(np.float64)
        topics /= topics.sum(axis=1, keepdims=True)
        return float(np.mean(npmi(topics, self.train.counts)))


def load(name: str) -> Bench | None:
    """A corpus by name, or None where the data are not at hand."""
    folder = Path(os.environ.get("BAYOU_DATA", ""))
    if not os.environ.get("BAYOU_DATA") or not folder.exists():
        return None
    return {"20news": _news, "arxiv_big": _arxiv}[name](folder)


def _news(folder: Path) -> Bench:
    """20 Newsgroups by date: subject and body, words of three letters or more, in two documents."""
    texts: dict[str, list[str]] = {"train": [], "test": []}
    for record in iter_records(folder / "20news_raw" / "20news.jsonl.gz"):
        header, _, body = record["text"].partition("\n\n")
        subject = [line[8:] for line in header.splitlines() if line.lower().startswith("subject:")]
        texts[record["split"]].append("\n".join([*subject, body]))
    how: dict[str, Any] = {"stop_words": "english", "token_pattern": r"[a-z]{3,}"}
    train = Corpus.from_text(texts["train"], min_df=2, **how)
    return Bench(
        "20news", train, Corpus.from_text(texts["test"], vocabulary=train.vocabulary, **how)
    )


def _arxiv(folder: Path) -> Bench:
    """arXiv abstracts up to 2018 against those of 2019."""
    at = folder / "arxiv_big"
    return Bench("arxiv_big", *(read(at / f"{part}.svm.gz") for part in ("train", "test")))
