"""The tracker: LDA in one slice, identity over slices, changes that are found and ones that are not there."""

import os

import numpy as np
import pytest
from tests.reference import tracking as sim

import bayou
from bayou import LDA, Corpus, DataError, TopicTracker, Vectorizer
from bayou.data import ModelFileError
from bayou.datasets import load_corpus, make_news
from bayou.inference.tracking import lineage
from bayou.inference.tracking.history import LINEAGE, Alert
from bayou.testing.cases import file_bytes


@pytest.fixture(scope="module")
def news():
    return make_news(24, 50, seed=0)


@pytest.fixture(scope="module")
def tracked(news):
    return TopicTracker(n_topics=6, slice_by="week", random_state=0).fit(news[0])


def small(n_docs=40, n_terms=30, seed=0, **beside):
    counts = np.random.default_rng(seed).poisson(0.4, (n_docs, n_terms))
    return Corpus.from_matrix(counts, vocabulary=[f"w{v:02d}" for v in range(n_terms)], **beside)


# -- LDA, and limits -----------------------------------------------------------------------------


@pytest.mark.parametrize("inference", ["snapshot", "gibbs"])
def test_one_slice_is_lda_draw_for_draw(inference, news):
    corpus = news[0][:60]
    one = LDA(n_topics=4, inference=inference, n_sweeps=20, burn_in=10, random_state=3).fit(corpus)
    how = {"n_topics": 4, "n_sweeps": 20, "n_starts": 1, "alpha": 0.1, "beta": 0.01}
    two = TopicTracker(inference=inference, random_state=3, **how).fit(corpus)
    np.testing.assert_allclose(two.components_, one.components_, rtol=2e-6)
    np.testing.assert_array_equal(
        two.posterior_.topic_tokens, one.posterior_.topic_tokens.astype(np.float64)
    )


def test_strength_without_end_freezes_the_topics_and_rho_zero_the_memory(news):
    corpus = news[0][:100]
    kind = {"n_topics": 4, "n_sweeps": 10, "slice_by": 50, "random_state": 0, "n_spare": 0}
    kind |= {"beta": 0.01}
    frozen = TopicTracker(strength=1e12, **kind).fit(corpus)
    first = TopicTracker(**kind).fit(corpus[:50])
    np.testing.assert_allclose(frozen.state_.rows, first.state_.memory, atol=1e-6)
    still = TopicTracker(rho=0.0, **kind).fit(corpus)
    np.testing.assert_allclose(still.state_.memory, first.state_.memory, atol=1e-6)
    last = TopicTracker(rho=1.0, strength=0.0, **kind).fit(corpus)
    counts = last.state_.rows * (last.state_.tokens + 600 * 0.01) - 0.01
    np.testing.assert_allclose(last.state_.memory, counts / last.state_.tokens, atol=1e-5)


def test_the_thesis_and_olda(news):
    corpus = news[0][:150]
    kind = {"n_topics": 4, "n_sweeps": 10, "slice_by": 50, "random_state": 0, "n_spare": 0}
    thesis = TopicTracker(scale="counts", rho=0.2, **kind).fit(corpus)
    assert thesis.state_.memory.sum() == pytest.approx(
        corpus[:50].n_tokens * 0.2 * 0.8**2 + corpus[50:100].n_tokens * 0.2 * 0.8
        + corpus[100:].n_tokens * 0.2, rel=1e-3,
    )  # fmt: skip
    olda = TopicTracker(window=2, strength=100.0, **kind).fit(corpus)
    assert olda.state_.past.shape[0] == 2
    np.testing.assert_allclose(olda.state_.memory, olda.state_.past.mean(axis=0), atol=1e-6)
    learned = TopicTracker(strength="estimate", learn_alpha=True, **kind).fit(corpus)
    assert 100.0 < learned.state_.strength < 1e5, "inside the bounds of the search, 0.01 and 1e8"
    assert len(set(learned.alpha_)) > 1
    with pytest.raises(ValueError, match="no strength"):
        TopicTracker(scale="counts", strength=3.0).fit(corpus)


# -- identity ------------------------------------------------------------------------------------


