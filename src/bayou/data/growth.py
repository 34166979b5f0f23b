"""A vocabulary that grows with a stream of documents, up to a cap, and forgets terms that died out."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from bayou.data.corpus import Corpus
from bayou.data.counts import CSR, moved
from bayou.data.vocabulary import Vocabulary


class Dropped(NamedTuple):
    """What a growing vocabulary has left out so far."""

    n_tokens: int = 0  # tokens of terms without a column when their slice was learned
    n_aged: int = 0  # terms that had a column and were not met for too long
    n_capped: int = 0  # terms that had a column and made room for more frequent ones
    n_waiting_lost: int = 0  # terms without a column that were forgotten while they waited


class Waiting:
    """Terms that have not been in enough documents yet: how many documents, and when last.

    At most ``room`` are kept; the ones met longest ago go first.
    """

    def __init__(self, docs: dict[str, int] | None = None, last: dict[str, int] | None = None):
        self.docs: dict[str, int] = docs or {}
        self.last: dict[str, int] = last or {}

    def meet(self, names: Iterable[str], docs: Iterable[int], slice_: int, least: int) -> list[str]:
        """Count terms without a column; those that now have been in ``least`` documents leave, sorted."""
        ready = []
        for name, n in zip(names, docs, strict=True):
            total = self.docs.pop(name, 0) + n
            self.last.pop(name, None)
            if total >= least:
                ready.append(name)
            else:
                self.docs[name], self.last[name] = total, slice_
        return sorted(ready)

    def forget(self, room: int) -> int:
        """Make sure that no more than ``room`` terms wait; gives how many were forgotten."""
        extra = len(self.docs) - room
        if extra <= 0:
            return 0
        for name in sorted(self.docs, key=lambda n: (self.last[n], self.docs[n], n))[:extra]:
            del self.docs[name], self.last[name]
        return extra


def joined(corpora: Sequence[Corpus]) -> Corpus:
    """The documents of several corpora over the union of their terms, which stand in order.

    Without names the columns are taken as they stand. Only counts, times and ids are kept.
    """
    if all(corpus.vocabulary is None for corpus in corpora):
        counts, terms = sp.csr_array(sp.vstack([c.counts for c in corpora])), None
    else:
        used: set[str] = set()
        for corpus in corpora:
            names = corpus.vocabulary or Vocabulary(())
            used.update(names[int(v)] for v in np.unique(corpus.counts.indices))
        terms = Vocabulary(sorted(used))
        counts = sp.csr_array(sp.vstack([over(c, terms) for c in corpora]))
    times = [corpus.times for corpus in corpora if corpus.times is not None]
    ids = [corpus.ids for corpus in corpora if corpus.ids is not None]
    return Corpus.from_matrix(
        counts,
        vocabulary=terms,
        times=np.concatenate(times) if len(times) == len(corpora) else None,
        ids=[*chain(*ids)] if len(ids) == len(corpora) else None,
    )


def over(corpus: Corpus, terms: Vocabulary) -> CSR:
    """The counts in the columns of ``terms``; those of other terms are left out."""
    mine = corpus.vocabulary or ()
    columns = np.array([terms.get(name, -1) for name in mine], np.int64)
    return moved(corpus.counts, columns, len(terms))
