"""Changes of arrays and manifests that keep a file readable: numbers, types, shapes, names, parameters."""

import copy

import numpy as np

FLOATS = (0.0, -1.0, 1e-300, 1e-45, 1e20, 1e30, 3e38, 1e300, np.nan, np.inf, -np.inf, 0.5)
WHOLES = (
    0,
    1,
    -1,
    2,
    -(10**7),
    10**7,
    255,
    65535,
    65536,
    70_000,
    2**31 - 1,
    -(2**31),
    2**62,
    -(2**63),
)
DTYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")
VALUES = (
    None, True, False, 0, 1, -1, 10**9, 2**31, 2**63, 1e-300, 1e300, -0.5, "", "x", "(a+)+$", "(x+x+)+y",
    "gibbs", "light", "cvb0", "hybrid", [], [1], [1, 100_000], [0.1] * 4, [1e300] * 4, {}, {"a": 1}, 3000,
    0.5, 1.5,
)  # fmt: skip


def change(rng, arrays, manifest):
    """Arrays and manifest with one to three changes, and what was changed."""
    arrays, manifest, told = dict(arrays), copy.deepcopy(manifest), []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if arrays and rng.random() < 0.75:
            name = sorted(arrays)[rng.integers(len(arrays))]
            told.append(_change_array(rng, arrays, name))
        else:
            told.append(_change_manifest(rng, manifest))
    return arrays, manifest, "; ".join(told)


def _change_array(rng, arrays, name):
    ways = (_one, _one, _some, _all, _all, _dtype, _shape, _swap, _scale, _drop, _shift, _nudge)
    way = ways[rng.integers(len(ways))]
    with np.errstate(all="ignore"):
        told = way(rng, arrays, name)
    return f"{name}: {told}"


def _value(rng, array):
    if array.dtype == bool:
        return bool(rng.integers(2))
    if array.dtype.kind == "f":
        return FLOATS[rng.integers(len(FLOATS))]
    info = np.iinfo(array.dtype)
    near = (info.min, info.max, info.max // 2, array.size, max(array.shape, default=0))
    value = (*WHOLES, *near)[rng.integers(len(WHOLES) + len(near))]
    return min(max(value, info.min), info.max)


def _one(rng, arrays, name):
    array = arrays[name].copy()
    if not array.size:
        return "empty"
    value = _value(rng, array)
    place = int(rng.integers(array.size))
    array.reshape(-1)[place] = value
    arrays[name] = array
    return f"[{place}] = {value}"


def _some(rng, arrays, name):
    array = arrays[name].copy()
    value = _value(rng, array)
    array.reshape(-1)[rng.random(array.size) < 0.3] = value
    arrays[name] = array
    return f"some = {value}"


def _all(rng, arrays, name):
    value = _value(rng, arrays[name])
    arrays[name] = np.full_like(arrays[name], value)
    return f"all = {value}"


def _dtype(rng, arrays, name):
    kind = DTYPES[rng.integers(len(DTYPES))]
    arrays[name] = arrays[name].astype(kind)
    return f"as {kind}"


def _shape(rng, arrays, name):
    array = arrays[name]
    way = rng.integers(6)
    if way == 0:
        array = array.reshape(-1)
    elif way == 1:
        array = array[None]
    elif way == 2 and array.ndim:
        array = array[:-1]
    elif way == 3 and array.ndim:
        array = np.concatenate([array, array[-1:]])
    elif way == 4:
        array = np.ascontiguousarray(array.T)
    elif way == 5 and array.ndim:
        array = array[:0]
    arrays[name] = array
    return f"shape {array.shape}"


def _swap(rng, arrays, name):
    other = sorted(arrays)[rng.integers(len(arrays))]
    arrays[name], arrays[other] = arrays[other], arrays[name]
    return f"swapped with {other}"


def _scale(rng, arrays, name):
    factor = (0.0, -1.0, 1e6, 1e-6, 1e30)[rng.integers(5)]
    arrays[name] = (arrays[name] * factor).astype(arrays[name].dtype)
    return f"times {factor}"


def _drop(rng, arrays, name):
    del arrays[name]
    return "dropped"


def _shift(rng, arrays, name):
    arrays[name] = np.roll(arrays[name], 1)
    return "rolled"


def _nudge(rng, arrays, name):
    if arrays[name].dtype == bool:
        return "nothing"
    step = int(rng.choice([-1, 1]))
    arrays[name] = (arrays[name] + np.array(step).astype(arrays[name].dtype)).astype(
        arrays[name].dtype
    )
    return f"plus {step}"


def _change_manifest(rng, manifest):
    places = list(_places(manifest))
    owner, key, path = places[rng.integers(len(places))]
    if rng.random() < 0.1:
        del owner[key]
        return f"manifest {path} dropped"
    value = VALUES[rng.integers(len(VALUES))]
    owner[key] = copy.deepcopy(value)
    return f"manifest {path} = {value!r}"


def _places(value, path=""):
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        here = f"{path}/{key}"
        yield value, key, here
        if isinstance(item, dict | list):
            yield from _places(item, here)
