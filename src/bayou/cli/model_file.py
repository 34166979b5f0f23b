"""Reads the model of a verb."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bayou
from bayou.data.errors import ModelFileError, reason_of

_NOT_A_MODEL = ("not a bayou model", "not a regular file")


def load(path: Path) -> Any:
    """Read any topic model; a missing file is an error of the model file too."""
    try:
        path.stat()  # importing what reads it takes seconds
        model = bayou.load(path)
    except ModelFileError as error:
        if not any(reason in str(error) for reason in _NOT_A_MODEL):
            raise
        raise ModelFileError(f"{error}; give a model that `bayou fit` wrote") from None
    except OSError as error:
        reason = reason_of(error)
        raise ModelFileError(f"{path}: {reason}; give a model that `bayou fit` wrote") from None
    from bayou.api.topics import Topics

    inner = getattr(model, "estimator_", model)
    if not isinstance(inner, Topics):
        raise ModelFileError(
            f"{path} holds a {type(inner).__name__}, which has no topics; use it in Python, with bayou.load"
        )
    return model


def load_text_model(path: Path, threads: int | None = None) -> bayou.TextModel:
    """Read a model that takes texts."""
    model = load(path)
    if not isinstance(model, bayou.TextModel):
        raise ModelFileError(
            f"{path} holds a {type(model).__name__} that takes counts, not texts; make one with `bayou "
            "fit`, or save a bayou.TextModel"
        )
    model.estimator_.set_params(n_threads=threads)
    return model
