"""Models of labels on a stream: what they contain, how streams may be cut, labels that change."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import bayou
from bayou import (
    Corpus,
    LabeledLDA,
    OnlineDependencyLDA,
    OnlineLabeledHDP,
    OnlineLabeledLDA,
)
from bayou.data.errors import DataError, ModelFileError
from bayou.data.synthetic_labels import sample_dependency_lda
from bayou.metrics import progressive
from bayou.metrics.multilabel import micro_auc
from bayou.testing.cases import file_bytes, reload

MODELS = [
    OnlineLabeledLDA(batch_size=20, random_state=0),
    OnlineLabeledLDA(
        batch_size=20, inference="hybrid", greedy=False, burn_in=1, n_samples=2, random_state=0
    ),
    OnlineDependencyLDA(n_topics=3, n_chains=2, batch_size=20, random_state=0),
    OnlineLabeledHDP(batch_size=20, burn_in=1, n_samples=2, random_state=0),
]


@pytest.fixture(scope="module")
def corpus():
    return sample_dependency_lda(150, 3, 8, 60, seed=4)[0]


def lists(corpus):
    names = corpus.label_names or [f"l{i}" for i in range(corpus.n_labels)]
    of = corpus.labels
    return [
        [names[i] for i in of.indices[a:b]] or None
        for a, b in zip(of.indptr[:-1], of.indptr[1:], strict=True)
    ]


@pytest.fixture(params=MODELS, ids=lambda m: type(m).__name__ + str(m.batch_size))
def model(request):
    from sklearn.base import clone

    return clone(request.param)


def test_partial_fit_learns_all_that_it_is_given(corpus, monkeypatch):
    """A stream gives its documents once: neither the time nor a callback makes a call leave some out."""
    monkeypatch.setattr("bayou.run.batches.CHUNK", 20)
    X, y = corpus.counts, lists(corpus)
    whole = OnlineLabeledLDA(batch_size=20, random_state=0).partial_fit(X, y)
    ends = {"max_time": 1e-9, "callbacks": lambda _: True}
    short = OnlineLabeledLDA(batch_size=20, random_state=0, **ends).partial_fit(X, y)
    assert (short.state_.n_seen, short.pending_.n_docs) == (140, 10)
    assert file_bytes(short) == file_bytes(whole)


def test_a_callback_that_fails_loses_no_document(corpus, monkeypatch):
    """What was not reached waits, and is learned as if nothing had happened."""
    monkeypatch.setattr("bayou.run.batches.CHUNK", 20)

    def fail(_):
        raise RuntimeError("full")

    X, y = corpus.counts, lists(corpus)
    whole = OnlineLabeledLDA(batch_size=20, random_state=0).partial_fit(X, y)
    model = OnlineLabeledLDA(batch_size=20, random_state=0, callbacks=[fail])
    with pytest.raises(RuntimeError, match="full"):
        model.partial_fit(X, y)
    assert (model.state_.n_seen, model.pending_.n_docs) == (20, 130)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    again = reload(model).set_params(callbacks=None).partial_fit(X[:1], y[:1])
    whole.partial_fit(X[:1], y[:1])
    assert (again.state_.n_seen, again.pending_.n_docs) == (140, 11)
    np.testing.assert_array_equal(again.decision_function(X), whole.decision_function(X))


def test_streams_may_be_cut_anywhere(model, corpus):
    """Labels come as documents bring them; the file is the same however calls are cut."""
    from sklearn.base import clone

    X, y = corpus.counts[:70], lists(corpus)[:70]
    y[3] = None  # nothing is known
    files = []
    for size in (70, 13, 1):
        one = clone(model)
        for lo in range(0, 70, size):
            one.partial_fit(X[lo : lo + size], y[lo : lo + size])
        files.append(file_bytes(one))
    assert files[0] == files[1] == files[2]


def test_rankings_are_learned(model, corpus):
    model.fit(corpus[:120])
    assert micro_auc(corpus[120:].labels, model.decision_function(corpus[120:])) > 0.75
    assert model.decision_function(corpus[:3]).sum(axis=1) == pytest.approx([1, 1, 1])
    assert set(np.unique(model.predict(corpus[:9]))) <= {0, 1}
    assert (model.predict(corpus[:9]).sum(axis=1) >= 1).all()
    found = model.explain(corpus[:2])[0]
    np.testing.assert_allclose(found.scores, model.decision_function(corpus[:2])[0], atol=1e-6)


def test_one_class_a_document_is_naive_bayes(corpus):
    y = np.asarray(corpus.labels.toarray()).argmax(axis=1)
    model = OnlineLabeledLDA(batch_size=500, beta=0.5).fit(corpus.counts, y)
    phi = model.labels_
    for i, c in enumerate(model.classes_):
        n = np.asarray(corpus.counts[y == c].sum(axis=0)).ravel()
        wanted = (n + 0.5) / (n.sum() + len(n) * 0.5)
        found = (phi.term_label.toarray()[:, i] + 0.5) / (phi.totals[i] + len(n) * 0.5)
        np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_one_batch_of_everything_comes_near_the_batch_model(corpus):
    one = OnlineLabeledLDA(batch_size=500, n_rounds=40, prior="flat").fit(corpus)
    many = LabeledLDA(prior="flat").fit(corpus)
    a, b = one.labels_.term_label.toarray(), many.labels_.term_label.toarray()
    assert a.sum() == pytest.approx(b.sum(), rel=1e-4)
    assert np.abs(a - b).sum() / b.sum() < 0.1  # CVB0 takes the token's own share out


def test_one_topic_is_the_smoothed_frequency_of_labels(corpus):
    model = OnlineDependencyLDA(
        n_topics=1, n_chains=1, batch_size=40, mix=1.0, scoring="tokens"
    ).fit(corpus)
    total = corpus.labels.nnz
    mean = model.state_.shares * total
    np.testing.assert_allclose(
        model.labels_.links[0], (mean + 0.01) / (total + 8 * 0.01), rtol=1e-4
    )
    found = model.decision_function(corpus[:4])
    np.testing.assert_allclose(found, np.tile(model.labels_.links[0], (4, 1)), rtol=1e-5)


def test_margins_are_those_of_the_table_of_labels_and_topics(corpus):
    """lambda_k and lambda_y without the table are the sums of lambda_yk."""
    post = (
        OnlineDependencyLDA(n_topics=3, n_chains=1, batch_size=50, random_state=1)
        .fit(corpus)
        .labels_
    )
    phi = (post.term_label.toarray() + post.beta) / (post.totals + post.n_terms * post.beta)
    phi[:, post.totals == 0] = 0.0  # a label without tokens has no terms
    n_d, v = np.array([3.0, 0.5, 1.5]), 11
    table = phi[v][:, None] * post.links.T * (n_d + post.link_alpha)
    by_topic = post.topics[0][v] * (n_d + post.link_alpha)
    by_label = phi[v] * (post.links.T @ (n_d + post.link_alpha))
    np.testing.assert_allclose(
        by_topic / by_topic.sum(), table.sum(axis=0) / table.sum(), rtol=1e-5
    )
    np.testing.assert_allclose(
        by_label / by_label.sum(), table.sum(axis=1) / table.sum(), rtol=1e-5
    )


def test_labels_may_come_in_any_batch(model, corpus):
    X, y = corpus.counts, lists(corpus)
    model.partial_fit(X[:50], y[:50])
    before = model.classes_.tolist()
    model.partial_fit(X[50:51], [["never before"]])
    assert model.classes_.tolist() == [*before, "never before"]
    assert model.decision_function(X[50:51]).shape == (1, len(before) + 1)
    model.partial_fit(X[51:53], [None, []])  # nothing known, and none of the labels
    model.add_labels(["announced"])
    assert model.classes_.tolist()[-1] == "announced"
    assert model.decision_function(X[:2])[:, -1] == pytest.approx([0, 0], abs=0.02)
    back = reload(model)
    assert back.classes_.tolist() == model.classes_.tolist()
    assert file_bytes(back.partial_fit(X[53:90], y[53:90])) == file_bytes(
        model.partial_fit(X[53:90], y[53:90])
    )


def test_labels_are_removed_merged_and_split(model, corpus):
    X, y = corpus.counts[:65], lists(corpus)[:65]
    model.partial_fit(X, y)
    names, ids = model.classes_.tolist(), model.label_ids_.tolist()
    mass = model.labels_.totals
    model.remove_labels([names[2]])
    assert model.pending_.n_docs == 0
    assert model.classes_.tolist() == names[:2] + names[3:]
    np.testing.assert_allclose(model.labels_.totals, np.delete(mass, 2), rtol=1e-4)
    model.merge_labels([names[0], names[1]], into="both")
    assert model.classes_.tolist() == [*names[3:], "both"]
    assert model.labels_.totals[-1] == pytest.approx(mass[0] + mass[1], rel=1e-4)
    model.split_label("both", ["left", "right"])
    assert model.labels_.totals[-2:].sum() == pytest.approx(mass[0] + mass[1], rel=1e-4)
    model.partial_fit(X[:5], [[names[2]]] * 5)  # comes again, as another
    assert len(set(model.label_ids_.tolist())) == len(model.classes_)
    assert ids[2] not in model.label_ids_.tolist()
    assert file_bytes(reload(model)) == file_bytes(model)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda m: m.remove_labels(["x"]), "not among"),
        (lambda m: m.remove_labels(m.classes_.tolist()), "would be left"),
        (lambda m: m.merge_labels([m.classes_[0]], "b"), "two labels"),
        (
            lambda m: m.merge_labels(m.classes_[:2].tolist(), m.classes_[2]),
            "is a label already, and none of those to merge",
        ),
        (lambda m: m.split_label(m.classes_[0], ["only"]), "two new names"),
        (lambda m: m.split_label(m.classes_[0], [m.classes_[1], "b"]), "taken"),
        (lambda m: m.partial_fit(np.ones((1, 60)), ["a class"]), "label lists"),
    ],
)
def test_what_cannot_be_meant_is_refused(call, told, corpus):
    model = OnlineLabeledLDA().partial_fit(corpus.counts[:40], lists(corpus)[:40])
    with pytest.raises((DataError, ValueError), match=told):
        call(model)


def test_parameters_of_a_stream_stay(corpus):
    model = OnlineDependencyLDA(n_topics=3, n_chains=1).fit(corpus)
    with pytest.raises(ValueError, match="cannot change"):
        model.set_params(n_topics=4).partial_fit(corpus)
    with pytest.raises(ValueError, match="scoring"):
        OnlineDependencyLDA(scoring="guess").fit(corpus)
    with pytest.raises(ValueError, match="inference"):
        OnlineLabeledLDA(inference="gibbs").fit(corpus)


def test_classes_stay_sorted_and_two_become_three():
    X = np.eye(4) * 5
    model = OnlineLabeledLDA(batch_size=2).partial_fit(X[:2], ["b", "d"])
    assert model.decision_function(X).ndim == 1
    model.partial_fit(X[2:], ["c", "a"])
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.predict(X).tolist() == ["b", "d", "c", "a"]
    model.merge_labels(["a", "b"], "e").remove_labels(["c"])
    assert model.classes_.tolist() == ["d", "e"]
    assert model.predict(X[:2]).tolist() == ["e", "d"]


def test_answers_follow_the_stream(corpus):
    found = {}
    for rule in ("scut", "cardinality"):
        model = OnlineLabeledLDA(batch_size=20, rule=rule, validation_share=0.5)
        batches = [
            (corpus.counts[i : i + 20], corpus.labels[i : i + 20]) for i in range(0, 150, 20)
        ]
        found[rule] = progressive(model, batches)
        assert np.nanmean(found[rule].f1[2:]) > 0.3
        p = model.predict_proba(corpus[:5])
        assert ((p >= 0) & (p <= 1)).all()
        n = model.predict(corpus).sum(axis=1).mean()
        assert 0.5 < n / (corpus.labels.nnz / 150) < 2.0


def test_roots_favour_frequent_labels(corpus):
    model = OnlineLabeledHDP(batch_size=50, burn_in=2, n_samples=3, random_state=0).fit(corpus)
    n = np.bincount(corpus.labels.indices, minlength=8)
    assert np.corrcoef(model.root_, n)[0, 1] > 0.8
    assert model.root_.sum() == pytest.approx(1.0)


def test_stopping_leaves_a_model_that_goes_on(corpus):
    X, y = corpus.counts, lists(corpus)
    model = OnlineLabeledLDA(batch_size=10, callbacks=[lambda info: True])
    model.fit(csr_array(np.tile(X.toarray(), (10, 1))), y * 10)
    assert model.n_iter_ == 102  # one chunk of whole mini-batches
    assert model.predict(X[:3]).shape[0] == 3


def test_damaged_files_are_refused(corpus, tmp_path):
    from bayou.data import container

    model = OnlineDependencyLDA(n_topics=2, n_chains=1, batch_size=16).partial_fit(corpus[:40])
    model.save(tmp_path / "m.bayou")
    arrays, manifest = container.load(tmp_path / "m.bayou")
    for name, value in {
        "state.cell_labels": arrays["state.cell_labels"] + 99,
        "state.left": arrays["state.left"][:, 1:],
        "state.raw": -arrays["state.raw"] - 1,
        "state.ids": np.zeros_like(arrays["state.ids"]),
        "state.next_id": np.array(0),
        "state.left ": arrays["state.left"] + 2,
        "state.topics": arrays["state.topics"][:, :, :1],
        "state.sizes": np.zeros((2, 3)),
        "state.scored": arrays["state.scored"][:1],
        "pending.indptr": arrays["pending.indptr"] + 1,
        "pending.terms": arrays["pending.terms"] + 60,
        "pending.label_ids": arrays["pending.label_ids"] + 50,
        "classes.ids": arrays["classes.ids"] + 1,
    }.items():
        container.save(tmp_path / "bad.bayou", {**arrays, name.strip(): value}, manifest)
        with pytest.raises(ModelFileError):
            bayou.load(tmp_path / "bad.bayou")


def test_files_may_hold_pending_documents_only(model, corpus):
    """Labels of documents that wait have ids and no columns yet."""
    model.partial_fit(corpus.counts[:5], lists(corpus)[:5])
    assert (model.state_.n_labels, model.pending_.n_docs) == (0, 5)
    back = reload(model)
    assert back.predict_labels(corpus.counts[:5]) == model.predict_labels(corpus.counts[:5])
    rest = corpus.counts[5:40], lists(corpus)[5:40]
    assert file_bytes(back.partial_fit(*rest)) == file_bytes(model.partial_fit(*rest))


def test_corpora_with_names_are_matched(corpus):
    named = Corpus.from_matrix(corpus.counts, vocabulary=[f"t{v:02d}" for v in range(60)])
    model = OnlineLabeledLDA().fit(named, lists(corpus))
    turned = Corpus.from_matrix(
        corpus.counts[:, ::-1], vocabulary=[f"t{v:02d}" for v in range(60)][::-1]
    )
    np.testing.assert_array_equal(model.predict(turned), model.predict(named))
