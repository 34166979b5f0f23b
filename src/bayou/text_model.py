"""A vectoriser and an estimator in one object that takes texts and is saved to one file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from bayou import text_model_file
from bayou.api.estimator import Estimator
from bayou.api.files import readers
from bayou.api.streaming import check_vocabulary_grows
from bayou.data import container, reading
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError
from bayou.data.reading import Reading, labels_of, rows_of
from bayou.data.text import Vectorizer, as_stop_words
from bayou.data.vocabulary_growth import (
    Growth,
    VocabularyAccount,
    VocabularyReport,
    open_account,
    report_of,
    revise_vocabulary,
)
from bayou.models.lda import LDA
from bayou.text_estimator import TextEstimator, if_estimator_has


@dataclass(kw_only=True, eq=False, repr=False)
class TextModel(TextEstimator, TransformerMixin, BaseEstimator):
    """A topic model of raw texts.

    All methods that take texts also take a `Corpus` with named terms.

    Parameters
    ----------
    estimator : Estimator, optional
        The model of counts. Default: `LDA()`.
    vectorizer : Vectorizer, optional
        Converts texts to counts. Default: `Vectorizer()`.
    growth : Growth, optional
        Lets `partial_fit` add columns for frequent new words and remove columns of unused ones; for
        online models. New labels are then added too. Default: words and labels are those of the first call.

    Attributes
    ----------
    estimator_ : Estimator
        The fitted estimator, with all its attributes.
    vectorizer_ : Vectorizer
        The fitted vectoriser.
    n_known_, n_unknown_ : int
        Number of tokens in `partial_fit` since the first vocabulary was chosen, inside and outside the
        vocabulary at that time.
    account_ : VocabularyAccount or None
        The evidence for words of a growing vocabulary; see `vocabulary_report`.
    columns_ : dict of str
        The column names (``text``, ``label``, ...) given on the command line, for its later commands.
        Only set for models fitted there.

    Examples
    --------
    >>> from bayou import LDA, TextModel, Vectorizer
    >>> texts = ["apple pear plum", "pear apple apple", "wolf bear lynx", "lynx wolf wolf"] * 5
    >>> model = TextModel(estimator=LDA(n_topics=2, random_state=0)).fit(texts)
    >>> shares = model.transform(["pear and plum", "a bear"])
    >>> shares.shape, bool(shares[0].argmax() != shares[1].argmax())
    ((2, 2), True)

    A supervised estimator predicts classes of texts:

    >>> from bayou import MedLDAClassifier
    >>> model = TextModel(estimator=MedLDAClassifier(n_topics=4, n_sweeps=10, random_state=0))
    >>> model.fit(texts, ["fruit", "fruit", "beast", "beast"] * 5).predict(["a plum", "a bear"]).tolist()
    ['fruit', 'beast']
    """

    estimator: Any = None
    vectorizer: Any = None
    growth: Growth | None = None

    def fit(self, X: Iterable[str] | Corpus, y: Any = None, **how: Any) -> Self:
        """Choose the vocabulary and learn.

        Parameters
        ----------
        X : iterable of str, or Corpus
            Texts in any iterable, which is read once; a table must have one column. The terms of a corpus
            must have names, and be counted in the way of the vectoriser.
        y : passed to the estimator
        **how
            Passed to the estimator's `fit`, such as ``checkpoint=``.
        """
        self._learn(X, y, how)
        return self

    def fit_transform(self, X: Iterable[str] | Corpus, y: Any = None, **how: Any) -> Any:
        """Fit, then return the topic proportions of the same documents; the texts are read once."""
        return self.transform(self._learn(X, y, how))

    @if_estimator_has("partial_fit")
    def partial_fit(self, X: Iterable[str] | Corpus, y: Any = None, **how: Any) -> Self:
        """Learn from more texts; ``how`` (``classes=``) is passed to the estimator.

        The first call chooses the vocabulary. Later calls count words outside it in `n_unknown_`. With
        `growth`, frequent new words get a column. After the first call, the vocabulary depends on the
        documents and their order, but not on how they are cut into calls.
        """
        if not hasattr(self, "estimator_"):
            estimator = self._fresh()
            corpus, vectorizer = self._first_corpus(X)
            self._keep(estimator.partial_fit(corpus, y, **how), vectorizer)
            self._open(corpus)
            return self
        check_is_fitted(self)
        if self.growth is None:
            self._learn_more(reading.read(X, self.vectorizer_), y, how)
            return self
        self._open_again()
        account = self.account_
        inner = self.estimator_
        if is_classifier(inner) and not inner.meets_labels and how.get("classes") is None:
            how |= {"classes": labels_of(y, X if isinstance(X, Corpus) else None)}
        for some, piece in reading.pieces(X, self.vectorizer_, lambda: account.n_until_revision):
            part = {k: rows_of(v, some) if k == "sample_weight" else v for k, v in how.items()}
            self._learn_more(piece, rows_of(y, some), part)
            self._revise(account, piece)
        return self

    def _learn_more(self, piece: Reading, y: Any, how: Mapping[str, Any]) -> None:
        known = int(self.estimator_._align(piece.corpus).n_tokens)
        self.estimator_.partial_fit(piece.corpus, y, **how)
        self.n_known_ += known
        self.n_unknown_ += int(piece.lengths.sum()) - known

    def _open(self, first: Corpus | None) -> None:
        """Start to count evidence for words, beginning with the first documents."""
        n_terms = len(self.vectorizer_.vocabulary_)
        self.account_: Any = (
            None if self.growth is None else open_account(self.growth, n_terms, first)
        )

    def _open_again(self) -> None:
        """Start again to count evidence if `growth` has changed."""
        if (None if self.account_ is None else self.account_.growth) != self.growth:
            if self.growth is not None:
                check_vocabulary_grows(self.estimator_)
            self._open(None)

    def _revise(self, account: VocabularyAccount, piece: Reading) -> None:
        """Count the words of documents; revise the vocabulary if due."""
        old = self.vectorizer_.vocabulary_
        terms = self.estimator_._align(piece.corpus).counts.indices
        account.add_documents(len(piece.lengths), terms, piece.unknown_words)
        limit = self.vectorizer_.max_df
        revision = account.revise(old, limit if isinstance(limit, float) else 1.0)
        if revision is not None:
            names = revise_vocabulary(old, revision)
            account.dropped_tokens += self.estimator_._change_terms(revision.keep, names)
            self.vectorizer_.vocabulary_ = names

    def vocabulary_report(self, n: int = 10) -> VocabularyReport:
        """Changes of the vocabulary since the first call, with ``n`` candidates for a column."""
        check_is_fitted(self)
        met = self.n_known_, self.n_unknown_
        return report_of(self.account_, len(self.vocabulary_), met, n)

    def _learn(self, X: Iterable[str] | Corpus, y: Any, how: Mapping[str, Any]) -> Corpus:
        estimator = self._fresh()
        corpus, vectorizer = self._first_corpus(X)
        self._keep(estimator.fit(corpus, y, **how), vectorizer)
        self._open(corpus if self.growth is not None else None)
        return corpus

    def _keep(
        self, estimator: Any, vectorizer: Vectorizer, known: int = 0, unknown: int = 0
    ) -> None:
        self.estimator_, self.vectorizer_ = estimator, vectorizer
        self.n_known_, self.n_unknown_ = known, unknown
        self.account_ = None

    def _estimator(self) -> Any:
        given = LDA() if self.estimator is None else self.estimator
        if not isinstance(given, Estimator):
            raise DataError(f"estimator must be a bayou estimator such as LDA(), got {given!r:.80}")
        return given

    def _fresh(self) -> Any:
        """A copy of the estimator to fit; callbacks are not copied, unlike by `clone`."""
        given = self._estimator()
        if self.growth is not None and not hasattr(given, "partial_fit"):
            raise DataError(
                f"{type(given).__name__} learns from a whole corpus at once, so its vocabulary cannot grow; "
                "leave out growth"
            )
        if self.growth is not None:
            check_vocabulary_grows(given)
        values = given.get_params(deep=False)
        how = {f.name: values.pop(f.name) for f in given._fields() if f.metadata.get("runtime")}
        return clone(type(given)(**values)).set_params(**how)

    def _first_corpus(self, X: Iterable[str] | Corpus) -> tuple[Corpus, Vectorizer]:
        given = Vectorizer() if self.vectorizer is None else self.vectorizer
        if not isinstance(given, Vectorizer):
            raise DataError(f"vectorizer must be a bayou.Vectorizer, got {given!r:.80}")
        vectorizer = clone(given)
        if not isinstance(X, Corpus):
            counts = vectorizer.fit_transform(X)
            return Corpus.from_matrix(counts, vocabulary=vectorizer.vocabulary_), vectorizer
        if X.vocabulary is None:
            raise DataError(
                "the terms of the corpus have no names; create the corpus with a vocabulary"
            )
        vectorizer.stop_words_ = as_stop_words(vectorizer.stop_words)
        vectorizer.vocabulary_ = X.vocabulary
        return X, vectorizer

    def transform(self, X: Iterable[str] | Corpus) -> NDArray[np.float64]:
        """Topic proportions of texts; rows sum to one."""
        corpus = self.corpus(X)
        return np.asarray(self.estimator_.transform(corpus), np.float64)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._estimator())
        tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    # -- files ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file without code; `bayou.load` reads it.

        The bytes depend only on the texts, the parameters and the seed. The stop words are stored as a
        list, so that loading does not need the package with the lists.
        """
        container.save(path, *self._contents())

    def _contents(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and manifest of the model file; callers may add others to the same file."""
        check_is_fitted(self)
        return text_model_file.contents(self)


readers[text_model_file.KIND] = partial(text_model_file.restore, TextModel)
