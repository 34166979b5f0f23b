"""Models that each break one law, with the name of the law."""

from dataclasses import dataclass
from itertools import count

import numpy as np

from bayou import LDA, Corpus, MedLDAClassifier, MedLDARegressor, OnlineLDA


@dataclass(kw_only=True, eq=False, repr=False)
class _Sound(OnlineLDA):
    n_topics: int = 3
    n_passes: int = 1


class _Remembers(_Sound):
    def transform(self, X):
        self.last_ = np.asarray(super().transform(X))
        return self.last_


class _WearsOut(_Sound):
    def transform(self, X):
        out = super().transform(X)
        self.state_.raw[0, 0] += 1.0
        return out


class _Varies(_Sound):
    _calls = count()

    def transform(self, X):
        return np.roll(super().transform(X), next(self._calls), axis=1)


class _OrderMatters(_Sound):
    def transform(self, X):
        out = super().transform(X)
        return np.roll(out, 1, axis=1) if out[0, 0] > out[-1, 0] else out


class _ScoreOrderMatters(_Sound):
    """By a millionth, and of a score near zero: what a relative bound sees and an idle one does not."""

    def score(self, X, y=None):
        return 1e-6 * float(np.argmax(np.asarray(X.doc_lengths()) * super().transform(X)[:, 0]))


class _NeighboursMatter(_Sound):
    def transform(self, X):
        out = super().transform(X)
        out += out.mean(axis=0)
        return out / out.sum(axis=1, keepdims=True)


class _ThreadsMatter(_Sound):
    def fit(self, X, y=None):
        super().fit(X)
        self.state_.raw[0, 0] += self.n_threads or 0
        return self


class _ThreadsMatterLater(_Sound):
    def transform(self, X):
        return np.roll(super().transform(X), self.n_threads or 0, axis=1)


class _LosesCount(_Sound):
    def _restore(self, arrays):
        super()._restore(arrays)
        self.state_ = self.state_._replace(step=0)


class _RoundsInFile(_Sound):
    def _payload(self):
        arrays = super()._payload()
        return arrays | {"state.raw": np.round(arrays["state.raw"], 1)}


class _IgnoresSeed(_Sound):
    def _resolve_seed(self):
        return 4


class _Unseeded(_Sound):
    _seeds = count()

    def _resolve_seed(self):
        return next(self._seeds)


class _NotNormalised(_Sound):
    def transform(self, X):
        return super().transform(X) * 1.001


class _TakesAnyWidth(_Sound):
    def _corpus(self, X, *, reset):
        if not reset and not isinstance(X, Corpus) and X.shape[1] != self.n_features_in_:
            X = np.resize(np.asarray(X.todense() if hasattr(X, "todense") else X),
                          (X.shape[0], self.n_features_in_))  # fmt: skip
        return super()._corpus(X, reset=reset)


class _IgnoresNames(_Sound):
    def _align(self, corpus):
        counts = corpus.counts[:, : self.n_features_in_]
        counts.resize((corpus.n_docs, self.n_features_in_))
        return Corpus.from_matrix(counts)


class _NeedsTokens(_Sound):
    def transform(self, X):
        out = super().transform(X)
        empty = self._corpus(X, reset=False).doc_lengths() == 0
        out[empty] = np.nan
        return out


class _WritesInput(_Sound):
    def fit(self, X, y=None):
        super().fit(X)
        if isinstance(X, Corpus):
            X.counts.data[:1] += 1
        return self


class _Accumulates(_Sound):
    def fit(self, X, y=None):
        before = self.state_.n_seen if hasattr(self, "state_") else 0
        super().fit(X)
        self.state_ = self.state_._replace(n_seen=self.state_.n_seen + before)
        return self


class _SetsParameter(_Sound):
    def fit(self, X, y=None):
        super().fit(X)
        self.n_docs = self.n_docs or 60
        return self


class _WorksInConstructor(_Sound):
    def __init__(self, *, n_topics=3, random_state=None, n_threads=None):
        super().__init__(n_topics=n_topics, random_state=random_state, n_threads=n_threads)
        self.table = np.zeros(n_topics)

    @classmethod
    def _get_param_names(cls):
        return ["n_topics", "random_state", "n_threads"]


class _LeavesOut(_Sound):
    def _learn(self, p, cut, take, *, whole):
        super()._learn(p, cut, take, whole=False)
        self.pending_ = self.pending_.none()


