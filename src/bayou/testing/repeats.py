"""Laws of repetition: seeds, threads, files and interruptions."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np

from bayou.data.array_order import in_c_order
from bayou.data.corpus import Corpus
from bayou.run import batches
from bayou.testing.cases import (
    Case,
    always_threads,
    expect,
    file_bytes,
    fit,
    folder,
    long_corpus,
    parameter_rows,
    partial_fit,
    reload,
    row_methods,
    rows_of,
    same,
    takes_checkpoint,
)

_SLICE = 16  # documents per slice, for models that learn slices
_BATCH = 7  # documents; not a divisor of the corpus, so the last batch is a short one


def seed_decides(case: Case) -> None:
    """Equal seeds give equal files; another gives other topics, unless no draw is made (`uses_chance_`)."""
    model = case.fit_copy()
    expect(file_bytes(case.fit_copy()) == file_bytes(model), "the same seed gives another file")
    if not getattr(model, "uses_chance_", True):
        return
    if len(parameter_rows(model)) > 1 or not hasattr(model, "components_"):
        other = parameter_rows(case.fit_copy(random_state=8))
        expect(
            not np.array_equal(other, parameter_rows(model)), "another seed gives the same topics"
        )


def fit_forgets(case: Case) -> None:
    """Fitting a fitted model again is fitting a fresh one."""
    other = Corpus.from_matrix(case.corpus.counts[:, 1:][::2])
    model = fit(case.fit_copy(), other)
    expect(
        file_bytes(model) == file_bytes(case.fit_copy(other)), "something is left of the first fit"
    )


def threads_are_irrelevant(case: Case) -> None:
    """One, two and four threads give the same file and the same answers."""
    for corpus in (case.corpus, long_corpus()):
        with always_threads():
            _same_on_threads(case, corpus)


def _same_on_threads(case: Case, corpus: Corpus) -> None:
    models = {n: case.fit_copy(corpus, n_threads=n) for n in (1, 2, 4)}
    for n, model in models.items():
        expect(
            file_bytes(model) == file_bytes(models[1]), f"{n} threads give another file than one"
        )
    for method in row_methods(models[1]):
        one = rows_of(models[1].set_params(n_threads=1), method, corpus)
        for n in (2, 4):
            many = rows_of(models[1].set_params(n_threads=n), method, corpus)
            expect(same(many, one), f"{method} on {n} threads differs from one")


def running_is_not_saved(case: Case) -> None:
    """Threads, callbacks and the time limit of a run are not saved in the model file."""
    known = case.model.get_params()
    plain = file_bytes(case.fit_copy())
    settings: dict[str, Any] = {"n_threads": 2, "callbacks": [lambda info: None], "max_time": 1e6}
    for name, value in settings.items():
        if name in known:
            expect(file_bytes(case.fit_copy(**{name: value})) == plain, f"{name} is in the file")


def files_round_trip(case: Case) -> None:
    """A loaded model is the model: same answers, same file, and it learns the same again."""
    model = case.fit_copy()
    back = reload(model)
    expect(type(back) is type(model), "the file gives another kind of model")
    expect(file_bytes(back) == file_bytes(model), "saving the loaded model gives another file")
    _same_answers(model, back, case.corpus)
    for name in (
        "components_",
        "coef_",
        "classes_",
        "alpha_",
        "beta_",
        "seed_",
        "n_iter_",
        "n_features_in_",
    ):
        if hasattr(model, name):
            expect(same(getattr(back, name), getattr(model, name)), f"{name} differs after loading")
    again = fit(back.set_params(n_threads=1), case.corpus)
    expect(file_bytes(again) == file_bytes(model), "the loaded model learns something else")


def pickles_round_trip(case: Case) -> None:
    """A pickled model is the model, fitted or not."""
    model = case.fit_copy()
    back = pickle.loads(pickle.dumps(model))
    expect(file_bytes(back) == file_bytes(model), "the pickled model saves another file")
    _same_answers(model, back, case.corpus)
    empty = pickle.loads(pickle.dumps(case.fresh()))
    expect(
        file_bytes(fit(empty, case.corpus)) == file_bytes(model),
        "the pickled model learns otherwise",
    )


def resume_equals_uninterrupted(case: Case) -> None:
    """Training that was stopped at any pass and resumed from its checkpoint gives the same file."""
    if not takes_checkpoint(case.model):
        return
    whole = case.fit_copy()
    n, file = int(whole.n_iter_), file_bytes(whole)
    for stop in sorted({1, 2, n // 2, n - 1, n} & set(range(1, n + 1))):
        with folder() as here:
            path = here / "checkpoint.bayou"
            stopped = case.fresh(callbacks=[lambda info, at=stop: info.step >= at])
            fit(stopped, case.corpus, checkpoint=path, checkpoint_every=1)
            expect(int(stopped.n_iter_) == stop, f"a callback at pass {stop} did not stop training")
            model = fit(case.fresh(), case.corpus, checkpoint=path, checkpoint_every=1)
            expect(file_bytes(model) == file, f"resumed after pass {stop} of {n}, the file differs")


def stream_survives_files(case: Case) -> None:
    """A stream may be cut by saving and loading anywhere; nothing of it is lost."""
    if not hasattr(case.model, "partial_fit"):
        return
    model, cut, pickled = case.fresh(), case.fresh(), case.fresh()
    for batch in _batches(case.corpus):
        partial_fit(model, batch)
        expect(
            in_c_order(getattr(model, "state_", None)) is getattr(model, "state_", None),
            "an array of state_ is not in C order, but would be after a file",
        )
        cut = reload(partial_fit(cut, batch)).set_params(n_threads=1)
        pickled = pickle.loads(pickle.dumps(partial_fit(pickled, batch)))
        expect(
            file_bytes(cut) == file_bytes(model),
            "a stream that was saved and loaded continues differently",
        )
        expect(file_bytes(pickled) == file_bytes(model), "a pickled stream continues differently")
    expect(_has_moved(case, model), "the later batches changed nothing")


def streams_lose_no_document(case: Case) -> None:
    """Neither the time nor a callback makes a stream leave out documents that `partial_fit` was given.

    A call may leave some to the next one.
    """
    known = case.model.get_params()
    ends: dict[str, Any] = {"max_time": 1e-9, "callbacks": [lambda info: True]}
    if not hasattr(case.model, "partial_fit") or not ends.keys() <= known.keys():
        return
    model, hurried = case.fresh(), case.fresh(**ends)
    some, rest = case.corpus[: -2 * _BATCH], case.corpus[-2 * _BATCH :]
    with mock.patch.object(batches, "CHUNK", 1):
        for one in (model, hurried):
            partial_fit(one, some)
            partial_fit(one.set_params(max_time=None, callbacks=None), rest)
    expect(
        file_bytes(hurried) == file_bytes(model),
        "a call of partial_fit that was asked to stop lost documents",
    )


def cuts_are_irrelevant(case: Case) -> None:
    """However a stream is cut into calls of `partial_fit`, the file and the predictions are the same.

    One document per call, uneven pieces, and all documents at once. A model whose slices are by call
    (`slice_by`) is checked with slices of a number of documents.
    """
    if not hasattr(case.model, "partial_fit"):
        return
    sizes = ([1] * case.corpus.n_docs, [5, 1, 17, 2, 11], [case.corpus.n_docs])
    once, *others = (_learn_pieces(case, pieces) for pieces in reversed(sizes))
    for other in others:
        expect(file_bytes(other) == file_bytes(once), "the file depends on how a stream is cut")
        _same_answers(once, other, case.corpus)


def _learn_pieces(case: Case, sizes: list[int]) -> Any:
    """A model that has learned a stream in pieces of these sizes; the last piece is the rest."""
    ends = np.minimum(np.cumsum([0, *sizes]), case.corpus.n_docs).tolist()
    model = case.fresh(slice_by=_SLICE)
    for lo, hi in pairwise([*ends, case.corpus.n_docs]):
        if hi > lo:
            partial_fit(model, case.corpus[lo:hi])
    return model


def _has_moved(case: Case, model: Any) -> bool:
    first = partial_fit(case.fresh(), case.corpus[:_BATCH])
    one_topic = hasattr(model, "components_") and len(model.components_) == 1
    return one_topic or not same(parameter_rows(first), parameter_rows(model))


def _batches(corpus: Corpus) -> Iterator[Corpus]:
    for lo in range(0, corpus.n_docs, _BATCH):
        yield corpus[lo : lo + _BATCH]


def _same_answers(model: Any, other: Any, corpus: Corpus) -> None:
    for method in row_methods(model):
        one, two = rows_of(model, method, corpus), rows_of(other, method, corpus)
        expect(same(one, two), f"{method} differs afterwards")


LAWS = (
    seed_decides,
    fit_forgets,
    threads_are_irrelevant,
    running_is_not_saved,
    files_round_trip,
    pickles_round_trip,
    resume_equals_uninterrupted,
    stream_survives_files,
    streams_lose_no_document,
    cuts_are_irrelevant,
)
