from __future__ import annotations

import pytest
from tests.architecture.participles import SOURCE, is_participle, is_riddle, riddles

FOLDERS = sorted(p.name for p in SOURCE.iterdir() if p.is_dir() and (p / "__init__.py").exists())


@pytest.mark.parametrize("folder", FOLDERS)
def test_functions_are_verbs_or_nouns(folder):
    assert (SOURCE / folder).exists()
    assert riddles(folder) == []


@pytest.mark.parametrize("word", ["moved", "told", "redrawn", "unborn", "kept", "swung", "typed"])
def test_participles_are_known(word):
    assert is_participle(word)


@pytest.mark.parametrize("word", ["seed", "embed", "speed", "read", "split", "run", "bed", "token"])
def test_other_words_are_no_participles(word):
    assert not is_participle(word)


@pytest.mark.parametrize(
    "name", ["moved", "_chosen", "learned_alpha", "drop_archived", "mixed_into", "Saver.stopped"]
)
def test_names_by_participles_are_found(name):
    assert is_riddle(name)


@pytest.mark.parametrize(
    "name", ["move_rows", "expected_counts", "_is_fitted", "has_moved", "seed_clone", "run", "load"]
)
def test_verbs_nouns_and_questions_pass(name):
    assert not is_riddle(name)


def test_methods_and_nested_functions_are_looked_at(tmp_path):
    code = "class A:\n    def told(self):\n        def given(): ...\n\nasync def taken(): ...\n"
    (tmp_path / "one.py").write_text(code)
    assert [(f.line, f.name) for f in riddles(source=tmp_path)] == [
        (2, "A.told"),
        (3, "given"),
        (5, "taken"),
    ]
