"""Write the golden text model: ``python -m tests.golden.text.make_text`` after a change of format version."""

import json
from pathlib import Path

import numpy as np

from bayou import LDA, TextModel, Vectorizer

HERE = Path(__file__).parent
VERSION = 1


def texts():
    """Texts by a formula, with stop words, accents and words that are rare."""
    words = ["tèrm", "Wort", "слово", "mot", "λόγος", "the", "palabra", "ord"]
    return [" ".join(words[(d * 3 + i * i) % 8] for i in range(9)) for d in range(24)]


def model():
    return TextModel(
        estimator=LDA(n_topics=3, random_state=5),
        vectorizer=Vectorizer(stop_words="english", ngrams=(1, 2), min_df=2, max_df=0.9),
    )


def main():
    fitted = model().fit(texts())
    fitted.save(HERE / f"text_model-v{VERSION}.bayou")
    expected = {
        "transform": np.round(fitted.transform(texts()), 9).tolist(),
        "terms": list(fitted.vocabulary_),
        "score": round(fitted.score(texts()), 9),
    }
    path = HERE / f"text_model-v{VERSION}.json"
    path.write_text(json.dumps(expected, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
