"""Cases beside a model and its target: wrappers, texts, labels that change, threads."""

from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from tests.oracle import answers, digests, documents
from tests.oracle.ways import SEEDS

import bayou
from bayou import multilabel as thresholds

OTHERS = {}
TEXT_CUTS = {"two": (0, 21, 96), "many": (0, 21, 50, 51, 84, 96)}  # words of the first are known


def add(name, work, seeds=SEEDS):
    """A case for each seed; ``work`` takes the seed and the number of threads."""
    for seed in seeds:
        if f"{name}/{seed}" in OTHERS:
            raise ValueError(f"there are two cases {name}")
        OTHERS[f"{name}/{seed}"] = partial(work, seed)


# -- wrappers, whose predictions alone are kept ---------------------------------------------------


def _bases(seed):
    quick = {"n_topics": 4, "n_sweeps": 4, "n_kept": 1, "random_state": seed, "n_threads": 1}
    return {
        "logistic": LogisticRegression(C=5.0),
        "linear": bayou.BayesPAClassifier(random_state=seed, n_passes=2),
        "topics": bayou.MedLDAClassifier(**quick),
    }


def _wrapped(make, target, base, seed, threads):
    data, fresh = documents.train(), documents.fresh()
    model = make(_bases(seed)[base], seed).fit(data.counts.astype(float), data.targets[target])
    X = fresh.counts.astype(float)
    out = answers.of_documents(model, X) | answers.of_model(model)
    return out | answers.of_score(model, X, fresh.targets[target])


def _chain(base, seed, **how):
    return bayou.BlockClassifierChain(base, random_state=seed, **how)


def _ensemble(base, seed, **how):
    return bayou.BlockChainEnsemble(base, random_state=seed, **how)


def _thresholded(base, seed, rule=None, several=True, **how):
    inside = OneVsRestClassifier(base) if several else base
    return bayou.ThresholdedClassifier(inside, rule, random_state=seed, **how)


def _prefit(base, seed):
    data = documents.train()
    inside = OneVsRestClassifier(base).fit(data.counts[:60], data.targets["indicator"][:60])
    return bayou.ThresholdedClassifier(inside, cv="prefit", random_state=seed)


for _base in ("logistic", "linear"):
    add(f"BlockClassifierChain/{_base}", partial(_wrapped, _chain, "labels", _base))
    for _name, _how in {
        "blocks": {"block_size": 2},
        "inside out": {"block_size": 2, "inside_out": True},
        "random": {"order": "random"},
        "frequency": {"order": "frequency", "block_size": 3},
        "own order": {"order": [3, 0, 4, 1, 2]},
    }.items():
        _made = partial(_chain, **_how)
        add(f"BlockClassifierChain/{_base} {_name}", partial(_wrapped, _made, "indicator", _base))
    for _name, _how in {
        "few": {"n_chains": 3},
        "share": {"n_chains": 3, "vote": "share", "bootstrap": True},
        "blocks": {"n_chains": 3, "block_size": (1, 2), "inside_out": True},
        "unlike": {"n_chains": 4, "max_similarity": 0.4, "max_fails": 3},
    }.items():
        _made = partial(_ensemble, **_how)
        add(f"BlockChainEnsemble/{_base} {_name}", partial(_wrapped, _made, "labels", _base))
add("BlockClassifierChain/topics", partial(_wrapped, _chain, "labels", "topics"), SEEDS[:1])
add("BlockClassifierChain/binary", partial(_wrapped, _chain, "binary", "linear"), SEEDS[:1])

for _name, _rule in {
    "default": None,
    "micro": thresholds.SCut(measure="micro", min_positives=2),
    "best": thresholds.RCut(),
    "two best": thresholds.RCut(k=2),
    "proportional": thresholds.ProportionalCut(),
    "cardinality": thresholds.CardinalityRegression(),
    "regression": thresholds.ThresholdRegression(),
    "oracle": thresholds.OracleF1(),
}.items():
    _made = partial(_thresholded, rule=_rule, cv=3)
    add(f"ThresholdedClassifier/{_name}", partial(_wrapped, _made, "labels", "logistic"))
_made = partial(_thresholded, cv=3, several=False)
add("ThresholdedClassifier/binary", partial(_wrapped, _made, "binary", "linear"))
add("ThresholdedClassifier/topics", partial(_wrapped, _made, "indicator", "topics"), SEEDS[:1])
add("ThresholdedClassifier/prefit", partial(_wrapped, _prefit, "indicator", "logistic"))


