"""Loading of model files."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bayou.data import container
from bayou.data.errors import ModelFileError
from bayou.registry import HOMES, find_class

# What reading arrays that do not belong together may raise
_CONTRADICTIONS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)

# Functions that make a model from the arrays and manifest of a file, by the kind that the manifest names.
# `TextModel` adds its own.
readers: dict[str, Callable[[Mapping[str, NDArray[Any]], Mapping[str, Any]], Any]] = {}


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote. Nothing in the file is executed.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model of bayou, or was written by a later version.
    """
    return model_of(*container.load(path), Path(path).name)


def model_of(arrays: Mapping[str, NDArray[Any]], manifest: Mapping[str, Any], name: str) -> Any:
    """The model whose file, called ``name`` in messages, holds these."""
    what = manifest.get("kind")
    if what != "model":
        importlib.import_module(HOMES["TextModel"])  # which adds its own reader
    reader = readers.get(what) if isinstance(what, str) else None
    if reader is None:
        raise ModelFileError(
            f"{name} holds {what or 'something else'!r}, not a model; "
            "a checkpoint is given to fit(..., checkpoint=)"
        )
    try:
        return reader(arrays, manifest)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from None
    except MemoryError:
        raise ModelFileError(f"{name}: the model does not fit in memory") from None
    except _CONTRADICTIONS as error:
        what = type(error).__name__
        raise ModelFileError(
            f"{name}: the file contradicts itself ({what}: {error!s:.200})"
        ) from None


def estimator_of(arrays: Mapping[str, NDArray[Any]], manifest: Mapping[str, Any]) -> Any:
    """The fitted estimator whose payload and manifest these are."""
    name = manifest.get("estimator")
    kind = find_class(name) if isinstance(name, str) else None
    if kind is None:
        raise ModelFileError(f"the file holds a {name!r}, which this bayou does not know")
    return kind._from_file(arrays, manifest)


readers["model"] = estimator_of
