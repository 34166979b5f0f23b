"""Flags over environment over bayou.toml over defaults."""

import pytest
from tests.cli.samples import KEEP_ALL

import bayou
from bayou.cli import catalogue


@pytest.fixture
def fitted(invoke, small, tmp_path, monkeypatch):
    """Fit with a bayou.toml, an environment and flags; give the estimator and the process' words."""

    def run(*words, toml="", **environ):
        path = small()
        if toml:
            (tmp_path / "bayou.toml").write_text(toml)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        invoke("fit", path, *KEEP_ALL, "-q", *words)
        return bayou.load(tmp_path / "model.bayou")

    return run


TOML = """
[fit]
topics = 3
seed = 11
max-time = 60.5
ngrams = 2
stop-words = "none"
[fit.set]
beta = 0.5
learn_alpha = true
[predict]
top = 1
"""


def test_the_file(fitted):
    model = fitted(toml=TOML)
    assert (model.estimator.n_topics, model.estimator.random_state) == (3, 11)
    assert (model.estimator.beta, model.estimator.learn_alpha) == (0.5, True)
    assert model.vectorizer.ngrams == (1, 2)
    assert model.vectorizer.stop_words is None


def test_the_environment_is_above_the_file(fitted):
    model = fitted(toml=TOML, BAYOU_SEED="12", BAYOU_FIT_NGRAMS="1", BAYOU_FIT_SET="beta=0.25")
    assert (model.estimator.random_state, model.estimator.n_topics) == (12, 3)
    assert model.vectorizer.ngrams == (1, 1)
    assert (model.estimator.beta, model.estimator.learn_alpha) == (0.25, True)


def test_a_verbs_own_variable_is_above_that_of_all(fitted):
    assert fitted(BAYOU_SEED="12", BAYOU_FIT_SEED="13").estimator.random_state == 13


def test_flags_are_above_everything(fitted):
    words = ("--seed", "14", "-k", "2", "--set", "beta=0.125")
    model = fitted(*words, toml=TOML, BAYOU_SEED="12", BAYOU_FIT_SEED="13")
    assert (model.estimator.random_state, model.estimator.n_topics) == (14, 2)
    assert (model.estimator.beta, model.estimator.learn_alpha) == (0.125, True)


def test_an_output_belongs_to_one_verb(fitted, tmp_path):
    fitted(BAYOU_OUTPUT="elsewhere.bayou")
    assert not (tmp_path / "elsewhere.bayou").exists()


def test_another_file(invoke, small, tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text("[fit]\ntopics = 4\nquiet = true\n")
    words = ("fit", small(), *KEEP_ALL)
    assert not invoke("--config", "mine.toml", *words).stderr
    assert bayou.load(tmp_path / "model.bayou").estimator.n_topics == 4
    monkeypatch.setenv("BAYOU_CONFIG", "mine.toml")
    assert "model.bayou already exists" in invoke(*words, code=2).stderr
    assert not invoke(*words, "-o", "model.bayou").stderr


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[fit\n", "not valid TOML"),
        ("[fitt]\n", "did you mean 'fit'?"),
        ("fit = 3\n", "not a verb with a table"),
        ("[fit]\ntopcs = 3\n", "did you mean 'topics'?"),
        ("[fit]\nset = 3\n", "[fit.set] must be a table"),
        ("[fit.set]\nn_topcs = 3\n", "did you mean 'n_topics'?"),
        ('[fit]\ntopics = "many"\n', "--topics"),
    ],
)
def test_mistakes_in_the_file(invoke, small, tmp_path, toml, message):
    (tmp_path / "bayou.toml").write_text(toml)
    done = invoke("fit", small(), code=2)
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_file_that_is_not_there(invoke, small):
    done = invoke("--config", "none.toml", "fit", small(), code=2)
    assert "none.toml cannot be read" in done.stderr


def test_the_paper_of_a_model_is_the_one_that_it_names():
    assert catalogue.about("fast-dependency-lda").paper.startswith("Burkhardt, Kramer.")
    assert catalogue.about("dependency-lda").paper.startswith("Rubin, Chambers")
    assert catalogue.about("lda").paper.startswith("Blei, Ng, Jordan.")
