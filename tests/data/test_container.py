"""The model file: round trips, determinism, and writing all or nothing."""

import errno
import hashlib
import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open

from bayou.data import ModelFileError, container, header
from bayou.data.container import load, pack_strings, peek, save, unpack_strings

ARRAYS = {
    "topics": np.arange(12, dtype=np.float32).reshape(3, 4),
    "weights": np.linspace(0, 1, 5),
    "mask": np.array([True, False, True]),
    "indptr": np.array([0, 2, 5], np.int64),
    "scalar": np.array(3, np.uint16),
    "empty": np.zeros((0, 7), np.int8),
}


MANIFEST = {"kind": "test", "params": {"alpha": 0.1, "names": ["ä", "\ud800"]}, "none": None}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.bayou"
    save(path, ARRAYS, MANIFEST)
    return path


def _assert_same(found, expected):
    assert list(found) == sorted(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()
        assert found[name].flags.writeable
        assert found[name].flags.c_contiguous
        assert found[name].flags.owndata


def test_round_trip(saved):
    arrays, manifest = load(saved)
    _assert_same(arrays, ARRAYS)
    assert manifest == MANIFEST
    assert peek(saved) == peek(saved, verify=True) == MANIFEST


_DTYPES = st.sampled_from(sorted(map(str, header.DTYPES.values())))


@settings(max_examples=60)
@given(
    arrays=st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9_./]{0,10}", fullmatch=True),
        _DTYPES.flatmap(
            lambda dtype: hnp.arrays(
                dtype, hnp.array_shapes(min_dims=0, min_side=0, max_dims=3, max_side=4)
            )
        ),
        max_size=5,
    ),
    manifest=st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
            lambda inner: st.lists(inner, max_size=3),
            max_leaves=5,
        ).filter(lambda value: value not in (float("inf"), float("-inf"))),
        max_size=4,
    ),
)
def test_round_trip_of_anything(tmp_path_factory, arrays, manifest):
    path = tmp_path_factory.mktemp("any") / "m"
    try:
        save(path, arrays, manifest)
    except ModelFileError:
        assert "Infinity" in json.dumps(manifest)
        return
    found, back = load(path)
    _assert_same(found, arrays)
    assert back == manifest
    with safe_open(path, "np") as other:
        assert sorted(other.keys()) == sorted(arrays)
        for name, array in arrays.items():
            assert other.get_tensor(name).tobytes() == array.tobytes()


def test_the_file_is_plain_safetensors(saved):
    with safe_open(saved, "np") as other:
        meta = other.metadata()
        assert set(meta) == {"format", "format_version", "manifest", "sha256"}
        assert (meta["format"], meta["format_version"]) == ("bayou", "1")
        assert json.loads(meta["manifest"]) == MANIFEST
        np.testing.assert_array_equal(other.get_tensor("topics"), ARRAYS["topics"])
    raw = saved.read_bytes()
    digest = meta["sha256"].encode()
    assert raw.count(digest) == 1
    assert hashlib.sha256(raw.replace(digest, b"0" * 64)).hexdigest().encode() == digest


def test_equal_contents_give_equal_bytes(tmp_path, saved):
    other = tmp_path / "other"
    turned = {name: ARRAYS[name] for name in reversed(ARRAYS)}
    turned["topics"] = np.asfortranarray(turned["topics"])
    turned["weights"] = turned["weights"].astype(">f8")
    save(other, turned, dict(reversed(MANIFEST.items())))
    assert other.read_bytes() == saved.read_bytes()


def test_arrays_are_aligned(saved):
    raw = saved.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    assert length % 8 == 0
    for entry in header.decode(raw[8 : 8 + length], len(raw) - 8 - length).entries:
        assert (8 + length + entry.start) % header.DTYPES[entry.dtype].itemsize == 0


def test_strings_in_an_array():
    strings = ["", "a", "\x00", "\ud800", "语言", "🐊"]
    assert unpack_strings(pack_strings(strings)) == strings
    with pytest.raises(ModelFileError, match="list of strings"):
        unpack_strings(np.frombuffer(b'["a", 1]', np.uint8))


def test_what_is_no_model_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")
    with pytest.raises(ModelFileError, match="not a regular file"):
        load(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(ModelFileError, match="0 bytes"):
        load(tmp_path / "empty")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ModelFileError, match="not a regular file"):
            load(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("arrays", "manifest", "why"),
    [
        ({"a": np.array(["x"])}, {}, "dtype"),
        ({"a": np.array([1j])}, {}, "dtype"),
        ({"a": np.array([None])}, {}, "dtype"),
        ({"a": np.array(["2020"], "datetime64[us]")}, {}, "dtype"),
        ({"__metadata__": np.zeros(1)}, {}, "not a valid array name"),
        ({"ä": np.zeros(1)}, {}, "not a valid array name"),
        ({}, {"a": np.float32(1)}, "JSON"),
        ({}, {"a": float("nan")}, "JSON"),
        ({}, {"a": {1, 2}}, "JSON"),
        ({}, {"a": "x" * (17 * 2**20)}, "pack_strings"),
        ({f"n{i}": np.zeros(0) for i in range(10_001)}, {}, "at most 10000"),
    ],
)
def test_what_cannot_be_saved(tmp_path, arrays, manifest, why):
    with pytest.raises(ModelFileError, match=why):
        save(tmp_path / "m", arrays, manifest)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["fsync", "replace"])
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file(saved, monkeypatch, name, failure):
    before = saved.read_bytes()

    def fail(*_):
        raise failure

    monkeypatch.setattr(container.os, name, fail)
    with pytest.raises(type(failure)):
        save(saved, {"other": np.ones(3)}, {})
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_full_disk_leaves_the_old_file(saved):
    """The system itself refuses to write more: a limit on the size of files."""
    pytest.importorskip("resource")
    before = saved.read_bytes()
    code = f"""
        import resource, signal
        import numpy as np
        from bayou.data.container import save
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            save({str(saved)!r}, {{"a": np.ones(1_000_000)}}, {{}})
        except OSError:
            print("refused")
    """
    done = _python(code)
    assert done == "refused"
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_saving_keeps_permissions_and_links(tmp_path, saved):
    saved.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(saved)
    save(link, {"a": np.ones(1)}, {})
    assert link.is_symlink()
    assert load(saved)[0].keys() == {"a"}
    assert saved.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ModelFileError, match="folder"):
        save(tmp_path, {}, {})
    with pytest.raises(FileNotFoundError):
        save(tmp_path / "no" / "m", {}, {})


def _python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return done.stdout.strip()


def test_loading_runs_nothing(saved):
    """No import, compilation, execution or unpickling happens while a file is read."""
    code = f"""
        import json, sys
        import pickle
        from bayou.data.container import load, peek
        path = {str(saved)!r}
        seen = []
        watching = False
        def hook(event, args):
            if watching:
                seen.append(event)
        sys.addaudithook(hook)
        watching = True
        load(path); peek(path, verify=True)
        watching = False
        print(json.dumps(sorted(set(seen))))
    """
    events = json.loads(_python(code))
    assert "open" in events
    assert not {e for e in events if e.startswith(("pickle", "exec", "compile", "import"))}
    assert set(events) <= {"open"}
