"""A vocabulary that grows with a stream of documents, up to a limit, and drops terms that disappear."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bayou.data import schema
from bayou.data.container import pack_strings, unpack_strings
from bayou.data.corpus import Corpus
from bayou.data.counts import CSR, move_columns
from bayou.data.errors import ModelFileError
from bayou.data.schema import Array
from bayou.data.vocabulary import Vocabulary

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class DroppedTerms(NamedTuple):
    """Terms and tokens that a growing vocabulary has left out so far."""

    n_tokens: int = 0  # tokens of terms without a column when their slice was learned
    n_aged: int = 0  # terms that lost their column because they did not occur for too long
    n_capped: int = 0  # terms that lost their column to more frequent terms
    n_waiting_lost: int = 0  # candidate terms that were dropped before they got a column


class TermArrays(NamedTuple):
    """Candidate terms and counters in a model file."""

    docs: Annotated[Ints, Array("waiting")]
    last: Annotated[Ints, Array("waiting")]
    dropped: Annotated[Ints, Array(4)]
    named: bool


class WaitingTerms:
    """Candidate terms that are not in enough documents yet: the number of documents, and the last slice."""

    def __init__(self, docs: dict[str, int] | None = None, last: dict[str, int] | None = None):
        self.docs: dict[str, int] = docs or {}
        self.last: dict[str, int] = last or {}

    def meet(self, names: Iterable[str], docs: Iterable[int], slice_: int, least: int) -> list[str]:
        """Count terms without a column. Returns those that are now in ``least`` documents, sorted."""
        ready = []
        for name, n in zip(names, docs, strict=True):
            total = self.docs.pop(name, 0) + n
            self.last.pop(name, None)
            if total >= least:
                ready.append(name)
            else:
                self.docs[name], self.last[name] = total, slice_
        return sorted(ready)

    def forget(self, most: int) -> int:
        """Keep at most ``most`` terms and drop the oldest. Returns how many were dropped."""
        extra = len(self.docs) - most
        if extra <= 0:
            return 0
        for name in sorted(self.docs, key=lambda n: (self.last[n], self.docs[n], n))[:extra]:
            del self.docs[name], self.last[name]
        return extra


class Terms:
    """The columns of a stream's counts by name, candidate terms, and what was left out.

    Without names (``named`` is False) the columns never change.
    """

    def __init__(self) -> None:
        self.named = False
        self.names: Vocabulary | None = None
        self.waiting = WaitingTerms()
        self.dropped = DroppedTerms()

    def meet(
        self, corpus: Corpus, step: int, least: int, given: Iterable[str], most: int | None
    ) -> int:
        """Give columns to terms that are in ``least`` documents. Returns how many got one.

        In the first slice the terms in ``given`` get a column, too. If no term qualifies, all terms of the
        first slice get one.
        """
        if not self.named or corpus.vocabulary is None:
            return 0
        if corpus.vocabulary is self.names:
            return 0
        mine = self.names or Vocabulary(())
        docs = np.bincount(corpus.counts.indices, minlength=corpus.n_terms)
        strange = np.flatnonzero((docs > 0) & (_columns(corpus.vocabulary, mine) < 0))
        found = [corpus.vocabulary[int(v)] for v in strange]
        ready = self.waiting.meet(found, docs[strange].tolist(), step, least)
        if not mine:
            ready = sorted({*ready, *given}) or sorted(found)
        if ready:
            self.names = Vocabulary([*mine, *ready])
        lost = self.waiting.forget(most or 4 * max(len(self.names or ()), 10_000))
        self.dropped = self.dropped._replace(n_waiting_lost=self.dropped.n_waiting_lost + lost)
        return len(ready)

    def counts(self, corpus: Corpus) -> CSR:
        """The counts of documents in these columns; tokens of other terms are counted as dropped."""
        if not self.named or self.names is None:
            return corpus.counts
        kept = counts_over(corpus, self.names)
        left = round(corpus.n_tokens - float(kept.data.sum(dtype=np.float64)))
        self.dropped = self.dropped._replace(n_tokens=self.dropped.n_tokens + left)
        return kept

    def outlive(
        self, usual: Floats, unmet: Ints, forget_after: int | None, most: int | None
    ) -> Ints | None:
        """Columns that stay if any is dropped: too old terms go first, then the least frequent ones."""
        if not self.named or self.names is None:
            return None
        old = np.zeros(len(usual), bool)
        if forget_after is not None:
            old = unmet >= forget_after
            old &= ~old.all()
        capped = np.zeros(len(usual), bool)
        if most is not None and (~old).sum() > most:
            order = np.lexsort((np.arange(len(usual)), -np.where(old, -1.0, usual)))
            capped[order[most:]] = True
            capped &= ~old
        keep = np.flatnonzero(~old & ~capped)
        if len(keep) == len(usual):
            return None
        names = self.names
        self.names = Vocabulary(names[int(v)] for v in keep)
        n_aged, n_capped = self.dropped.n_aged, self.dropped.n_capped
        self.dropped = self.dropped._replace(
            n_aged=n_aged + int(old.sum()), n_capped=n_capped + int(capped.sum())
        )
        return keep

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Everything as arrays, for a model file."""
        waiting = sorted(self.waiting.docs)
        names = {} if self.names is None else {"vocabulary": pack_strings(self.names)}
        return {
            **names,
            "waiting.names": pack_strings(waiting),
            "waiting.docs": np.array([self.waiting.docs[n] for n in waiting], np.int64),
            "waiting.last": np.array([self.waiting.last[n] for n in waiting], np.int64),
            "dropped": np.array(self.dropped, np.int64),
            "named": np.array(self.named),
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Read back what `arrays` gave, checked. The caller reads the names of the columns."""
        try:
            waiting = unpack_strings(arrays["waiting.names"])
            found = TermArrays(
                arrays["waiting.docs"], arrays["waiting.last"], arrays["dropped"],
                arrays["named"].item(),
            )  # fmt: skip
        except (KeyError, ValueError) as error:
            raise ModelFileError(f"the candidate terms cannot be read: {error}") from None
        schema.check(found, {"waiting": len(waiting)})
        both = (dict(zip(waiting, a.tolist(), strict=True)) for a in (found.docs, found.last))
        self.waiting, self.named = WaitingTerms(*both), found.named
        self.dropped = DroppedTerms(*found.dropped.tolist())


def join_corpora(corpora: Sequence[Corpus]) -> Corpus:
    """The documents of several corpora over the sorted union of their terms.

    Without names the columns are taken as they are. Only counts, times and ids are kept.
    """
    if all(corpus.vocabulary is None for corpus in corpora):
        counts, terms = sp.csr_array(sp.vstack([c.counts for c in corpora])), None
    else:
        used: set[str] = set()
        for corpus in corpora:
            names = corpus.vocabulary or Vocabulary(())
            used.update(names[int(v)] for v in np.unique(corpus.counts.indices))
        terms = Vocabulary(sorted(used))
        counts = sp.csr_array(sp.vstack([counts_over(c, terms) for c in corpora]))
    times = [corpus.times for corpus in corpora if corpus.times is not None]
    ids = [corpus.ids for corpus in corpora if corpus.ids is not None]
    return Corpus.from_matrix(
        counts,
        vocabulary=terms,
        times=np.concatenate(times) if len(times) == len(corpora) else None,
        ids=[*chain(*ids)] if len(ids) == len(corpora) else None,
    )


def counts_over(corpus: Corpus, terms: Vocabulary) -> CSR:
    """The counts in the columns of ``terms``; counts of other terms are left out."""
    if corpus.vocabulary is terms:
        return corpus.counts
    return move_columns(
        corpus.counts, _columns(corpus.vocabulary or Vocabulary(()), terms), len(terms)
    )


def _columns(mine: Vocabulary, terms: Vocabulary) -> Ints:
    """The column of each term of ``mine`` in ``terms``, or -1."""
    return np.fromiter(map(terms.numbers.get, mine, repeat(-1)), np.int64, len(mine))
