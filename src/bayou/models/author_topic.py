"""The author-topic model: labels speak through topics. Fast-Dependency-LDA turned round.

    phi_t ~ Dir(beta)   phi'_y ~ Dir(b)   x_dn uniform on Y_d   z_dn ~ phi'_x   w_dn ~ phi_z

phi and phi' are integrated out; topic z and label x of every token are drawn together. Topics are of words,
as in LDA, and every label has a distribution over them: for describing what labels write about rather than
for predicting them.

[RosenZvi04] Rosen-Zvi, Griffiths, Steyvers, Smyth. The author-topic model for authors and documents. UAI
2004.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.topic_estimator import TopicEstimator
from bayou.data.checks import check_averaged_sweeps, check_parameters, number, whole
from bayou.data.corpus import Corpus
from bayou.data.label_forms import pack_classes, unpack_classes
from bayou.data.supervision import read_labels
from bayou.inference.labels import assignments
from bayou.inference.lda import arrays as lda_arrays
from bayou.inference.lda import documents
from bayou.inference.lda.arrays import F32, F64, I32, I64, U16, U32
from bayou.kernels.labels import author_sweep
from bayou.results.posterior import Posterior, check_arrays
from bayou.run import checkpoint as checkpoints
from bayou.run import loop
from bayou.run.loop import Info
from bayou.run.shards import Workers

STEPS = 20  # of the inference of a document's labels


class State(NamedTuple):
    """What the next sweep needs."""

    step: int
    z: U16  # topic of each token
    author: I32  # place of each token's label among those of its document
    term_kept: F32  # sums of n_vt and n_yt over the sweeps that are kept
    label_kept: F32


class Docs(NamedTuple):
    """Documents that have labels, as the kernel reads them."""

    token_ptr: I64
    terms: U32
    label_ptr: I64
    label_ids: I32


class Counts(NamedTuple):
    """n_vt, n_t, n_yt and n_y, which sweeps keep up to date."""

    term_topic: F32
    topic: F64
    label_topic: F32
    label: F64


def init(docs: Docs, n_labels: int, n_terms: int, p: SimpleNamespace, seed: int) -> State:
    """Topics and labels of tokens at random."""
    n_tokens = int(docs.token_ptr[-1])
    z, author = np.zeros(n_tokens, np.uint16), np.zeros(n_tokens, np.int32)
    author_sweep.start_authors(z, author, docs.token_ptr, docs.label_ptr, p.n_topics, seed)
    sizes = ((n_terms, p.n_topics), (n_labels, p.n_topics))
    return State(0, z, author, *(np.zeros(size, np.float32) for size in sizes))


def count(state: State, docs: Docs) -> Counts:
    """The counts that follow from a state."""
    terms, own = np.zeros_like(state.term_kept), np.zeros_like(state.label_kept)
    author_sweep.count_authors(terms, own, state.z, state.author, tuple(docs))
    return Counts(terms, terms.sum(axis=0, dtype=float), own, own.sum(axis=1, dtype=float))


def sweep(state: State, counts: Counts, docs: Docs, p: SimpleNamespace, seed: int) -> State:
    """Draw topic and label of every token."""
    priors = (p.beta, p.beta * len(counts.term_topic), p.beta_labels)
    author_sweep.author_sweep(state.z, state.author, tuple(docs), *counts, priors, seed, state.step)
    if state.step >= p.n_sweeps - p.n_kept:
        state.term_kept[:] += counts.term_topic
        state.label_kept[:] += counts.label_topic
    return state._replace(step=state.step + 1)


@dataclass(kw_only=True, eq=False, repr=False)
class AuthorTopicModel(TopicEstimator):
    """Topics of words, and what topics each label, or author, speaks of.

    Parameters
    ----------
    n_topics : int
        Number of topics [T].
    beta : float
        Prior of a topic's terms.
    beta_labels : float
        Prior of a label's topics [beta_Y].
    alpha : float
        Prior of each label in a new document.
    n_sweeps, n_kept : int
        Sweeps in all, and the last of them that are averaged.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    classes_ : array
        The labels.
    label_topics_ : float64 array (labels, topics)
        What each label speaks of; rows sum to one [phi'].

    Examples
    --------
    >>> from bayou import AuthorTopicModel
    >>> texts = [[3, 1, 0, 0], [0, 0, 2, 2], [2, 1, 1, 2], [4, 0, 0, 1]] * 10
    >>> given = [["ann"], ["bob"], ["ann", "bob"], ["ann"]] * 10
    >>> model = AuthorTopicModel(n_topics=2, random_state=0).fit(texts, given)
    >>> int(model.label_shares([[5, 1, 0, 0]]).argmax())
    0
    """

    n_topics: int = 50
    beta: float = 0.01
    beta_labels: float = 0.1
    alpha: float = 0.1
    n_sweeps: int = 200
    n_kept: int = 50

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Learn topics from documents with labels; those without are left out.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : label lists, indicator matrix, vector of classes, or None
            None takes the corpus' labels. See `bayou.data.supervision.read_labels`.
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        p = self._checked_parameters()
        whole("checkpoint_every", checkpoint_every, 1)
        if checkpoint is not None and self.random_state is None:
            raise ValueError("a checkpoint needs a random_state to go on from; give an integer")
        corpus = self._corpus(X, reset=True)
        found = read_labels(y, corpus.n_docs, corpus=X if isinstance(X, Corpus) else None)
        self.seed_ = self._resolve_seed()
        docs, n_labels = _documents(corpus, found.indicator), len(found.classes)

        def describe() -> dict[str, Any]:
            manifest = self._manifest("checkpoint")
            del manifest["learned"]
            return {**manifest, "data": checkpoints.digest(docs), "seed": self.seed_}

        saved = checkpoints.Saver(checkpoint, checkpoint_every, describe)
        begin = saved.read(State) or init(docs, n_labels, corpus.n_terms, p, self.seed_)
        counts = count(begin, docs)

        def step(state: State) -> tuple[State, Info | None]:
            if state.step >= p.n_sweeps:
                return state, None
            state = sweep(state, counts, docs, p, self.seed_)
            return state, Info(state.step, p.n_sweeps, "gibbs", float("nan"), 0.0)

        with loop.progress_bar(self.progress, "AuthorTopicModel") as bar:
            state = loop.run(
                begin, step, callbacks=[*bar, *self._callbacks()], after=saved.after,
                stopped=saved.save_on_stop, max_time=p.max_time,
            )  # fmt: skip
        self._keep(state, counts, p, corpus, found.classes, found.kind == "multi-label")
        self.n_iter_ = state.step
        return self

    def _keep(
        self,
        state: State,
        counts: Counts,
        p: SimpleNamespace,
        corpus: Corpus,
        classes: NDArray[Any],
        several: bool,
    ) -> None:
        """Topics from the sweeps that are kept, or from the last one where training was stopped before."""
        n_kept = state.step - (p.n_sweeps - p.n_kept)
        terms, own = counts.term_topic, counts.label_topic
        if n_kept > 0:
            terms, own = state.term_kept / np.float32(n_kept), state.label_kept / np.float32(n_kept)
        spoken = own.astype(np.float64) + p.beta_labels
        self.label_topics_ = spoken / spoken.sum(axis=1, keepdims=True)
        self.classes_, self._several = classes, several
        with Workers(self.n_threads) as workers:
            rows = lda_arrays.topic_rows(terms, p.beta, workers.each)
        tokens = lda_arrays.topic_totals(terms)
        mean = self.label_topics_.mean(axis=0)
        self.posterior_ = Posterior(
            rows=rows, alpha=p.alpha * len(classes) * mean, beta=p.beta, topic_tokens=tokens,
            scores=np.zeros(0), score_steps=np.zeros(0, np.int64), vocabulary=corpus.vocabulary,
        )  # fmt: skip

    def label_shares(self, X: Any) -> F64:
        """Which labels documents sound like: the share of their tokens that each label is expected to have.

        Returns
        -------
        float64 array (documents, labels)
            Rows sum to one; documents without known terms get the prior.
        """
        check_is_fitted(self)
        pairs = documents.pairs_of(self._corpus(X, reset=False).counts)
        out = np.empty((pairs.n_docs, len(self.classes_)))
        prior = np.full(len(self.classes_), float(self.alpha))
        rows = lda_arrays.writable(self.posterior_.rows)

        def work(lo: int, hi: int) -> None:
            author_sweep.author_docs(
                out, tuple(pairs), lo, hi, rows, self.label_topics_, prior, STEPS
            )

        with Workers(self.n_threads) as workers:
            workers.each(work, pairs.indptr, 2.0 * STEPS * self.n_topics)
        return out

    def top_labels(self, n: int = 10) -> list[list[Any]]:
        """The labels that speak most of each topic, as a share of all they say."""
        check_is_fitted(self)
        whole("n", n, 0)
        best = np.argsort(-self.label_topics_, axis=0, kind="stable")[:n].T
        return [self.classes_[row].tolist() for row in best]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        positive = ("beta", "beta_labels", "alpha", "max_time")
        check_parameters(p, ("n_topics", "n_sweeps", "n_kept"), positive)
        number("alpha", p.alpha, 1e-30)
        check_averaged_sweeps(p)
        return p

    def _payload(self) -> dict[str, NDArray[Any]]:
        own = {"author.label_topics": self.label_topics_}
        return {**super()._payload(), **own, **pack_classes(self.classes_, self._several)}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(arrays)
        self.classes_, self._several = unpack_classes(arrays)
        found = arrays.get("author.label_topics", np.zeros(0))
        check_arrays(
            "label_topics", found, np.float64, (len(self.classes_), self.posterior_.n_topics)
        )
        self.label_topics_ = found


def _documents(corpus: Corpus, indicator: Any) -> Docs:
    """Tokens and labels of the documents that have labels."""
    indptr, terms = corpus.tokens()
    own = assignments.own_labels(indicator)
    use = np.flatnonzero(np.diff(own.indptr) > 0)
    sizes = np.diff(indptr)[use]
    token_ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    at = np.repeat(indptr[use] - token_ptr[:-1], sizes) + np.arange(token_ptr[-1])
    mine = own[use]
    return Docs(token_ptr, terms[at], mine.indptr.astype(np.int64), mine.indices.astype(np.int32))
