"""Checkpoints in a folder: the newest that is whole, and no more than are wanted."""

import numpy as np
import pytest

from bayou.data import DataError
from bayou.run.journal import Journal


def write(journal, n):
    journal.write({"a": np.arange(n)}, {"n": n})


def test_the_newest_is_found_and_old_ones_go(tmp_path):
    journal = Journal(tmp_path / "j", keep=2)
    assert journal.newest() is None
    assert journal.oldest_manifest() == {}
    for n in range(5):
        write(journal, n)
    assert [path.name[-8:] for path in journal.paths()] == ["04.bayou", "05.bayou"]
    kept = journal.newest()
    assert (len(kept.arrays["a"]), kept.manifest["n"]) == (4, 4)
    assert journal.oldest_manifest()["n"] == 3
    journal.close()
    journal.close()


def test_damage_is_told_counted_and_removed(tmp_path):
    said = []
    journal = Journal(tmp_path / "j", told=said.append)
    for n in range(3):
        write(journal, n)
    newest, before = journal.paths()[-1], journal.paths()[-2]
    newest.write_bytes(newest.read_bytes()[:40])
    before.write_bytes(b"")
    assert journal.newest().manifest["n"] == 0
    assert (journal.n_damaged, len(said)) == (2, 2)
    assert not newest.exists()
    write(journal, 7)
    assert journal.paths()[-1].name == "checkpoint-0000000002.bayou"
    assert journal.newest().manifest["n"] == 7


def test_other_files_are_left_alone(tmp_path):
    (tmp_path / "j").mkdir()
    for name in ("mine.txt", ".checkpoint-1.tmp", "checkpoint-1.bayou"):
        (tmp_path / "j" / name).write_text("mine")
    torn = tmp_path / "j" / ".checkpoint-0000000003.bayou.77-0.tmp"
    torn.write_text("half")
    journal = Journal(tmp_path / "j")
    assert not torn.exists()
    assert journal.newest() is None
    with pytest.raises(DataError, match="another process"):
        Journal(tmp_path / "j")
    journal.close()
    assert len(list((tmp_path / "j").iterdir())) == 4
