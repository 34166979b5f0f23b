"""``bayou demo``: topics of the documentation of the installed libraries."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from bayou.cli import options
from bayou.cli.output import check_model, check_page
from bayou.data.errors import ModelFileError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bayou.data.corpus import Corpus

_N_WORDS = 9
_N_PACKAGES = 2
_MIN_DOCS = 15  # per sub-package, for its average to be meaningful


def demo(
    topics: Annotated[
        int,
        typer.Option("--topics", "-k", min=2, max=1000, metavar="N", help="Number of topics."),
    ] = 20,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to save the model; the report is written beside it.",
        ),
    ] = Path("bayou-demo.bayou"),
    seed: options.Seed = 0,
    threads: options.Threads = None,
) -> None:
    """Fit topics to the documentation of the installed Python libraries and print them.

    Nothing is downloaded: the text is read from the source files of Python,
    NumPy, SciPy and scikit-learn on this machine.
    """
    check_model(output)
    check_page(output.with_suffix(".html"))
    out, err = Console(highlight=False), Console(stderr=True, highlight=False)
    settings = {
        "random_state": seed,
        "n_threads": threads,
        "progress": err.is_terminal,
    }
    _run(out, err, topics, output, settings)


def _run(out: Console, err: Console, topics: int, output: Path, settings: dict[str, Any]) -> None:
    import numpy as np

    import bayou
    from bayou.datasets import load_docstrings

    started = time.perf_counter()
    err.print("Reading the documentation of the installed libraries ...")
    train, test = load_docstrings(subset="train"), load_docstrings(subset="test")
    _print_corpus(out, train, test)
    err.print(f"Fitting {topics} topics ...")
    fit_started = time.perf_counter()
    model = bayou.TextModel(estimator=bayou.LDA(n_topics=topics, **settings)).fit(train)
    fit_seconds = time.perf_counter() - fit_started
    _print_topics(out, model, train)
    one_topic = bayou.LDA(n_topics=1, **settings | {"progress": False}).fit(train)
    _print_score(out, model, one_topic, test)
    model.save(output)
    if not np.array_equal(bayou.load(output).transform(test), model.transform(test)):
        raise ModelFileError(f"{output} does not give the topics of the model that was saved")
    out.print(f"Saved to {output} and loaded again: the same topics for every test document.")
    _write_report(out, err, model.estimator_, test, output.with_suffix(".html"))
    seconds = time.perf_counter() - started
    out.print(f"Took {seconds:.1f} s in all, {fit_seconds:.1f} s of it to fit the topics.")


def _write_report(out: Console, err: Console, model: Any, test: Corpus, path: Path) -> None:
    """Write the report, with sub-packages as labels; without its extra, print how to install it."""
    from bayou import report
    from bayou.datasets import iter_docstrings, load_docstrings

    train = load_docstrings(subset="train", labels="package")
    texts = {record.id: record.text for record in iter_docstrings()}
    data = report.ReportData.from_model(
        model,
        train,
        texts=[texts[name] for name in train.ids or ()],
        title="Documentation of Python libraries",
        test=test,
    )
    try:
        report.write(path, data)
    except ImportError as error:
        err.print(f"No report: {error}", markup=False)
        return
    out.print(f"Report: {path} (open it in a browser)")


def _print_corpus(out: Console, train: Corpus, test: Corpus) -> None:
    from bayou.datasets import versions

    named = ", ".join(f"{name} {version}" for name, version in versions().items())
    out.print(f"Documentation of {named}")
    out.print(
        f"{train.n_docs:,} training documents, {test.n_docs:,} held out, {train.n_terms:,} terms\n"
    )


def _print_topics(out: Console, model: Any, train: Corpus) -> None:
    from rich.table import Table

    from bayou.datasets import iter_docstrings

    shares = model.transform(train)
    prevalence = shares.mean(axis=0)
    words = model.top_terms(_N_WORDS)
    packages = {record.id: record.package for record in iter_docstrings()}
    averages = average_shares(shares, [packages[name] for name in train.ids or ()])

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("topic", justify="right")
    table.add_column("share", justify="right")
    table.add_column("terms", ratio=1)
    table.add_column("largest in (share there)", max_width=32)
    for k in (-prevalence).argsort(kind="stable"):
        most = sorted(((average[k], name) for name, average in averages.items()), reverse=True)
        about = "\n".join(f"{name} {share:.0%}" for share, name in most[:_N_PACKAGES])
        table.add_row(str(k), f"{prevalence[k]:.1%}", " ".join(words[k]), about)
    out.print(table)


def _print_score(out: Console, model: Any, one_topic: Any, test: Corpus) -> None:
    out.print(
        "\nHeld-out documents, one half of each predicted from the other: "
        f"log-likelihood {model.log_likelihood(test):.3f} per token. "
        f"Held-out perplexity is {model.perplexity(test):,.0f}; "
        f"the one-topic baseline is {one_topic.perplexity(test):,.0f}."
    )


def average_shares(
    shares: NDArray[np.floating[Any]], packages: Sequence[str]
) -> Mapping[str, NDArray[np.floating[Any]]]:
    """The average topic shares of each sub-package with enough documents."""
    rows: dict[str, list[int]] = defaultdict(list)
    for d, name in enumerate(packages):
        rows[name].append(d)
    return {name: shares[d].mean(axis=0) for name, d in rows.items() if len(d) >= _MIN_DOCS}
