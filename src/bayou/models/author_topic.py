"""The author-topic model: labels have topics, and topics have terms. Fast-Dependency-LDA reversed.

    phi_t ~ Dir(beta)   phi'_y ~ Dir(b)   x_dn uniform on Y_d   z_dn ~ phi'_x   w_dn ~ phi_z

phi and phi' are integrated out; topic z and label x of every token are drawn together. Topics are over words,
as in LDA, and every label has a distribution over them. The model describes labels; it is not meant for
predicting them.

[RosenZvi04] Rosen-Zvi, Griffiths, Steyvers, Smyth. The author-topic model for authors and documents. UAI
2004.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.estimator import Estimator, Saved
from bayou.api.params import param, settings
from bayou.api.topics import POSTERIOR, Topics
from bayou.api.training import Path, training
from bayou.data.checks import MAX_TOPICS, whole
from bayou.data.corpus import Corpus
from bayou.data.label_forms import pack_classes, unpack_classes
from bayou.data.schema import Array
from bayou.data.supervision import read_labels
from bayou.inference.labels import assignments
from bayou.inference.lda import arrays as lda_arrays
from bayou.inference.lda import documents
from bayou.inference.lda.arrays import F32, F64, I32, I64, U16, U32, Each
from bayou.inference.lda.resume import check_places
from bayou.kernels.labels import author_sweep
from bayou.results.posterior import Posterior, check_arrays
from bayou.run.loop import Info
from bayou.run.shards import Workers

STEPS = 20  # of the inference of a document's labels


class Settings(NamedTuple):
    """The parameters of one `fit`."""

    n_topics: int
    beta: float
    beta_labels: float
    alpha: float
    n_sweeps: int
    n_kept: int


class State(NamedTuple):
    """What the next sweep needs."""

    step: int
    z: Annotated[U16, Array("tokens", below="topics")]
    author: Annotated[I32, Array("tokens", below="places")]  # place of each token's label in Y_d
    term_kept: Annotated[F32, Array("terms", "topics")]  # sum of n_vt over kept sweeps
    label_kept: Annotated[F32, Array("labels", "topics")]  # sum of n_yt over kept sweeps


class AuthorDocuments(NamedTuple):
    """Documents that have labels, as the kernel reads them."""

    token_ptr: I64
    terms: U32
    label_ptr: I64
    label_ids: I32


class AuthorCounts(NamedTuple):
    """n_vt, n_t, n_yt and n_y, which sweeps keep up to date."""

    term_topic: F32
    topic: F64
    label_topic: F32
    label: F64


def init(docs: AuthorDocuments, n_labels: int, n_terms: int, p: Settings, seed: int) -> State:
    """Topics and labels of tokens at random."""
    n_tokens = int(docs.token_ptr[-1])
    z, author = np.zeros(n_tokens, np.uint16), np.zeros(n_tokens, np.int32)
    author_sweep.start_authors(z, author, docs.token_ptr, docs.label_ptr, p.n_topics, seed)
    sizes = ((n_terms, p.n_topics), (n_labels, p.n_topics))
    return State(0, z, author, *(np.zeros(size, np.float32) for size in sizes))


def count(state: State, docs: AuthorDocuments) -> AuthorCounts:
    """The counts that follow from a state."""
    check_places(state.author, docs.token_ptr, docs.label_ptr)
    terms, own = np.zeros_like(state.term_kept), np.zeros_like(state.label_kept)
    author_sweep.count_authors(terms, own, state.z, state.author, tuple(docs))
    return AuthorCounts(terms, terms.sum(axis=0, dtype=float), own, own.sum(axis=1, dtype=float))


def sweep(
    state: State, counts: AuthorCounts, docs: AuthorDocuments, p: Settings, seed: int
) -> State:
    """Draw topic t and label y of every token together [RosenZvi04].

    p(z = t, x = y | rest) ~ (n_vt + beta) / (n_t + V beta) (n_yt + b) / (n_y + T b), y in Y_d
    """
    priors = (p.beta, p.beta * len(counts.term_topic), p.beta_labels)
    author_sweep.author_sweep(state.z, state.author, tuple(docs), *counts, priors, seed, state.step)
    if state.step >= p.n_sweeps - p.n_kept:
        state.term_kept[:] += counts.term_topic
        state.label_kept[:] += counts.label_topic
    return state._replace(step=state.step + 1)


def posterior(
    state: State, counts: AuthorCounts, p: Settings, vocabulary: Any, each: Each
) -> tuple[Posterior, F64]:
    """Topics, and topics of labels, from the kept sweeps; from the last one if none was kept."""
    n_kept = state.step - (p.n_sweeps - p.n_kept)
    terms, own = counts.term_topic, counts.label_topic
    if n_kept > 0:
        terms, own = state.term_kept / np.float32(n_kept), state.label_kept / np.float32(n_kept)
    mass = own.astype(np.float64) + p.beta_labels
    label_topics = mass / mass.sum(axis=1, keepdims=True)
    post = Posterior(
        rows=lda_arrays.topic_rows(terms, p.beta, each), beta=p.beta,
        alpha=p.alpha * len(own) * label_topics.mean(axis=0),
        topic_tokens=lda_arrays.topic_totals(terms), scores=np.zeros(0),
        score_steps=np.zeros(0, np.int64), vocabulary=vocabulary,
    )  # fmt: skip
    return post, label_topics


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    classes = pack_classes(model.classes_, model._multi_label)
    return {"author.label_topics": model.label_topics_, **classes}


def _unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    model.classes_, model._multi_label = unpack_classes(arrays)
    found = arrays.get("author.label_topics", np.zeros(0))
    shape = (len(model.classes_), model.posterior_.n_topics)
    check_arrays("label_topics", found, np.float64, shape)
    model.label_topics_ = found


@dataclass(kw_only=True, eq=False, repr=False)
class AuthorTopicModel(Topics, Estimator):
    """Topics of words, and the topics of each label (author).

    Parameters
    ----------
    n_topics : int
        Number of topics [T].
    beta : float
        Prior of a topic's terms.
    beta_labels : float
        Prior of a label's topics [b].
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
        Topics of each label; rows sum to one [phi'].

    Examples
    --------
    >>> from bayou import AuthorTopicModel
    >>> texts = [[3, 1, 0, 0], [0, 0, 2, 2], [2, 1, 1, 2], [4, 0, 0, 1]] * 10
    >>> given = [["ann"], ["bob"], ["ann", "bob"], ["ann"]] * 10
    >>> model = AuthorTopicModel(n_topics=2, random_state=0).fit(texts, given)
    >>> int(model.label_shares([[5, 1, 0, 0]]).argmax())
    0
    """

    n_topics: int = param(50, ge=1, le=MAX_TOPICS)
    beta: float = param(0.01, gt=0.0)
    beta_labels: float = param(0.1, gt=0.0)
    alpha: float = param(0.1, gt=0.0)
    n_sweeps: int = param(200, ge=1)
    n_kept: int = param(50, ge=1, le="n_sweeps")

    saved: ClassVar[tuple[Saved, ...]] = (POSTERIOR, Saved(_pack, _unpack))

    def fit(
        self, X: Any, y: Any = None, *, checkpoint: Path | None = None, checkpoint_every: int = 10
    ) -> Self:
        """Learn topics from documents with labels; documents without labels are left out.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : label lists, indicator matrix, vector of classes, or None
            None takes the corpus' labels. See `bayou.data.supervision.read_labels`.
        checkpoint, checkpoint_every
            As in `LDA.fit`.
        """
        p = self.resolve()
        corpus = self._corpus(X, reset=True)
        found = read_labels(y, corpus.n_docs, corpus=X if isinstance(X, Corpus) else None)
        self.seed_ = self._resolve_seed()
        docs, n_labels = _documents(corpus, found.indicator), len(found.classes)
        dims = {"tokens": len(docs.terms), "terms": corpus.n_terms, "labels": n_labels}
        dims |= {"topics": p.n_topics, "places": int(np.diff(docs.label_ptr).max(initial=0))}
        with training(self, lambda: docs, checkpoint, checkpoint_every) as run:
            begin = run.first(
                State, lambda: init(docs, n_labels, corpus.n_terms, p, self.seed_), dims=dims
            )
            counts = count(begin, docs)

            def step(state: State) -> tuple[State, Info | None]:
                if state.step >= p.n_sweeps:
                    return state, None
                state = sweep(state, counts, docs, p, self.seed_)
                return state, Info(state.step, p.n_sweeps, "gibbs", float("nan"), 0.0)

            state = run.repeat(begin, step)
            result = posterior(state, counts, p, corpus.vocabulary, run.each)
        self.posterior_, self.label_topics_ = result
        self.classes_, self._multi_label = found.classes, found.kind == "multi-label"
        self.n_iter_ = state.step
        return self

    def resolve(self) -> Settings:
        """The parameters of one `fit`, checked."""
        self.check_params()
        return settings(Settings, self)

    def label_shares(self, X: Any) -> F64:
        """Expected share of each label in the tokens of documents.

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
        """The labels with the largest share of each topic."""
        check_is_fitted(self)
        whole("n", n, 0)
        best = np.argsort(-self.label_topics_, axis=0, kind="stable")[:n].T
        return [self.classes_[row].tolist() for row in best]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _documents(corpus: Corpus, indicator: Any) -> AuthorDocuments:
    """Tokens and labels of the documents that have labels."""
    indptr, terms = corpus.tokens()
    own = assignments.own_labels(indicator)
    use = np.flatnonzero(np.diff(own.indptr) > 0)
    sizes = np.diff(indptr)[use]
    token_ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    at = np.repeat(indptr[use] - token_ptr[:-1], sizes) + np.arange(token_ptr[-1])
    mine = own[use]
    return AuthorDocuments(
        token_ptr, terms[at], mine.indptr.astype(np.int64), mine.indices.astype(np.int32)
    )
