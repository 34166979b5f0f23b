"""The file of a text model: arrays and manifest of the estimator and the vectoriser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from sklearn.base import clone

from bayou._version import __version__
from bayou.api.files import estimator_of
from bayou.data import container, vectorizer_file
from bayou.data.errors import ModelFileError
from bayou.data.vocabulary_growth import VocabularyAccount

if TYPE_CHECKING:
    from bayou.text_model import TextModel

KIND = "text-model"
_PREFIX, _GROWTH = "estimator/", "growth/"


def contents(model: TextModel) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays and manifest of a fitted text model."""
    arrays = {_PREFIX + name: a for name, a in model.estimator_._payload().items()}
    if (words := model.vectorizer_.stop_words_) is not None:
        arrays["vectorizer/stop_words"] = container.pack_strings(sorted(words))
    manifest: dict[str, Any] = {
        "kind": KIND,
        "bayou": __version__,
        "vectorizer": vectorizer_file.parameters(model.vectorizer_),
        "estimator": model.estimator_._manifest("model"),
        "met": {"known": model.n_known_, "unknown": model.n_unknown_},
    }
    if columns := getattr(model, "columns_", None):
        manifest["columns"] = dict(columns)
    if model.account_ is not None:
        arrays |= {_GROWTH + name: a for name, a in model.account_.arrays().items()}
        manifest["growth"] = model.account_.figures()
    return arrays, manifest


def restore(
    made: type[TextModel], arrays: Mapping[str, NDArray[Any]], manifest: Mapping[str, Any]
) -> TextModel:
    """The text model, of class ``made``, with these `contents`."""
    inner, met = manifest.get("estimator"), manifest.get("met")
    if not isinstance(inner, dict) or not isinstance(met, dict):
        raise ModelFileError("the manifest of the text model is incomplete; save it again")
    estimator = estimator_of(_with_prefix(arrays, _PREFIX), inner)
    if estimator.vocabulary_ is None:
        raise ModelFileError("the text model has no vocabulary; save it again")
    vectorizer = vectorizer_file.restore_vectorizer(manifest.get("vectorizer"))
    model = made(estimator=clone(estimator), vectorizer=clone(vectorizer))
    vectorizer.vocabulary_ = estimator.vocabulary_
    packed = arrays.get("vectorizer/stop_words")
    vectorizer.stop_words_ = None if packed is None else frozenset(container.unpack_strings(packed))
    try:
        model._keep(estimator, vectorizer, int(met["known"]), int(met["unknown"]))
    except (KeyError, TypeError, ValueError):
        raise ModelFileError(
            "the text model's token counts are not numbers; save it again"
        ) from None
    if (columns := vectorizer_file.columns(manifest.get("columns"))) is not None:
        model.columns_ = columns
    if (figures := manifest.get("growth")) is not None:
        kept = _with_prefix(arrays, _GROWTH)
        model.account_ = VocabularyAccount.from_arrays(kept, figures, len(vectorizer.vocabulary_))
        model.growth = model.account_.growth
    return model


def _with_prefix(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}
