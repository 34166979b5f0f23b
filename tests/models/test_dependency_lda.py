"""Topics over labels: the simpler models they contain, and what they add."""

import itertools
import math

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import f1_score
from tests.reference import labels as twin

import bayou
from bayou import DependencyLDA, FastDependencyLDA, LabeledLDA
from bayou.api.label_training import read_task
from bayou.data.synthetic_labels import sample_dependency_lda
from bayou.inference.labels import scores
from bayou.inference.labels.tuning import split_held_out, tune_scores
from bayou.metrics.multilabel import micro_auc
from bayou.results.label_posterior import LabelPosterior
from bayou.run.shards import Workers

SHORT = {"n_topics": 3, "n_sweeps": 20, "n_kept": 10, "random_state": 0}
EACH = Workers(1).each


@pytest.fixture(scope="module")
def corpus():
    return sample_dependency_lda(150, 3, 8, 60, seed=4)[0]


def frozen(links, alpha, seed=0, n_terms=4, **more):
    rng = np.random.default_rng(seed)
    n_labels = links.shape[1]
    counts = csr_array(rng.integers(1, 5, (n_terms, n_labels)).astype(np.float32))
    return LabelPosterior(
        term_label=counts, beta=np.full(n_labels, 0.2), alpha=np.full(n_labels, 0.5), n_labels=n_labels,
        label_docs=np.ones(n_labels), links=links, link_alpha=alpha, **more,
    )  # fmt: skip


def phi_of(post):
    return (post.term_label.toarray() + post.beta) / (post.totals + post.n_terms * post.beta)


def test_labels_are_summed_out_exactly():
    links, alpha = np.random.default_rng(1).dirichlet(np.ones(3), 2), np.array([0.4, 1.3])
    post = frozen(links, alpha)
    phi, psi, terms = phi_of(post), post.topics[0].astype(np.float64), [0, 2, 2]
    np.testing.assert_allclose(psi, phi @ links.T, rtol=1e-6)
    total = sum(
        math.exp(twin.log_dm(np.bincount(k, minlength=2), alpha))
        * math.prod(psi[v, t] for v, t in zip(terms, k, strict=True))
        for k in itertools.product(range(2), repeat=3)
    )
    assert math.log(total) == pytest.approx(twin.log_evidence(terms, phi, links, alpha), rel=1e-6)


def test_token_scores_are_posteriors_of_labels_given_the_topics():
    links, alpha = np.random.default_rng(2).dirichlet(np.ones(3), 2), np.array([0.4, 1.3])
    post = frozen(links, alpha)
    pairs = scores.pairs_with_labels(csr_array(np.array([[2.0, 0, 1, 0]])), post)
    found = scores.infer(post, pairs, EACH)
    n = scores.member_topics(post, 0, pairs, EACH)[0]
    theta = (n + alpha) / (n + alpha).sum()
    votes = np.zeros(3)
    for v, c in ((0, 2.0), (2, 1.0)):  # p(z = y | w, theta) with z' summed out by hand
        joint = np.array(
            [[theta[k] * links[k, y] * phi_of(post)[v, y] for y in range(3)] for k in range(2)]
        )
        votes += c * joint.sum(axis=0) / joint.sum()
    np.testing.assert_allclose(found.scores[0], votes / 3, rtol=1e-5)


def test_one_topic_is_the_smoothed_frequency_of_labels(corpus):
    model = FastDependencyLDA(**{**SHORT, "n_topics": 1}, mix=1.0).fit(corpus)
    n = np.bincount(corpus.labels.indices, minlength=8)
    wanted = (n + 0.01) / (n.sum() + 8 * 0.01)
    np.testing.assert_allclose(model.links_[0], wanted, rtol=1e-6)
    np.testing.assert_allclose(
        model.decision_function(corpus[:5]), np.tile(wanted, (5, 1)), rtol=1e-6
    )


def test_dependency_with_one_topic_is_labelled_lda_with_a_frequency_prior(corpus):
    deep = DependencyLDA(**{**SHORT, "n_topics": 1}, alpha=0.5, eta=20.0, mix=0.0).fit(corpus)
    n = np.bincount(corpus.labels.indices, minlength=8)
    prior = 0.5 + 20.0 * (n + 0.01) / (n.sum() + 0.08)
    flat = LabelPosterior(
        term_label=deep.labels_.term_label, beta=deep.labels_.beta, alpha=prior, n_labels=8,
        label_docs=n.astype(float), links=np.zeros((0, 8)), link_alpha=np.zeros(0),
    )  # fmt: skip
    pairs = scores.pairs_with_labels(corpus[:20].counts, flat)
    wanted = scores.infer(flat, pairs, EACH).scores
    np.testing.assert_allclose(deep.decision_function(corpus[:20]), wanted, rtol=1e-6)


