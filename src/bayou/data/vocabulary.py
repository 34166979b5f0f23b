"""Terms and their column numbers."""

from collections.abc import Iterable, Iterator, Mapping
from typing import overload

from bayou.data.errors import DataError


class Vocabulary:
    """An immutable, ordered list of distinct terms, with the number of each term.

    Parameters
    ----------
    terms : iterable of str
        The terms in order; term ``i`` is the name of column ``i`` of the counts.

    Examples
    --------
    >>> vocabulary = Vocabulary(["ape", "bee"])
    >>> vocabulary.index("bee"), vocabulary[0], len(vocabulary), "cat" in vocabulary
    (1, 'ape', 2, False)
    """

    __slots__ = ("_index", "_terms")

    def __init__(self, terms: Iterable[str]) -> None:
        if isinstance(terms, str | bytes) or not isinstance(terms, Iterable):
            raise DataError(f"a vocabulary must be a list of terms, got {terms!r:.80}")
        self._terms = tuple(terms)
        self._index: dict[str, int] = {}
        for i, term in enumerate(self._terms):
            if not isinstance(term, str):
                raise DataError(f"term {i} must be a string, got {type(term).__name__}: {term!r}")
            first = self._index.setdefault(term, i)
            if first != i:
                raise DataError(
                    f"terms must be distinct, but {term!r} is term {first} and term {i}"
                )

    @property
    def terms(self) -> tuple[str, ...]:
        """All terms in order."""
        return self._terms

    def index(self, term: str) -> int:
        """The number of a term; a `DataError` if the term is unknown."""
        try:
            return self._index[term]
        except KeyError:
            raise DataError(
                f"{term!r} is not among the {len(self)} terms of the vocabulary"
            ) from None

    @overload
    def get(self, term: str) -> int | None: ...
    @overload
    def get(self, term: str, default: int) -> int: ...
    def get(self, term: str, default: int | None = None) -> int | None:
        """The number of a term, or ``default`` if the term is unknown."""
        return self._index.get(term, default)

    @property
    def numbers(self) -> Mapping[str, int]:
        """The number of every term; read-only."""
        return self._index

    def revised(self, keep: Iterable[int], new: Iterable[str]) -> "Vocabulary":
        """A vocabulary of some of the terms, by number, followed by new ones."""
        made = object.__new__(Vocabulary)
        made._terms = (*map(self._terms.__getitem__, keep), *new)
        made._index = dict(zip(made._terms, range(len(made._terms)), strict=True))
        return made

    def missing(self, words: Iterable[str]) -> set[str]:
        """The words that are not in the vocabulary."""
        index = self._index
        return {word for word in words if word not in index}

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[str, ...]: ...
    def __getitem__(self, i: int | slice) -> str | tuple[str, ...]:
        return self._terms[i]

    def __contains__(self, term: object) -> bool:
        return isinstance(term, str) and term in self._index

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Vocabulary) and self._terms == other._terms)

    def __hash__(self) -> int:
        return hash(self._terms)

    def __reduce__(self) -> tuple[type["Vocabulary"], tuple[tuple[str, ...]]]:
        return Vocabulary, (self._terms,)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self._terms[:3])) + (", ..." if len(self) > 3 else "")
        return f"Vocabulary({len(self)} terms: {shown})" if self._terms else "Vocabulary(0 terms)"


def as_vocabulary(terms: Iterable[str] | None) -> Vocabulary | None:
    """The terms as a `Vocabulary`; None stays None."""
    return terms if terms is None or isinstance(terms, Vocabulary) else Vocabulary(terms)
