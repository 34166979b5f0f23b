"""The laws hold for every model, and are really broken by models that break them."""

import copy

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.testing import supervised
from tests.testing.broken import BROKEN

import bayou
from bayou import LDA, BayesPAClassifier, BayesPARegressor, Corpus, OnlineLDA
from bayou.data.synthetic import sample_lda
from bayou.run import shards
from bayou.testing import check_model, expected_failures, laws
from bayou.testing.cases import always_threads, fit, long_corpus, same, target_of

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
    *supervised.MODELS,
    *supervised.ONLINE,
]
LINEAR = [
    BayesPAClassifier(n_passes=2),
    BayesPAClassifier(classifier="gibbs", batch_size=5, average=True),
    BayesPAClassifier(classifier="gibbs", precision="full", n_passes=1),
    BayesPARegressor(batch_size=5),
    BayesPARegressor(regressor="gibbs", precision="full", batch_size=4, n_passes=1),
]


def _cases():
    for number, model in enumerate([*MODELS, *LINEAR]):
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
    *supervised.SKLEARN,
]


@pytest.mark.filterwarnings("ignore::bayou.data.FractionalCountsWarning")
@parametrize_with_checks(SKLEARN, expected_failed_checks=expected_failures)
def test_sklearn(estimator, check):
    check(estimator)


def test_all_laws_in_one_call_on_given_documents():
    corpus, _ = sample_lda(40, 2, 25, doc_length=20, seed=5)
    check_model(OnlineLDA(n_topics=2), corpus=corpus)


def test_names_of_laws_are_distinct():
    names = [name for name, _ in laws(LDA())]
    assert len(names) == len(set(names)) >= 25


def _is_threaded(model):
    """Exact chains go token after token; several chains are one piece each."""
    given = model.get_params()
    exact = given.get("inference") == "gibbs" or given.get("exact")
    return not exact and given.get("n_chains", 1) == 1


@pytest.mark.parametrize("model", [m for m in MODELS if _is_threaded(m)], ids=repr)
def test_threads_get_a_share(model, monkeypatch):
    """Otherwise the law of threads would compare one thread with itself."""
    shares = []
    submit = shards.ThreadPoolExecutor.submit

    def counted(pool, share):
        shares.append(share)
        return submit(pool, share)

    monkeypatch.setattr(shards.ThreadPoolExecutor, "submit", counted)
    with always_threads():
        fitted = clone(model).set_params(n_threads=2)
        fit(fitted, long_corpus())
    assert len(shares) >= 2 * fitted.n_iter_  # each pass, by documents and by terms


def test_checking_leaves_the_model_alone():
    model = LDA(n_topics=2, n_sweeps=3)
    before = copy.deepcopy(vars(model))
    check_model(model)
    assert same(vars(model), before)


# -- models that break a law ---------------------------------------------------------------------


@pytest.fixture
def known(monkeypatch):
    """Let the broken models be loaded by name, for this test alone."""
    monkeypatch.setattr(bayou.registry, "_registered", {})
    for model, _ in BROKEN:
        bayou.registry.register(type(model))


@pytest.mark.parametrize(("model", "law"), BROKEN, ids=[law for _, law in BROKEN])
def test_broken_models_are_caught(model, law, known):
    with pytest.raises(AssertionError, match=f"law '{law}'"):
        dict(laws(model))[law]()
    with pytest.raises(AssertionError, match="breaks the law"):
        check_model(model)


# -- targets for models to come ------------------------------------------------------------------


class _Tagged(OnlineLDA):
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
