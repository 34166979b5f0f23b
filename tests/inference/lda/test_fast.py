"""The fast point estimate: its phases, its guard, its corners."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from bayou import LDA
from bayou.inference.lda import arrays, documents, fast, fold_in, schedule
from bayou.run import shards

BETA = 0.01


def serial(work, ends, cost=1.0):
    work(0, len(ends) - 1)


def make_setup(X, n_topics, *, n_sweeps=None, tol=5e-4, learn=(False, False), each=serial, seed=0):
    X = csr_array(np.asarray(X, np.float32))

    def plan(size):
        return schedule.make_schedule(n_topics, size, n_sweeps, tol, learn)

    return fast.make_setup(documents.pairs_of(X), (X.shape[1], n_topics), plan, BETA, seed, each)


def trace(setup, alpha=0.1):
    """All states on the way, the last one done."""
    state = fast.start(setup, np.full(setup.new.shape[1], alpha), BETA)
    states = [state]
    while state.phase != fast.DONE:
        state = fast.advance(state, setup)
        states.append(state)
    return states


def phases(states):
    """The phase of each pass, as runs of (phase, passes)."""
    return [(p, len(list(run))) for p, run in itertools.groupby(s.phase for s in states[:-1])]


def blocks(n_docs, n_topics=4, width=10, length=50, seed=0):
    """Documents that mix two topics, each topic with terms of its own."""
    rng = np.random.default_rng(seed)
    rows = np.kron(np.eye(n_topics), np.full((1, width), 1 / width))
    theta = rng.dirichlet(np.full(n_topics, 0.2), n_docs)
    return np.array([rng.multinomial(length, p) for p in theta @ rows])


def nothing_to_find(n_docs, n_terms=300, length=40, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n_terms, 0.5))
    return rng.multinomial(length, p, size=n_docs)


def size(n_docs, length=70.0, n_terms=500, whole=True):
    return schedule.CorpusSize(n_docs, int(40 * n_docs), length * n_docs, n_terms, whole)


def test_a_large_corpus_of_short_documents_is_sampled_to_the_end():
    def kinds(n_topics, some, n_sweeps=None):
        plan = schedule.make_schedule(n_topics, some, n_sweeps, 0.0, (False, False))
        return plan.online, plan.sampled, plan.cavity

    assert kinds(50, size(20_000)) == (1, 99, 0)
    assert kinds(50, size(20_000), 10) == (1, 9, 0)
    assert kinds(50, size(20_000), 1) == (1, 0, 0)
    for other in (size(9_000), size(20_000, 150.0), size(20_000, n_terms=9_000)):
        assert kinds(50, other) == (3, 0, 97)
    assert kinds(50, size(20_000, whole=False)) == (3, 0, 97)
    assert kinds(1000, size(20_000)) == (1, 100, 20)
    assert schedule.make_schedule(9, size(900_000), None, 0.0, (False, False)).n_batches == 1098


def test_the_plan_adds_up():
    for n_topics, n_sweeps, expected in (
        (50, None, (3, 0, 97)),
        (50, 2, (2, 0, 0)),
        (50, 10, (3, 0, 7)),
        (1000, None, (1, 100, 20)),
        (1000, 1, (1, 0, 0)),
        (1000, 4, (1, 0, 3)),
        (1000, 30, (1, 9, 20)),
    ):
        plan = schedule.make_schedule(n_topics, size(1000), n_sweeps, 0.0, (False, False))
        assert (plan.online, plan.sampled, plan.cavity) == expected
    assert schedule.make_schedule(10, size(5), None, 0.0, (False, False)).n_batches == 1


def test_few_topics_go_online_then_cvb0():
    states = trace(make_setup(blocks(300), 4))
    runs = phases(states)
    assert [p for p, _ in runs] == [fast.ONLINE, fast.CAVITY]
    assert runs[0][1] <= 3
    assert runs[1][1] <= 40
    assert [s.step for s in states] == list(range(len(states)))


def test_without_a_plateau_all_planned_passes_are_made():
    """A tolerance below zero calls nothing flat."""
    states = trace(make_setup(blocks(300), 4, n_sweeps=12, tol=-np.inf))
    assert phases(states) == [(fast.ONLINE, 3), (fast.CAVITY, 9)]


def test_short_documents_are_sampled_and_their_counts_averaged(monkeypatch):
    monkeypatch.setattr(schedule, "LARGE", 100)
    setup = make_setup(blocks(300), 4, n_sweeps=21, tol=-np.inf, learn=(True, True))
    states = trace(setup)
    assert phases(states) == [(fast.ONLINE, 1), (fast.SAMPLED, 20)]
    last = states[-1]
    assert last.tokens.shape == (setup.pairs.n_tokens, 1)
    assert last.score_steps.tolist() == [1, 6, 11, 16, 21]
    assert last.best > setup.floor + 0.3
    assert last.term_topic.sum() == pytest.approx(setup.pairs.n_tokens, rel=1e-4)
    assert (last.term_topic != np.rint(last.term_topic)).any()
    assert last.alpha.max() != 0.1
    assert last.beta != BETA


def test_many_topics_are_sampled_in_between():
    setup = make_setup(blocks(150), schedule.MANY, n_sweeps=34, tol=-np.inf)
    assert phases(trace(setup))[:3] == [(fast.ONLINE, 1), (fast.SAMPLED, 13), (fast.CAVITY, 20)]
    state = fast.start(setup, np.full(schedule.MANY, 0.1), BETA)
    for _ in range(14):
        state = fast.advance(state, setup)
    # What the sampler hands over are counts of its tokens, whole numbers all.
    for counts in (state.term_topic, state.doc_topic):
        assert counts.sum() == setup.pairs.n_tokens
        np.testing.assert_array_equal(counts, np.rint(counts))
    assert not len(state.tokens)


def test_fractional_counts_have_no_tokens_to_sample():
    setup = make_setup(blocks(150) * 0.7, schedule.MANY, n_sweeps=20)
    assert not setup.whole
    assert {p for p, _ in phases(trace(setup))} == {fast.ONLINE, fast.CAVITY}


def test_the_answer_is_the_best_scored_state_with_the_guard_added():
    setup = make_setup(blocks(300), 4)
    states = trace(setup)
    last = states[-1]
    assert last.best == last.scores.max()
    assert last.best > setup.floor + 0.3
    rows = arrays.topic_rows(last.answer, BETA, serial)
    value = fold_in.completion(rows, last.alpha, *setup.halves, serial)
    assert last.best - setup.plan.tol < value <= last.best
    answer = fast.answer(last, setup)[0]
    assert setup.guard.n_docs == 25
    n_tokens = setup.pairs.n_tokens + setup.guard.n_tokens
    assert answer.sum() == pytest.approx(n_tokens, rel=1e-3)
    added = (answer - last.answer).sum(axis=1)
    mass = np.bincount(setup.guard.terms, weights=setup.guard.counts, minlength=len(answer))
    np.testing.assert_allclose(added, mass, atol=1e-2)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_guard_rescues_where_there_is_nothing_to_find(seed):
    """Documents from one distribution and 50 topics: EM overfits and the sampler takes over.

    The answer is better than it would be without rescue, and near what no topics at all would give.
    """
    setup = make_setup(nothing_to_find(600, seed=seed), 50, seed=seed)
    states = trace(setup)
    assert phases(states)[-1][0] == fast.RESCUE
    begun = next(s for s in states if s.phase == fast.RESCUE)
    print(f"unigram {setup.floor:.3f} without {begun.best:.3f} rescued {states[-1].best:.3f}")
    assert begun.best < setup.floor
    assert states[-1].best > begun.best + 0.01
    assert states[-1].best > setup.floor - 0.12


def test_the_model_that_is_rescued_predicts_new_documents():
    X = nothing_to_find(1100, seed=3)
    train, test = X[:600], X[600:]
    unigram = (train.sum(axis=0) + BETA) / (train + BETA / 600).sum()
    floor = (test * np.log(unigram)).sum() / test.sum()
    model = LDA(n_topics=50, random_state=0, n_threads=1).fit(train)
    print(f"unigram {floor:.3f} model {model.score(test):.3f}")
    assert model.score(test) > floor - 0.12


@pytest.mark.parametrize("n_topics", [1, 3, 50, schedule.MANY])
@pytest.mark.parametrize(
    "X",
    [
        np.eye(1, 6) * 4,
        blocks(9, length=12),
        blocks(10, length=1),
        np.zeros((1, 5)),
        np.zeros((12, 5)),
        np.vstack([np.zeros((30, 6)), np.eye(1, 6)]),
        np.full((12, 1), 0.25),
    ],
    ids=["one", "nine", "one-token", "one-empty", "all-empty", "nearly-empty", "fractional"],
)
def test_corpora_with_little_in_them(X, n_topics):
    setup = make_setup(X, n_topics)
    last = trace(setup)[-1]
    answer = fast.answer(last, setup)[0]
    assert answer.shape == (X.shape[1], n_topics)
    assert np.isfinite(answer).all()
    assert (answer >= 0).all()
    rows = arrays.topic_rows(answer, last.beta, serial)
    np.testing.assert_allclose(rows.sum(axis=0), 1, rtol=1e-4)


def test_priors_are_learned_on_the_way():
    setup = make_setup(blocks(300), 4, learn=(True, True))
    last = trace(setup)[-1]
    assert len(set(last.alpha)) == 4
    assert last.beta != BETA
    assert (last.alpha > 0).all()


@pytest.mark.parametrize(
    ("X", "n_topics", "large"),
    [(blocks(200), 4, 10_000), (blocks(200), 4, 100), (nothing_to_find(200), 30, 10_000)],
)
def test_threads_change_nothing(X, n_topics, large, monkeypatch):
    monkeypatch.setattr(schedule, "LARGE", large)
    monkeypatch.setattr(shards, "_PIECE", 1e-6)
    monkeypatch.setattr(shards, "_LEAST", 0)
    whole = trace(make_setup(X, n_topics))[-1]
    for n_threads in (1, 2, 4):
        with shards.Workers(n_threads) as workers:
            setup = make_setup(X, n_topics, each=workers.each)
            last = trace(setup)[-1]
            for name in ("term_topic", "doc_topic", "tokens", "answer", "scores"):
                np.testing.assert_array_equal(getattr(last, name), getattr(whole, name))
            np.testing.assert_array_equal(
                fast.answer(last, setup)[0], fast.answer(whole, make_setup(X, n_topics))[0]
            )