# -- texts ----------------------------------------------------------------------------------------


def _inner(seed, threads, **more):
    run = {"random_state": seed, "n_threads": threads}
    short = {"n_topics": 5, "n_sweeps": 6, "n_kept": 2, **run}
    stream = {"batch_size": 16, **run}
    k = {"n_topics": 5, **stream}
    return {
        "LDA": (bayou.LDA(n_topics=4, **run), "none"),
        "HDP": (bayou.HDP(n_sweeps=8, **run), "none"),
        "MedLDAClassifier": (bayou.MedLDAClassifier(**short, word_residual=1.0), "classes"),
        "MedLDARegressor": (bayou.MedLDARegressor(**short), "number"),
        "LabeledLDA": (bayou.LabeledLDA(n_sweeps=8, **run), "labels"),
        "OnlineLDA": (bayou.OnlineLDA(**k), "none"),
        "OnlineLDA hybrid": (bayou.OnlineLDA(**k, inference="hybrid"), "none"),
        "OnlineHDP": (bayou.OnlineHDP(**{**k, "n_topics": 12}), "none"),
        "OnlineHDP births": (bayou.OnlineHDP(**k, inference="truncation-free"), "none"),
        "StepwiseEM": (bayou.StepwiseEM(**k), "none"),
        "SpectralLDA": (bayou.SpectralLDA(n_topics=3, burn_in=20, **run), "none"),
        "OnlineMedLDAClassifier": (bayou.OnlineMedLDAClassifier(**k), "classes"),
        "OnlineMedLDAClassifier labels": (bayou.OnlineMedLDAClassifier(**k), "labels"),
        "OnlineMedLDARegressor": (bayou.OnlineMedLDARegressor(**k), "number"),
        "OnlineMedHDPClassifier": (bayou.OnlineMedHDPClassifier(**k), "binary"),
        "OnlineMedHDPRegressor": (bayou.OnlineMedHDPRegressor(**k), "number"),
        "OnlineLabeledLDA": (bayou.OnlineLabeledLDA(**stream), "labels"),
        "OnlineLabeledHDP": (bayou.OnlineLabeledHDP(**stream), "labels"),
        "OnlineDependencyLDA": (bayou.OnlineDependencyLDA(**k, n_chains=2), "labels"),
    }


def _growth():
    return bayou.Growth(max_terms=62, min_docs=2, memory=20, every=8)


def _text_fit(name, seed, threads):
    estimator, target = _inner(seed, threads)[name]
    vectorizer = bayou.Vectorizer(min_df=2, max_df=0.9, stop_words="english", ngrams=(1, 2))
    y = documents.train().targets[target]
    model = bayou.TextModel(estimator=estimator, vectorizer=vectorizer)
    model.fit(documents.texts(), y)
    new = documents.texts(documents.N_FRESH, 2, 4)
    return answers.everything(model, new, documents.fresh().targets[target])


def _text_stream(name, cut, growth, seed, threads):
    estimator, target = _inner(seed, threads)[name]
    texts, y = documents.texts(), documents.train().targets[target]
    model, out = bayou.TextModel(estimator=estimator, growth=growth), {}
    for i, (lo, hi) in enumerate(pairwise(TEXT_CUTS[cut])):
        model.partial_fit(texts[lo:hi], None if y is None else y[lo:hi])
        if cut == "many" and i == 2:
            with TemporaryDirectory() as folder:
                path = Path(folder, "half.bayou")
                model.save(path)
                out |= {f"half {k}": v for k, v in digests.of_file(path).items()}
                model = bayou.load(path)
    new = documents.texts(documents.N_FRESH, 2, 4)
    return out | answers.everything(model, new, documents.fresh().targets[target])


for _name in _inner(0, 1):
    add(f"TextModel/{_name}/fit", partial(_text_fit, _name))
    if hasattr(_inner(0, 1)[_name][0], "partial_fit"):
        for _cut in TEXT_CUTS:
            add(f"TextModel/{_name}/cut in {_cut}", partial(_text_stream, _name, _cut, None))
            add(f"Growth/{_name}/cut in {_cut}", partial(_text_stream, _name, _cut, _growth()))


