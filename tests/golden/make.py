"""Write the golden model files: ``python tests/golden/make.py`` after a change of format version.

Old files stay: every later bayou must read them. A new format version gets new names.
"""

import json
from pathlib import Path

import numpy as np

from bayou import LDA, Corpus, OnlineLDA

HERE = Path(__file__).parent
VERSION = 1


def documents():
    """Counts by a formula, so that they are the same under any version of anything."""
    d, v = np.mgrid[0:30, 0:12]
    counts = (d * 7 + v * 5 + d * v) % 4 * ((v // 4) == (d % 3))
    return Corpus.from_matrix(counts, vocabulary=[f"tèrm{i}" for i in range(12)])


def models():
    shared = {"n_topics": 3, "random_state": 11, "alpha": [0.1, 0.2, 0.3]}
    yield "lda", LDA(inference="gibbs", n_sweeps=20, learn_beta=True, **shared)
    yield "online_lda", OnlineLDA(n_passes=4, batch_size=8, **shared)


def main():
    corpus = documents()
    for name, model in models():
        model.fit(corpus).save(HERE / f"{name}-v{VERSION}.bayou")
        expected = {
            "transform": model.transform(corpus).tolist(),
            "components": model.components_.tolist(),
            "score": model.score(corpus),
            "beta": model.beta_,
        }
        text = json.dumps({k: _rounded(v) for k, v in expected.items()}, indent=None)
        (HERE / f"{name}-v{VERSION}.json").write_text(text + "\n")


def _rounded(value):
    return np.round(np.asarray(value), 9).tolist()


if __name__ == "__main__":
    main()