@pytest.mark.parametrize("inference", ["fast", "snapshot"])
def test_topics_keep_their_numbers_over_slices_and_after_an_absence(inference):
    found = []
    for seed in range(3):
        slices, truth = sim.simulated(seed)
        model = TopicTracker(n_topics=sim.N_TOPICS, inference=inference, random_state=seed)
        found.append(sim.identity(model, slices, truth))
        kinds = [(a.kind, a.slice) for a in model.lineage_]
        assert ("dormant", 3) in kinds
        assert ("revived", 5) in kinds
        for back in model.alerts("revived"):
            course = model.course(back.topic)
            assert back.before == course["share"][back.slice - 1] < back.after, "while it slept"
    same, returned = np.mean(found, axis=0)
    assert same >= 0.99
    assert returned <= 0.17


def test_planted_events_are_found(news, tracked):
    truth = news[1]
    by_kind = {event.kind: event for event in truth.events}
    alerts = tracked.alerts()

    def words(kind, slices, field="gained"):
        wanted = set(getattr(by_kind[kind], field))
        return {w for a in alerts if a.slice in slices for w in (*a.words, *a.lost)} & wanted

    (born,) = tracked.alerts("born")
    assert born.slice == by_kind["appear"].slice
    assert len(set(born.words) & set(by_kind["appear"].gained)) >= 5
    assert len(words("shift", (8, 9))) >= 3
    (asleep,), (awake,) = tracked.alerts("dormant"), tracked.alerts("revived")
    assert asleep.slice in (12, 13)
    assert awake.slice == 16
    assert asleep.topic == awake.topic
    assert len(words("burst", (20, 21))) >= 3
    assert set(tracked.topic_ids_) == set(range(7)), "one more topic, and no number twice"


def test_a_topic_whose_words_change_does_not_fall_too(tracked):
    drifts = {(a.slice, a.topic) for a in tracked.alerts("drift")}
    swings = {(a.slice, a.topic) for a in tracked.alerts(("rise", "fall"))}
    assert drifts
    assert not swings & (drifts | {(t + 1, k) for t, k in drifts})


def test_ids_are_permanent_and_the_course_is_kept(tracked):
    course = tracked.course(6)
    assert course["slice"][0] == "2024-01-29"
    assert len(course["share"]) == 20
    assert all(
        a < b < c for a, b, c in zip(course["low"], course["share"], course["high"], strict=True)
    )
    with pytest.raises(ValueError, match="there is no topic 99"):
        tracked.course(99)
    assert tracked.slices_.n_docs.tolist() == [50] * 24
    assert len(tracked.slice_names_) == 24


def measured(counts):
    tokens = counts.sum(axis=0)
    share, n_terms = tokens / tokens.sum(), len(counts)
    rows = counts.astype(np.float32)
    return lineage.TopicMeasures(rows, np.arange(n_terms), n_terms, tokens, share, share, share)


def test_topics_that_are_equal_in_two_slices_are_merged_into_the_larger():
    state = TopicTracker(n_topics=3, n_sweeps=3, random_state=0).fit(np.ones((20, 10))).state_
    counts = np.zeros((10, 3))
    counts[:5, 0], counts[:5, 1], counts[5:, 2] = 100.0, 60.0, 80.0
    seen = measured(counts)
    near, events, gone = lineage.find_mergers(state, seen, 200.0)
    assert near.tolist() == [1, 0, -1]
    assert not events
    near, events, gone = lineage.find_mergers(state._replace(near=near), seen, 200.0)
    assert [(e.kind, e.id, e.other) for e in events] == [("merged", 1, 0)]
    assert gone == [1]