def _tracked_texts(seed, threads):
    corpus, rng = documents.news(), np.random.default_rng(8)
    counts = corpus.counts.toarray().astype(int)
    texts = [documents.words_of(row, documents.NAMES, rng) for row in counts]
    estimator = bayou.TopicTracker(
        n_topics=4, slice_by="week", min_docs=2, min_tokens=30, n_sweeps=10,
        random_state=seed, n_threads=threads,
    )  # fmt: skip
    model = bayou.TextModel(estimator=estimator).fit(texts, time=corpus.times)
    return answers.everything(model, texts[:10]) | {
        f"tracker {name}": value for name, value in answers.of_model(model.estimator_).items()
    }


add("TextModel/TopicTracker/fit", _tracked_texts)


def _vectorized(seed, threads):
    out, texts = {}, documents.texts()
    for name, how in {
        "plain": {},
        "pruned": {"min_df": 3, "max_df": 0.5, "max_features": 25, "lowercase": False},
        "pairs": {"ngrams": (1, 3), "stop_words": ["the"], "min_length": 4},
        "given": {"vocabulary": ["term03", "novel1", "term01"]},
    }.items():
        model = bayou.Vectorizer(**how)
        out[f"{name} counts"] = digests.attempt(lambda m=model: m.fit_transform(texts))
        out[f"{name} tokens"] = digests.attempt(lambda m=model: list(m.tokens(texts[:9])))
        out |= {f"{name} {k}": v for k, v in answers.of_model(model).items()}
    corpus = bayou.Corpus.from_text(texts, labels=documents.train().targets["labels"], min_df=2)
    out["corpus"] = digests.attempt(lambda: corpus)
    out["reversed"] = digests.attempt(lambda: corpus[::-3])
    out["token arrays"] = digests.attempt(lambda: tuple(corpus.tokens()))
    return out


add("Vectorizer/all", _vectorized, SEEDS[:1])


# -- labels that come, go, merge and split --------------------------------------------------------


def _open_labels(kind, params, seed, threads):
    data, out = documents.train(), {}
    corpus, y = data.corpus(), data.targets["labels"]
    X, truth = documents.fresh_corpus(), documents.fresh().targets["labels"]
    model = kind(**params, batch_size=16, random_state=seed, n_threads=threads)
    model.partial_fit(corpus[:50], y[:50])
    model.add_labels(["new", "best"])
    out |= answers.of_saved(model, X, "added ")
    model.merge_labels(["north", "zenith"], into="up")
    out |= answers.of_saved(model, X, "merged ")
    model.split_label("east", ["far east", "near east"], noise=0.3)
    out |= answers.of_saved(model, X, "split ")
    model.remove_labels(["south"])
    out |= answers.of_saved(model, X, "removed ")
    renamed = [["up" if name in ("north", "zenith") else name for name in some] for some in y]
    unique = [
        sorted(set(some)) + (["best"] if i % 4 == 0 else []) for i, some in enumerate(renamed)
    ]
    model.partial_fit(corpus[50:], unique[50:])
    return out | answers.everything(model, X, truth)


for _kind, _params in (
    (bayou.OnlineLabeledLDA, {}),
    (bayou.OnlineLabeledLDA, {"inference": "hybrid"}),
    (bayou.OnlineLabeledHDP, {}),
    (bayou.OnlineDependencyLDA, {"n_topics": 3, "n_chains": 2}),
):
    _title = f"{_kind.__name__}/open set {_params.get('inference', '')}".rstrip()
    add(_title, partial(_open_labels, _kind, _params))


# -- a second fit, and parameters that copies keep ------------------------------------------------


def _warm(kind, target, seed, threads):
    data = documents.train()
    how = {"n_topics": 6, "n_sweeps": 6, "n_kept": 2, "warm_start": True}
    model = kind(**how, random_state=seed, n_threads=threads)
    model.fit(data.corpus(), data.targets[target])
    out = answers.of_saved(model, None, "first ")
    model.fit(data.corpus(), data.targets[target])
    truth = documents.fresh().targets[target]
    return out | answers.everything(model, documents.fresh_corpus(), truth)


add("MedLDAClassifier/warm start", partial(_warm, bayou.MedLDAClassifier, "classes"))
add("MedLDARegressor/warm start", partial(_warm, bayou.MedLDARegressor, "number"))


