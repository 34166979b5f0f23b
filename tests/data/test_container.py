"""The model file: round trips, determinism, and every way to damage or forge one."""

import errno
import hashlib
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

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


@settings(max_examples=60, deadline=None)
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


def _mutations(original: bytes, n: int):
    rng = np.random.default_rng(7)
    size = len(original)
    head = 8 + int.from_bytes(original[:8], "little")
    for i in range(n):
        raw = bytearray(original)
        a, b = sorted(int(x) for x in rng.integers(0, size, 2))
        match i % 8:
            case 0:  # one bit anywhere
                raw[a] ^= 1 << int(rng.integers(8))
            case 1:  # one byte of the header
                raw[int(rng.integers(0, head))] = int(rng.integers(256))
            case 2:  # cut
                del raw[a:]
            case 3:  # insert
                raw[a:a] = rng.bytes(int(rng.integers(1, 20)))
            case 4:  # remove a piece
                del raw[a : a + int(rng.integers(1, 20))]
            case 5:  # swap two ranges
                n_swap = int(rng.integers(1, 16))
                if b + n_swap <= size and a + n_swap <= b:
                    raw[a : a + n_swap], raw[b : b + n_swap] = (
                        raw[b : b + n_swap],
                        raw[a : a + n_swap],
                    )
            case 6:  # edit a digit of the header: shapes, offsets, version, digest
                digits = [j for j in range(8, head) if chr(raw[j]).isdigit()]
                raw[int(rng.choice(digits))] = int(rng.integers(48, 58))
            case 7:  # append
                raw += rng.bytes(int(rng.integers(1, 9)))
        if raw != original:
            yield bytes(raw)


def test_ten_thousand_damaged_files(tmp_path, saved):
    shm = Path("/dev/shm")
    path = (shm if shm.is_dir() and os.access(shm, os.W_OK) else tmp_path) / (
        f"bayou-test-{os.getpid()}"
    )
    tried = 0
    try:
        for raw in _mutations(saved.read_bytes(), 12_000):
            path.write_bytes(raw)
            with pytest.raises(ModelFileError):
                load(path)
            with pytest.raises(ModelFileError):
                peek(path, verify=True)
            tried += 1
    finally:
        path.unlink(missing_ok=True)
    assert tried >= 10_000


def test_every_single_byte_matters(tmp_path, saved):
    original = saved.read_bytes()
    path = tmp_path / "damaged"
    for i in range(len(original)):
        raw = bytearray(original)
        raw[i] ^= 0x20  # also turns the case of letters
        path.write_bytes(raw)
        with pytest.raises(ModelFileError):
            load(path)
        path.write_bytes(original[:i])
        with pytest.raises(ModelFileError):
            load(path)


# Forgeries: a header of the forger's choice, with a digest that is right


def _forge(path, fields, data=b"", *, text=None, meta=None):
    meta = {
        "format": "bayou",
        "format_version": "1",
        "manifest": "{}",
        "sha256": "0" * 64,
    } | (meta or {})
    if text is None:
        text = header.canonical(fields | {"__metadata__": meta}).encode()
    text += b" " * (-len(text) % 8)
    raw = len(text).to_bytes(8, "little") + text + data
    digest = hashlib.sha256(raw).hexdigest().encode()
    path.write_bytes(raw.replace(b"0" * 64, digest))
    return path


