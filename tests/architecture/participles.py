"""Functions whose names say what has been done, not what they do or give."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[2] / "src" / "bayou"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NOT_PARTICIPLES = _words(
    """
    bleed breed embed exceed feed need proceed red seed shed speed
    """
)

IRREGULAR = _words(
    """
    begun bent born bound bought broken brought built burnt caught chosen dealt done drawn driven
    fallen felt forgotten fought found frozen given gone got gotten grown heard held hidden hung
    kept known laid learnt led left lent lost made meant met paid proven ridden risen said seen sent
    shaken shown shrunk sold sought spelt spent spoken spun stolen stood struck stuck stung sung
    sunk swept swollen sworn swung taken taught thought thrown told torn understood undone withdrawn
    withheld woken won worn woven written
    """
)
PREFIXES = ("re", "un", "over", "mis")
QUESTIONS = frozenset({"is", "are", "has", "have", "was"})
# First words that make the name a verb, or a number.
VERBS = frozenset({"check", "count", "learn", "n", "note", "print", "repeat"})

# A participle as an adjective of the noun that the function gives.
VALUES = _words(
    """
    allowed_labels compiled_folder documented_parameters dropped_tokens expected_counts
    expected_failures expected_topics known_names fixed_terms expected_rows expected_sticks
    expected_tables fixed_topics fixed_weights held_out_mask held_out_scores keyed_order
    labelled_sizes shared_threshold tilted_sum unknown_shares weighted_strength
    """
)
# Names that users know, and the laws of `bayou.testing`, which are statements about a model.
PUBLIC = _words(
    """
    Corpus.rounded Vocabulary.revised left_to_right left_to_right_row matched_l1
    dropped_ expected_calibration_error published resume_equals_uninterrupted unfitted_refuses unused_terms
    """
)


class Function(NamedTuple):
    """Where a function is defined."""

    path: str  # below `SOURCE`
    line: int
    name: str  # with its class, if it is a method


def is_participle(word: str) -> bool:
    """Whether a word is a past participle."""
    if word in NOT_PARTICIPLES:
        return False
    if len(word) > 3 and word.endswith("ed"):
        return True
    stems = {word, *(word.removeprefix(prefix) for prefix in PREFIXES)}
    return not stems.isdisjoint(IRREGULAR)


def is_riddle(name: str) -> bool:
    """Whether the name of a function or ``Class.method`` is a participle, or begins or ends with one."""
    short = name.rpartition(".")[2].strip("_").removesuffix("_into")
    words = short.split("_")
    if {name, short, short + "_"} & PUBLIC or short in VALUES or QUESTIONS.intersection(words[:-1]):
        return False
    return is_participle(words[0]) or (words[0] not in VERBS and is_participle(words[-1]))


def functions(tree: ast.AST, path: str, owner: str = "") -> Iterator[Function]:
    """All functions of a module: methods and nested ones too."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from functions(node, path, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(path, node.lineno, owner + node.name)
            yield from functions(node, path)
        else:
            yield from functions(node, path, owner)


def riddles(folder: str = "", source: Path = SOURCE) -> list[Function]:
    """Functions below a folder or in a file of ``source`` that are named by a participle."""
    top = source / folder
    paths = [top] if top.is_file() else sorted(top.rglob("*.py"))
    found = (
        function
        for path in paths
        for function in functions(
            ast.parse(path.read_text(encoding="utf-8")), path.relative_to(source).as_posix()
        )
    )
    return [function for function in found if is_riddle(function.name)]
