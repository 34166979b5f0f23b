"""A vectoriser and an estimator as one object that takes raw strings and is kept in one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bayou._version import __version__
from bayou.api.estimator import Estimator
from bayou.api.files import estimator_of, readers
from bayou.api.streaming import check_vocabulary_grows
from bayou.data import container, reading, vectorizer_file
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError, ModelFileError
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
from bayou.inference.lda.explain import explain
from bayou.models.lda import LDA

_KIND = "text-model"
_PREFIX, _GROWTH = "estimator/", "growth/"

F = TypeVar("F", bound=Callable[..., Any])


def _if_able(name: str) -> Callable[[F], F]:
    """Show a method only where the estimator inside has it, as scikit-learn expects."""

    def able(model: TextModel) -> bool:
        return hasattr(getattr(model, "estimator_", model.estimator or LDA), name)

    return available_if(able)  # type: ignore[no-any-return]


@dataclass(kw_only=True, eq=False, repr=False)
class TextModel(TransformerMixin, BaseEstimator):
    """A topic model of raw texts.

    Wherever texts are taken, a `Corpus` with named terms is taken too.

    Parameters
    ----------
    estimator : Estimator, optional
        The model of counts; `LDA()` if left out.
    vectorizer : Vectorizer, optional
        How texts become counts; `Vectorizer()` if left out.
    growth : Growth, optional
        Let `partial_fit` give columns to words that keep coming, and take them from words that stay away;
        for models of a stream. New labels are then taken as they come, too. Left out, words and labels are
        those of the first call.

    Attributes
    ----------
    estimator_ : Estimator
        The fitted estimator; everything it knows is there.
    vectorizer_ : Vectorizer
        The fitted vectoriser.
    n_known_, n_unknown_ : int
        Tokens that `partial_fit` has met since the first vocabulary was chosen, in the vocabulary of the
        moment and not.
    account_ : Account or None
        What a growing vocabulary knows of words; see `vocabulary_report`.
    columns_ : dict of str
        What the command line was told of its columns (``text``, ``label``, ...), which its verbs look for
        again; there for models that it has fitted.

    Examples
    --------
    >>> from bayou import LDA, TextModel, Vectorizer
    >>> texts = ["apple pear plum", "pear apple apple", "wolf bear lynx", "lynx wolf wolf"] * 5
    >>> model = TextModel(estimator=LDA(n_topics=2, random_state=0)).fit(texts)
    >>> shares = model.transform(["pear and plum", "a bear"])
    >>> shares.shape, bool(shares[0].argmax() != shares[1].argmax())
    ((2, 2), True)

    With a model that learns from labels, texts get classes:

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
            Texts; any iterable will do, it is read once, and a table of one column is that column. The terms
            of a corpus must have names and be counted as the vectoriser counts.
        y : passed on to the estimator
        **how
            Passed on to the estimator's `fit`, such as ``checkpoint=``.
        """
        self._learn(X, y, how)
        return self

    def fit_transform(self, X: Iterable[str] | Corpus, y: Any = None, **how: Any) -> Any:
        """`fit`, then the topic proportions of the same documents; the texts are read once."""
        return self.transform(self._learn(X, y, how))

    @_if_able("partial_fit")
    def partial_fit(self, X: Iterable[str] | Corpus, y: Any = None, **how: Any) -> Self:
        """Learn from more texts; ``how`` (``classes=``) is passed on to the estimator.

        The first call chooses the vocabulary. Later ones count words outside of it in `n_unknown_`; with
        `growth`, those that keep coming get a column of their own. What the vocabulary becomes depends on
        the documents after the first call in their order, however they are cut into calls.
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
        for some, piece in reading.pieces(X, self.vectorizer_, lambda: account.room):
            beside = {k: rows_of(v, some) if k == "sample_weight" else v for k, v in how.items()}
            self._learn_more(piece, rows_of(y, some), beside)
            self._revise(account, piece)
        return self

    def _learn_more(self, piece: Reading, y: Any, how: Mapping[str, Any]) -> None:
        known = int(self.estimator_._align(piece.corpus).n_tokens)
        self.estimator_.partial_fit(piece.corpus, y, **how)
        self.n_known_ += known
        self.n_unknown_ += int(piece.lengths.sum()) - known

    def _open(self, first: Corpus | None) -> None:
        """Begin to watch words, with what the first documents showed of them."""
        n_terms = len(self.vectorizer_.vocabulary_)
        self.account_: Any = (
            None if self.growth is None else open_account(self.growth, n_terms, first)
        )

    def _open_again(self) -> None:
        """Begin to watch words as `growth` says, if that has changed."""
        if (None if self.account_ is None else self.account_.growth) != self.growth:
            if self.growth is not None:
                check_vocabulary_grows(self.estimator_)
            self._open(None)

    def _revise(self, account: VocabularyAccount, piece: Reading) -> None:
        """Account for documents; change the columns if it is time to."""
        old = self.vectorizer_.vocabulary_
        terms = self.estimator_._align(piece.corpus).counts.indices
        account.saw(len(piece.lengths), terms, piece.strangers)
        limit = self.vectorizer_.max_df
        revision = account.revise(old, limit if isinstance(limit, float) else 1.0)
        if revision is not None:
            names = revise_vocabulary(old, revision)
            account.dropped_tokens += self.estimator_._change_terms(revision.keep, names)
            self.vectorizer_.vocabulary_ = names

    def vocabulary_report(self, n: int = 10) -> VocabularyReport:
        """What has become of the vocabulary since the first call; with ``n`` candidates for a column."""
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
            raise DataError(f"estimator must be a model of bayou such as LDA(), got {given!r:.80}")
        return given

    def _fresh(self) -> Any:
        """A copy of the estimator to fit; callbacks are those given, which a clone would copy too."""
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
            raise DataError("the terms of the corpus have no names; make it with a vocabulary")
        vectorizer.stop_words_ = as_stop_words(vectorizer.stop_words)
        vectorizer.vocabulary_ = X.vocabulary
        return X, vectorizer

    def corpus(self, X: Iterable[str] | Corpus) -> Corpus:
        """The texts as counts of the terms that this model knows."""
        return self._read(X)[0]

    def unknown_shares(self, X: Iterable[str] | Corpus) -> NDArray[np.float64]:
        """The share of each text's tokens that are not in the vocabulary; 0 without tokens."""
        corpus, lengths = self._read(X)
        unknown = lengths - self.estimator_._align(corpus).doc_lengths()
        return np.asarray(unknown / np.maximum(lengths, 1), np.float64)

    def _read(self, X: Iterable[str] | Corpus) -> tuple[Corpus, NDArray[np.int64]]:
        """Counts of the known terms, and how many tokens each document has in all."""
        check_is_fitted(self)
        return reading.read(X, self.vectorizer_)[:2]

    # -- what the estimator can do, on texts ---------------------------------------------------

    def transform(self, X: Iterable[str] | Corpus) -> NDArray[np.float64]:
        """Topic proportions of texts; rows sum to one."""
        corpus = self.corpus(X)
        return np.asarray(self.estimator_.transform(corpus), np.float64)

    @_if_able("predict")
    def predict(self, X: Iterable[str] | Corpus, **how: Any) -> Any:
        """What the estimator predicts for texts; ``how`` (``return_std=``) is passed on to it."""
        return self.estimator_.predict(self.corpus(X), **how)

    @_if_able("predict_labels")
    def predict_labels(self, X: Iterable[str] | Corpus) -> list[list[Any]]:
        """The labels of texts as lists; of one entry where texts have one class."""
        return list(self.estimator_.predict_labels(self.corpus(X)))

    @_if_able("predict_interval")
    def predict_interval(self, X: Iterable[str] | Corpus, **how: Any) -> Any:
        """Ends between which the numbers of texts lie, with ``level=`` of probability."""
        return self.estimator_.predict_interval(self.corpus(X), **how)

    @_if_able("decision_function")
    def decision_function(self, X: Iterable[str] | Corpus) -> Any:
        """Scores of texts: positive speaks for a class."""
        return self.estimator_.decision_function(self.corpus(X))

    @_if_able("predict_proba")
    def predict_proba(self, X: Iterable[str] | Corpus) -> Any:
        """How probable each class is for texts."""
        return self.estimator_.predict_proba(self.corpus(X))

    @_if_able("sample")
    def sample(self, X: Iterable[str] | Corpus, **how: Any) -> Any:
        """Posterior draws of the topic proportions of texts."""
        return self.estimator_.sample(self.corpus(X), **how)

    def score(self, X: Iterable[str] | Corpus, y: Any = None) -> float:
        """The estimator's own score of texts; higher is better."""
        return float(self.estimator_.score(self.corpus(X), y))

    @_if_able("log_likelihood")
    def log_likelihood(self, X: Iterable[str] | Corpus) -> float:
        """Log-likelihood per token of held-out texts."""
        return float(self.estimator_.log_likelihood(self.corpus(X)))

    @_if_able("perplexity")
    def perplexity(self, X: Iterable[str] | Corpus) -> float:
        """How many equally likely terms the model hesitates between."""
        return float(self.estimator_.perplexity(self.corpus(X)))

    def explain(self, X: Iterable[str]) -> list[Any]:
        """Which terms of each text gave it which topics, with the topics held fixed.

        Returns
        -------
        list of Explanation
            An estimator that predicts explains its scores instead (`MarginExplanation`).
        """
        check_is_fitted(self)
        if hasattr(self.estimator_, "explain"):
            return list(self.estimator_.explain(self.corpus(X)))
        post, known = self.estimator_.posterior_, self.vectorizer_.vocabulary_
        return [explain(post, known, t) for t in self.vectorizer_.tokens(X)]

    def top_terms(self, n: int = 10) -> list[list[str]]:
        """The most probable terms of each topic."""
        check_is_fitted(self)
        return list(self.estimator_.top_terms(n))

    @property
    def components_(self) -> NDArray[np.float64]:
        """Topics x terms; rows sum to one."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.components_, np.float64)

    @property
    def vocabulary_(self) -> Any:
        """The terms, in the order of the columns of `components_`."""
        check_is_fitted(self)
        return self.vectorizer_.vocabulary_

    @property
    def classes_(self) -> Any:
        """Classes or labels of a classifier, in the order of the columns of `predict_proba`."""
        check_is_fitted(self)
        return self.estimator_.classes_

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the topics."""
        check_is_fitted(self)
        return self.estimator_.get_feature_names_out(input_features)

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
        """Write everything to one file that holds no code; `bayou.load` reads it.

        The bytes depend on the texts, the parameters and the seed, and on nothing else. The stop words
        are kept as a list, so that the file serves where the package they came from is missing.
        """
        container.save(path, *self._contents())

    def _contents(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and manifest of a model file; more may be kept in the same file beside them."""
        check_is_fitted(self)
        arrays = {_PREFIX + name: a for name, a in self.estimator_._payload().items()}
        if (words := self.vectorizer_.stop_words_) is not None:
            arrays["vectorizer/stop_words"] = container.pack_strings(sorted(words))
        manifest: dict[str, Any] = {
            "kind": _KIND,
            "bayou": __version__,
            "vectorizer": vectorizer_file.parameters(self.vectorizer_),
            "estimator": self.estimator_._manifest("model"),
            "met": {"known": self.n_known_, "unknown": self.n_unknown_},
        }
        if columns := getattr(self, "columns_", None):
            manifest["columns"] = dict(columns)
        if self.account_ is not None:
            arrays |= {_GROWTH + name: a for name, a in self.account_.arrays().items()}
            manifest["growth"] = self.account_.figures()
        return arrays, manifest


def _from_file(arrays: Mapping[str, NDArray[Any]], manifest: Mapping[str, Any]) -> TextModel:
    inner, met = manifest.get("estimator"), manifest.get("met")
    if not isinstance(inner, dict) or not isinstance(met, dict):
        raise ModelFileError("the manifest of the text model is incomplete; save it again")
    payload = {n.removeprefix(_PREFIX): a for n, a in arrays.items() if n.startswith(_PREFIX)}
    estimator = estimator_of(payload, inner)
    if estimator.vocabulary_ is None:
        raise ModelFileError("the text model has no vocabulary; save it again")
    vectorizer = vectorizer_file.restore_vectorizer(manifest.get("vectorizer"))
    model = TextModel(estimator=clone(estimator), vectorizer=clone(vectorizer))
    vectorizer.vocabulary_ = estimator.vocabulary_
    packed = arrays.get("vectorizer/stop_words")
    vectorizer.stop_words_ = None if packed is None else frozenset(container.unpack_strings(packed))
    try:
        model._keep(estimator, vectorizer, int(met["known"]), int(met["unknown"]))
    except (KeyError, TypeError, ValueError):
        raise ModelFileError("the text model's figures are not numbers; save it again") from None
    if (columns := vectorizer_file.columns(manifest.get("columns"))) is not None:
        model.columns_ = columns
    if (figures := manifest.get("growth")) is not None:
        kept = {n.removeprefix(_GROWTH): a for n, a in arrays.items() if n.startswith(_GROWTH)}
        model.account_ = VocabularyAccount.from_arrays(kept, figures, len(vectorizer.vocabulary_))
        model.growth = model.account_.growth
    return model


readers[_KIND] = _from_file