def _entry(shape, start, end, dtype="U8"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def test_an_honest_forgery_loads(tmp_path):
    path = _forge(tmp_path / "f", {"a": _entry([2], 0, 2), "b": _entry([1], 2, 3)}, b"abc")
    arrays, _ = load(path)
    assert arrays["a"].tolist() == [97, 98]


@pytest.mark.parametrize(
    ("fields", "data", "why"),
    [
        ({"a": _entry([2**62, 2**62], 0, 8)}, b"x" * 8, "agree with its shape"),
        ({"a": _entry([2**40], 0, 2**40)}, b"x" * 8, "describes"),
        ({"a": _entry([2**70], 0, 8)}, b"x" * 8, "impossible shape"),
        ({"a": _entry([-1], 0, 8)}, b"x" * 8, "impossible shape"),
        ({"a": _entry([8.0], 0, 8)}, b"x" * 8, "impossible shape"),
        ({"a": _entry([True], 0, 1)}, b"x", "impossible shape"),
        ({"a": _entry(["8"], 0, 8)}, b"x" * 8, "impossible shape"),
        ({"a": _entry(None, 0, 8)}, b"x" * 8, "impossible shape"),
        ({"a": _entry([1] * 40, 0, 1)}, b"x", "impossible shape"),
        ({"a": _entry([0, 2**62, 2**62], 0, 0)}, b"", "memory"),
        ({"a": _entry([8], 8, 0)}, b"x" * 8, "agree with its shape"),
        ({"a": _entry([8], -8, 0)}, b"x" * 8, "impossible offsets"),
        ({"a": _entry([4], 0, 4), "b": _entry([4], 2, 6)}, b"x" * 6, "overlaps"),
        ({"a": _entry([4], 0, 4), "b": _entry([4], 0, 4)}, b"x" * 4, "overlaps"),
        ({"a": _entry([2], 0, 2), "b": _entry([2], 4, 6)}, b"x" * 6, "gap"),
        ({"a": _entry([4], 0, 4)}, b"x" * 6, "describes"),
        ({"a": _entry([4], 0, 4)}, b"x" * 2, "describes"),
        ({"a": _entry([1], 0, 1, "I4")}, b"x", "unknown dtype"),
        ({"a": _entry([1], 0, 2, "BF16")}, b"xx", "unknown dtype"),
        ({"a": _entry([1], 0, 1, ["U8"])}, b"x", "unknown dtype"),
        ({"a": _entry([1], 0, 8, "F64") | {"more": 1}}, b"x" * 8, "not described"),
        ({"a": [1, 2]}, b"", "not described"),
        ({"a": _entry([2], 0, 2, "BOOL")}, b"\x01\x02", "truth values"),
        ({"a b": _entry([1], 0, 1)}, b"x", "cannot name"),
        ({"": _entry([1], 0, 1)}, b"x", "cannot name"),
        ({f"n{i}": _entry([0], 0, 0) for i in range(100_000)}, b"", "100000 arrays"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hostile_entries(tmp_path, fields, data, why):
    with pytest.raises(ModelFileError, match=why):
        load(_forge(tmp_path / "f", fields, data))


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        ({"format": "other"}, "not a bayou"),
        ({"format_version": "2"}, "newer bayou.*upgrade"),
        ({"format_version": "0"}, "unknown format version"),
        ({"format_version": 1}, "unknown format version"),
        ({"manifest": "[]"}, "manifest is not a JSON object"),
        ({"manifest": "{"}, "manifest is not valid JSON"),
        ({"manifest": '{"a":1,"a":2}'}, "twice"),
        ({"manifest": '{"a":NaN}'}, "NaN is not JSON"),
        ({"manifest": "[" * 100_000}, "manifest is not valid JSON"),
        ({"manifest": None}, "no manifest"),
        ({"extra": "1"}, "unknown fields"),
        ({"sha256": "0" * 63}, "no SHA-256"),
        ({"sha256": "0" * 63 + "G"}, "no SHA-256"),
    ],
)
def test_hostile_metadata(tmp_path, meta, why):
    with pytest.raises(ModelFileError, match=why):
        load(_forge(tmp_path / "f", {}, meta=meta))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"[" * 200_000, "not valid JSON"),
        (b'{"a":' * 200_000, "not valid JSON"),
        (b"{}", "not a bayou"),
        (b"[]", "not a JSON object"),
        (b"", "not valid JSON"),
        (b"\xff\xfe{}", "not valid JSON"),
        (b'{"a":1,"a":1}', "twice"),
        (b'{"a":' + b"9" * 5000 + b"}", "not valid JSON"),
        (
            b'{ "__metadata__":{"format":"bayou","format_version":"1","manifest":"{}",'
            b'"sha256":"' + b"0" * 64 + b'"}}',
            "form that bayou writes",
        ),
        (
            b'{"__metadata__":{"format":"bayou","format_version":"1","format_version":"1",'
            b'"manifest":"{}","sha256":"' + b"0" * 64 + b'"}}',
            "twice",
        ),
    ],
    ids=range(10),
)
def test_hostile_header_text(tmp_path, text, why):
    with pytest.raises(ModelFileError, match=why):
        load(_forge(tmp_path / "f", {}, text=text))


@pytest.mark.parametrize("length", [0, 9, 2**24 + 1, 2**63, 2**64 - 1])
def test_hostile_header_length(tmp_path, length):
    path = tmp_path / "f"
    path.write_bytes(length.to_bytes(8, "little") + b"{}")
    with pytest.raises(ModelFileError):
        load(path)


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
        ({"__metadata__": np.zeros(1)}, {}, "cannot name"),
        ({"ä": np.zeros(1)}, {}, "cannot name"),
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
        timeout=120,
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
