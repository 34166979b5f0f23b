"""Coverage of the intervals of the number of topics on corpora drawn from the HDP itself.

`python benchmarks/hdp.py --only coverage` prints it. The size of a corpus is
(documents, terms, tokens per document, alpha, gamma); beta is the model's own.
The concentrations are not given to the model.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from bayou import HDP, OnlineHDP, StackedHDP
from bayou.data import Corpus
from bayou.data.errors import DoubtWarning
from bayou.data.synthetic import sample_hdp
from bayou.datasets import load_docstrings
from bayou.inference.hdp import root

BETA = 0.05


class Size(NamedTuple):
    docs: int
    terms: int
    length: float
    alpha: float
    gamma: float


SIZES = {
    "small": Size(100, 200, 60.0, 2.0, 3.0),
    "medium": Size(300, 500, 80.0, 3.0, 8.0),
    "large": Size(500, 1000, 100.0, 4.0, 20.0),
}


def draw_corpus(size: Size, seed: int) -> tuple[Corpus, int, int]:
    """A corpus, the number of topics that have tokens in it, and that of large topics."""
    corpus, truth = sample_hdp(
        size.docs, size.terms, doc_length=size.length, alpha=size.alpha, gamma=size.gamma,
        beta=BETA, seed=seed,
    )  # fmt: skip
    used = np.bincount(truth.assignments)
    used = used[used > 0].astype(np.float64)
    return corpus, len(used), root.n_large(used)


def fit_one(size: Size, seed: int, **given: Any) -> dict[str, Any]:
    """Interval, truth and time of one corpus."""
    corpus, n, n_large = draw_corpus(size, seed)
    begun = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DoubtWarning)
        model = HDP(beta=BETA, random_state=seed, n_threads=1, **given).fit(corpus)
    spent = time.process_time() - begun
    every, large = (
        model.n_topics_interval(level=0.9),
        model.n_topics_interval(level=0.9, large=True),
    )
    rhat = max(getattr(model, "rhats_", (float("nan"),)))
    return {
        "truth": (n, n_large), "all": every, "large": large, "seconds": spent, "sweeps": model.n_iter_,
        "rhat": rhat, "agreed": not any(issubclass(w.category, DoubtWarning) for w in caught),
        "recurrence": float(np.median(model.topic_recurrence_)),
        "holds": (every[0] <= n <= every[1], large[0] <= n_large <= large[1]),
    }  # fmt: skip


def coverage(names: list[str], n_corpora: int, first: int = 0, **given: Any) -> None:
    """Share of 90 % intervals that hold the truth, over corpora of the sizes in turn."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for seed in range(first, first + n_corpora):
        name = names[(seed - first) % len(names)]
        one = fit_one(SIZES[name], seed, **given)
        found[name].append(one)
        print(f"  {name:<7} {seed:>3}: true {one['truth'][0]}, {one['truth'][1]} large; intervals "
              f"{one['all']} {one['large']}; R-hat {one['rhat']:.2f}, "
              f"{'agree' if one['agreed'] else 'apart'}, {one['sweeps']} sweeps, "
              f"{one['seconds']:.1f} s", flush=True)  # fmt: skip
    every = [one for part in found.values() for one in part]
    for name, part in (*found.items(), ("all", every)):
        if part:
            holds = np.array([one["holds"] for one in part]).sum(axis=0)
            width, width_large = (
                np.mean([one[key][1] - one[key][0] for one in part]) for key in ("all", "large")
            )
            agreed = sum(one["agreed"] for one in part)
            match = np.mean([one["recurrence"] for one in part])
            print(f"  {name:<7} topics {holds[0]} of {len(part)}, large {holds[1]} of {len(part)}; mean "
                  f"width {width:.1f}, {width_large:.1f}; chains agree in {agreed}; "
                  f"median similarity of matched topics {match:.2f}; "
                  f"{sum(one['seconds'] for one in part):.0f} s", flush=True)  # fmt: skip


def ceilings(n_corpora: int) -> None:
    """The number of topics of `OnlineHDP` and `StackedHDP` under several largest numbers."""
    for seed in range(n_corpora):
        corpus, n, n_large = draw_corpus(SIZES["large"], seed)
        for ceiling in (100, 300, 1000):
            model = OnlineHDP(n_topics=ceiling, beta=BETA, random_state=0, n_threads=1).fit(corpus)
            print(f"  OnlineHDP, true {n}, {n_large} large; ceiling {ceiling}: {model.n_topics_} "
                  f"{model.n_topics_interval()}, {model.n_large_} large", flush=True)  # fmt: skip
    train = load_docstrings(subset="train", labels="package")
    for ceiling in (10, 30, 100):
        stacked = StackedHDP(n_topics=ceiling, random_state=0, n_threads=1).fit(train)
        print(f"  StackedHDP, docstrings, n_topics {ceiling}: {stacked.n_used_} used", flush=True)
