"""The model a verb works with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import bayou
from bayou.data.errors import ModelFileError

_STRANGE = ("not a bayou model", "not a regular file")


def load(path: Path) -> Any:
    """Any topic model; a file that is not there is the model file's fault too."""
    try:
        path.stat()  # before seconds are spent on loading what would read it
        model = bayou.load(path)
    except ModelFileError as error:
        if not any(reason in str(error) for reason in _STRANGE):
            raise
        raise ModelFileError(f"{error}; give a model that `bayou fit` wrote") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ModelFileError(
            f"{os.fspath(path)}: {reason}; give a model that `bayou fit` wrote"
        ) from None
    from bayou.api.topic_estimator import TopicEstimator

    inner = getattr(model, "estimator_", model)
    if not isinstance(inner, TopicEstimator):
        raise ModelFileError(
            f"{path} holds a {type(inner).__name__}, which has no topics; use it from Python, with bayou.load"
        )
    return model


def load_text_model(path: Path, threads: int | None = None) -> bayou.TextModel:
    """A model that takes texts."""
    model = load(path)
    if not isinstance(model, bayou.TextModel):
        raise ModelFileError(
            f"{path} holds a {type(model).__name__} of counts that does not know how to read text; "
            "make one with `bayou fit`, or save a bayou.TextModel"
        )
    model.estimator_.set_params(n_threads=threads)
    return model
