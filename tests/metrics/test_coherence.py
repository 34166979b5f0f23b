"""Coherence against window-by-window twins and, if it is there, gensim."""

import numpy as np
import pytest
from scipy import sparse
from tests.reference import metrics as twin

from bayou.metrics import c_v, npmi, top_terms

LISTS = [[0, 1, 2, 3], [4, 5, 6, 7], [0, 4, 8, 9], [1, 19, 5, 3]]


@pytest.fixture
def docs():
    """Documents of blocks of related terms; term 19 never occurs, one document is empty."""
    rng = np.random.default_rng(0)
    made = [[]]
    for _ in range(40):
        length = int(rng.integers(1, 60))
        block = rng.integers(0, 4, size=length // 10 + 1).repeat(10)[:length]
        made.append((block * 4 + rng.integers(0, 7, size=length)).clip(0, 18).tolist())
    return made


def counts(docs):
    X = np.array([np.bincount(np.array(doc, int), minlength=20) for doc in docs])
    return sparse.csr_matrix(X)


@pytest.mark.parametrize("eps", [1e-12, 0.0])
@pytest.mark.parametrize("window", [1, 2, 10, 59, 110])
def test_sliding_windows_equal_their_twin(docs, window, eps):
    sets = list(twin.windows(docs, window))
    expected = twin.npmi(LISTS, sets, eps)
    np.testing.assert_allclose(npmi(LISTS, docs, window=window, eps=eps), expected, atol=1e-12)
    expected = twin.c_v(LISTS, sets, eps)
    np.testing.assert_allclose(c_v(LISTS, docs, window=window, eps=eps), expected, atol=1e-12)


def test_default_windows(docs):
    np.testing.assert_array_equal(npmi(LISTS, docs), npmi(LISTS, docs, window=10))
    np.testing.assert_array_equal(c_v(LISTS, docs), c_v(LISTS, docs, window=110))


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.csr_matrix.toarray])
def test_documents_as_windows_equal_their_twin(docs, form):
    sets = [set(doc) for doc in docs if doc]
    X = form(counts(docs))
    np.testing.assert_allclose(npmi(LISTS, X), twin.npmi(LISTS, sets), atol=1e-12)
    np.testing.assert_allclose(c_v(LISTS, X), twin.c_v(LISTS, sets), atol=1e-12)
    # A window no document fills is the document.
    np.testing.assert_allclose(npmi(LISTS, X), npmi(LISTS, docs, window=1000), atol=1e-12)


def test_topics_names_and_numbers_say_the_same(docs):
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.ones(20), size=3)
    names = [f"term{v}" for v in range(20)]
    texts = [[names[v] for v in doc] + ["elsewhere"] for doc in docs]
    other = [[*doc, -1] for doc in docs]
    expected = npmi(topics, other, top_n=5)
    np.testing.assert_array_equal(npmi(top_terms(topics, 5), other), expected)
    np.testing.assert_array_equal(
        npmi(top_terms(topics, 5, names), texts, vocabulary=names), expected
    )
    np.testing.assert_array_equal(npmi(topics, texts, top_n=5, vocabulary=names), expected)


def test_limits():
    X = np.array([[1, 1, 0, 1], [1, 1, 0, 1], [0, 0, 1, 1], [0, 0, 1, 1]])
    values = npmi([[0, 1], [0, 2], [0, 3]], X, eps=0.0)
    np.testing.assert_allclose(values, [1, -1, 0], atol=1e-12)
    assert npmi([[0, 1]], np.ones((3, 2)))[0] == 1  # both terms in every document
    assert np.isnan(npmi([[0]], X)[0])
    assert np.isnan(c_v([[]], X)[0])
    np.testing.assert_array_equal(npmi([[0, 1]], np.zeros((2, 2))), [0.0])
    np.testing.assert_array_equal(npmi([[0, 1]], []), [0.0])


@pytest.mark.parametrize(
    ("topics", "reference", "options", "message"),
    [
        (LISTS, np.ones((2, 20)), {"window": 5}, "window needs token sequences"),
        (LISTS, np.ones((2, 5)), {}, "lists term 19"),
        (LISTS, -np.ones((2, 20)), {}, "non-negative"),
        (LISTS, [["a"]], {}, "pass the vocabulary"),
        (LISTS, ["a text"], {}, "got the string"),
        (LISTS, [[0.5]], {}, "term numbers or names"),
        ([[0, 0]], [[0]], {}, "different terms"),
        ([[-1, 0]], [[0]], {}, "different terms"),
        ([["x", "y"]], [["x"]], {"vocabulary": ["x"]}, "different terms"),
        ([["x"]], [["x"]], {"vocabulary": ["x", "x"]}, "twice"),
        (np.ones((1, 4)) / 4, np.ones((2, 5)), {"top_n": 2}, "4 in topics, 5 in reference"),
        (np.ones((1, 4)) / 4, [[0]], {"top_n": 5}, "top_n must be .* between 1 and 4"),
        (np.ones((1, 4)), [[0]], {"top_n": 2}, "sum to 1"),
        (LISTS, [[0]], {"top_n": 0}, "top_n"),
        (LISTS, [[0]], {"window": 0}, "window"),
        (LISTS, [[0]], {"eps": -1.0}, "eps"),
    ],
)
@pytest.mark.parametrize("measure", [npmi, c_v])
def test_bad_input_is_named(measure, topics, reference, options, message):
    with pytest.raises(ValueError, match=message):
        measure(topics, reference, **options)


@pytest.fixture
def texts():
    """Texts in which no term repeats: gensim forgets a term that leaves the window at one end even
    when it occurs again further on in the same window.
    """
    rng = np.random.default_rng(0)
    made = []
    for d in range(40):
        head = 4 * rng.integers(0, 4)
        terms = [*range(head, head + 4), *rng.choice(19, size=rng.integers(0, 12), replace=False)]
        fill = [f"other{d}.{i}" for i in range(rng.integers(0, 30))]
        made.append([f"t{v}" for v in dict.fromkeys(terms)] + fill)
        rng.shuffle(made[-1])
    return made


@pytest.mark.parametrize(("ours", "theirs"), [(npmi, "c_npmi"), (c_v, "c_v")])
@pytest.mark.parametrize("window", [None, 5, 20])
def test_gensim_agrees(texts, ours, theirs, window):
    corpora = pytest.importorskip("gensim.corpora")
    models = pytest.importorskip("gensim.models")
    lists = [[f"t{v}" for v in row if v != 19] for row in LISTS]
    model = models.CoherenceModel(
        topics=lists,
        texts=texts,
        dictionary=corpora.Dictionary(texts),
        coherence=theirs,
        window_size=window,
        topn=4,
        processes=1,
    )
    values = ours(lists, texts, vocabulary=[f"t{v}" for v in range(20)], window=window)
    np.testing.assert_allclose(values, model.get_coherence_per_topic(), atol=1e-9)
