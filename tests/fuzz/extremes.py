"""``python -m tests.fuzz.extremes``: each public model at the extremes of its input, as a table.

Every cell is a process of its own with 2 GiB of memory and 60 seconds. ``ok`` is a finite answer, ``error``
one typed error. Anything else is a finding, and the exit code is then 1.
"""

import argparse
import collections
import importlib
import multiprocessing
import os
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from tests.fuzz.worker import is_finite

from bayou import Corpus
from bayou.data.errors import BayouError
from bayou.registry import MODELS

MEMORY, SECONDS = 2 * 2**30, 60
SMALL = {"n_sweeps": 8, "n_kept": 3, "n_rounds": 2, "random_state": 0, "n_threads": 1}
METHODS = ("transform", "predict", "predict_proba", "decision_function")
TARGETS = {"classes", "labels", "numbers"}


def base_counts(n_docs=48, n_terms=12):
    """Counts that follow two topics."""
    rng = np.random.default_rng(0)
    shape = (n_docs, n_terms)
    first = (np.arange(n_docs)[:, None] % 2) == (np.arange(n_terms)[None] < n_terms // 2)
    return rng.poisson(np.where(first, 2.0, 0.2), shape).astype(np.float64)


def one_count(value):
    counts = base_counts()
    counts[3, 4] = value
    return {"counts": counts}


def alone(**params):
    return lambda: {"counts": base_counts(), "params": params}


def many_targets(n):
    """As many classes or labels, of as many documents."""
    place = np.arange(n)
    counts = csr_array((np.ones(2 * n), (np.r_[place, place], np.r_[place % 12, (place + 1) % 12])))
    return {"counts": counts, "n_targets": n}


def wide():
    rows, terms = np.repeat(np.arange(4), 5), np.arange(20) * 50_000
    return {
        "counts": csr_array((np.ones(20), (rows, terms)), shape=(4, 1_000_000)),
        "params": {"n_topics": 1000, "max_topics": 1000},
    }


CASES = {
    "a count of 1e9": lambda: one_count(1e9),
    "a count of 1e17": lambda: one_count(1e17),
    "a count of 1e300": lambda: one_count(1e300),
    "alpha 1e-30": alone(alpha=1e-30), "alpha 1e30": alone(alpha=1e30), "alpha 1e-300": alone(alpha=1e-300),
    "beta 1e-30": alone(beta=1e-30), "beta 1e30": alone(beta=1e30), "beta 1e300": alone(beta=1e300),
    "500 topics, 6 tokens": lambda: {"counts": np.eye(6), "params": {"n_topics": 500, "max_topics": 500}},
    "100,000 classes": lambda: many_targets(100_000),
    "1e6 terms, K=1,000": wide,
    "duplicated ids": lambda: {"counts": base_counts(), "ids": ["same"] * 48},
    "identical documents": lambda: {"counts": np.tile(base_counts(2)[:1], (48, 1))},
    "one document": lambda: {"counts": base_counts(1)},
    "no terms": lambda: {"counts": np.zeros((5, 0))},
    "empty documents": lambda: {"counts": np.zeros((5, 12))},
}  # fmt: skip


def target_of(name, n_docs, n_targets):
    """Classes, labels or numbers of documents; None for models without."""
    kind = MODELS[name].labels
    if kind == "numbers":
        return np.arange(n_docs, dtype=np.float64) % 7
    if kind not in TARGETS:
        return None
    which = np.arange(n_docs) % n_targets
    if kind == "classes":
        return which
    return csr_array(
        (np.ones(n_docs, np.int64), (np.arange(n_docs), which)), shape=(n_docs, n_targets)
    )


def model_of(name, given):
    """The model with small settings and those of a case; None if it lacks a parameter of the case."""
    kind = getattr(importlib.import_module(MODELS[name].module), name)
    if MODELS[name].task == "wrapper":
        from bayou import BayesPAClassifier

        return kind(BayesPAClassifier(random_state=0)) if not given else None
    known = kind().get_params()
    if given and not set(given) & set(known):
        return None
    settings = SMALL | {"n_topics": 3} | given
    return kind(**{key: value for key, value in settings.items() if key in known})


def is_of_a_check(error):
    """Whether an error was raised by bayou or by the input checks of scikit-learn."""
    frame = error.__traceback__
    while frame.tb_next is not None:
        frame = frame.tb_next
    path = frame.tb_frame.f_code.co_filename
    return any(part in path for part in ("/bayou/", "sklearn/utils/validation"))


def answer(name, case):
    """``ok``, ``error`` with a message, ``-`` if the case does not apply, or a finding."""
    made = CASES[case]()
    model = model_of(name, made.get("params", {}))
    if model is None or ("n_targets" in made and MODELS[name].labels not in ("classes", "labels")):
        return "-"
    n_docs = made["counts"].shape[0]
    y = target_of(name, n_docs, made.get("n_targets", 2))
    fields = {"times": 1.6e9 + 86_400.0 * np.arange(n_docs)} if MODELS[name].task == "time" else {}
    try:
        X = Corpus.from_matrix(made["counts"], ids=made.get("ids"), **fields)
        model = model.fit(X) if y is None else model.fit(X, y)
        few = X[:5]
        values = [getattr(model, method)(few) for method in METHODS if hasattr(model, method)]
        values.append(getattr(model, "components_", 0.0))
    except BayouError as error:
        return f"error {type(error).__name__}: {error!s:.150}"
    except MemoryError as error:
        return f"MEMORY {error!s:.100}"
    except Exception as error:
        typed = isinstance(error, ValueError) and is_of_a_check(error)
        return f"{'error' if typed else 'UNTYPED'} {type(error).__name__}: {error!s:.150}"
    values = [value.data if hasattr(value, "indptr") else value for value in values]
    return "ok" if is_finite(values) else "NOT FINITE"


def _child(sender, name, case):
    warnings.simplefilter("ignore")
    os.nice(5)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    sender.send(answer(name, case))


def try_one(name, case):
    """`answer` in a process of its own."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, name, case))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        process.join()
        slow = process.exitcode == -24  # SIGXCPU
        return f"OVER {SECONDS} s" if slow else f"CRASH {process.exitcode}"
    finally:
        process.join()


def is_finding(outcome):
    return outcome.split()[0] not in ("ok", "error", "-")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--messages", action="store_true", help="print each error")
    given = parser.parse_args()
    counts, began = collections.Counter(), time.monotonic()
    print("| model | " + " | ".join(given.cases) + " |\n|---" + "|---" * len(given.cases) + "|")
    for name in given.models:
        row = {case: try_one(name, case) for case in given.cases}
        print(
            f"| {name} | " + " | ".join(one.split()[0] for one in row.values()) + " |", flush=True
        )
        for case, outcome in row.items():
            counts[outcome.split()[0]] += 1
            if is_finding(outcome) or (given.messages and outcome.startswith("error")):
                print(f"    {case}: {outcome}", file=sys.stderr, flush=True)
    bad = sum(n for what, n in counts.items() if is_finding(what))
    n_cells = counts.total() - counts["-"]
    print(
        f"{n_cells} cells: {counts['ok']} answers, {counts['error']} errors, {bad} findings, "
        f"{time.monotonic() - began:.0f} s"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
