"""The state of a tracker: columns for topics, rows for terms, and how both are added and dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data import schema
from bayou.data.errors import DataError, ModelFileError
from bayou.data.schema import Array, Number
from bayou.data.vocabulary import Vocabulary
from bayou.inference.lda.arrays import F32, F64, I64


class TrackerState(NamedTuple):
    """The state between slices. K topics have columns, fixed topics first; V terms have rows."""

    step: int  # slices learned
    n_seen: int  # documents in them
    n_ids: int  # permanent ids given so far
    n_fixed: int  # fixed topics
    strength: float  # S of the last slice; S of the next slice if it is estimated
    doc_doubt: float  # 1 / number of documents that `usual` and `spread` are worth
    beta: Annotated[float, Number(gt=0.0)]
    spared: Annotated[float, Number(ge=None)]  # usual share of spare topics
    memory: Annotated[F32, Array("terms", "topics")]  # m_vk: columns sum to one, or counts
    past: Annotated[F32, Array("window", "terms", "topics")]  # estimates that a window averages
    rows: Annotated[F32, Array("terms", "topics")]  # phi_vk of the last slice
    alpha: Annotated[F64, Array("topics", gt=0.0)]
    ids: Annotated[I64, Array("topics")]  # permanent ids
    silent: Annotated[I64, Array("topics")]  # slices for which a topic has been dormant
    doubt: Annotated[F64, Array("topics")]  # 1 / number of tokens that the memory is worth
    tokens: Annotated[F64, Array("topics")]  # of the last slice
    logit: Annotated[F64, Array("topics", ge=None)]  # usual log-odds of the share
    logit_doubt: Annotated[F64, Array("topics")]  # variance of these log-odds
    alarmed: Annotated[I64, Array("topics", le=1)]  # 1 if drift was significant in the last slice
    leaning: Annotated[
        I64, Array("topics", ge=-1, le=1)
    ]  # sign of a share change in the last slice
    near: Annotated[
        I64, Array("topics", ge=-1)
    ]  # id of an almost equal topic in the last slice, or -1
    usual: Annotated[F64, Array("terms")]  # usual share of the tokens
    spread: Annotated[F64, Array("terms")]  # usual share of the documents
    last: Annotated[I64, Array("terms")]  # the slice in which a term last occurred
    hot: Annotated[I64, Array("terms", le=1)]  # 1 if a term was emerging in the last slice
    archive: Annotated[
        F32, Array("terms", "dead")
    ]  # memories of topics that have lost their columns
    archive_ids: Annotated[I64, Array("dead")]
    archive_logit: Annotated[F64, Array("dead", ge=None)]
    ratios: Annotated[F64, Array("ratios", ge=None, finite=False)]  # recent ln(drift / expected)
    swings: Annotated[F64, Array("swings", ge=None, finite=False)]  # recent scores of shares
    surprise: Annotated[F64, Array("surprise", ge=None, finite=False)]
    # usual mean surprise of documents, its upper 5 % limit, recent shares over the limit; empty at first


OF_TOPICS = (
    "alpha", "ids", "silent", "doubt", "tokens", "logit", "logit_doubt", "alarmed", "leaning", "near",
    "memory", "rows", "past",
)  # fmt: skip
OF_TERMS = ("usual", "spread", "last", "hot", "memory", "rows", "archive")


def read_state(arrays: Mapping[str, NDArray[Any]], n_terms: int) -> TrackerState:
    """The state of a model file, checked."""
    state = schema.read(TrackerState, arrays, "state", {"terms": n_terms})
    if not state.n_fixed <= len(state.ids) or not len(state.ids):
        raise ModelFileError("the model file has fewer topics than it needs; train the model again")
    return state


def take_topics(state: TrackerState, keep: I64 | NDArray[np.bool_]) -> TrackerState:
    """The state with some of its topics, which are the last axis of each array."""
    return state._replace(**{name: getattr(state, name)[..., keep] for name in OF_TOPICS})


def add_topic(state: TrackerState, **values: Any) -> TrackerState:
    """The state with one more topic at the end. Values that are not given start at 0."""
    blank = {"silent": 0, "alarmed": 0, "leaning": 0, "near": -1, "past": 0.0}
    given = {"alpha": state.alpha[-1], **blank, **values}
    out: dict[str, Any] = {}
    for name in OF_TOPICS:
        old = getattr(state, name)
        new = np.broadcast_to(np.asarray(given[name], old.dtype), old.shape[:-1])
        out[name] = np.concatenate([old, new[..., None]], axis=-1)
    if len(state.past):  # the estimate stands for all slices of the window
        out["past"][..., -1] = out["memory"][:, -1]
    return state._replace(**out)


def archive_topic(state: TrackerState, at: int) -> TrackerState:
    """The state with a copy of a topic's memory in the archive; the topic itself stays."""
    return state._replace(
        archive=np.column_stack([state.archive, normalise_columns(state.memory[:, at])]).astype(
            np.float32
        ),
        archive_ids=np.append(state.archive_ids, state.ids[at]),
        archive_logit=np.append(state.archive_logit, state.logit[at]),
    )


