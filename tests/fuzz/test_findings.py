"""Files that once crashed, hung, filled the memory or gave NaN: each is refused, or answered with numbers."""

import numpy as np
import pytest
from tests.fuzz import seeds
from tests.oracle.documents import fresh_corpus, texts

import bayou
from bayou.data import container
from bayou.data.errors import ModelFileError


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Arrays and manifest of the file of a model or checkpoint, by name."""
    folder, made = tmp_path_factory.mktemp("valid"), {}

    def contents(name):
        if name not in made:
            path = folder / f"{len(made)}.bayou"
            if name.startswith("checkpoint "):
                seeds.write_checkpoint(name.removeprefix("checkpoint "), path)
            elif name == "text":
                bayou.TextModel(estimator=seeds.TEXTS["plain"]()).partial_fit(texts()[:64]).save(
                    path
                )
            else:
                seeds.fit(name).save(path)
            made[name] = path
        return container.load(made[name])

    return contents


def refuse(path, arrays, manifest, match):
    container.save(path, arrays, manifest)
    with pytest.raises(ModelFileError, match=match):
        bayou.load(path)


BIG = (
    ("OnlineLDA/scvb0", "beta"), ("OnlineLDA/scvb0", "scale"), ("OnlineLDA/scvb0", "topic"),
    ("OnlineHDP/hybrid", "beta"), ("OnlineHDP/hybrid", "raw"), ("OnlineHDP/hybrid", "scale"),
    ("OnlineMedLDAClassifier/gibbs refit", "scale"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "array"), BIG)
def test_numbers_that_single_precision_cannot_hold(saved, tmp_path, name, array):
    arrays, manifest = saved(name)
    full = f"state.{array}"
    arrays[full] = np.full_like(arrays[full], 1e300 if arrays[full].dtype == np.float64 else 3e38)
    refuse(tmp_path / "m", arrays, manifest, "impossible")


PARAMETERS = (
    ("OnlineLDA/scvb0", "n_samples", 2**31), ("OnlineLDA/scvb0", "burn_in", 10**9),
    ("OnlineLDA/scvb0", "n_topics", 70_000), ("OnlineLDA/scvb0", "n_topics", 5),
    ("OnlineLDA/scvb0", "learn_alpha", "yes"), ("OnlineLDA/scvb0", "random_state", {"a": 1}),
    ("OnlineMedLDAClassifier/gibbs refit", "n_rounds", 10**9),
    ("OnlineMedLDAClassifier/gibbs refit", "n_sweeps", 10**9),
    ("OnlineLDA/scvb0", "n_threads", 3000), ("OnlineLDA/scvb0", "callbacks", []),
)  # fmt: skip


@pytest.mark.parametrize(("name", "parameter", "value"), PARAMETERS)
def test_parameters_obey_the_rules_of_the_constructor(saved, tmp_path, name, parameter, value):
    arrays, manifest = saved(name)
    manifest["parameters"][parameter] = value
    refuse(tmp_path / "m", arrays, manifest, "parameters|random_state")


VECTORIZER = (
    ("token_pattern", "(a+)+$"), ("token_pattern", 5), ("ngrams", [1, 100_000]), ("min_length", "x"),
    ("ngrams", None), ("stop_words", 7),
)  # fmt: skip


@pytest.mark.parametrize(("parameter", "value"), VECTORIZER)
def test_parameters_of_the_vectoriser(saved, tmp_path, parameter, value):
    arrays, manifest = saved("text")
    manifest["vectorizer"][parameter] = value
    refuse(tmp_path / "m", arrays, manifest, "vectoriser|contradicts")


def test_seventy_thousand_topics(saved, tmp_path):
    arrays, manifest = saved("LDA/fast")
    n_terms = len(arrays["posterior.rows"])
    arrays["posterior.rows"] = np.full((n_terms, 70_000), 1.0 / n_terms, np.float32)
    arrays["posterior.alpha"] = arrays["posterior.topic_tokens"] = np.ones(70_000)
    manifest["parameters"]["n_topics"] = 65_535
    refuse(tmp_path / "m", arrays, manifest, "positive|impossible|fit")


def test_matrices_that_no_sum_of_squares_gives(saved, tmp_path):
    arrays, manifest = saved("OnlineMedLDAClassifier/gibbs refit")
    for name in ("state.gram", "state.precision"):
        wrong = {**arrays, name: -arrays[name]}
        refuse(tmp_path / "m", wrong, manifest, "impossible")
        wrong = {**arrays, name: np.roll(arrays[name], 1)}
        refuse(tmp_path / "m", wrong, manifest, "impossible")


def test_covariances_give_no_negative_variance(saved, tmp_path):
    arrays, manifest = saved("MedLDARegressor/numbers")
    arrays["response.covariance"] = -100.0 * np.abs(arrays["response.covariance"]) - 1.0
    container.save(tmp_path / "m", arrays, manifest)
    assert np.isfinite(bayou.load(tmp_path / "m").predict(fresh_corpus(), return_std=True)[1]).all()


CHECKPOINTS = tuple(f"checkpoint {name}" for name in seeds.CHECKPOINTS)


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_checkpoints_with_impossible_indexes(saved, tmp_path, name):
    """Every array of whole numbers, at its extremes and as another type, is refused or resumed from."""
    arrays, manifest = saved(name)
    path, n_refused = tmp_path / "c", 0
    for key, array in arrays.items():
        if array.dtype.kind not in "iu" or array.ndim == 0 or key == "state.score_steps":
            continue
        top = np.iinfo(array.dtype).max
        wrong = [np.full_like(array, top), np.full(array.shape, -(10**7)), array[:-1]]
        for one in wrong if array.size else ():
            container.save(path, {**arrays, key: one}, manifest)
            try:
                seeds.resume(name.removeprefix("checkpoint "), path)
            except ModelFileError:
                n_refused += 1
    assert n_refused >= 3 or name.endswith(("LDA/fast", "cvb0 labels"))  # without tokens so far


PLACES = ("LabeledLDA/gibbs chains", "AuthorTopicModel/authors", "LabeledHDP/labels")


@pytest.mark.parametrize("name", PLACES)
def test_checkpoints_whose_tokens_have_labels_of_other_documents(saved, tmp_path, name):
    arrays, manifest = saved(f"checkpoint {name}")
    key = "state.author" if "Author" in name else "state.z"
    arrays[key] = np.full_like(arrays[key], arrays[key].max())  # below the largest number of places
    container.save(tmp_path / "c", arrays, manifest)
    with pytest.raises(ModelFileError, match="places"):
        seeds.resume(name, tmp_path / "c")


@pytest.mark.parametrize("name", ["MedLDAClassifier/gibbs classes", "HDP/alias", "LDA/gibbs draws"])
def test_checkpoints_whose_counts_do_not_follow_from_their_tokens(saved, tmp_path, name):
    arrays, manifest = saved(f"checkpoint {name}")
    key = "state.counts" if "Med" in name else "state.term_topic"
    arrays[key] = np.roll(arrays[key], 1)
    container.save(tmp_path / "c", arrays, manifest)
    with pytest.raises(ModelFileError, match="do not follow"):
        seeds.resume(name, tmp_path / "c")


ALL = (
    ("LDA/fast", "posterior.rows", 0.0), ("LDA/fast", "posterior.alpha", 1e-300),
    ("DependencyLDA/cvb0 labels", "labels.link_alpha", 0.0), ("LabeledHDP/labels", "labels.alpha", 0.0),
    ("BayesPAClassifier/full binary", "state.spread", 1e20),
    ("OnlineMedHDPRegressor/gibbs number", "pending.costs", 1e20),
    ("OnlineMedHDPClassifier/gibbs classes", "state.precision", 1e30),
    ("SpectralLDA/basis", "now.sums.basis", 1e-300),
    ("SpectralLeader/history", "rows", 0.0), ("StepwiseEM/batches", "state.share", 0.0),
    ("TopicTracker/fast", "intake.numbers", 2**62),
    ("OnlineDependencyLDA/labels", "state.doubt", 1e-45), ("OnlineHDP/hybrid", "pending.counts", 1e30),
    ("MedLDAClassifier/classes", "response.term_weight", 1e-45),
)  # fmt: skip


@pytest.mark.parametrize(("name", "array", "value"), ALL)
def test_arrays_of_one_number_that_gave_nan(saved, tmp_path, name, array, value):
    arrays, manifest = saved(name)
    arrays[array] = np.full_like(arrays[array], value)
    refuse(tmp_path / "m", arrays, manifest, None)


def test_a_tracker_whose_slices_have_no_width(saved, tmp_path):
    arrays, manifest = saved("TopicTracker/fast")
    manifest["parameters"]["slice_by"] = 0
    refuse(tmp_path / "m", arrays, manifest, "slice_by")


def test_checkpoints_with_more_steps_than_were_asked_for(saved, tmp_path):
    for name, key in (("StackedHDP/gibbs labels", "link_step"), ("LabeledHDP/labels", "step")):
        arrays, manifest = saved(f"checkpoint {name}")
        arrays[f"state.{key}"] = np.array(255)
        container.save(tmp_path / "c", arrays, manifest)
        with pytest.raises(ModelFileError, match="more steps"):
            seeds.resume(name, tmp_path / "c")


@pytest.mark.parametrize("change", [{"n_kept": 1}, {"n_kept": 255}])
def test_checkpoints_without_the_sums_of_kept_sweeps(saved, tmp_path, change):
    for name in ("HDP/alias", "HDP/direct"):
        arrays, manifest = saved(f"checkpoint {name}")
        arrays |= {f"state.{key}": np.array(value) for key, value in change.items()}
        container.save(tmp_path / "c", arrays, manifest)
        with pytest.raises(ModelFileError, match="kept sweeps"):
            seeds.resume(name, tmp_path / "c")
