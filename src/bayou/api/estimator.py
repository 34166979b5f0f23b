"""The base of every model: parameters, input checks, seed and model files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from bayou._version import __version__
from bayou.api import params
from bayou.api.params import param
from bayou.data import container
from bayou.data.corpus import Corpus
from bayou.data.counts import check_sparse, is_frame, move_columns, refuse_texts
from bayou.data.errors import DataError, ModelFileError
from bayou.data.memory import check_topics
from bayou.run.loop import Callback

E = TypeVar("E", bound="Estimator")

_MOST_TOKENS = 1e18  # kernels work in single precision; larger sums would turn into infinity there


class Saved(NamedTuple):
    """One part of a model file: how a model is written to arrays, and read back from them."""

    pack: Callable[[Any], dict[str, NDArray[Any]]]
    unpack: Callable[[Any, Mapping[str, NDArray[Any]]], None]


@dataclass(kw_only=True, eq=False, repr=False)
class Estimator(BaseEstimator):
    """The base of all models. Result mixins (`Topics`, `Classifier`, ...) add the results of training.

    A model declares its parameters with `params.param` and what its file holds as `saved`. Rules about
    several parameters extend `check_params`.

    Attributes
    ----------
    vocabulary_ : Vocabulary or None
    n_iter_ : int
        Number of passes over the data.
    seed_ : int
        The integer that `random_state` was resolved to.
    """

    random_state: Any = None
    max_time: float | None = param(None, gt=0.0, runtime=True)
    n_threads: int | None = param(None, ge=1, le=1024, also=(-1,), runtime=True)
    progress: bool = param(False, runtime=True)
    callbacks: Callback | Sequence[Callback] | None = param(None, runtime=True)

    saved: ClassVar[tuple[Saved, ...]] = ()  # what a model file holds

    meets_labels: ClassVar[bool] = False  # whether `partial_fit` takes new labels

    # -- input checks --------------------------------------------------------------------------

    def _corpus(self, X: Any, *, reset: bool) -> Corpus:
        """Check what came in and give it the canonical form."""
        if (
            not reset
            and is_frame(X)
            and self.vocabulary_
            and not hasattr(self, "feature_names_in_")
        ):
            X = Corpus.from_matrix(X)  # scikit-learn would take the columns as they stand
        if isinstance(X, Corpus):
            corpus = X if reset else self._align(X)
            if reset:
                self.n_features_in_ = corpus.n_terms
                if hasattr(self, "feature_names_in_"):
                    del self.feature_names_in_
            if corpus.n_docs == 0 or corpus.n_terms == 0:
                what = "documents" if corpus.n_docs == 0 else "terms"
                raise DataError(f"the corpus has no {what}; give at least one")
            return _check_size(corpus, self if reset else None)
        refuse_texts(X, type(self).__name__)
        check_sparse(X)
        given = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset
        )
        check_non_negative(given, type(self).__name__)
        names = getattr(self, "feature_names_in_", None) if reset else None
        made = Corpus.from_matrix(csr_array(given), vocabulary=names)
        return _check_size(made, self if reset else None)

    def _align(self, corpus: Corpus) -> Corpus:
        """The corpus in the columns of this model, by name where both sides have names."""
        mine = self.vocabulary_
        if mine is not None and corpus.vocabulary is not None:
            if corpus.vocabulary == mine or list(corpus.vocabulary) == list(mine):
                return corpus
            columns = np.array([mine.get(term, -1) for term in corpus.vocabulary])
            counts = move_columns(corpus.counts, columns, len(mine))
            return replace(corpus, counts=counts, vocabulary=mine)
        if corpus.n_terms != self.n_features_in_:
            raise DataError(
                f"the corpus has {corpus.n_terms} terms, {type(self).__name__} was fitted on "
                f"{self.n_features_in_}; give both a vocabulary and they are matched by name"
            )
        return corpus

    @classmethod
    def _fields(cls) -> tuple[Field[Any], ...]:
        return fields(cls)

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed. Models add rules about several at once."""
        params.check(self)
        self._callbacks()

    def _resolve_seed(self) -> int:
        """One integer from `random_state`, once per fit."""
        return params.resolve_seed(self.random_state)

    def _callbacks(self) -> list[Callback]:
        given = self.callbacks
        if callable(given):
            return [given]
        if not isinstance(given, Iterable | None) or not all(map(callable, given or ())):
            raise ValueError(f"callbacks must be functions of one Info; got {given!r}")
        return list(given or ())

    # -- what users read -----------------------------------------------------------------------

    @property
    def vocabulary_(self) -> Any:
        """The terms by name, or None."""
        check_is_fitted(self)
        return getattr(self, "_names", None)

    def _term_names(self) -> Any:
        """The names of the terms; numbered where the model has none."""
        return self.vocabulary_ or [f"x{v}" for v in range(self.n_features_in_)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- files ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file that holds no code; `bayou.load` reads it.

        The bytes depend on the data, the parameters and the seed, and on when training was ended if
        `max_time` or a callback ended it; never on the number of threads.
        """
        check_is_fitted(self)
        container.save(path, self._payload(), self._manifest("model"))

    def _payload(self) -> dict[str, NDArray[Any]]:
        """The arrays of a model file: those of every part in `saved`."""
        return {name: array for part in self.saved for name, array in part.pack(self).items()}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Read back what `_payload` wrote."""
        for part in self.saved:
            part.unpack(self, arrays)

    def _check_loaded(self) -> None:
        """Refuse parameters of a file that are not allowed, or do not fit what the file holds."""
        self.check_params()

    def _manifest(self, kind: str) -> dict[str, Any]:
        kept = {
            f.name: _jsonable(f.name, getattr(self, f.name))
            for f in self._fields()
            if not params.is_runtime(f)
        }
        learned = {
            "seed": self.seed_,
            "n_features_in": self.n_features_in_,
            "n_iter": getattr(self, "n_iter_", 0),
            "frame": hasattr(self, "feature_names_in_"),
        }
        return {
            "kind": kind,
            "estimator": type(self).__name__,
            "bayou": __version__,
            "parameters": kept,
            "learned": learned,
        }

    @classmethod
    def _from_file(cls, arrays: Mapping[str, NDArray[Any]], manifest: Mapping[str, Any]) -> Self:
        known = {f.name for f in cls._fields() if not params.is_runtime(f)}
        given, learned = manifest.get("parameters"), manifest.get("learned")
        if not isinstance(given, dict) or not isinstance(learned, dict) or set(given) - known:
            raise ModelFileError("the model file's parameters are not those of its model")
        if not isinstance(seed := given.get("random_state"), int | None) or isinstance(seed, bool):
            raise ModelFileError(
                f"the model file's random_state is not a whole number: {seed!r:.40}"
            )
        model = cls(**given)
        _check_file_params(lambda: params.check(model))
        model.seed_ = _whole_number(learned, "seed", 0xFFFFFFFF)
        model.n_features_in_ = _whole_number(learned, "n_features_in")
        model.n_iter_ = _whole_number(learned, "n_iter")
        model._restore(arrays)
        _check_file_params(model._check_loaded)
        names = model.vocabulary_
        if learned.get("frame") and names is not None:
            model.feature_names_in_ = np.array(list(names), dtype=object)
        return model


def _check_file_params(check: Callable[[], None]) -> None:
    """Parameters of a file obey the same rules as parameters of a constructor."""
    try:
        check()
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"the model file's parameters cannot be used: {error}") from None


