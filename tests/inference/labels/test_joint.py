"""Joint training of an online dependency model: the table of pairs, masses, corners, and enumeration."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.inference.labels.test_label_stream import BETA, HOW, L, V, counts_of, documents, fresh
from tests.reference import label_stream as twin

from bayou import OnlineDependencyLDA
from bayou.data.synthetic_labels import sample_dependency_lda
from bayou.inference.labels import cells as label_cells
from bayou.inference.labels import joint, stream
from bayou.inference.labels import state as label_state
from bayou.inference.labels.documents import LabelDocuments
from bayou.inference.labels.state import LABELS, WORDS
from bayou.metrics.multilabel import macro_auc
from bayou.models import online_dependency_lda
from bayou.run.shards import Workers
from bayou.testing.cases import file_bytes

EACH = Workers(1).each
JOINT = HOW._replace(greedy=False)


def learn(state, batch, p, each=EACH):
    """One step of joint training, as `update` of the model makes it."""
    rho = stream.step_size(state.step + 1, p.rate)
    after = stream.blend_totals(state, batch, rho)
    words, topics = joint.share_both(state, after, batch, p, 1, each)
    return stream.blend_words(state, after, words, rho, each)._replace(topics=topics)


@pytest.mark.parametrize("n_rounds", [1, 3])
def test_steps_are_those_of_the_explicit_table(n_rounds):
    p, state = JOINT._replace(n_rounds=n_rounds), fresh(3)
    N, M = np.zeros((V, L)), np.zeros((L, 3))
    for t in range(1, 5):
        counts, own, batch = documents(9, seed=t)
        before = label_state.totals(state, p.n_docs)
        noise = stream.counts_with_noise(state, p, 1, 0).astype(float)
        state = learn(state, batch, p)
        total, rho = label_state.totals(state, p.n_docs), stream.step_size(t, p.rate)
        old = [
            x * (total[i] / before[i] if before[i] else 1.0) for i, x in ((WORDS, N), (LABELS, M))
        ]
        rows, links = twin.phi(N, BETA), twin.phi(noise, p.link_beta)
        for _ in range(n_rounds):
            words, cross = twin.joint_shares(counts, own, rows, links, p.alpha, 10)
            gain = rho / counts.sum()
            new = [(1 - rho) * old[0] + gain * total[WORDS] * words,
                   (1 - rho) * old[1] + gain * total[LABELS] * cross]  # fmt: skip
            rows, links = twin.phi(new[0], BETA), twin.phi(new[1], p.link_beta)
        N, M = new
        np.testing.assert_allclose(counts_of(state, p), N, rtol=1e-3, atol=1e-4)
        found = label_state.factors(state, LABELS, p.n_docs)[:, None] * state.topics[0]
        np.testing.assert_allclose(found, M, rtol=1e-3, atol=1e-4)


def test_one_pass_over_a_document_is_the_margin_of_all_assignments():
    """One token: lambda_yk is the posterior of (label, topic), by Bayes' rule on all pairs."""
    rows = np.random.default_rng(0).dirichlet(np.ones(V), L).T.astype(np.float32)
    links = np.random.default_rng(1).dirichlet(np.ones(L), 3).T.astype(np.float32)
    own, v = [1, 3, 4], 5
    batch = label_cells.make_batch(
        csr_array(np.eye(V)[[v]]), csr_array(np.isin(np.arange(L), own)[None].astype(np.int8)), whole=False
    )  # fmt: skip
    lay = label_cells.lay_out(batch, V, L)
    p = JOINT._replace(alpha=np.array([0.2, 0.5, 1.0]))
    weight = rows[v, own].copy()
    entry, cross = joint._share_chain(weight, links, lay, p, EACH)
    theta = (
        np.full(3, 1 / 3) + p.alpha
    )  # n_d at the end is its own share; start and end agree below
    for _ in range(10):
        table = {
            (y, k): rows[v, y] * links[y, k] * theta[k] for y, k in itertools.product(own, range(3))
        }
        whole = sum(table.values())
        theta = p.alpha + np.array([sum(table[y, k] for y in own) for k in range(3)]) / whole
    table = {
        (y, k): rows[v, y] * links[y, k] * theta[k] for y, k in itertools.product(own, range(3))
    }
    whole = sum(table.values())
    for (y, k), w in table.items():
        assert cross[y, k] == pytest.approx(w / whole, rel=1e-4)
    np.testing.assert_allclose(entry, cross[own].sum(axis=1), rtol=1e-5)
    assert not cross[[0, 2]].any()


