"""Draws and intervals of documents' topic proportions, under topics that are known or drawn."""

import numpy as np
import pytest
from scipy import stats
from tests.reference.blocks import block_corpus

import bayou
from bayou import LDA, OnlineLDA
from bayou.data import sample_lda
from bayou.results.posterior import Posterior
from bayou.testing.cases import always_threads, file_bytes

CORPUS, TOPICS = block_corpus(n_docs=120, n_topics=2, length=40)
ALPHA = 0.5


def known(alpha=ALPHA):
    """A model whose two topics share no term, so that a token says what topic it is of."""
    model = LDA(n_topics=2, alpha=alpha, random_state=0, n_sweeps=1).fit(CORPUS)
    rows = np.ascontiguousarray(TOPICS.T, np.float32)
    model.posterior_ = Posterior(**vars(model.posterior_) | {"rows": rows})
    return model


def test_draws_are_those_of_the_conjugate_posterior():
    """With every token's topic known, theta ~ Beta(n_1 + alpha, n_2 + alpha)."""
    counts = np.zeros((4, 20))
    counts[1, 0], counts[2, :10], counts[3, 5], counts[3, 15] = 3, 2, 7, 2
    draws = known().sample(counts, n_samples=4000, burn_in=0)[:, :, 0]
    for d, (first, second) in enumerate([(0, 0), (3, 0), (20, 0), (7, 2)]):
        law = stats.beta(first + ALPHA, second + ALPHA)
        assert stats.kstest(draws[:, d], law.cdf).pvalue > 1e-3, d


def test_intervals_are_the_quantiles_of_the_conjugate_posterior():
    counts = np.zeros((2, 20))
    counts[1, 5], counts[1, 15] = 7, 2
    for level in (0.5, 0.9):
        low, high = known().interval(counts, level=level, n_samples=4000)
        for d, (first, second) in enumerate([(0, 0), (7, 2)]):
            law = stats.beta(first + ALPHA, second + ALPHA)
            np.testing.assert_allclose(
                [low[d, 0], high[d, 0]], law.ppf([0.5 - level / 2, 0.5 + level / 2]), atol=0.03
            )
            np.testing.assert_allclose(low[d, 0], 1 - high[d, 1], atol=1e-12)


def test_intervals_cover_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    theta = rng.dirichlet([ALPHA, ALPHA], 1500)
    counts = np.array([rng.multinomial(12, t @ TOPICS) for t in theta])
    low, high = known().interval(counts, level=0.8, n_samples=300)
    covered = ((low <= theta) & (theta <= high))[:, 0].mean()
    assert 0.76 < covered < 0.84


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_drawn_topics_widen_the_intervals(seed):
    """What is not known about topics counts too; in eight documents that is much."""
    few, _ = sample_lda(8, 2, 30, doc_length=30, alpha=0.5, beta=0.3, seed=seed)
    shared = {"n_topics": 2, "alpha": 0.5, "beta": 0.3, "inference": "gibbs", "random_state": seed}
    width = {}
    for n_draws in (0, 10):
        model = LDA(n_draws=n_draws, n_sweeps=100, burn_in=50, **shared).fit(few)
        low, high = model.interval(few, n_samples=200)
        width[n_draws] = (high - low).mean()
    assert width[10] > 1.03 * width[0]


def test_level_is_judged():
    for level in (-0.1, 1.1, "wide", None):
        with pytest.raises(ValueError, match="level must be a number, from 0 to 1"):
            known().interval(CORPUS, level=level)
    low, high = known().interval(CORPUS, level=0.0, n_samples=5)
    np.testing.assert_array_equal(low, high)
    low, high = known().interval(CORPUS, level=1.0, n_samples=5)
    drawn = known().sample(CORPUS, n_samples=5)
    np.testing.assert_array_equal([low, high], [drawn.min(axis=0), drawn.max(axis=0)])


# -- draws of the topics -------------------------------------------------------------------------

SAMPLERS = pytest.mark.parametrize("inference", ["gibbs", "snapshot", "mh"])


def chain(inference="gibbs", **other):
    shared = {"n_topics": 2, "n_sweeps": 40, "burn_in": 10, "n_draws": 3, "random_state": 0}
    return LDA(inference=inference, **shared | other).fit(CORPUS)


@SAMPLERS
def test_the_last_kept_sweeps_are_drawn_from(inference):
    draws = chain(inference).posterior_.draws
    assert draws.shape == (3, 20, 2)
    assert draws.dtype == np.float32
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, rtol=1e-5)
    # sweeps 15, 20, ..., 40 are kept: six of them, the last three drawn from
    all_six = chain(inference, n_draws=10).posterior_.draws
    assert len(all_six) == 6
    np.testing.assert_array_equal(all_six[-3:], draws)
    assert len(np.unique(all_six[:, 0, 0])) == 6


@SAMPLERS
def test_draws_change_nothing_else(inference):
    plain, drawn = chain(inference, n_draws=0), chain(inference)
    assert plain.posterior_.draws is None
    np.testing.assert_array_equal(plain.posterior_.rows, drawn.posterior_.rows)
    np.testing.assert_array_equal(plain.transform(CORPUS), drawn.transform(CORPUS))
    assert not np.array_equal(plain.sample(CORPUS), drawn.sample(CORPUS))


@SAMPLERS
def test_threads_change_no_draw(inference):
    whole = chain(inference, n_threads=1)
    drawn = whole.sample(CORPUS, n_samples=7)
    with always_threads():
        for n_threads in (2, 4):
            model = chain(inference, n_threads=n_threads)
            assert file_bytes(model) == file_bytes(whole)
            np.testing.assert_array_equal(model.sample(CORPUS, n_samples=7), drawn)


@pytest.mark.parametrize(
    "model", [chain(), OnlineLDA(n_topics=2, random_state=0).fit(CORPUS)], ids=["LDA", "OnlineLDA"]
)
def test_draws_go_through_a_file(model, tmp_path):
    model.save(tmp_path / "m")
    back = bayou.load(tmp_path / "m")
    np.testing.assert_array_equal(back.sample(CORPUS[:9]), model.sample(CORPUS[:9]))
    np.testing.assert_array_equal(
        back.interval(CORPUS[:9], n_samples=10), model.interval(CORPUS[:9], n_samples=10)
    )
    assert file_bytes(back) == file_bytes(model)


def test_a_checkpoint_keeps_the_draws(tmp_path):
    whole, path = chain(), tmp_path / "c"
    shared = {"n_topics": 2, "n_sweeps": 40, "burn_in": 10, "n_draws": 3, "random_state": 0}
    LDA(inference="gibbs", callbacks=lambda i: i.step == 33, **shared).fit(CORPUS, checkpoint=path)
    resumed = LDA(inference="gibbs", **shared).fit(CORPUS, checkpoint=path)
    assert file_bytes(resumed) == file_bytes(whole)


@pytest.mark.parametrize("n_samples", [1, 2, 3, 10])
def test_any_number_of_samples_of_any_number_of_draws(n_samples):
    drawn = chain().sample(CORPUS[:4], n_samples=n_samples, burn_in=0)
    assert drawn.shape == (n_samples, 4, 2)
    np.testing.assert_allclose(drawn.sum(axis=2), 1.0)
    assert len(np.unique(drawn[:, 0, 0])) == n_samples


def test_draws_belong_to_the_samplers():
    for bad, message in ((-1, "n_draws must be"), (1.5, "n_draws must be"), (3, "samplers")):
        with pytest.raises(ValueError, match=message):
            LDA(n_draws=bad).fit(CORPUS)
