"""The state of a tracker: columns for topics, rows for terms, and how both come and go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data.errors import DataError, ModelFileError
from bayou.data.vocabulary import Vocabulary
from bayou.inference.lda.arrays import F32, F64, I64
from bayou.results.posterior import check_arrays


class TrackerState(NamedTuple):
    """What the next slice needs. K topics have columns, those that are fixed first; V terms have rows."""

    step: int  # slices learned
    n_seen: int  # documents in them
    n_ids: int  # permanent ids given so far
    n_fixed: int
    strength: float  # S of the last slice; the next one's where it is estimated
    doc_doubt: float  # one over the documents that `usual` and `spread` are worth
    beta: float
    spared: float  # usual share of spare topics
    memory: F32  # m_vk, columns sum to one; counts where the scale is that of counts
    past: F32  # slices x V x K: estimates that a window is the mean of
    rows: F32  # phi_vk of the last slice
    alpha: F64  # K
    ids: I64  # K, permanent
    silent: I64  # K, slices for which a topic has been dormant
    doubt: F64  # K, one over the tokens that the memory is worth
    tokens: F64  # K, of the last slice
    logit: F64  # K, usual log-odds of the share
    logit_doubt: F64  # K, variance of that
    alarmed: I64  # K, 1 where drift was over its limits in the last slice
    leaning: I64  # K, -1 or 1 where the share was under or over its limits in the last slice
    near: I64  # K, id of the topic that it was as good as equal to in the last slice, or -1
    usual: F64  # V, usual share of the tokens
    spread: F64  # V, usual share of the documents
    last: I64  # V, the slice in which a term was met last
    hot: I64  # V, 1 where a term was emerging in the last slice
    archive: F32  # V x topics that have lost their columns
    archive_ids: I64
    archive_logit: F64
    ratios: F64  # ln(drift / expected) of recent topics
    swings: F64  # scores of recent shares
    surprise: F64  # (mean, limit of the upper 5 %) of recent documents; empty before there are any


OF_TOPICS = (
    "alpha", "ids", "silent", "doubt", "tokens", "logit", "logit_doubt", "alarmed", "leaning", "near",
    "memory", "rows", "past",
)  # fmt: skip
_WHOLE = ("ids", "silent", "alarmed", "leaning", "near")
OF_TERMS = ("usual", "spread", "last", "hot", "memory", "rows", "archive")


def check(state: TrackerState) -> None:
    """Refuse the state of a model file whose arrays do not fit each other."""
    shape = np.shape(state.memory) if np.ndim(state.memory) == 2 else (-1, -1)
    for name in OF_TOPICS[:-3]:
        kind = np.int64 if name in _WHOLE else np.float64
        check_arrays(name, getattr(state, name), kind, shape[1:], signed=True)
    for name in ("usual", "spread"):
        check_arrays(name, getattr(state, name), np.float64, shape[:1])
    for name in ("last", "hot"):
        check_arrays(name, getattr(state, name), np.int64, shape[:1])
    for name in ("memory", "rows"):
        check_arrays(name, getattr(state, name), np.float32, shape)
    n_kept, n_past = np.size(state.archive_ids), len(state.past)
    check_arrays("archive", state.archive, np.float32, (shape[0], n_kept))
    check_arrays("archive_logit", state.archive_logit, np.float64, (n_kept,), signed=True)
    check_arrays("past", state.past, np.float32, (n_past, *shape))
    if shape[1] < 1 or not (state.alpha > 0).all() or not 0 <= state.n_fixed <= shape[1]:
        raise ModelFileError("the model file's priors must be positive; save it again")


def take_topics(state: TrackerState, keep: I64 | NDArray[np.bool_]) -> TrackerState:
    """The state with some of its topics; their numbers are the last axis of each array."""
    return state._replace(**{name: getattr(state, name)[..., keep] for name in OF_TOPICS})


def add_topic(state: TrackerState, **values: Any) -> TrackerState:
    """The state with a further topic at the end; what is not given starts at nothing."""
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
    """The state with a topic's memory put aside; the topic itself stays where it is."""
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
    """The state with ``n`` further terms of which nothing is known."""
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
    """The state with some of its terms; what the others had of a topic is given to those that stay."""
    out: dict[str, Any] = {name: getattr(state, name)[keep] for name in OF_TERMS}
    for name in ("memory", "rows", "archive"):
        left = out[name].sum(axis=0, dtype=np.float64)
        was = getattr(state, name).sum(axis=0, dtype=np.float64)
        scale = np.where(left > 0, was / np.maximum(left, 1e-300), 1.0)
        out[name] = (out[name] * scale).astype(np.float32)
    return state._replace(past=state.past[:, keep], **out)


def fixed_topics(given: Mapping[str, Any], names: Vocabulary | None, n_terms: int) -> F32:
    """Topics that are given, as columns that sum to one: {term: weight}, or a weight for every term."""
    out = np.zeros((n_terms, len(given)))
    for k, (name, topic) in enumerate(given.items()):
        if isinstance(topic, Mapping):
            if names is None:
                raise DataError(f"the fixed topic {name!r} names terms; the documents do not")
            at = np.array([names.get(term, -1) for term in topic], np.int64)
            if len(at) and not (at >= 0).any():
                raise DataError(
                    f"none of the terms of the fixed topic {name!r} is in the first documents; give terms "
                    "that are, or min_docs=2, with which those that are named have columns from the start"
                )
            out[at[at >= 0], k] = np.array([*topic.values()], np.float64)[at >= 0]
        elif np.shape(topic) == (n_terms,):
            out[:, k] = topic
        else:
            raise DataError(f"the fixed topic {name!r} must have {n_terms} weights, one a term")
        if not np.isfinite(out[:, k]).all() or (out[:, k] < 0).any() or not out[:, k].any():
            raise DataError(
                f"the fixed topic {name!r} needs weights that are not negative, one above 0"
            )
    floor = 1e-6 * out.sum(axis=0) / max(n_terms, 1)  # other terms must stay possible
    return normalise_columns(out + floor).astype(np.float32)