def _whole_number(learned: Mapping[str, Any], name: str, most: int = 2**63 - 1) -> int:
    """A whole number that was learned, or an error where the file has something else."""
    value = learned.get(name)
    if type(value) is not int or not 0 <= value <= most:
        raise ModelFileError(
            f"the model file's manifest is incomplete: {name} must be a whole number up to {most}; "
            f"got {value!r:.40}"
        )
    return value


def _check_size(corpus: Corpus, model: Any = None) -> Corpus:
    """Refuse sums that single precision cannot carry through a fit, and topics that memory cannot hold."""
    n_topics = getattr(model, "n_topics", None)
    check_topics(corpus.n_terms, n_topics if isinstance(n_topics, int) else 1)
    if corpus.n_tokens > _MOST_TOKENS:
        raise DataError(
            f"the counts add up to {corpus.n_tokens:.3g}, more than {_MOST_TOKENS:.0e}; scale them down"
        )
    return corpus


def _jsonable(name: str, value: Any) -> Any:
    """A parameter as JSON; a random generator is left to the seed it came to."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Sequence):
        return [_jsonable(name, v) for v in value]
    if isinstance(value, Mapping):
        return {str(key): _jsonable(name, v) for key, v in value.items()}
    if name == "random_state":
        return None
    raise ModelFileError(f"the parameter {name} = {value!r} cannot be written to a model file")
