"""The laws hold for every model, and are really broken by models that break them."""

import copy
from dataclasses import dataclass
from itertools import count

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayou import LDA, Corpus, OnlineLDA
from bayou.data.synthetic import sample_lda
from bayou.estimator import Estimator
from bayou.run import shards
from bayou.testing import check_model, laws
from bayou.testing.cases import long_corpus, same, target_of

MODELS = [
    LDA(n_topics=3),
    LDA(n_topics=3, inference="gibbs", n_sweeps=13),
    LDA(n_topics=3, inference="snapshot", n_sweeps=13),
    LDA(n_topics=3, inference="mh", n_sweeps=13),
    LDA(n_topics=3, learn_alpha=True, learn_beta=True),
    LDA(n_topics=3, inference="mh", start="fast", n_sweeps=11, learn_alpha=True, learn_beta=True),
    LDA(n_topics=450, n_sweeps=8),  # starts from documents and has a sampled phase
    OnlineLDA(n_topics=3, n_passes=2, batch_size=16),
    OnlineLDA(n_topics=3, inference="hybrid", n_passes=2, batch_size=16, learn_alpha=True),
]


def _cases():
    for number, model in enumerate(MODELS):
        for name, check in laws(model):
            yield pytest.param(check, id=f"{number}-{type(model).__name__}-{name}")


@pytest.mark.parametrize("check", list(_cases()))
def test_law(check):
    check()


SKLEARN = [
    LDA(),
    LDA(inference="mh", n_sweeps=5),
    LDA(inference="snapshot", n_sweeps=5, learn_alpha=True, learn_beta=True),
    LDA(inference="gibbs", n_sweeps=5),
    OnlineLDA(),
    OnlineLDA(inference="hybrid", learn_alpha=True),
]


@pytest.mark.filterwarnings("ignore::bayou.data.FractionalCountsWarning")
@parametrize_with_checks(SKLEARN)
def test_sklearn(estimator, check):
    check(estimator)


def test_all_laws_in_one_call_on_given_documents():
    corpus, _ = sample_lda(40, 2, 25, doc_length=20, seed=5)
    check_model(OnlineLDA(n_topics=2), corpus=corpus)


def test_names_of_laws_are_distinct():
    names = [name for name, _ in laws(LDA())]
    assert len(names) == len(set(names)) >= 25


def test_threads_get_a_share_of_the_long_corpus():
    assert long_corpus().counts.nnz > 2 * shards._SMALL


def test_checking_leaves_the_model_alone():
    model = LDA(n_topics=2, n_sweeps=3)
    before = copy.deepcopy(vars(model))
    check_model(model)
    assert same(vars(model), before)


# -- models that break a law ---------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class _Broken(OnlineLDA):
    n_topics: int = 3
    n_passes: int = 1


class _Remembers(_Broken):
    def transform(self, X):
        self.last_ = np.asarray(super().transform(X))
        return self.last_


class _WearsOut(_Broken):
    def transform(self, X):
        out = super().transform(X)
        self.state_.raw[0, 0] += 1.0
        return out


class _Varies(_Broken):
    _calls = count()

    def transform(self, X):
        return np.roll(super().transform(X), next(self._calls), axis=1)


class _OrderMatters(_Broken):
    def transform(self, X):
        out = super().transform(X)
        return np.roll(out, 1, axis=1) if out[0, 0] > out[-1, 0] else out


class _NeighboursMatter(_Broken):
    def transform(self, X):
        out = super().transform(X)
        out += out.mean(axis=0)
        return out / out.sum(axis=1, keepdims=True)


class _ThreadsMatter(_Broken):
    def fit(self, X, y=None):
        super().fit(X)
        self.state_.raw[0, 0] += self.n_threads or 0
        return self


class _ThreadsMatterLater(_Broken):
    def transform(self, X):
        return np.roll(super().transform(X), self.n_threads or 0, axis=1)


class _LosesCount(_Broken):
    def _restore(self, arrays):
        super()._restore(arrays)
        self.state_ = self.state_._replace(step=0)


class _RoundsInFile(_Broken):
    def _payload(self):
        arrays = super()._payload()
        return arrays | {"state.raw": np.round(arrays["state.raw"], 1)}


class _IgnoresSeed(_Broken):
    def _resolve_seed(self):
        return 4


class _Unseeded(_Broken):
    _seeds = count()

    def _resolve_seed(self):
        return next(self._seeds)


class _NotNormalised(_Broken):
    def transform(self, X):
        return super().transform(X) * 1.001