def test_a_topic_whose_words_another_one_has_taken_is_merged_and_not_asleep():
    state = TopicTracker(n_topics=3, n_sweeps=3, random_state=0).fit(np.ones((20, 10))).state_
    memory = np.zeros((10, 3), np.float32)
    memory[:5, 0], memory[5:, 1], memory[8:, 2] = 0.2, 0.2, 0.5
    state = state._replace(memory=memory)
    asleep = lineage.Event("dormant", int(state.ids[0]), 0, 0.3, 0.0, -1, np.nan)

    def judged(now, memory=memory):
        counts = np.zeros((10, 3))
        counts[:, 1], counts[8:, 2] = now, 300.0
        return lineage.find_absorptions(
            state._replace(memory=memory), measured(counts), [asleep], 200.0
        )

    (event,), gone = judged(np.full(10, 60.0))  # topic 1 speaks of both now
    assert (event.kind, event.id, event.other, gone) == ("merged", 0, 1, [0])
    assert event.evidence < 0.6
    assert judged(np.repeat([0.0, 120.0], 5)) == ([asleep], []), "its words are gone"
    twins = memory.copy()
    twins[:, 1] = twins[:, 0]
    (event,), gone = judged(np.repeat([120.0, 0.0], 5), twins)  # there were two of the same
    assert (event.kind, event.other, gone) == ("merged", 1, [0])


def test_a_topic_that_stays_away_dies_and_is_known_when_it_comes_back():
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.full(100, 0.1), 4)
    model = TopicTracker(n_topics=4, n_sweeps=30, dead_after=2, random_state=0, min_tokens=100)
    for t in range(9):
        there = range(4) if t < 2 or t > 6 else range(1, 4)
        theta = np.zeros((120, 4))
        theta[:, list(there)] = rng.dirichlet(np.full(len(there), 0.2), 120)
        model.partial_fit(np.array([rng.multinomial(40, th @ phi) for th in theta]))
    kinds = [a.kind for a in model.lineage_]
    assert kinds[:2] == ["dormant", "dead"]
    back = model.alerts("revived")
    assert [a.topic for a in back] == [model.lineage_[0].topic]
    assert back[0].before == 0.0, "it was given up"
    assert sorted(model.topic_ids_) == [0, 1, 2, 3]


# -- false alarms --------------------------------------------------------------------------------


def quiet_slices(model, corpus):
    """Slices with any alert of a tested change, and all slices that were tested."""
    model.fit(corpus)
    alerts = [a for a in model.alerts() if a.kind not in LINEAGE]
    kinds = ("drift", "words", "rise", "fall", "surprise")
    found = {kind: len({a.slice for a in alerts if a.kind == kind}) for kind in kinds}
    return found, model.state_.step - 1, len(model.lineage_)


def test_quiet_slices_are_quiet():
    corpus, _ = make_news(24, 50, events=False, seed=5)
    model = TopicTracker(n_topics=6, slice_by="week", n_sweeps=60, random_state=0)
    found, _, lives = quiet_slices(model, corpus)
    assert lives == 0
    assert max(found.values()) <= 3, found  # P(more than 3 of 23 at 5 %) is 0.03 for each of four
    assert sum(found.values()) <= 6


@pytest.mark.slow
def test_false_alarms_come_at_the_level_that_is_stated():
    """Each test is made at 5 % a slice; 8 streams of 23 slices."""
    total, slices = {}, 0
    for seed in range(8):
        corpus, _ = make_news(24, 50, events=False, seed=100 + seed)
        model = TopicTracker(n_topics=6, slice_by="week", random_state=seed)
        found, n, _ = quiet_slices(model, corpus)
        slices += n
        total = {kind: total.get(kind, 0) + k for kind, k in found.items()}
    rates = {kind: k / slices for kind, k in total.items()}
    assert rates["rise"] + rates["fall"] <= 0.08, rates
    assert max(rates["drift"], rates["words"], rates["surprise"]) <= 0.08, rates


