"""Tokens of texts, and counts of their terms."""

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bayou.data.backtracking import explain_exponential
from bayou.data.counting import (
    CommonTerms,
    Counted,
    check_limits,
    choose_terms,
    count_tokens,
)
from bayou.data.counts import CSR
from bayou.data.english import ENGLISH_LISTS
from bayou.data.errors import DataError, LongTokensWarning
from bayou.data.stop_words import file_words, is_file, language_words, split_names
from bayou.data.text_input import as_texts
from bayou.data.token_pattern import TOKEN_PATTERN
from bayou.data.untrusted import normalize
from bayou.data.vocabulary import as_vocabulary

MAX_TOKEN = 1_000  # characters; longer ones are data in letters, not words
MAX_NGRAM = 10


@lru_cache(maxsize=64)
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    try:
        made = re.compile(pattern)
        why = "" if pattern == TOKEN_PATTERN else explain_exponential(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise DataError(
            f"token_pattern {pattern!r:.200} is not a valid regular expression: {error}"
        ) from None
    if why:
        raise DataError(f"token_pattern {pattern!r:.200} could take exponential time: {why}")
    return made


def tokenize(
    text: str,
    *,
    lowercase: bool = True,
    min_length: int = 2,
    ngrams: tuple[int, int] = (1, 1),
    stop_words: frozenset[str] | None = None,
    token_pattern: str = TOKEN_PATTERN,
) -> list[str]:
    """Split a text into tokens.

    The text is normalised to Unicode form C first, so that both encodings of an accented letter give the
    same token. Any string is accepted. By default, characters other than letters and digits separate tokens.

    Parameters
    ----------
    text : str
    lowercase : bool
        Convert the text to lower case first.
    min_length : int
        Drop tokens of fewer characters. Tokens of more than 1,000 characters are always dropped, with a
        `LongTokensWarning`.
    ngrams : pair of int
        Minimum and maximum length of n-grams, at most 10. Tokens are joined by a space. N-grams are
        formed after stop words are removed.
    stop_words : frozenset of str, optional
        Tokens to drop, compared after `lowercase` is applied.
    token_pattern : str
        Regular expression of a token.

    Examples
    --------
    >>> tokenize("The CAT, the café!", stop_words=frozenset({"the"}), ngrams=(1, 2))
    ['cat', 'café', 'cat café']
    """
    if not isinstance(text, str):
        raise DataError(f"expected text, got {type(text).__name__}: {text!r:.80}")
    tokens, n_long = _split(text, lowercase, min_length, ngrams, stop_words, token_pattern)
    if n_long:
        _warn_long_tokens(n_long)
    return tokens


def _split(
    text: str, lowercase: bool, min_length: int, ngrams: tuple[int, int],
    stop_words: frozenset[str] | None, token_pattern: str,
) -> tuple[list[str], int]:  # fmt: skip
    """The tokens of a text, and the number of those that were dropped because they are too long."""
    if not isinstance(min_length, int):
        raise DataError(f"min_length must be a whole number, got {min_length!r}")
    low, high = check_ngrams(ngrams)
    text = normalize(text.lower() if lowercase else text)
    pattern, least = _compile_pattern(token_pattern), max(min_length, 1)
    if pattern.groups:
        found = [match.group() for match in pattern.finditer(text)]
    else:
        found = pattern.findall(text)
    tokens = [token for token in found if least <= len(token) <= MAX_TOKEN]
    n_long = sum(len(token) > MAX_TOKEN for token in found) if len(text) > MAX_TOKEN else 0
    if stop_words:
        tokens = [token for token in tokens if token not in stop_words]
    if (low, high) == (1, 1):
        return tokens, n_long
    grams = [
        " ".join(tokens[i : i + n])
        for n in range(low, high + 1)
        for i in range(len(tokens) - n + 1)
    ]
    return grams, n_long


def _warn_long_tokens(n: int) -> None:
    were = "token was" if n == 1 else "tokens were"
    warnings.warn(
        f"{n:,} {were} dropped: longer than {MAX_TOKEN:,} characters, so probably data and not a word",
        LongTokensWarning,
        stacklevel=3,
    )


def check_ngrams(ngrams: Any) -> tuple[int, int]:
    """The pair of n-gram lengths; a `DataError` unless it is two whole numbers 1 <= low <= high."""
    pair = tuple(ngrams) if isinstance(ngrams, Iterable) else ()
    if len(pair) != 2 or not all(isinstance(n, int) for n in pair) or not 1 <= pair[0] <= pair[1]:
        raise DataError(
            f"ngrams must be a pair like (1, 2), shortest and longest, got {ngrams!r:.80}"
        )
    if pair[1] > MAX_NGRAM:
        raise DataError(f"ngrams must be at most {MAX_NGRAM} tokens long, got {ngrams!r:.80}")
    return pair[0], pair[1]


def as_stop_words(stop_words: Any) -> frozenset[str] | None:
    """The stop words of names joined by +, or of a collection of words; None for none.

    Examples
    --------
    >>> sorted(as_stop_words("english-long") - as_stop_words("english"))[:4]
    ['according', 'across', 'actually', 'ago']
    """
    if stop_words is None:
        return None
    if isinstance(stop_words, str):
        return frozenset().union(*map(_words_of_name, split_names(stop_words)))
    words = frozenset(stop_words)
    if not all(isinstance(word, str) for word in words):
        raise DataError("stop words must be strings")
    return words


def _words_of_name(name: str) -> frozenset[str]:
    """The stop words of one language or file."""
    if (words := ENGLISH_LISTS.get(name.lower())) is not None:
        return words
    if not is_file(name):
        # tokenised like a text: "aujourd'hui" is two tokens
        found = [tokenize(word, min_length=1) for word in language_words(name)]
        return frozenset(token for tokens in found for token in tokens)
    # in both forms, for vectorisers with and without `lowercase`
    text = file_words(name)
    both = (tokenize(text, min_length=1, lowercase=lowercase) for lowercase in (False, True))
    found_words = frozenset(token for tokens in both for token in tokens)
    if not found_words:
        raise DataError(f"{name}: contains no stop words; write one word per line")
    return found_words


class TokenizedTexts(list[Any]):
    """Texts that `Vectorizer.tokens` has already tokenised; accepted in place of texts."""


@dataclass(kw_only=True, eq=False, repr=False)
class Vectorizer(TransformerMixin, BaseEstimator):
    """Count the terms of texts; a scikit-learn transformer.

    Parameters
    ----------
    min_df, max_df : int or float
        Drop terms in fewer than `min_df` or more than `max_df` documents: a number of documents
        (``int``) or a fraction of the documents (``float`` in 0 .. 1).
    max_features : int, optional
        Keep only the N most frequent terms.
    vocabulary : iterable of str, optional
        Count only these terms; the three limits above must then have their defaults.
    stop_words : str, iterable of str or None
        A list of words, or names joined by ``+``, such as ``"english+own.txt"``. A name is a
        language by its English name or ISO 639-1 code, ``"english-long"``, or a text file, whose name
        has a dot or a slash. Languages except English need ``pip install 'bayou[languages]'``.
    lowercase, min_length, ngrams, token_pattern
        As in `tokenize`.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The terms, in alphabetical order unless `vocabulary` was given.
    stop_words_ : frozenset of str or None
        The words that `stop_words` resolved to.
    common_terms_ : CommonTerms
        How many terms `max_df` dropped, and at most 1,000 of them, the most informative first. Not
        part of model files.

    Examples
    --------
    >>> vectorizer = Vectorizer(stop_words="english")
    >>> vectorizer.fit_transform(["the cat sat", "a cat and a dog"]).toarray().tolist()
    [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    >>> vectorizer.get_feature_names_out().tolist()
    ['cat', 'dog', 'sat']
    """

    min_df: float = 1
    max_df: float = 1.0
    max_features: int | None = None
    vocabulary: Iterable[str] | None = None
    stop_words: str | Iterable[str] | None = None
    lowercase: bool = True
    min_length: int = 2
    ngrams: tuple[int, int] = (1, 1)
    token_pattern: str = TOKEN_PATTERN

    def fit(self, X: Iterable[str], y: Any = None) -> "Vectorizer":
        """Choose the vocabulary from texts."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Iterable[str], y: Any = None) -> CSR:
        """Choose the vocabulary from texts and count its terms, in one pass."""
        check_limits(self.min_df, self.max_df, self.max_features)
        self.stop_words_ = as_stop_words(self.stop_words)
        given, names = as_vocabulary(self.vocabulary), ("min_df", "max_df", "max_features")
        limits: dict[str, Any] = {name: getattr(self, name) for name in names}
        if given is None:
            found = choose_terms(self.tokens(X), **limits)
        else:
            counts, terms = count_tokens(self.tokens(X), vocabulary=given, **limits)
            found = Counted(counts, terms, CommonTerms())
        self.vocabulary_, self.common_terms_ = found.vocabulary, found.common
        return found.counts

    def transform(self, X: Iterable[str]) -> CSR:
        """Count the terms of the vocabulary in texts; other terms are ignored."""
        check_is_fitted(self, "vocabulary_")
        return count_tokens(self.tokens(X), vocabulary=self.vocabulary_)[0]

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The terms in the order of the columns."""
        check_is_fitted(self, "vocabulary_")
        return np.array(self.vocabulary_.terms, dtype=object)

    def tokens(self, X: Iterable[str]) -> Iterator[list[str]]:
        """Tokenise each text; tokens outside the vocabulary are included."""
        if isinstance(X, TokenizedTexts):
            yield from X
            return
        texts, stop_words, n_long = as_texts(X), self._stop_words(), 0
        for d, text in enumerate(texts):
            if not isinstance(text, str):
                raise DataError(f"document {d}: expected text, got {type(text).__name__}")
            found, n = _split(
                text, self.lowercase, self.min_length, self.ngrams, stop_words, self.token_pattern
            )
            n_long += n
            yield found
        if n_long:
            _warn_long_tokens(n_long)

    def token_places(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Each token of a text in Unicode form C with its beginning and end; stop words are left out.

        Tokens are those of `tokens` for n-grams of one token. A letter whose lower case is longer may
        differ.
        """
        stop_words, least = self._stop_words() or frozenset(), max(self.min_length, 1)
        lower = text.lower() if self.lowercase else text
        searched = lower if len(lower) == len(text) else text
        for match in _compile_pattern(self.token_pattern).finditer(searched):
            token = normalize(match.group().lower() if self.lowercase else match.group())
            if least <= len(token) <= MAX_TOKEN and token not in stop_words:
                yield token, match.start(), match.end()

    def _stop_words(self) -> frozenset[str] | None:
        """The words resolved by `fit`: a fitted vectoriser does not need the package with the lists."""
        if hasattr(self, "stop_words_"):
            return self.stop_words_
        return as_stop_words(self.stop_words)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
