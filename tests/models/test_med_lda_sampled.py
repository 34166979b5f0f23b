"""Predictions by sampling as published, and the steps of the light sampler."""

import numpy as np
import pytest
from tests.models.test_med_lda import CLASSES, NUMBERS, SHORT, lists
from tests.reference.margin import serial

import bayou
from bayou import MedLDAClassifier, MedLDARegressor
from bayou.inference.lda import documents, sampled_fold_in
from bayou.inference.margin import scoring

DRAWN = SHORT | {"refit": False, "prediction": "sampled"}


def test_published_models_predict_by_sampling():
    for source in ("gibbs", "light", "logistic"):
        model = MedLDAClassifier.published(source, n_topics=4, n_sweeps=5, random_state=0).fit(
            CLASSES
        )
        assert model.prediction == "sampled"
        np.testing.assert_array_equal(model.weights_, model.response_.draws[-1])
        assert model.response_.words is None


@pytest.mark.parametrize("several", [False, True])
def test_weights_are_one_draw_and_topics_are_sampled(several):
    y = lists(CLASSES) if several else None
    drawn = MedLDAClassifier(**DRAWN).fit(CLASSES, y)
    mean = MedLDAClassifier(**SHORT, refit=False).fit(CLASSES, y)
    np.testing.assert_array_equal(drawn.components_, mean.components_)
    np.testing.assert_array_equal(drawn.weights_, drawn.response_.draws[-1])
    assert np.abs(drawn.weights_ - mean.weights_).max() > 0.1
    assert np.abs(drawn.decision_function(CLASSES) - mean.decision_function(CLASSES)).max() > 0.1


def test_topics_are_drawn_from_the_counts_of_the_chain():
    """n_vk from the mean topics: rows (n_k + V beta) - beta."""
    model = MedLDAClassifier(**DRAWN).fit(CLASSES)
    post, resp = model.posterior_, model.response_
    counts = post.rows * (post.topic_tokens + post.n_terms * post.beta) - post.beta
    np.testing.assert_allclose(counts.sum(axis=0), post.topic_tokens, rtol=1e-4)
    found = scoring.draw_features(post, resp, CLASSES.counts, "none", model.seed_, serial)
    rows = sampled_fold_in.draw_rows(np.maximum(counts, 0.0), post.beta, model.seed_, serial)
    pairs = documents.pairs_of(CLASSES.counts)
    wanted = sampled_fold_in.draw_zbar(
        rows, post.alpha, resp.term_weight, pairs, model.seed_, serial
    )
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("extra", [{}, {"n_chains": 2}, {"multi_class": "one-vs-all"}], ids=str)
def test_a_document_is_scored_by_itself_and_again_the_same(extra, tmp_path):
    model = MedLDAClassifier(**DRAWN | extra).fit(CLASSES)
    whole = model.decision_function(CLASSES[:20])
    np.testing.assert_array_equal(whole[7:9], model.decision_function(CLASSES[7:9]))
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(whole, bayou.load(tmp_path / "m").decision_function(CLASSES[:20]))
    other = MedLDAClassifier(**DRAWN | extra | {"random_state": 1}).fit(CLASSES)
    assert np.abs(other.decision_function(CLASSES[:20]) - whole).max() > 0.0


def test_chains_have_draws_of_their_own():
    model = MedLDAClassifier(**DRAWN, n_chains=2).fit(CLASSES)
    found = scoring.draw_features(
        model.posterior_, model.response_, CLASSES.counts, model.tf, model.seed_, serial
    )
    np.testing.assert_allclose(found.sum(axis=1), 2.0, rtol=1e-5)
    assert np.abs(found[:, :4] - found[:, 4:]).max() > 0.05


def test_numbers_are_predicted_by_sampling():
    model = MedLDARegressor(**DRAWN).fit(NUMBERS)
    assert model.predict(NUMBERS).shape == (120,)
    np.testing.assert_allclose(model.weights_, model.response_.draws[-1], rtol=1e-6)
    mean = MedLDARegressor(**SHORT, refit=False).fit(NUMBERS)
    assert np.abs(model.predict(NUMBERS) - mean.predict(NUMBERS)).max() > 1e-3


@pytest.mark.parametrize("extra", [{"refit": True}, {"word_residual": 1.0}], ids=str)
def test_a_refit_has_no_weights_to_draw(extra):
    with pytest.raises(ValueError, match="set refit=False and word_residual=0"):
        MedLDAClassifier(**DRAWN | extra).fit(CLASSES)


@pytest.mark.parametrize(
    "extra", [{"proposals": "cyclic"}, {"n_proposals": 2}, {"n_weight_passes": 1}], ids=str
)
def test_steps_of_the_light_sampler_are_settable(extra):
    plain = MedLDAClassifier(**SHORT, sampler="light").fit(CLASSES)
    other = MedLDAClassifier(**SHORT, sampler="light", **extra).fit(CLASSES)
    assert np.abs(plain.components_ - other.components_).max() > 1e-3
    gibbs = [MedLDAClassifier(**SHORT, sampler="gibbs", **e).fit(CLASSES) for e in ({}, extra)]
    np.testing.assert_array_equal(gibbs[0].components_, gibbs[1].components_)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"proposals": "none"}, "proposals"),
        ({"n_proposals": 0}, "n_proposals"),
        ({"n_weight_passes": 0}, "n_weight_passes"),
        ({"prediction": "drawn"}, "prediction"),
    ],
)
def test_other_values_are_refused(extra, message):
    with pytest.raises(ValueError, match=message):
        MedLDAClassifier(**SHORT, **extra).fit(CLASSES)