@pytest.mark.slow
@pytest.mark.corpus
@pytest.mark.skipif(not os.environ.get("BAYOU_DATA"), reason="needs BAYOU_DATA")
@pytest.mark.parametrize("name", ["sotu", "newsarticles2017"])
def test_shuffled_real_slices_are_quiet(name):
    vectorizer = Vectorizer(stop_words="english", min_df=5, max_df=0.3)
    corpus = load_corpus(name, vectorizer=vectorizer)
    order = np.random.default_rng(0).permutation(corpus.n_docs)[:5000]
    model = TopicTracker(n_topics=20, slice_by=-(-len(order) // 12), random_state=0)
    found, _, lives = quiet_slices(model, corpus[order])
    assert lives <= 1
    assert max(found.values()) <= 3, found


def test_documents_are_no_surprise_because_a_stream_is_young():
    """Nothing changes, but words are met one after the other, as those of any text are."""
    rng = np.random.default_rng(0)
    usual = 1.0 / np.arange(1, 3001)
    phi = np.array([rng.permutation(usual) + 0.2 * usual for _ in range(4)])
    phi /= phi.sum(axis=1, keepdims=True)
    words = np.array([f"w{v}" for v in range(phi.shape[1])])
    model = TopicTracker(n_topics=4, slice_by=60, min_docs=3, random_state=0)
    for theta in rng.dirichlet(np.full(4, 0.3), 20 * 60):
        model.partial_fit(
            Corpus.from_tokens([words[rng.choice(len(words), 40, p=theta @ phi)].tolist()])
        )
    told = {alert.slice for alert in model.flush().alerts("surprise")}
    assert model.state_.step == 20
    assert len(told) <= 1, told
    assert (model.slices_.n_new_terms[1:] > 0).all(), "new words in every slice"


def test_a_burst_of_three_per_cent_is_found():
    """Five words that were never met take 3 % of one topic's tokens, N_k about 2 000."""
    rng = np.random.default_rng(2)
    n_terms, planted = 400, np.arange(5)
    phi = rng.dirichlet(np.full(n_terms, 0.1), 4)
    phi[:, planted] = 1e-9
    phi /= phi.sum(axis=1, keepdims=True)
    model = TopicTracker(n_topics=4, n_sweeps=40, random_state=0)
    for t in range(5):
        now = phi.copy()
        if t == 4:
            now[1] *= 0.97
            now[1, planted] += 0.03 / 5
        theta = rng.dirichlet(np.full(4, 0.3), 200)
        model.partial_fit(np.array([rng.multinomial(40, th @ now) for th in theta]))
    told = {word for a in model.alerts(since=4) for word in a.words}
    assert len(told & {f"x{v}" for v in planted}) >= 4
    assert not model.alerts("words", since=1)[0].slice < 4


def test_that_a_year_is_spoken_of_in_its_time_is_no_news():
    rng = np.random.default_rng(0)
    words = [f"w{v:02d}" for v in range(40)]
    model = TopicTracker(n_topics=2, slice_by="year", random_state=0)
    for year in range(2000, 2006):
        extra = [str(year), "storm"] if year == 2005 else [str(year)]
        docs = [[*rng.choice(words, 12), *(extra if d % 2 else ())] for d in range(80)]
        model.partial_fit(Corpus.from_tokens(docs, times=[f"{year}-06-01"] * 80))
    told = {word for alert in model.flush().alerts("words") for word in alert.words}
    assert told == {"storm"}


# -- time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "times",
    [
        [f"2024-01-{d + 1:02d}" for d in range(6)],
        [1704067200 + 86400 * d for d in range(6)],
        np.arange("2024-01-01", "2024-01-07", dtype="datetime64[D]"),
    ],
    ids=["iso", "epoch", "datetime64"],
)
def test_times_in_every_form(times):
    corpus = small(6)
    model = TopicTracker(n_topics=2, n_sweeps=2, slice_by="day", random_state=0)
    model.fit(corpus, time=times)
    assert model.slice_names_ == [f"2024-01-0{d}" for d in range(1, 7)]


def test_pandas_times_gaps_and_missing_ones():
    pd = pytest.importorskip("pandas")
    when = pd.to_datetime(["2024-01-01", None, "2024-03-01"])
    model = TopicTracker(n_topics=2, n_sweeps=2, slice_by="month", random_state=0)
    model.fit(small(3), time=when)
    assert model.slice_names_ == ["2024-01", "2024-03"]
    assert model.slices_.n_docs.tolist() == [2, 1]


def test_empty_slices_and_slices_of_one_document():
    corpus = small(9)
    counts = corpus.counts.toarray()
    counts[3:6] = 0
    model = TopicTracker(n_topics=2, n_sweeps=4, slice_by=3, random_state=0)
    model.fit(Corpus.from_matrix(counts))
    before = TopicTracker(n_topics=2, n_sweeps=4, slice_by=3, random_state=0).fit(counts[:3])
    assert model.slices_.n_tokens[1] == 0
    empty = TopicTracker(n_topics=2, n_sweeps=4, slice_by=3, random_state=0).fit(counts[:6])
    np.testing.assert_allclose(empty.state_.memory, before.state_.memory, rtol=1e-6)
    assert not empty.alerts()
    single = TopicTracker(n_topics=2, n_sweeps=4, slice_by=1, random_state=0).fit(counts)
    assert single.state_.step == 9
    assert np.isfinite(single.components_).all()


def test_a_stream_that_begins_with_nothing_begins_with_its_first_words():
    model = TopicTracker(n_topics=2, n_sweeps=4, random_state=0)
    model.partial_fit(np.zeros((2, 5))).partial_fit(np.eye(5)).partial_fit(np.eye(5))
    assert model.state_.step == 3
    assert not model.alerts()


def test_batches_do_not_matter_when_documents_come_in_order(news):
    corpus = news[0][:300]
    whole = TopicTracker(n_topics=4, n_sweeps=4, slice_by="week", random_state=0).fit(corpus)
    model = TopicTracker(n_topics=4, n_sweeps=4, slice_by="week", random_state=0)
    for at in range(0, 300, 37):
        model.partial_fit(corpus[at : at + 37])
    assert model.n_waiting_ > 0
    assert file_bytes(model.flush()) == file_bytes(whole)


def test_late_documents_and_a_clock_that_goes_backwards():
    model = TopicTracker(n_topics=2, n_sweeps=2, slice_by="day", random_state=0)
    model.partial_fit(small(4), time=["2024-01-01"] * 2 + ["2024-01-02"] * 2)
    model.partial_fit(small(2), time=["2023-05-05", "2024-01-02"]).flush()
    assert model.slices_.n_docs.tolist() == [2, 4]
    assert model.slices_.n_late.tolist() == [0, 1]
    assert model.slice_names_ == ["2024-01-01", "2024-01-02"]


def test_resume_is_bit_for_bit(tmp_path, news):
    corpus = news[0]
    how = {"n_topics": 5, "n_sweeps": 6, "slice_by": "week", "random_state": 0, "min_docs": 2}
    whole, cut = TopicTracker(**how), TopicTracker(**how)
    for at in range(0, 400, 65):
        whole.partial_fit(corpus[at : at + 65])
        cut.partial_fit(corpus[at : at + 65])
        if hasattr(cut, "state_"):
            cut.save(tmp_path / "model.bayou")
            cut = bayou.load(tmp_path / "model.bayou")
    assert file_bytes(cut.flush()) == file_bytes(whole.flush())
    assert [a.to_json() for a in cut.alerts()] == [a.to_json() for a in whole.alerts()]


# -- words ---------------------------------------------------------------------------------------


def test_the_vocabulary_grows_ages_and_is_capped():
    model = TopicTracker(n_topics=2, n_sweeps=3, random_state=0, forget_after=2, max_terms=6)
    first = Corpus.from_tokens([["a", "b", "c"]] * 4)
    model.partial_fit(first)
    assert list(model.vocabulary_) == ["a", "b", "c"]
    model.partial_fit(Corpus.from_tokens([["a", "x", "y"]] * 4))
    assert list(model.vocabulary_) == ["a", "b", "c", "x", "y"]
    model.partial_fit(Corpus.from_tokens([["a", "x", "y"]] * 4))
    assert list(model.vocabulary_) == ["a", "x", "y"]
    assert model.dropped_.n_aged == 2
    many = [f"n{v}" for v in range(9)]
    model.partial_fit(Corpus.from_tokens([["a", "x", *many]] * 4))
    assert len(model.vocabulary_) == 6
    assert model.dropped_.n_capped == 6
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    assert model.slices_.n_new_terms.tolist() == [0, 2, 0, 9]
    assert model.slices_.n_lost_terms.tolist() == [0, 0, 2, 6]


def test_rare_terms_wait_and_are_accounted_for():
    model = TopicTracker(n_topics=2, n_sweeps=3, random_state=0, min_docs=3)
    model.partial_fit(Corpus.from_tokens([["a", "b"]] * 3 + [["a", "rare"]]))
    assert list(model.vocabulary_) == ["a", "b"]
    assert model.dropped_.n_tokens == 1
    model.partial_fit(Corpus.from_tokens([["b", "rare"]] * 2))
    assert "rare" in model.vocabulary_


def test_slices_before_the_first_word_are_passed_over():
    words = [["a", "b"], ["b", "a"], ["a"], ["b"]]
    how = {"n_topics": 2, "n_sweeps": 3, "random_state": 0, "min_docs": 2}
    names = Corpus.from_tokens([*words, [], []])  # the last have no words but know them
    begun = TopicTracker(slice_by=2, **how).fit(names[[4, 5, 0, 1]])
    assert list(begun.vocabulary_) == ["a", "b"]
    assert begun.state_.step == 1
    model = TopicTracker(**how).partial_fit(names[4:])
    assert not hasattr(model, "state_")
    assert model.partial_fit(names[:4]).state_.step == 1
    with pytest.raises(DataError, match="has a word"):
        TopicTracker(**how).fit(names[4:])


def dying(fixed):
    """A stream in which every free topic stays away for good, and words that none of them knows come."""
    rng = np.random.default_rng(1)
    names = [f"w{v:02d}" for v in range(40)]
    model = TopicTracker(
        n_topics=2,
        n_sweeps=10,
        dead_after=1,
        random_state=0,
        min_tokens=20,
        strength=1e6,
        fixed=fixed,
    )
    for t in range(8):
        rows = np.zeros((40, 40), np.int64)
        own = rows[:, 10:30] if t < 2 else rows[:, 30:] if t > 5 else rows[:, :10]
        own[...] = rng.poisson(2.0, own.shape)
        model.partial_fit(Corpus.from_matrix(rows, vocabulary=names))
    return model


def test_topics_are_born_after_all_free_ones_died():
    model = dying({"all": {f"w{v:02d}": 1.0 for v in range(10)}})
    kinds = [a.kind for a in model.lineage_]
    assert kinds.count("dead") >= 2
    assert model.alerts("born")
    assert np.isfinite(model.components_).all()


def test_the_last_topic_sleeps_on(monkeypatch):
    """Were all topics given up there would be no alpha for others, and no model."""

    def all_die(state, *_):
        every = range(len(state.ids))
        dead = [lineage.Event("dead", int(state.ids[k]), k, 0.5, 0.0, -1, np.nan) for k in every]
        return state.silent + 1, dead, list(every)

    monkeypatch.setattr(lineage, "find_dormant", all_die)
    model = TopicTracker(n_topics=3, n_sweeps=3, n_spare=0, slice_by=10, random_state=0)
    model.fit(small(40))
    assert len(model.alerts("dead")) == 2
    assert len(model.state_.ids) == 1
    assert np.isfinite(model.state_.alpha).all()
    assert np.isfinite(model.components_).all()


def test_a_matrix_keeps_its_width():
    model = TopicTracker(n_topics=2, n_sweeps=2, random_state=0).partial_fit(np.ones((4, 5)))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(np.ones((4, 6)))


# -- fixed topics --------------------------------------------------------------------------------


def test_fixed_topics_stay_beside_free_ones(news):
    corpus, truth = news
    label = {
        w: float(p) for w, p in zip(corpus.vocabulary, truth.topics(0)[2], strict=True) if p > 1e-4
    }
    how = {"n_topics": 5, "slice_by": "week", "n_sweeps": 20, "random_state": 0}
    model = TopicTracker(fixed={"harbour": label}, **how).fit(corpus[:200])
    assert model.topic_names_ == {0: "harbour"}
    assert len(model.components_) >= 6
    np.testing.assert_allclose(model.components_[0], truth.topics(0)[2], atol=2e-3)
    share = model.transform(corpus[:200])[:, 0]
    assert np.corrcoef(share, truth.doc_topics[:200, 2])[0, 1] > 0.9
    soft = TopicTracker(fixed={"harbour": label}, fixed_strength=50.0, **how).fit(corpus[:200])
    assert not np.allclose(soft.components_[0], truth.topics(0)[2], atol=2e-3)
    np.testing.assert_allclose(soft.state_.memory[:, 0], model.state_.memory[:, 0], atol=1e-6)


@pytest.mark.parametrize(
    ("fixed", "error"),
    [({"a": [1.0, 2.0]}, "one per term"), ({"a": {"q": 1.0}}, "names terms"), ([1], "mapping")],
)
def test_fixed_topics_that_cannot_be_meant(fixed, error):
    with pytest.raises(ValueError, match=error):
        TopicTracker(n_topics=2, n_sweeps=2, fixed=fixed).fit(np.ones((3, 5)))


# -- alerts and files ----------------------------------------------------------------------------


def test_alerts_are_a_table_json_lines_and_calls(news):
    told = []
    model = TopicTracker(
        n_topics=6, slice_by="week", n_sweeps=40, random_state=0, on_alert=told.append
    )
    model.fit(news[0][:300])
    assert told == model.alerts()
    lines = model.alerts_jsonl().splitlines()
    assert [Alert.from_json(line).to_json() for line in lines] == lines
    assert model.alerts("born") == [a for a in told if a.kind == "born"]
    assert all(doc in news[0].ids for a in told for doc in a.docs)
    pd = pytest.importorskip("pandas")
    assert list(pd.DataFrame(told)["kind"]) == [a.kind for a in told]


def test_results_do_not_depend_on_threads(news):
    corpus = news[0][:200]
    files = {
        file_bytes(
            TopicTracker(n_topics=4, n_sweeps=5, slice_by=50, random_state=0, n_threads=n).fit(
                corpus
            )
        )
        for n in (1, 2)
    }
    assert len(files) == 1


def test_a_damaged_file_is_refused(tmp_path, tracked):
    from bayou.data import container

    path = tmp_path / "model.bayou"
    tracked.save(path)
    arrays, manifest = container.load(path)
    for name, bad in (
        ("state.ids", arrays["state.ids"][:2]),
        ("courses.share", arrays["courses.share"][:2]),
        ("trail.names", np.zeros(3, np.uint8)),
        ("intake.late", np.zeros((1, 3), np.int64)),
        ("state.alpha", 0.0 * arrays["state.alpha"]),
        ("state.memory", -arrays["state.memory"]),
        ("state.memory", arrays["state.memory"].astype(np.float64)),
        ("state.n_fixed", np.array(99)),
        ("state.beta", np.array(0.0)),
        ("courses.terms", arrays["courses.terms"] + len(arrays["trail.names"])),
        ("slices.n_docs", arrays["slices.n_docs"].astype(np.float64)),
        ("intake.arrived", np.array(-1)),
        ("dropped", np.zeros(3, np.int64)),
        ("waiting.docs", np.zeros(7, np.int64)),
    ):
        container.save(path, {**arrays, name: bad}, manifest)
        with pytest.raises(ModelFileError):
            bayou.load(path)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("indices", lambda a: a + 1000),
        ("indptr", lambda a: a[::-1].copy()),
        ("numbers", lambda a: a[1:]),
        ("data", lambda a: -a),
        ("ids", lambda a: a[:-1]),
    ],
)
def test_damaged_documents_that_wait_are_refused(tmp_path, name, bad):
    from bayou.data import container

    path = tmp_path / "model.bayou"
    model = TopicTracker(n_topics=2, n_sweeps=2, slice_by=30, random_state=0)
    model.partial_fit(small(40)).save(path)
    arrays, manifest = container.load(path)
    assert bayou.load(path).n_waiting_ == 10
    container.save(path, {**arrays, f"intake.{name}": bad(arrays[f"intake.{name}"])}, manifest)
    with pytest.raises(ModelFileError):
        bayou.load(path)


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ({"rho": 1.5}, "rho"), ({"weight": 1.0}, "weight"), ({"late": "ignore"}, "late"),
        ({"slice_by": "fortnight"}, "slice_by"), ({"scale": "phi"}, "scale"),
        ({"burn_in": 100}, "burn_in"), ({"grace": -1}, "grace"),
        ({"strength": "strong"}, "strength must be a number or one of 'estimate'"),
    ],
)  # fmt: skip
def test_parameters_that_cannot_be_meant(bad, what):
    with pytest.raises(ValueError, match=what):
        TopicTracker(n_topics=2, **bad).fit(np.ones((3, 4)))


def test_a_calendar_without_times_says_so():
    with pytest.raises(DataError, match="need the time"):
        TopicTracker(slice_by="day").fit(small(3))
