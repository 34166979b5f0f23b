"""Labelled HDP and the stacked HDP: posteriors by enumeration, exact cuts, the models they contain."""

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import label_stream as twin

from bayou import AuthorTopicModel, FastDependencyLDA, LabeledHDP, LabeledLDA, StackedHDP
from bayou.data import container
from bayou.data.errors import ModelFileError
from bayou.data.synthetic_labels import sample_dependency_lda
from bayou.inference.labels import assignments, training
from bayou.metrics.multilabel import micro_auc
from bayou.models import labeled_hdp
from bayou.run.shards import Workers
from bayou.testing.cases import reload

EACH = Workers(1).each
SHORT = {"n_sweeps": 12, "n_kept": 6, "random_state": 0}


@pytest.fixture(scope="module")
def corpus():
    return sample_dependency_lda(150, 3, 8, 60, seed=4)[0]


def tiny():
    """Two documents of two and one tokens, three terms, three labels of which they have two and two."""
    counts = csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    own = csr_array(np.array([[1, 1, 0], [0, 1, 1]], np.float32))
    return counts, own


def weight(z, beta, below, above):
    """p(z, w) of the tiny corpus where tokens keep to the labels of their documents."""
    words, docs = [0, 1, 2], [0, 0, 1]
    dishes = [(0, 1)[z[0]], (0, 1)[z[1]], (1, 2)[z[2]]]
    counts = np.zeros((2, 3), int)
    tokens = np.zeros((3, 3), int)
    for d, v, y in zip(docs, words, dishes, strict=True):
        counts[d, y] += 1
        tokens[y, v] += 1
    value = 1.0 if below is None else twin.franchise(counts, below, above)
    return value * np.prod([np.exp(twin.log_dm(row, np.full(3, beta))) for row in tokens])


@pytest.mark.parametrize("greedy", [False, True])
def test_labels_of_tokens_have_their_posterior(greedy):
    """Greedy training has that of labels equally likely, whatever the root does."""
    beta, b1, b0 = 0.5, 1.4, 0.9
    counts, own = tiny()
    data = assignments.prepare(counts, assignments.own_labels(own))
    p = labeled_hdp.Settings(
        concentration=b1, root_concentration=b0, n_sweeps=10**9, first_kept=10**9 - 1
    )
    prior = training.label_prior(3, 3, None, beta, greedy=greedy)
    state = labeled_hdp.init(data, p, 1, 1)
    chains = (assignments.chain_counts(state.z[0], state.kept[0], data, prior),)
    seen, n = Counter(), 12_000
    for _ in range(n):
        state = labeled_hdp.sweep(state, chains, data, prior, p, 1, EACH)
        seen[tuple(state.z[0].tolist())] += 1
    states = list(itertools.product(range(2), repeat=3))
    wanted = np.array([weight(z, beta, None if greedy else b1, b0) for z in states])
    found = np.array([seen[z] / n for z in states])
    assert 0.5 * np.abs(found - wanted / wanted.sum()).sum() < 0.025


def test_greedy_terms_do_not_depend_on_the_upper_level(corpus):
    plain = LabeledLDA(n_sweeps=12, random_state=0).fit(corpus).labels_.term_label
    for settings in ({"n_topics": 2}, {"n_topics": 5, "label_concentration": None}):
        model = StackedHDP(**SHORT, **settings).fit(corpus)
        np.testing.assert_array_equal(model.labels_.term_label.toarray(), plain.toarray())


def test_stacked_topics_are_asymmetric_and_survive_files(corpus):
    model = StackedHDP(n_topics=6, n_chains=2, **SHORT, concentration=None).fit(corpus[:120])
    post = model.labels_
    assert post.member_alpha.shape == (2, 6)
    assert not np.allclose(post.member_alpha[0], post.member_alpha[1])
    np.testing.assert_allclose(model.links_.sum(axis=1), 1.0)
    assert 1 <= model.n_used_ <= 6
    scores = model.decision_function(corpus[120:])
    assert micro_auc(corpus[120:].labels, scores) > 0.8
    np.testing.assert_array_equal(reload(model).decision_function(corpus[120:]), scores)


def test_one_topic_follows_the_frequency_of_labels(corpus):
    model = StackedHDP(n_topics=1, mix=1.0, **SHORT).fit(corpus)
    one = FastDependencyLDA(n_topics=1, mix=1.0, **SHORT).fit(corpus)
    np.testing.assert_allclose(model.links_[0], one.links_[0], atol=0.02)


def test_word_tokens_and_documents_scores(corpus):
    model = StackedHDP(
        n_topics=3, dep_tokens="word", inference="gibbs", scoring="document", **SHORT
    ).fit(corpus[:80])
    assert micro_auc(corpus[120:].labels, model.decision_function(corpus[120:])) > 0.8


def test_roots_of_labelled_hdp_follow_tables(corpus):
    model = LabeledHDP(**SHORT, concentration=None, root_concentration=None).fit(corpus[:120])
    n = np.bincount(corpus.labels.indices, minlength=8)
    assert np.corrcoef(model.root_, n)[0, 1] > 0.7
    assert micro_auc(corpus[120:].labels, model.decision_function(corpus[120:])) > 0.8


@pytest.mark.parametrize("kind", [StackedHDP, LabeledHDP])
def test_parameters_are_checked(kind, corpus):
    with pytest.raises(ValueError, match="concentration"):
        kind(concentration=0.0).fit(corpus)
    with pytest.raises(ValueError, match="n_kept"):
        kind(n_sweeps=3, n_kept=4).fit(corpus)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (LabeledLDA(inference="gibbs", random_state=0), "z"),
        (LabeledLDA(random_state=0), "share"),
        (FastDependencyLDA(n_topics=3, **SHORT), "link_z"),
        (StackedHDP(n_topics=3, **SHORT), "topic_root"),
        (LabeledHDP(**SHORT), "root"),
        (AuthorTopicModel(n_topics=3, **SHORT), "author"),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_damaged_checkpoints_are_refused(model, name, corpus, tmp_path):
    path = tmp_path / "state.bayou"
    model.set_params(callbacks=lambda _: True).fit(corpus, checkpoint=path)
    arrays, manifest = container.load(path)
    for bad in (arrays[f"state.{name}"][..., :-1], arrays[f"state.{name}"].astype(np.float16)):
        container.save(path, {**arrays, f"state.{name}": bad}, manifest)
        with pytest.raises(ModelFileError, match=name):
            model.fit(corpus, checkpoint=path)
    container.save(path, arrays, manifest)
    model.set_params(callbacks=None).fit(corpus, checkpoint=path)
