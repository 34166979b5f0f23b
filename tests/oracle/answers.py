"""Everything that a fitted model says, as digests by name."""

import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.oracle import digests

import bayou

SHORT = {"n_samples": 3, "burn_in": 2}
OF_DOCUMENTS = {  # name of the value: method, further arguments
    "transform": ("transform", {}),
    "predict": ("predict", {}),
    "predict std": ("predict", {"return_std": True}),
    "predict_labels": ("predict_labels", {}),
    "predict_proba": ("predict_proba", {}),
    "predict_interval": ("predict_interval", {"level": 0.8}),
    "decision_function": ("decision_function", {}),
    "score_samples": ("score_samples", {}),
    "label_shares": ("label_shares", {}),
    "log_likelihood": ("log_likelihood", {}),
    "perplexity": ("perplexity", {}),
    "sample": ("sample", SHORT),
    "interval": ("interval", {**SHORT, "level": 0.8}),
    "explain": ("explain", {}),
    "unknown_shares": ("unknown_shares", {}),
}
OF_MODEL = {
    "top_terms": ("top_terms", {"n": 4}),
    "label_terms": ("label_terms", {"n": 4}),
    "top_labels": ("top_labels", {"n": 2}),
    "n_topics_interval": ("n_topics_interval", {}),
    "feature_names_out": ("get_feature_names_out", {}),
    "alerts": ("alerts_jsonl", {}),
    "vocabulary_report": ("vocabulary_report", {}),
}
LEARNED = (
    "alpha_", "classes_", "coef_", "components_", "concentrations_", "courses_", "diagnosis_",
    "dropped_", "feature_names_in_", "intercept_", "label_ids_", "label_topics_", "lineage_",
    "links_", "multi_label_", "n_features_in_", "n_iter_", "n_known_", "n_topics_",
    "n_unknown_", "n_used_", "n_waiting_", "posterior_", "sampler_", "seed_", "slice_names_",
    "slices_", "topic_ids_", "topic_names_", "topic_shares_", "trace_", "uses_chance_",
    "vocabulary_", "weights_",
)  # fmt: skip
AFTER_LOADING = (
    "transform", "predict", "predict_labels", "predict_proba", "decision_function", "sample",
    "log_likelihood", "explain",
)  # fmt: skip


def parameters(model):
    """The parameters as text; how many threads there are is not one of them here."""
    found = {}
    for name, value in sorted(model.get_params().items()):
        inner = hasattr(value, "get_params")
        plain = None if name.endswith("n_threads") else value
        found[name] = type(value).__name__ if inner else plain
    return repr(found)


def of_documents(model, X, names=tuple(OF_DOCUMENTS)):
    """The answers of the methods that the model has."""
    out = {}
    for name in names:
        method, how = OF_DOCUMENTS[name]
        takes = name != "predict std" or hasattr(model, "predict_interval")
        if takes and hasattr(model, method):
            out[name] = digests.attempt(lambda m=method, h=how: getattr(model, m)(X, **h))
    return out


def of_model(model):
    """What the model says of itself."""
    out = {"params": parameters(model)}
    for name, (method, how) in OF_MODEL.items():
        if hasattr(model, method):
            out[name] = digests.attempt(lambda m=method, h=how: getattr(model, m)(**h))
    for name in LEARNED:
        try:
            found = getattr(model, name)
        except AttributeError:
            continue
        except Exception as error:
            out[name] = digests.failure(error)
            continue
        out[name] = digests.attempt(lambda v=found: v)
    if hasattr(model, "course") and len(model.topic_ids_):
        out["course"] = digests.attempt(lambda: model.course(int(model.topic_ids_[0])))
    return out


def of_saved(model, X, prefix=""):
    """The file of the model, and the model that comes out of it."""
    with TemporaryDirectory() as folder:
        first, second = Path(folder, "first.bayou"), Path(folder, "second.bayou")
        try:
            model.save(first)
        except Exception as error:
            return {f"{prefix}file": digests.failure(error)}
        out = {prefix + name: value for name, value in digests.of_file(first).items()}
        try:
            again = bayou.load(first)
            again.save(second)
            out[f"{prefix}loaded file"] = digests.of_bytes(second.read_bytes())
            out[f"{prefix}loaded params"] = parameters(again)
        except Exception as error:
            out[f"{prefix}loaded file"] = digests.failure(error)
            return out
        if X is not None:
            found = of_documents(again, X, AFTER_LOADING)
            out |= {f"{prefix}loaded {name}": value for name, value in found.items()}
        return out


def of_pickled(model):
    """The file that a pickled copy of the model saves."""

    def saved():
        copy = pickle.loads(pickle.dumps(model))
        with TemporaryDirectory() as folder:
            copy.save(Path(folder, "copy.bayou"))
            return Path(folder, "copy.bayou").read_bytes()

    return {"pickled file": digests.attempt(saved)}


def of_score(model, X, y):
    """The score on new documents; models without a target take none."""
    if not hasattr(model, "score"):
        return {}
    return {"score": digests.attempt(lambda: model.score(X) if y is None else model.score(X, y))}


def everything(model, X, y=None):
    """All answers of a fitted model."""
    out = of_model(model) | of_documents(model, X) | of_score(model, X, y)
    if hasattr(model, "save"):
        out |= of_saved(model, X) | of_pickled(model)
    return out