def test_without_eta_dependency_is_flat_labelled_lda(corpus):
    deep = DependencyLDA(**SHORT, eta=0.0, mix=0.0).fit(corpus)
    flat = LabeledLDA(greedy=False, prior="flat", n_sweeps=20, random_state=0).fit(corpus)
    np.testing.assert_array_equal(
        deep.labels_.term_label.toarray(), flat.labels_.term_label.toarray()
    )
    np.testing.assert_allclose(
        deep.decision_function(corpus[:20]), flat.decision_function(corpus[:20]), rtol=1e-9
    )


def test_topics_that_are_labels_are_labelled_lda():
    alpha = np.full(3, 0.5)
    post, flat = frozen(np.eye(3), alpha), frozen(np.zeros((0, 3)), np.zeros(0))
    np.testing.assert_allclose(post.topics[0], phi_of(flat), rtol=1e-6)
    counts = csr_array(np.array([[8.0, 0, 1, 3], [0, 6, 1, 0]]))
    pairs = scores.pairs_with_labels(counts, post)
    a, b = (scores.infer(p, pairs, EACH).scores for p in (post, flat))
    np.testing.assert_allclose(a, b, atol=0.02)  # both are near the same fixed point


@pytest.mark.parametrize("inference", ["cvb0", "gibbs"])
@pytest.mark.parametrize("dep_tokens", ["label", "word"])
def test_greedy_labels_do_not_hear_of_the_topics(corpus, inference, dep_tokens):
    how = {**SHORT, "inference": inference, "dep_tokens": dep_tokens, "validation_share": 0.0}
    one = FastDependencyLDA(**how).fit(corpus)
    other = FastDependencyLDA(**{**how, "n_topics": 5}, alpha=2.0, beta_labels=0.5).fit(corpus)
    np.testing.assert_array_equal(
        one.labels_.term_label.toarray(), other.labels_.term_label.toarray()
    )
    plain = LabeledLDA(
        inference=inference, n_sweeps=20, n_kept=10, random_state=0, validation_share=0.0
    ).fit(corpus)
    np.testing.assert_array_equal(
        one.labels_.term_label.toarray(), plain.labels_.term_label.toarray()
    )


def test_topics_over_labels_are_found():
    corpus, truth = sample_dependency_lda(600, 3, 9, 90, alpha=0.05, beta_labels=0.05, seed=2)
    model = FastDependencyLDA(n_topics=3, random_state=0).fit(corpus)
    apart = abs(model.links_[:, None] - truth.links[None]).sum(axis=2) / 2
    assert min(apart[list(p), range(3)].max() for p in itertools.permutations(range(3))) < 0.3
    best = model.links_[0].argmax()
    assert model.top_labels(2)[0][0] == corpus.label_names[best]


