"""HDP: what is learned, how many topics there are, checkpoints, files and the door."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from tests.reference.margin import serial

import bayou
from bayou import HDP, Corpus, DataError, ModelFileError
from bayou.data import container
from bayou.data.errors import DoubtWarning
from bayou.data.synthetic import sample_hdp, sample_lda
from bayou.inference.hdp import agreement, chains
from bayou.models import hdp


@pytest.fixture(scope="module")
def planted():
    """Four topics that hardly share terms."""
    topics = np.kron(np.eye(4), np.ones((1, 10))) + 0.01
    topics /= topics.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.full(4, 0.3), 120)
    counts = np.array([rng.multinomial(60, row @ topics) for row in theta])
    return Corpus.from_matrix(counts), topics


@pytest.fixture(scope="module")
def fitted(planted):
    return HDP(n_topics=12, n_sweeps=400, n_chains=1, beta=0.5, random_state=1).fit(planted[0])


def near_four(model):
    low, high = model.n_topics_interval(large=True)
    return 4 <= low <= 6 and high <= 10


def test_planted_topics_are_found_and_counted(planted, fitted):
    corpus, topics = planted
    low, high = fitted.n_topics_interval(level=0.9)
    assert 4 <= low <= high <= 20  # 8 to 13 over seeds
    assert near_four(fitted)
    distance = 0.5 * np.abs(topics[:, None] - fitted.components_[None]).sum(axis=2)
    rows, columns = linear_sum_assignment(distance)
    assert distance[rows, columns].max() < 0.1
    theta = fitted.transform(corpus)
    assert theta.shape == (120, fitted.n_topics_)


def test_topics_come_by_use_under_permanent_numbers(fitted):
    used = fitted.posterior_.topic_tokens
    assert (np.diff(used) <= 0).all()
    assert len(set(fitted.topic_ids_.tolist())) == fitted.n_topics_ == len(fitted.components_)
    assert fitted.n_large_ <= fitted.n_topics_
    alpha, gamma = fitted.concentrations_
    assert 0 < fitted.alpha_.sum() <= 3 * alpha
    assert gamma > 0


@pytest.mark.parametrize("sampler", ["tables", "direct"])
def test_the_samplers_agree(planted, fitted, sampler):
    how = {"n_sweeps": 400, "n_chains": 1, "n_topics": 12, "sampler": sampler}
    other = HDP(beta=0.5, random_state=2, **how).fit(planted[0])
    assert near_four(other)
    assert other.score(planted[0]) == pytest.approx(fitted.score(planted[0]), abs=0.01)


def test_a_discount_keeps_the_large_topics(planted):
    model = HDP(n_sweeps=200, beta=0.5, discount=0.3, n_topics=8, random_state=0).fit(planted[0])
    blocks = model.components_.reshape(-1, 4, 10).sum(axis=2)  # topics x planted topics
    there = planted[0].term_counts().reshape(4, 10).sum(axis=1)
    for k in range(4):  # it may be cut into several, and what is left over may be mixed
        own = model.posterior_.topic_tokens[blocks[:, k] > 0.8]
        assert 0.5 * there[k] < own.sum() < 1.2 * there[k]
        assert own[0] > 0.25 * there[k]
    assert model.n_topics_ >= 4


def test_a_fast_start_is_where_a_chain_from_anywhere_comes_late():
    corpus, _ = sample_lda(100, 20, 300, doc_length=100, beta=0.05, seed=9)
    first = {
        start: HDP(n_sweeps=10, n_topics=40, start=start, random_state=0).fit(corpus)
        for start in ("fast", "random")
    }
    assert first["fast"].scores_[0] > first["random"].scores_[0]
    again = HDP(n_sweeps=10, n_topics=40, n_threads=2, random_state=0).fit(corpus)
    np.testing.assert_array_equal(again.components_, first["fast"].components_)
    with pytest.raises(ValueError, match="start must be one of"):
        HDP(start="spectral").fit(corpus)


def test_a_chain_begins_wide_where_alpha_is_learned():
    corpus, _ = sample_lda(20, 3, 30, doc_length=64, seed=2)
    begun = {"n_sweeps": 2, "burn_in": 0, "random_state": 0}  # too few for any to be learned
    for given, alpha in (
        ({}, corpus.n_tokens / 20 / 16),
        ({"start": "random"}, 1.0),
        ({"learn_alpha": False}, 1.0),
        ({"alpha": 7.0}, 7.0),
    ):
        assert HDP(**begun, **given).fit(corpus).concentrations_[0] == alpha
    short, _ = sample_lda(20, 3, 30, doc_length=3, seed=2)
    assert HDP(**begun).fit(short).concentrations_[0] == 1.0


@pytest.mark.parametrize("rows", [np.zeros((3, 4)), np.eye(4)[:1], np.array([[2, 0, 0, 0]])])
def test_a_fast_start_of_next_to_nothing(rows):
    model = HDP(n_sweeps=4, burn_in=0, random_state=0).fit(rows)
    assert np.isfinite(model.components_).all()


def test_several_chains_begin_elsewhere_and_widen_the_interval(planted):
    model = HDP(n_sweeps=20, n_chains=3, n_topics=6, n_moves=0, random_state=0).fit(planted[0])
    assert model.n_iter_ == len(model.trace_) == 60
    first = [model.trace_[model.trace_[:, 0] == c, 1] for c in range(3)]
    assert first[2][0] < first[0][0] < first[1][0]  # a quarter, as asked, 1.5 times
    low, high = model.n_topics_interval(level=1.0)
    assert low == min(part[10:].min() for part in first)
    assert high == max(part[10:].max() for part in first)
    alone = HDP(n_sweeps=20, n_topics=6, n_moves=0, random_state=0).fit(planted[0])
    np.testing.assert_array_equal(
        alone.components_, model.components_
    )  # the first one is the model
    assert (alone.n_large_, alone.concentrations_) == (model.n_large_, model.concentrations_)
    cut = model.set_params(callbacks=lambda info: info.step == 33).fit(planted[0])
    assert len(cut.trace_) == 33
    np.testing.assert_array_equal(
        alone.components_, cut.components_
    )  # and stays it when time is up


def test_chains_wait_and_go_on_in_rounds(planted):
    """Rounds end at half and all of the sweeps; the same chain goes on where it waited."""
    model = HDP(n_sweeps=160, n_topics=6, beta=0.5, random_state=0).fit(planted[0])
    ends = np.flatnonzero(np.diff(model.trace_[:, 0])) + 1
    assert ends.tolist() == [80, 160, 240][: len(ends)]
    assert len(model.trace_) == model.n_iter_ in (160, 320)
    for end in ends[1:]:  # a chain that goes on has about the topics that it had before it waited
        chain = model.trace_[end, 0]
        last = model.trace_[:end][model.trace_[:end, 0] == chain][-1]
        assert abs(model.trace_[end, 1] - last[1]) <= 8


def test_chains_that_agree_end_early():
    corpus = Corpus.from_matrix([[6, 5, 0, 0], [0, 0, 7, 5]] * 20)
    given = {"n_sweeps": 400, "beta": 0.5, "n_topics": 4, "random_state": 0}
    model = HDP(**given).fit(corpus)
    assert model.n_iter_ < 800
    assert HDP(**given, burn_in=5).set_params(n_sweeps=60).fit(corpus).n_iter_ == 120


def test_chains_that_disagree_are_reported(planted):
    with pytest.warns(DoubtWarning, match="do not agree"):
        model = HDP(n_sweeps=30, n_topics=60, random_state=0).fit(planted[0])
    assert max(model.rhats_) > agreement.AGREE
    parts = [model.trace_[model.trace_[:, 0] == c, 1][15:] for c in range(2)]
    low, high = model.n_topics_interval(level=0.5)
    assert low <= min(np.median(part) for part in parts)
    assert high >= max(np.median(part) for part in parts)


def test_a_few_sweeps_say_nothing_about_agreement(planted):
    with pytest.warns(DoubtWarning, match="too few sweeps"):
        HDP(n_sweeps=4, n_topics=4, random_state=0).fit(planted[0])


def test_topics_that_recur_in_the_other_chain(planted, tmp_path):
    model = HDP(n_sweeps=60, n_topics=8, beta=0.5, random_state=0).fit(planted[0])
    assert model.topic_recurrence_.shape == (model.n_topics_,)
    large = model.posterior_.topic_tokens > 1000
    assert (model.topic_recurrence_[large] > 0.9).all()
    model.save(tmp_path / "m")
    again = bayou.load(tmp_path / "m")
    np.testing.assert_array_equal(again.topic_recurrence_, model.topic_recurrence_)
    assert again.rhats_ == model.rhats_
    arrays = {n: a for n, a in model._payload().items() if not n.startswith("chains.")}
    container.save(tmp_path / "old", arrays, model._manifest("model"))
    assert np.isnan(bayou.load(tmp_path / "old").topic_recurrence_).all()  # an earlier version
    alone = HDP(n_sweeps=4, n_chains=1, random_state=0).fit(planted[0])
    assert np.isnan(alone.topic_recurrence_).all()


@pytest.mark.parametrize("large", [False, True])
def test_an_interval_includes_its_own_number(planted, large):
    for seed in range(3):
        model = HDP(n_sweeps=30, n_topics=20, random_state=seed).fit(planted[0])
        low, high = model.n_topics_interval(level=0.01, large=large)
        assert low <= (model.n_large_ if large else model.n_topics_) <= high


def test_all_starts_come_down_to_the_same_number(planted):
    ends = [
        HDP(n_sweeps=400, beta=0.5, n_topics=k, n_chains=1, random_state=k).fit(planted[0])
        for k in (2, 30)
    ]
    assert all(near_four(model) for model in ends)


@pytest.mark.parametrize("stop", [5, 11])
@pytest.mark.parametrize("params", [{"n_sweeps": 14}, {"sampler": "direct"}, {"n_chains": 2}])
def test_training_goes_on_from_a_checkpoint_bit_for_bit(tmp_path, params, stop):
    corpus, _ = sample_lda(25, 3, 30, doc_length=20, seed=2)
    params = {"n_topics": 5, "n_sweeps": 8, "random_state": 3, **params}
    whole = HDP(**params).fit(corpus)
    path = tmp_path / "c.ckpt"
    HDP(**params, callbacks=lambda info: info.step == stop).fit(corpus, checkpoint=path)
    resumed = HDP(**params).fit(corpus, checkpoint=path)
    assert resumed.components_.tobytes() == whole.components_.tobytes()
    assert resumed.trace_.tobytes() == whole.trace_.tobytes()
    assert resumed.topic_ids_.tolist() == whole.topic_ids_.tolist()


def stopped(path):
    """A model that was stopped after two sweeps, its corpus, and a function that changes its checkpoint."""
    corpus, _ = sample_lda(10, 2, 12, doc_length=8, seed=2)
    params = {"n_topics": 3, "n_sweeps": 4, "random_state": 3, "sampler": "alias"}
    HDP(**params, callbacks=lambda info: info.step == 2).fit(corpus, checkpoint=path)
    arrays, manifest = container.load(path)

    def change(name, array):
        container.save(path, {**arrays, f"state.{name}": array}, manifest)

    return HDP(**params), corpus, arrays, change


def test_a_checkpoint_of_impossible_numbers_is_refused(tmp_path):
    path = tmp_path / "c.ckpt"
    model, corpus, arrays, change = stopped(path)
    z = arrays["state.z"].copy()
    z[0] = 60_000
    change("z", z)
    with pytest.raises(ModelFileError, match="impossible numbers"):
        model.fit(corpus, checkpoint=path)


NUMBERS = ("step", "alpha", "gamma", "n_kept")
ARRAYS = [name for name in hdp.State._fields if name not in NUMBERS]


@pytest.mark.parametrize("name", ARRAYS)
def test_a_checkpoint_with_a_short_array_is_refused(tmp_path, name):
    path = tmp_path / "c.ckpt"
    model, corpus, arrays, change = stopped(path)
    array = arrays[f"state.{name}"]
    short = {
        "trace": array[..., :1],
        "scores": np.zeros(3),  # there is none yet, and as many steps
        "score_steps": np.zeros(3, np.int64),
        "kept_mass": np.zeros(1),
        "times": np.zeros(1, np.int64),
        "answer": np.zeros((12, 1), np.float32),
        "answer_mass": np.zeros(1),
        "answer_ids": np.zeros(1, np.int64),
    }.get(name, array[:-1])
    changes = [short, array.astype(np.float16), array[None]]
    for changed in changes:
        change(name, changed)
        with pytest.raises(ModelFileError, match="does not fit the others"):
            model.fit(corpus, checkpoint=path)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("used", lambda a: a + 10_000),
        ("used", lambda a: a - 1),
        ("drawn", lambda a: a + 60_000),
        ("heads", lambda a: a + 2),
        ("ids", lambda a: a - 5),
        ("topic", lambda a: a * np.nan),
        ("term_topic", lambda a: -a - 1),
        ("waiting_numbers", lambda a: a + np.inf),
        ("waiting_heads", lambda a: a + 2),
        ("alpha", lambda a: a * 0),
        ("gamma", lambda a: a * np.nan),
        ("step", lambda a: -1 - a),
    ],
)
def test_a_checkpoint_with_impossible_values_is_refused(tmp_path, name, changed):
    path = tmp_path / "c.ckpt"
    model, corpus, arrays, change = stopped(path)
    change(name, changed(arrays[f"state.{name}"]))
    with pytest.raises(ModelFileError, match="impossible"):
        model.fit(corpus, checkpoint=path)


def test_files_keep_what_is_known_of_the_number_of_topics(fitted, tmp_path):
    fitted.save(tmp_path / "m.bayou")
    again = bayou.load(tmp_path / "m.bayou")
    assert again.n_topics_interval() == fitted.n_topics_interval()
    assert again.topic_ids_.tolist() == fitted.topic_ids_.tolist()
    assert again.concentrations_ == fitted.concentrations_
    assert again.n_large_ == fitted.n_large_


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("trace", np.zeros((3, 2), np.int64)),
        ("trace", np.zeros((0, 3), np.int64)),
        ("trace", np.ones((3, 3), np.int64)),  # no sweep of the first chain
        ("trace", np.full((3, 3), -1)),
        ("ids", np.zeros(99, np.int64)),
        ("concentrations", np.array([1.0, np.nan])),
        ("concentrations", np.ones(3)),
    ],
)
def test_a_damaged_trace_is_refused(fitted, tmp_path, name, array):
    arrays, manifest = fitted._payload(), fitted._manifest("model")
    container.save(tmp_path / "m", {**arrays, f"hdp.{name}": array}, manifest)
    with pytest.raises(ModelFileError, match=name):
        bayou.load(tmp_path / "m")
    del arrays[f"hdp.{name}"]
    container.save(tmp_path / "m", arrays, manifest)
    with pytest.raises(ModelFileError, match=f"lacks the array hdp.{name}"):
        bayou.load(tmp_path / "m")


def test_odd_corpora():
    nothing = HDP(n_sweeps=3, random_state=0).fit(Corpus.from_matrix(np.zeros((3, 4))))
    assert nothing.n_topics_ == 1
    np.testing.assert_allclose(nothing.components_, 0.25)
    assert nothing.n_topics_interval() == nothing.n_topics_interval(level=1.0) == (1, 1)
    assert nothing.n_topics_interval(large=True) == (0, 0)
    one = HDP(n_sweeps=5, random_state=0).fit(Corpus.from_matrix([[1, 0], [0, 0]]))
    assert one.n_topics_ == 1
    assert one.n_topics_interval() == (1, 1)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"n_topics": 0}, "n_topics"),
        ({"alpha": 0.0}, "alpha"),
        ({"gamma": -1.0}, "gamma"),
        ({"gamma": 1e7}, "gamma must be"),
        ({"beta": 0.0}, "beta"),
        ({"discount": 1.0}, "discount"),
        ({"discount": 0.2, "sampler": "direct"}, "has no discount"),
        ({"discount": 0.2, "n_moves": 3}, "have no discount"),
        ({"sampler": "gibbs"}, "sampler"),
        ({"n_sweeps": 5, "burn_in": 5}, "burn_in"),
        ({"n_chains": 0}, "n_chains"),
    ],
)
def test_parameters_that_cannot_be_meant(params, says):
    with pytest.raises(ValueError, match=says):
        HDP(**params).fit(Corpus.from_matrix([[1, 2]]))


def test_documents_too_long_for_a_table_of_ratios():
    long = Corpus.from_matrix([[70_000, 0], [1, 1]])
    with pytest.raises(DataError, match="direct"):
        HDP(n_sweeps=1).fit(long)
    assert HDP(n_sweeps=1, n_topics=2, sampler="direct", n_moves=0).fit(long).n_iter_ == 2


def test_checkpoints_need_a_seed(tmp_path):
    with pytest.raises(ValueError, match="random_state"):
        HDP().fit(Corpus.from_matrix([[1, 2]]), checkpoint=tmp_path / "c")


def test_documents_of_the_story_have_its_number_of_tables():
    corpus, truth = sample_hdp(200, 12, doc_length=30, alpha=2.0, gamma=3.0, seed=1)
    assert corpus.n_docs == 200
    assert truth.topics.shape == (truth.doc_topics.shape[1], 12)
    assert truth.assignments.max() < len(truth.topics)
    np.testing.assert_allclose(truth.doc_topics.sum(axis=1), 1.0)


@pytest.mark.parametrize("sampler", ["alias", "direct"])
def test_what_is_kept_of_a_topic_is_its_own(sampler):
    """Sums over kept sweeps belong to the topic that lives in a slot now, whoever lived there before."""
    corpus, _ = sample_lda(30, 3, 25, doc_length=15, seed=4)
    model = HDP(
        n_topics=6,
        n_sweeps=40,
        burn_in=4,
        gamma=20.0,
        learn_gamma=False,
        sampler=sampler,
        start="random",
    )
    p = model.resolve()
    given = chains.make_data(corpus, p.how.sampler)
    state = hdp.init(given, p, 1, serial)
    sums: dict[int, np.ndarray] = {}
    for _ in range(p.n_sweeps):
        before = state.n_kept
        state = hdp.sweep(state, given, p, 1, serial)
        for slot, name in enumerate(state.ids):
            if name >= 0 and state.n_kept > before:
                sums[name] = sums.get(name, 0) + state.term_topic[:, slot]
    assert state.sizes[2] > 40  # many were born
    for slot, name in enumerate(state.ids):
        np.testing.assert_array_equal(state.kept[:, slot], sums.get(name, 0 * state.kept[:, slot]))


@pytest.mark.parametrize("stop", [60, 100, 130])
def test_training_goes_on_in_a_later_round_bit_for_bit(tmp_path, stop):
    corpus, _ = sample_lda(25, 3, 30, doc_length=20, seed=2)
    params = {"n_topics": 5, "n_sweeps": 160, "random_state": 3}
    whole = HDP(**params).fit(corpus)
    assert whole.n_iter_ > stop
    path = tmp_path / "c.ckpt"
    HDP(**params, callbacks=lambda info: info.step == stop).fit(corpus, checkpoint=path)
    resumed = HDP(**params).fit(corpus, checkpoint=path)
    assert resumed.components_.tobytes() == whole.components_.tobytes()
    assert resumed.trace_.tobytes() == whole.trace_.tobytes()
    assert resumed.rhats_ == whole.rhats_
