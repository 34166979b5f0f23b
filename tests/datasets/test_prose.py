import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.datasets.prose import documented_parameters, n_words, prose

_LINES = st.sampled_from(
    ["Prose.", "", "    deep", "Notes", "-----", "Parameters", "x : int", ">>> f(x)", "Args:"]
    + [".. note::", ".. math::", "Literal::", ":param x: y", "``code``", "--", "====", "`a` *b"]
)


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("", ""),
        ("One line.", "One line."),
        ("f(x, y) -> int\n\nAdd.", "Add."),
        ("Sum.\n\n>>> f(1)\n2\n\nMore.", "Sum. More."),
        ("Sum.\n\nArgs:\n    x: a number\n\nMore.", "Sum. More."),
        ("Sum.\n\n:param x: a number\n    with more\n:returns: a number\n\nMore.", "Sum. More."),
        ("Such as::\n\n    code()\n\nMore.", "Such as: More."),
        ("A.\n\n.. math::\n\n    x^2\n\nB.", "A. B."),
        ("A.\n\n.. note::\n\n    Be careful.\n\nB.", "A. Be careful. B."),
        ("A.\n\nNotes\n-----\nB.\n\nReturns\n-------\nint\n    C.", "A. B."),
        ("=====\nTitle\n=====\n\nA.\n\nSee Also\n--------\nother", "A."),
        (
            "The :func:`~scipy.stats.norm` of :math:`x_1`, see [1]_.",
            "The scipy.stats.norm of, see.",
        ),
        ("A.\n\n.. [1] Someone. A paper\n   of 1999.\n", "A."),
        ("See https://example.org/x for *all* of ``it``.", "See for all of it."),
    ],
)
def test_prose(docstring: str, expected: str) -> None:
    assert prose(docstring) == expected


@given(st.lists(_LINES, max_size=12).map("\n".join) | st.text(max_size=80))
def test_any_text_gives_one_clean_line(docstring: str) -> None:
    text = prose(docstring)
    assert text == " ".join(text.split())
    assert n_words(text) <= n_words(docstring)
    assert all(name.isidentifier() for name in documented_parameters(docstring))


def test_documented_parameters_keep_order_and_drop_stars() -> None:
    doc = (
        "F.\n\nParameters\n----------\nb, a : int\n    Two.\n*args : any\n\nReturns\n-------\nc : x"
    )
    assert documented_parameters(doc) == ("b", "a")