MODELS = [
    FastDependencyLDA(**SHORT),
    FastDependencyLDA(**SHORT, scoring="document", n_chains=3),
    FastDependencyLDA(**SHORT, dep_tokens="word", inference="gibbs"),
    FastDependencyLDA(**SHORT, dep_tokens="word", inference="gibbs", greedy=False),
    FastDependencyLDA(**SHORT, dep_tokens="word", inference="gibbs", greedy=False, blocked=False),
    DependencyLDA(**SHORT),
    DependencyLDA(**SHORT, strength="length", mix=0.4, rule="scut"),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_answers_are_useful_and_explained(corpus, model, tmp_path):
    train, test = corpus[:110], corpus[110:]
    model.fit(train)
    shares = model.decision_function(test)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert micro_auc(test.labels, shares) > 0.9
    for d, found in enumerate(model.explain(test[:3])):
        np.testing.assert_allclose(found.scores, shares[d], atol=1e-12)
        np.testing.assert_allclose(
            found.base + found.topic_parts.sum(axis=0), found.scores, atol=1e-9
        )
        assert found.shares.shape == (len(found.terms), 3)
    assert model.transform(test).shape == (40, 3)
    assert model.components_.shape == (3, 60)
    assert math.isfinite(model.log_likelihood(test))
    model.save(tmp_path / "m.bayou")
    np.testing.assert_array_equal(bayou.load(tmp_path / "m.bayou").decision_function(test), shares)


def test_chains_are_averaged_and_independent_of_their_number(corpus):
    how = {**SHORT, "validation_share": 0.0, "mix": 1.0}
    two, four = (FastDependencyLDA(**how, n_chains=n).fit(corpus) for n in (2, 4))
    np.testing.assert_array_equal(two.labels_.links, four.labels_.links[:6])
    assert four.labels_.n_members == 4
    assert abs(four.labels_.links[:3] - four.labels_.links[3:6]).max() > 0
    single = FastDependencyLDA(**how).fit(corpus)
    np.testing.assert_array_equal(single.transform(corpus[:4]), four.transform(corpus[:4]))


def test_mixture_is_chosen_on_documents_held_out(corpus):
    short = FastDependencyLDA(**SHORT).fit(corpus)
    assert 0.0 <= short.labels_.mix <= 1.0
    assert FastDependencyLDA(**SHORT, mix=0.3).fit(corpus).labels_.mix == 0.3
    shares = [
        FastDependencyLDA(**SHORT, mix=w).fit(corpus).decision_function(corpus[:3])
        for w in (0.0, 0.5, 1.0)
    ]
    np.testing.assert_allclose(shares[1], (shares[0] + shares[2]) / 2)


def test_what_goes_together_is_asked_for_together():
    with pytest.raises(ValueError, match="blocked=False needs"):
        FastDependencyLDA(blocked=False).fit([[1, 2]], [["a", "b"]])
    with pytest.raises(ValueError, match="greedy=False draws"):
        FastDependencyLDA(greedy=False).fit([[1, 2]], [["a", "b"]])
    with pytest.raises(ValueError, match="n_kept"):
        DependencyLDA(n_sweeps=3).fit([[1, 2]], [["a", "b"]])
    with pytest.raises(ValueError, match="mix"):
        DependencyLDA(mix=1.5).fit([[1, 2]], [["a", "b"]])
    with pytest.raises(ValueError, match="given_terms need greedy"):
        FastDependencyLDA(greedy=False, inference="gibbs", dep_tokens="word").fit(
            [[1, 2]], [["a", "b"]], given_terms={"a": [1, 2]}
        )


def test_topics_are_at_most_as_many_as_labels_unless_told(corpus):
    few = {**SHORT, "n_topics": None, "n_sweeps": 2, "n_kept": 1}
    assert FastDependencyLDA(**few).fit(corpus).links_.shape == (8, 8)
    assert DependencyLDA(**few).fit(corpus).links_.shape == (8, 8)
    assert FastDependencyLDA(**{**few, "n_topics": 11}).fit(corpus).links_.shape == (11, 8)


def test_the_way_to_score_is_decided_on_documents_held_out(corpus):
    """Told by hand from the same trial: first labels of the documents held out, micro- and macro-F1."""
    model = FastDependencyLDA(**SHORT).fit(corpus)
    task = read_task(model, corpus, None)
    rest, held = split_held_out(task, 0.1, model.seed_)
    trial = FastDependencyLDA(**SHORT, validation_share=0.0, scoring="tokens").fit(corpus[rest])
    found = {}
    for way in ("tokens", "document"):
        post = trial.labels_.with_mix(0.0, way)
        _, judged = tune_scores(post, task.take(held), EACH, None)
        pairs = scores.pairs_with_labels(corpus[held].counts, post)
        shares = scores.label_shares(judged, scores.infer(judged, pairs, EACH))
        truth = corpus[held].labels.toarray()
        given = np.zeros_like(truth)
        for d, n in enumerate(truth.sum(axis=1)):
            given[d, np.argsort(-shares[d], kind="stable")[: int(n)]] = 1
        there = truth.any(axis=0)
        f1 = [f1_score(truth[:, there], given[:, there], average=a) for a in ("micro", "macro")]
        found[way] = np.mean(f1)
    better = found["document"] > found["tokens"] + 0.005
    assert model.labels_.score == ("document" if better else "tokens")
    for way in ("tokens", "document"):
        assert FastDependencyLDA(**SHORT, scoring=way).fit(corpus).labels_.score == way
    alone = FastDependencyLDA(**SHORT, validation_share=0.0).fit(corpus)
    assert alone.labels_.score == "tokens"  # nothing to decide with


def test_rare_labels_are_found_by_documents_and_not_by_tokens():
    """Forty documents of one label for each of another that has a word of its own beside common ones."""
    texts = [[5, 5, 0]] * 200 + [[4, 4, 2]] * 5
    given = [["common"]] * 200 + [["common", "rare"]] * 5
    model = FastDependencyLDA(n_topics=2, mix=0.0, random_state=0, validation_share=0.0)
    asked = [model.set_params(scoring=way).fit(texts, given).decision_function([[4, 4, 2]])[0, 1]
             for way in ("tokens", "document")]  # fmt: skip
    assert asked[1] > asked[0]


def test_terms_of_labels_and_tokens_of_topics(corpus):
    model = FastDependencyLDA(**SHORT).fit(corpus)
    post, phi = model.labels_, phi_of(model.labels_)
    met = np.flatnonzero(post.totals > 0)  # a label without documents has no terms
    for y in met:
        terms, p = post.top_terms(5)[y]
        np.testing.assert_allclose(p, np.sort(phi[:, y])[::-1][:5], rtol=1e-5)
        np.testing.assert_allclose(phi[terms, y], p, rtol=1e-5)
    assert [len(row) for row in model.label_terms(3)] == [3 * (y in met) for y in range(8)]
    assert model.label_terms(0) == [[]] * 8
    assert post.topic_tokens.sum() == pytest.approx(post.totals.sum())
