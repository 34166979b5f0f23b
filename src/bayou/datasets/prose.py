"""The prose of a docstring: its sentences, without the formal parts.

Parameter tables, examples, references, directives and doctests are dropped; the description
remains. Sections are recognised in three styles: numpydoc (title and underline), Google (title,
colon, indented block) and field lists (``:param x:``).
"""

import re
from inspect import cleandoc

_DROPPED_SECTIONS = frozenset(
    {
        *("parameters", "other parameters", "returns", "yields", "receives", "raises", "warns"),
        *("attributes", "methods", "examples", "example", "references", "see also", "usage"),
        *("args", "arguments", "keyword arguments", "keywords", "options", "return value"),
    }
)
_KEPT_DIRECTIVES = frozenset({"note", "warning", "caution", "important", "tip", "hint"})
_UNDERLINE = re.compile(r"^\s*([-=~*^])\1{2,}\s*$")
_DIRECTIVE = re.compile(r"^\s*\.\. +(?:\[[^\]]+\]|_[^:]+:|([\w-]+)::)")
_GOOGLE_TITLE = re.compile(r"^\s*([A-Za-z ]+):\s*$")
_FIELD = re.compile(r"^\s*:(param|parameter|arg|type|returns?|rtype|raises?|var|ivar)\b[^:]*:")
_SIGNATURE = re.compile(r"^[\w.]+\(.*\)(\s*->.*)?$")
_PARAMETER = re.compile(r"^\*{0,2}([A-Za-z]\w*(?:\s*,\s*\*{0,2}[A-Za-z]\w*)*)\s*(?::|$)")

# A role is replaced by the last part of its target; formulas and addresses are not prose.
_MATH = re.compile(r":math:`[^`]*`|\$[^$\n]+\$")
_ROLE = re.compile(r":[\w:+-]+:`~?!?([^`<]*)(?:<[^`]*>)?`")
_LINK = re.compile(r"https?://\S+|\b[\w.+-]+@[\w-]+\.[\w.]+")
_TEMPLATE = re.compile(r"%\(\w+\)s|\{\w*\}|\|\w+\|")
_POINTER = re.compile(r"\bRead more in the :ref:`[^`]*`\.?|\bsphx_glr_\w+(\.py)?")
_CITATION = re.compile(r"\[\w+\]_|\[\d+\]")
_MARKUP = re.compile(r"[`*|]+|[-=~^+]{3,}|~(?=\w)")

_WORD = re.compile(r"[^\W\d_]{2,}")


def prose(docstring: str) -> str:
    """Return the sentences of a docstring as one line of text.

    Examples
    --------
    >>> prose('''Return the mean.
    ...
    ... Parameters
    ... ----------
    ... x : array
    ...     What to average.
    ...
    ... Notes
    ... -----
    ... The sum is taken in :func:`math.fsum`.
    ... ''')
    'Return the mean. The sum is taken in math.fsum.'
    """
    lines = cleandoc(docstring).split("\n")
    if "--" in lines[:8]:  # the text after the signature of a compiled function starts below it
        lines = lines[lines.index("--") + 1 :]
    elif _SIGNATURE.match(lines[0].strip()):
        lines = lines[1:]
    text = " ".join(_without_blocks(_without_sections(lines)))
    text = _ROLE.sub(r"\1", _MATH.sub(" ", _POINTER.sub(" ", text)))
    for pattern in (_LINK, _TEMPLATE, _CITATION, _MARKUP):
        text = pattern.sub(" ", text)
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r" ([.,;:!?])(?=\s|$)", r"\1", text)


def n_words(text: str) -> int:
    """Count the words of at least two letters.

    Examples
    --------
    >>> n_words("A mean of 3 numbers.")
    3
    """
    return len(_WORD.findall(text))


def documented_parameters(docstring: str) -> tuple[str, ...]:
    """Return the names in the numpydoc Parameters section, for functions without Python source.

    Examples
    --------
    >>> documented_parameters('''Add.
    ...
    ... Parameters
    ... ----------
    ... x1, x2 : array
    ...     The terms.
    ... ''')
    ('x1', 'x2')
    """
    names: dict[str, None] = {}
    for title, body in _sections(cleandoc(docstring).split("\n")):
        if title == "parameters":
            for line in body:
                match = _PARAMETER.match(line)
                if match:
                    names.update(dict.fromkeys(re.findall(r"\w+", match[1])))
    return tuple(name for name in names if name not in {"args", "kwargs"})


def _sections(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Split at underlined titles; the text before the first title has the empty title."""
    sections: list[tuple[str, list[str]]] = [("", [])]
    i = 0
    while i < len(lines):
        line = lines[i]
        if _UNDERLINE.match(line):  # an overline, or a rule
            i += 1
        elif line.strip() and i + 1 < len(lines) and _UNDERLINE.match(lines[i + 1]):
            sections.append((line.strip().lower().rstrip(":"), []))
            i += 2
        else:
            sections[-1][1].append(line)
            i += 1
    return sections


def _without_sections(lines: list[str]) -> list[str]:
    kept: list[str] = []
    for title, body in _sections(lines):
        if title not in _DROPPED_SECTIONS:
            kept += ["", *body]
    return kept


def _without_blocks(lines: list[str]) -> list[str]:
    """Drop doctests, directives, literal blocks, field lists and Google sections."""
    kept: list[str] = []
    i = 0
    while i < len(lines):
        line = lines[i]
        i += 1
        directive = _DIRECTIVE.match(line)
        google = _GOOGLE_TITLE.match(line)
        if line.lstrip().startswith(">>>"):
            while i < len(lines) and lines[i].strip():
                i += 1
        elif directive:
            if directive[1] not in _KEPT_DIRECTIVES:
                i = _block_end(lines, i, _indent(line))
        elif _FIELD.match(line) or (google and google[1].strip().lower() in _DROPPED_SECTIONS):
            i = _block_end(lines, i, _indent(line))
        elif line.rstrip().endswith("::"):
            kept.append(line.rstrip()[:-1])
            i = _block_end(lines, i, _indent(line))
        else:
            kept.append(line)
    return kept


def _block_end(lines: list[str], i: int, indent: int) -> int:
    """The index of the first line from ``i`` on that is not indented more deeply."""
    while i < len(lines) and (not lines[i].strip() or _indent(lines[i]) > indent):
        i += 1
    return i


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