class _CutsAtCalls(_Sound):
    """Every call ends a mini-batch, full or not."""

    def partial_fit(self, X, y=None):
        super().partial_fit(X)
        self.state_, self.pending_ = self._current(), self.pending_.none()
        self.n_iter_ = self.state_.step
        return self


class _ForgetsWaiting(_Sound):
    """Documents that wait are saved, and predictions go without them once a call is made."""

    def transform(self, X):
        out = super().transform(X)
        return out if self.calls_ == 1 else np.roll(out, 1, axis=1)

    def partial_fit(self, X, y=None):
        self.calls_ = getattr(self, "calls_", 0) + 1
        return super().partial_fit(X)


@dataclass(kw_only=True, eq=False, repr=False)
class _UnsafeResume(LDA):
    n_topics: int = 3
    n_sweeps: int = 8

    def _fit_fast(self, corpus, p, run, *, final=True):
        run = _Miscounting(run)
        return super()._fit_fast(corpus, p, run, final=final)


class _Miscounting:
    """Training that counts a pass twice when it resumes."""

    def __init__(self, run):
        self.run_, self.each, self.max_time = run, run.each, run.max_time

    def run(self, kind, init, step, **given):
        fresh = []

        def begin():
            fresh.append(True)
            return init()

        def miscount(state):
            if not fresh:
                fresh.append(True)
                state = state._replace(step=state.step + 1)
            return step(state)

        return self.run_.run(kind, begin, miscount, **given)


@dataclass(kw_only=True, eq=False, repr=False)
class _HalfIsElsewhere(MedLDAClassifier):
    n_topics: int = 3
    n_sweeps: int = 8
    n_kept: int = 3

    def predict_proba(self, X):
        yes = super().predict_proba(X)[:, 1:] ** 2
        return np.hstack([1.0 - yes, yes])


class _LabelsAside(MedLDAClassifier):
    """Learns the same labels whatever labels it is given."""

    n_topics: int = 3
    n_sweeps: int = 8
    n_kept: int = 3

    def fit(self, X, y=None, **beside):
        return super().fit(X, np.arange(len(y)) % 2, **beside)


class _TooSure(MedLDARegressor):
    """Intervals of half the width."""

    n_topics: int = 3
    n_sweeps: int = 8
    n_kept: int = 3

    def predict_interval(self, X, *, level=0.9):
        low, high = super().predict_interval(X, level=level)
        return np.stack([(3 * low + high) / 4, (low + 3 * high) / 4])


class _ForgetsScale(_TooSure):
    """Intervals as if the targets had the deviation 1."""

    def predict_interval(self, X, *, level=0.9):
        mean = self.predict(X)
        return np.stack([mean - 2 * level, mean + 2 * level])


BROKEN = [
    (_LabelsAside(), "labels_shape_topics"),
    (_TooSure(), "intervals_cover"),
    (_ForgetsScale(), "intervals_cover"),
    (_HalfIsElsewhere(), "predicted_is_most_probable"),
    (_Remembers(), "predict_is_pure"),
    (_WearsOut(), "predict_is_pure"),
    (_Varies(), "predict_is_pure"),
    (_OrderMatters(), "order_is_irrelevant"),
    (_ScoreOrderMatters(), "order_is_irrelevant"),
    (_NeighboursMatter(), "rows_are_independent"),
    (_ThreadsMatter(), "threads_are_irrelevant"),
    (_ThreadsMatterLater(), "threads_are_irrelevant"),
    (_LosesCount(), "stream_survives_files"),
    (_RoundsInFile(), "files_round_trip"),
    (_IgnoresSeed(), "seed_decides"),
    (_Unseeded(), "seed_decides"),
    (_NotNormalised(), "topics_are_distributions"),
    (_TakesAnyWidth(), "wrong_width_raises"),
    (_IgnoresNames(), "names_align"),
    (_NeedsTokens(), "odd_documents_transform"),
    (_WritesInput(), "input_is_untouched"),
    (_Accumulates(), "fit_forgets"),
    (_SetsParameter(), "fit_keeps_parameters"),
    (_WorksInConstructor(), "constructor_stores"),
    (_LeavesOut(batch_size=16), "streams_lose_no_document"),
    (_UnsafeResume(), "resume_equals_uninterrupted"),
    (_CutsAtCalls(batch_size=16), "cuts_are_irrelevant"),
    (_ForgetsWaiting(batch_size=16), "cuts_are_irrelevant"),
]
