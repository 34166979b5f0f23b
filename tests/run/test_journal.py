"""Checkpoints in a folder: the newest that is whole, and no more than are wanted."""

import os

import numpy as np
import pytest

from bayou.data import DataError, ModelFileError, header
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


def test_damage_is_told_counted_and_set_aside(tmp_path):
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
    aside = [path.with_name(f"{path.name}.damaged") for path in (newest, before)]
    assert [len(path.read_bytes()) for path in aside] == [40, 0]
    write(journal, 7)
    assert journal.paths()[-1].name == "checkpoint-0000000002.bayou"
    assert journal.newest().manifest["n"] == 7


@pytest.mark.parametrize("where", [3, 0.2, 0.4, 0.6, 0.8, -1])
def test_a_bit_that_changed_is_damage(tmp_path, where):
    journal = Journal(tmp_path / "j", told=lambda text: None)
    write(journal, 1)
    write(journal, 2)
    newest = journal.paths()[-1]
    data = bytearray(newest.read_bytes())
    data[int(where * len(data)) if 0 < where < 1 else where] ^= 1
    newest.write_bytes(data)
    assert journal.newest().manifest["n"] == 1


def test_a_checkpoint_of_a_newer_bayou_is_an_error_and_stays(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "j")
    write(journal, 1)
    with monkeypatch.context() as later:
        later.setattr(header, "FORMAT_VERSION", 2)
        write(journal, 2)
    write(journal, 3)
    damaged = journal.paths()[-1]
    damaged.write_bytes(damaged.read_bytes()[:-1])
    there = journal.paths()
    for _ in range(2):
        with pytest.raises(ModelFileError, match="written by a newer bayou"):
            journal.newest()
    assert journal.paths() == there


def test_where_none_is_whole_it_is_said_every_time(tmp_path):
    journal = Journal(tmp_path / "j", told=lambda text: None)
    write(journal, 1)
    journal.paths()[0].write_bytes(b"")
    for _ in range(2):
        with pytest.raises(ModelFileError, match="none of the 1 checkpoints"):
            journal.newest()
    assert len(journal.paths()) == 1


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


def test_a_folder_says_who_uses_it(tmp_path):
    journal = Journal(tmp_path / "j")
    with pytest.raises(
        DataError, match=rf"another process \(process {os.getpid()} on .* since 20.*UTC\) uses"
    ):
        Journal(tmp_path / "j")
    journal.close()
    Journal(tmp_path / "j").close()


@pytest.mark.parametrize("name", ["model.bayou", "lock"])
def test_a_symbolic_link_in_the_folder_is_not_followed(tmp_path, name):
    (tmp_path / "j").mkdir()
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "j" / name).symlink_to(tmp_path / "precious")
    with pytest.raises(DataError, match="symbolic link"):
        Journal(tmp_path / "j")
    assert (tmp_path / "precious").read_text() == "precious"