def _defaults(seed, threads):
    """The parameters of every public class as it comes, and the list of public names."""
    out = {"names": repr(sorted(bayou.__all__))}
    for name in bayou.__all__:
        made = getattr(bayou, name)
        if isinstance(made, type) and hasattr(made, "get_params"):
            wraps = hasattr(made, "estimator") or name.startswith(("Block", "Thresholded"))
            given = (LogisticRegression(),) if wraps and name != "TextModel" else ()
            out[name] = answers.parameters(made(*given))
    return out


add("defaults/all", _defaults, SEEDS[:1])


# -- threads that really share the work -----------------------------------------------------------


def _threaded(kind, target, params, seed, threads):
    corpus, targets = documents.wide()
    y, out = targets[target], {}
    for n in (1, 2):
        model = kind(**params, random_state=seed, n_threads=n)
        model.fit(corpus) if y is None else model.fit(corpus, y)
        out |= answers.of_saved(model, None, f"{n} ")
        found = answers.of_documents(model, corpus[:60], ("transform", "predict", "sample"))
        out |= {f"{n} {name}": value for name, value in found.items()}
    return out


_FEW = {"n_topics": 8, "n_sweeps": 3}
_KEPT = {**_FEW, "n_kept": 1}
_STREAM = {"n_topics": 8, "batch_size": 120, "n_passes": 1}
for _kind, _target, _params in (
    (bayou.LDA, "none", {**_FEW, "inference": "fast"}),
    (bayou.LDA, "none", {**_FEW, "inference": "gibbs"}),
    (bayou.LDA, "none", {**_FEW, "inference": "snapshot"}),
    (bayou.LDA, "none", {**_FEW, "inference": "mh"}),
    (bayou.LDA, "none", {**_FEW, "inference": "mh", "start": "spectral"}),
    (bayou.HDP, "none", {"n_sweeps": 2, "sampler": "alias"}),
    (bayou.HDP, "none", {"n_sweeps": 2, "sampler": "tables"}),
    (bayou.HDP, "none", {"n_sweeps": 2, "sampler": "direct"}),
    (bayou.OnlineLDA, "none", {**_STREAM, "inference": "scvb0"}),
    (bayou.OnlineLDA, "none", {**_STREAM, "inference": "hybrid"}),
    (bayou.OnlineHDP, "none", {**_STREAM, "n_topics": 20}),
    (bayou.MedLDAClassifier, "classes", {**_KEPT, "sampler": "gibbs"}),
    (bayou.MedLDAClassifier, "classes", {**_KEPT, "sampler": "light"}),
    (bayou.MedLDAClassifier, "labels", {**_KEPT, "n_chains": 2}),
    (bayou.MedLDARegressor, "number", _KEPT),
    (bayou.MedHDPClassifier, "classes", {"n_sweeps": 3, "n_kept": 1}),
    (bayou.OnlineMedLDAClassifier, "classes", _STREAM),
    (bayou.OnlineMedLDAClassifier, "labels", {**_STREAM, "classifier": "averaging"}),
    (bayou.OnlineMedLDARegressor, "number", _STREAM),
    (bayou.OnlineMedHDPClassifier, "classes", _STREAM),
    (bayou.LabeledLDA, "labels", {"n_sweeps": 3, "n_kept": 1}),
    (bayou.FastDependencyLDA, "labels", {**_KEPT, "n_topics": 3, "inference": "gibbs"}),
    (bayou.StackedHDP, "labels", {**_KEPT, "n_topics": 3}),
    (bayou.OnlineLabeledLDA, "labels", {"batch_size": 120}),
    (bayou.OnlineDependencyLDA, "labels", {**_STREAM, "n_topics": 3, "n_chains": 2}),
    (bayou.AuthorTopicModel, "authors", _KEPT),
    (bayou.SpectralLDA, "none", {"n_topics": 4}),
    (bayou.StepwiseEM, "none", {"n_topics": 4}),
    (bayou.TopicTracker, "none", {**_FEW, "slice_by": 120, "n_starts": 1}),
):
    _own = " ".join(
        str(_params[k]) for k in ("inference", "sampler", "start", "classifier") if k in _params
    )
    _title = f"{_kind.__name__}/threads {_target} {_own}".rstrip()
    add(_title, partial(_threaded, _kind, _target, _params), SEEDS[2:])