def test_one_batch_of_everything_is_a_stationary_point_of_the_bound():
    """Rounds at rho = 1 climb to a fixed point of the explicit table."""
    counts, own, batch = documents(20)
    p = JOINT._replace(n_rounds=300, n_docs=None)
    state = learn(fresh(3), batch, p)
    N = counts_of(state, p)
    M = label_state.factors(state, LABELS, None)[:, None] * state.topics[0]
    words, cross = twin.joint_shares(
        counts, own, twin.phi(N, BETA), twin.phi(M, p.link_beta), p.alpha, 10
    )
    np.testing.assert_allclose(N, words, rtol=5e-3, atol=5e-3)
    np.testing.assert_allclose(M, cross * len(batch.labels) / counts.sum(), rtol=5e-3, atol=5e-3)


def test_masses_are_the_totals_of_each_level():
    state = fresh(3, 2)
    for t in range(1, 30):
        state = learn(state, documents(4, seed=t)[2], JOINT)
        c_w, c_l, _ = label_state.totals(state, JOINT.n_docs)
        assert counts_of(state).sum() == pytest.approx(c_w, rel=1e-5)
        links = label_state.factors(state, LABELS, JOINT.n_docs)[:, None] * state.topics
        assert links.sum(axis=(1, 2)) == pytest.approx([c_l, c_l], rel=1e-5)


def test_one_topic_alone_weighs_labels_by_their_frequency():
    """K = 1: lambda_y ~ phi_vy phi'_y, labelled LDA with the same prior of labels in all documents."""
    _, _, batch = documents(9)
    p = JOINT._replace(alpha=np.array([0.4]), n_rounds=1)
    state = learn(fresh(1), batch, p)
    state = learn(state, batch, p)
    words = documents(9, seed=3)
    again = words[0]
    rows = twin.phi(counts_of(state, p), BETA)
    share = twin.phi(
        label_state.factors(state, LABELS, p.n_docs)[:, None] * state.topics[0], p.link_beta
    )
    lay = label_cells.lay_out(words[2], V, L)
    weight = np.concatenate(
        [rows[v, words[1][d]] for d in range(9) for v in np.flatnonzero(again[d])]
    ).astype(np.float32)
    entry, _ = joint._share_chain(weight, share.astype(np.float32), lay, p, EACH)
    wanted = np.concatenate([
        again[d, v] * (rows[v, mine] * share[mine, 0]) / (rows[v, mine] * share[mine, 0]).sum()
        for d, mine in enumerate(words[1]) for v in np.flatnonzero(again[d])
    ])  # fmt: skip
    np.testing.assert_allclose(entry, wanted, rtol=1e-4)


def test_even_topics_give_greedy_shares():
    """phi' equal for all labels: topics say nothing, and words are shared out as in greedy training."""
    _, _, batch = documents(9)
    lay = label_cells.lay_out(batch, V, L)
    weight = np.random.default_rng(0).random(lay.entryptr[-1]).astype(np.float32)
    entry, _ = joint._share_chain(weight, np.full((L, 3), 0.2, np.float32), lay, JOINT, EACH)
    greedy, _ = label_cells.share_tokens(
        weight, lay, np.zeros(0, np.float32), JOINT.sharing, (0, 0), EACH
    )
    np.testing.assert_allclose(entry, greedy, rtol=1e-4, atol=1e-6)


def test_threads_and_chains():
    _, _, batch = documents(40)
    with Workers(3) as workers:
        one = learn(fresh(3, 2), batch, JOINT)
        two = learn(fresh(3, 2), batch, JOINT, workers.each)
    for name, value in one._asdict().items():
        np.testing.assert_array_equal(value, getattr(two, name), err_msg=name)
    assert np.abs(one.topics[0] - one.topics[1]).max() > 1e-4  # other starts


def test_documents_without_words_teach_label_frequencies_only():
    state = fresh(3)
    given = LabelDocuments.make(csr_array((2, V)), csr_array(np.eye(2, L)), np.arange(L))
    after = online_dependency_lda.update(state, given, JOINT._replace(multi_label=False), 1, EACH)
    assert after.shares[:2].tolist() == [0.5, 0.5]
    assert not after.topics.any()


def test_the_model_learns_labels_and_does_not_depend_on_cuts():
    corpus = sample_dependency_lda(300, 3, 8, 60, seed=4)[0]
    train, test = corpus[:200], corpus[200:]
    one = OnlineDependencyLDA(n_topics=3, n_chains=2, batch_size=20, greedy=False, random_state=0)
    one.partial_fit(train)
    two = OnlineDependencyLDA(n_topics=3, n_chains=2, batch_size=20, greedy=False, random_state=0)
    for lo, hi in ((0, 7), (7, 90), (90, 200)):
        two.partial_fit(train[lo:hi])
    assert file_bytes(one) == file_bytes(two)
    assert macro_auc(test.labels, one.decision_function(test)).value > 0.75
    greedy = OnlineDependencyLDA(n_topics=3, n_chains=2, batch_size=20, random_state=0)
    gap = greedy.partial_fit(train).labels_.links - one.labels_.links
    assert np.abs(gap).max() > 0.01
