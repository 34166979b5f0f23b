"""A report full of text that would rather be code."""

import numpy as np

from bayou import LDA
from bayou.data import Corpus
from bayou.report import ReportData

HOSTILE = (
    "<script>window.hacked = true</script>",
    "</style><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "\"quoted\" & 'single' `tick` {{ 7 * 7 }} {% raw %}",
    "שלום עולם مرحبا",
    "\u202eturned\u202c round",
    "🦆👩‍👩‍👧 emoji",
    "nul\x00 bell\x07 half\ud800",
    "</script></svg></title>-->]]>",
)


def hostile_data(*, texts=True, n_docs=90):
    """A small model whose terms, labels, names, texts and title are all hostile."""
    terms = [f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(27)]
    group = np.arange(n_docs) * 3 // n_docs
    counts = np.array(
        [[3 if v // 9 == group[d] and (v + d) % 2 else (v + d) % 5 == 0 for v in range(27)]
         for d in range(n_docs)]
    )  # fmt: skip
    counts[::17] = 0
    corpus = Corpus.from_matrix(
        counts,
        vocabulary=terms,
        labels=[HOSTILE[g] for g in group],
        times=[f"{1950 + d // 3}-03-01" for d in range(n_docs)],
        ids=[f"{HOSTILE[d % len(HOSTILE)]} {d}" for d in range(n_docs)],
    )
    model = LDA(n_topics=3, random_state=0).fit(corpus)
    begin = ("", HOSTILE[4] + " ")  # every second text is written from right to left
    said = [f"{begin[d % 2]}{HOSTILE[d % 9]} and more, document {d}" for d in range(n_docs)]
    return ReportData.from_model(
        model, corpus, texts=said if texts else None, title=HOSTILE[0], test=corpus[::3]
    )
