"""How a model comes to what it knows: in one call, in a stream that is cut, or after a stop."""

import inspect
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.sparse import csr_array
from tests.oracle import answers, digests, documents

import bayou

SEEDS = (0, 1, 7)
CUTS = {"two": (0, 41, 96), "many": (0, 1, 30, 31, 64, 96)}
# models that take labels which they were not told of at the beginning
MEET_LABELS = (bayou.OnlineDependencyLDA, bayou.OnlineLabeledHDP, bayou.OnlineLabeledLDA)
STOP = 2  # steps after which training is stopped


@cache
def source(form, target):
    """Documents in one of the forms that models take."""
    data = documents.train()
    if form == "fractional":
        return bayou.Corpus.from_matrix(data.counts * 0.75, vocabulary=documents.NAMES)
    if form == "dense":
        return data.counts.astype(np.float64)
    if form == "sparse":
        return csr_array(data.counts.astype(np.float32))
    if form == "frame":
        import pandas as pd

        return pd.DataFrame(data.counts, columns=documents.NAMES)
    if form == "filled":
        y = data.targets[target]
        key = {"labels": "labels", "number": "targets"}.get(target)
        return data.corpus(times=data.times, **({} if key is None else {key: y}))
    if form.startswith("news"):
        corpus = documents.news()
        if form == "news late":  # some documents come weeks after their date
            order = np.argsort(np.arange(112) + 40 * (np.arange(112) % 9 == 4), kind="stable")
            corpus = corpus[order]
        return corpus
    return data.corpus()


def taken(values, some):
    """Some of the documents or of their targets."""
    if isinstance(values, list):
        return values[some]
    return values.iloc[some] if hasattr(values, "iloc") else values[some]


def target_of(variant, data):
    return None if variant.form == "filled" else data.targets[variant.target]


def fresh_of(variant):
    """New documents in a form that agrees with that of training."""
    if variant.form in ("dense", "sparse"):
        return documents.fresh().counts.astype(np.float64)
    if variant.form == "frame":
        import pandas as pd

        return pd.DataFrame(documents.fresh().counts, columns=documents.NAMES)
    return documents.fresh_corpus()


def made(variant, seed, threads, **more):
    params = variant.params | {"random_state": seed, "n_threads": threads} | more
    return variant.make(**params)


def arguments(variant, data, some=slice(None)):
    """What `fit` and `partial_fit` get beside the documents."""
    y = target_of(variant, data)
    out = {} if y is None else {"y": taken(y, some)}
    if variant.weighted:
        out["sample_weight"] = (0.5 + np.arange(documents.N_DOCS) % 3)[some]
    return out


def at_once(variant, seed, threads):
    """One call of `fit`."""
    data, X = documents.train(), source(variant.form, variant.target)
    how = arguments(variant, data) | variant.fit
    model = made(variant, seed, threads).fit(X, **how)
    out = answers.everything(model, fresh_of(variant), documents.fresh().targets[variant.target])
    if seed == 0 and hasattr(model, "fit_transform"):
        again = made(variant, seed, threads)
        out["fit_transform"] = digests.attempt(lambda: again.fit_transform(X, **how))
    return out


def in_pieces(variant, seed, threads, cut):
    """Several calls of `partial_fit`; with many pieces the model goes through a file on the way."""
    data, X = documents.train(), source(variant.form, variant.target)
    model, out = made(variant, seed, threads), {}
    n_docs = X.n_docs if hasattr(X, "n_docs") else len(X)
    ends = [end * n_docs // documents.N_DOCS for end in CUTS[cut]]
    takes_classes = "classes" in inspect.signature(model.partial_fit).parameters
    for i, (lo, hi) in enumerate(pairwise(ends)):
        how = arguments(variant, data, slice(lo, hi))
        if takes_classes and i == 0:
            how |= classes_of(variant, cut)
        model.partial_fit(X[lo:hi] if not hasattr(X, "iloc") else X.iloc[lo:hi], **how)
        if cut == "many" and i == 2:
            with TemporaryDirectory() as folder:
                path = Path(folder, "half.bayou")
                model.save(path)
                out |= {f"half {k}": v for k, v in digests.of_file(path).items()}
                model = bayou.load(path).set_params(n_threads=threads)
    if hasattr(model, "flush"):
        out |= answers.of_saved(model, None, "open ")
        model.flush()
    y = documents.fresh().targets[variant.target]
    return out | answers.everything(model, fresh_of(variant), y)


def classes_of(variant, cut):
    """All classes, for models that must be told of them with the first documents."""
    names = {
        "binary": ["no", "yes"],
        "classes": documents.CLASSES.tolist(),
        "missing": documents.CLASSES.tolist(),
        "labels": documents.LABELS.tolist(),
        "some labels": documents.LABELS.tolist(),
    }
    if variant.target not in names or (cut == "two" and variant.make in MEET_LABELS):
        return {}
    return {"classes": names[variant.target]}


def stopped(variant, seed, threads):
    """A callback stops `fit`; with a checkpoint, another model goes on from there."""
    data, X = documents.train(), source(variant.form, variant.target)
    how = arguments(variant, data) | variant.fit
    told, out = [], {}

    def stop(info):
        told.append((info.step, info.n_steps, info.phase, info.score))
        return len(told) >= STOP

    model = made(variant, seed, threads, callbacks=[stop])
    if "checkpoint" not in inspect.signature(model.fit).parameters:
        model.fit(X, **how)
        out["told"] = digests.of_value(told)
        return out | answers.of_saved(model, fresh_of(variant), "stopped ")
    with TemporaryDirectory() as folder:
        path = Path(folder, "checkpoint.bayou")
        model.fit(X, **how, checkpoint=path)
        out |= answers.of_saved(model, fresh_of(variant), "stopped ")
        if not path.exists():  # training was over before the stop
            return out | {"told": digests.of_value(told), "checkpoint file": "none"}
        out |= {f"checkpoint {k}": v for k, v in digests.of_file(path).items()}
        log = []
        model = made(variant, seed, threads, callbacks=[lambda info: log.append(info[:4])])
        model.fit(X, **how, checkpoint=path, checkpoint_every=1)
        out |= {f"last checkpoint {k}": v for k, v in digests.of_file(path).items()}
        out |= answers.of_saved(model, fresh_of(variant), "resumed ")
        out["told"] = digests.of_value([told, [tuple(row) for row in log]])
    return out


def ways_of(variant):
    """The ways by name."""
    kind = variant.make.__self__ if hasattr(variant.make, "__self__") else variant.make
    out = {"fit": at_once}
    if hasattr(kind, "partial_fit"):
        for cut in CUTS:
            out[f"cut in {cut}"] = lambda *given, c=cut: in_pieces(*given, c)
    out["stopped"] = stopped
    return out