class _TakesAnyWidth(_Broken):
    def _corpus(self, X, *, reset):
        if not reset and not isinstance(X, Corpus) and X.shape[1] != self.n_features_in_:
            X = np.resize(np.asarray(X.todense() if hasattr(X, "todense") else X),
                          (X.shape[0], self.n_features_in_))  # fmt: skip
        return super()._corpus(X, reset=reset)


class _IgnoresNames(_Broken):
    def _aligned(self, corpus):
        counts = corpus.counts[:, : self.n_features_in_]
        counts.resize((corpus.n_docs, self.n_features_in_))
        return Corpus.from_matrix(counts)


class _NeedsTokens(_Broken):
    def transform(self, X):
        out = super().transform(X)
        empty = self._corpus(X, reset=False).doc_lengths() == 0
        out[empty] = np.nan
        return out


class _WritesInput(_Broken):
    def fit(self, X, y=None):
        super().fit(X)
        if isinstance(X, Corpus):
            X.counts.data[:1] += 1
        return self


class _Accumulates(_Broken):
    def fit(self, X, y=None):
        before = self.state_.n_seen if hasattr(self, "state_") else 0
        super().fit(X)
        self.state_ = self.state_._replace(n_seen=self.state_.n_seen + before)
        return self


class _SetsParameter(_Broken):
    def fit(self, X, y=None):
        super().fit(X)
        self.n_docs = self.n_docs or 60
        return self


class _WorksInConstructor(_Broken):
    def __init__(self, *, n_topics=3, random_state=None, n_threads=None):
        super().__init__(n_topics=n_topics, random_state=random_state, n_threads=n_threads)
        self.table = np.zeros(n_topics)

    @classmethod
    def _get_param_names(cls):
        return ["n_topics", "random_state", "n_threads"]


@dataclass(kw_only=True, eq=False, repr=False)
class _UnsafeResume(LDA):
    n_topics: int = 3

    def _resumed(self, kind, corpus, saved):
        state = super()._resumed(kind, corpus, saved)
        return state if state is None else state._replace(step=state.step + 1)


BROKEN = [
    (_Remembers(), "predict_is_pure"),
    (_WearsOut(), "predict_is_pure"),
    (_Varies(), "predict_is_pure"),
    (_OrderMatters(), "order_is_irrelevant"),
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
    (_UnsafeResume(), "resume_equals_uninterrupted"),
]


@pytest.fixture
def known(monkeypatch):
    """Let the broken models be loaded by name, for this test alone."""
    kinds = {type(model).__name__: type(model) for model, _ in BROKEN}
    monkeypatch.setattr(Estimator, "kinds", Estimator.kinds | kinds)


@pytest.mark.parametrize(("model", "law"), BROKEN, ids=[law for _, law in BROKEN])
def test_broken_models_are_caught(model, law, known):
    with pytest.raises(AssertionError, match=f"law '{law}'"):
        dict(laws(model))[law]()
    with pytest.raises(AssertionError, match="breaks the law"):
        check_model(model)


def test_private_classes_are_not_registered():
    assert set(Estimator.kinds) == {"LDA", "OnlineLDA"}


# -- targets for models to come ------------------------------------------------------------------


class _Tagged(_Broken):
    kind, required, multi = None, True, False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = self.kind
        tags.target_tags.required = self.required
        tags.target_tags.multi_output = self.multi
        tags.target_tags.single_output = not self.multi
        return tags


def test_targets_follow_the_tags():
    corpus = Corpus.from_matrix([[3, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]])
    model = _Tagged()
    model.kind = "regressor"
    assert target_of(model, corpus).tolist() == [1.0, 0.0, 0.0]
    model.kind = "classifier"
    assert target_of(model, corpus).tolist() == [1, 0, 0]
    model.multi = True
    assert target_of(model, corpus).tolist() == [[1, 0], [0, 1], [0, 1]]
    model.required = False
    assert target_of(model, corpus) is None


def test_laws_give_targets_to_models_that_need_them():
    class _Supervised(_Tagged):
        kind = "classifier"

        def fit(self, X, y=None):
            if y is None:
                raise ValueError("y is missing")
            return super().fit(X)

        def partial_fit(self, X, y=None, classes=None):
            if y is None or classes is None:
                raise ValueError("y is missing")
            return super().partial_fit(X)

    checks = dict(laws(_Supervised()))
    checks["one_batch"]()
    checks["seed_decides"]()
    checks["odd_documents_fit"]()