def drop_archive_entry(state: TrackerState, at: int) -> TrackerState:
    """The state without the archive's entry ``at``."""
    return state._replace(
        archive=np.delete(state.archive, at, axis=1),
        archive_ids=np.delete(state.archive_ids, at),
        archive_logit=np.delete(state.archive_logit, at),
    )


def normalise_columns(columns: Any) -> F64:
    """Columns that sum to one, in double precision; an empty column stays empty."""
    out = np.asarray(columns, np.float64)
    return np.asarray(out / np.maximum(out.sum(axis=0), 1e-300), np.float64)


def grow_terms(state: TrackerState, n: int) -> TrackerState:
    """The state with ``n`` new terms."""
    if not n:
        return state
    out: dict[str, Any] = {}
    for name in OF_TERMS:
        old = getattr(state, name)
        out[name] = np.concatenate([old, np.zeros((n, *old.shape[1:]), old.dtype)])
    out["last"][-n:] = state.step
    past = state.past
    out["past"] = np.concatenate(
        [past, np.zeros((len(past), n, past.shape[2]), past.dtype)], axis=1
    )
    return state._replace(**out)


def take_terms(state: TrackerState, keep: I64) -> TrackerState:
    """The state with some of its terms. The mass of dropped terms in a topic goes to the others."""
    out: dict[str, Any] = {name: getattr(state, name)[keep] for name in OF_TERMS}
    for name in ("memory", "rows", "archive"):
        left = out[name].sum(axis=0, dtype=np.float64)
        was = getattr(state, name).sum(axis=0, dtype=np.float64)
        scale = np.where(left > 0, was / np.maximum(left, 1e-300), 1.0)
        out[name] = (out[name] * scale).astype(np.float32)
    return state._replace(past=state.past[:, keep], **out)


def topics_from_weights(given: Mapping[str, Any], names: Vocabulary | None, n_terms: int) -> F32:
    """Fixed topics as columns that sum to one, from {term: weight} or from a weight per term."""
    out = np.zeros((n_terms, len(given)))
    for k, (name, topic) in enumerate(given.items()):
        if isinstance(topic, Mapping):
            out[:, k] = _weights_by_name(name, topic, names, n_terms)
        elif np.shape(topic) == (n_terms,):
            out[:, k] = topic
        else:
            raise DataError(f"the fixed topic {name!r} must have {n_terms} weights, one per term")
        if not np.isfinite(out[:, k]).all() or (out[:, k] < 0).any() or not out[:, k].any():
            raise DataError(
                f"the fixed topic {name!r} needs weights that are not negative, one above 0"
            )
    least = 1e-6 * out.sum(axis=0) / max(n_terms, 1)  # other terms must stay possible
    return normalise_columns(out + least).astype(np.float32)


def _weights_by_name(
    name: str, topic: Mapping[str, Any], names: Vocabulary | None, n_terms: int
) -> F64:
    if names is None:
        raise DataError(
            f"the fixed topic {name!r} names terms, but the documents have no term names"
        )
    at = np.array([names.get(term, -1) for term in topic], np.int64)
    if len(at) and not (at >= 0).any():
        raise DataError(
            f"none of the terms of the fixed topic {name!r} is in the first documents; give other "
            "terms, or min_docs=2, with which named terms have columns from the start"
        )
    out = np.zeros(n_terms)
    out[at[at >= 0]] = np.array([*topic.values()], np.float64)[at >= 0]
    return out
