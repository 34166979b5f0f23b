"""Layout of the topic map: positions, groups of similar topics, and labels without overlap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.report.text import text_width

Floats = NDArray[np.float64]

N_FAMILIES = 8
N_TEXTURES = 3
_GAP = 3.0  # pixels between two circles, and between a circle and its label


class Sign(NamedTuple):
    """Colour and texture of a topic in all drawings."""

    family: int  # group of similar topics; selects the colour
    texture: int  # 0 solid, 1 ring, 2 hatched


class Label(NamedTuple):
    """Text label on the map."""

    topic: int
    text: str
    x: float
    y: float  # base line
    anchor: str


def classical_scaling(distances: Floats, n_dims: int) -> Floats:
    """Points in ``n_dims`` dimensions whose distances approximate the given distances.

    Eigenvectors of the doubly centred squared distances (Torgerson). Signs are fixed, so that equal
    distances give equal maps.
    """
    n = len(distances)
    centre = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ distances**2 @ centre)
    best = np.argsort(-values)[:n_dims]
    points = vectors[:, best] * np.sqrt(np.maximum(values[best], 0.0))
    heaviest = np.abs(points).argmax(axis=0)
    points = points * np.where(points[heaviest, np.arange(points.shape[1])] < 0, -1.0, 1.0)
    return np.hstack([points, np.zeros((n, n_dims - points.shape[1]))])


def families(points: Floats) -> NDArray[np.int64]:
    """Group numbers of points: at most eight groups of neighbours, the largest group first.

    The largest group is split repeatedly, across its longest axis, at the widest gap in the middle
    half. No group ends up with more than about a quarter of all topics.
    """
    groups = [np.arange(len(points))]
    while len(groups) < min(N_FAMILIES, len(points)):
        groups.sort(key=lambda group: (-len(group), group[0]))
        group = groups.pop(0)
        centred = points[group] - points[group].mean(axis=0)
        axis = np.linalg.svd(centred, full_matrices=False)[2][0]
        order = np.argsort(centred @ axis, kind="stable")
        line = (centred @ axis)[order]
        low = max(1, len(group) // 4)
        gaps = np.diff(line)[low - 1 : len(group) - low]
        cut = low + int(np.argmax(gaps))
        groups += [group[order[:cut]], group[order[cut:]]]
    groups.sort(key=lambda group: (-len(group), group.min()))
    out = np.zeros(len(points), np.int64)
    for family, group in enumerate(groups):
        out[group] = family
    return out


def signs(family: NDArray[np.int64], share: Floats) -> list[Sign]:
    """Assign colours by family, and textures in turn within a family by decreasing share."""
    seen = [0] * N_FAMILIES
    out = [Sign(0, 0)] * len(family)
    for k in np.argsort(-share, kind="stable"):
        f = int(family[k])
        out[k] = Sign(f, seen[f] % N_TEXTURES)
        seen[f] += 1
    return out


def radii(share: Floats, width: float, height: float) -> Floats:
    """Radii of circles with areas proportional to shares; together at most 1/15 of the map."""
    safe = np.maximum(np.nan_to_num(share), 1e-9)
    largest = min(
        26.0, width / 20 + 4, np.sqrt(width * height / 15 / np.pi * safe.max() / safe.sum())
    )
    return np.asarray(np.maximum(largest * np.sqrt(safe / safe.max()), 2.5))


def spread(points: Floats, radius: Floats, width: float, height: float) -> Floats:
    """Positions on the map without overlap of circles.

    A coordinate is the mean of scaled value and rank, so that the whole map is used.
    """
    n = len(points)
    low, span = points.min(axis=0), np.ptp(points, axis=0)
    scaled = np.where(span > 1e-12, (points - low) / np.where(span > 1e-12, span, 1.0), 0.5)
    rank = np.argsort(np.argsort(points, axis=0, kind="stable"), axis=0) / max(n - 1, 1)
    unit = np.where(span > 1e-12, 0.5 * scaled + 0.5 * rank, 0.5)
    box = np.array([width, height])
    edge = np.array([0.09 * width - 8, 0.04 * height]) + radius.max()
    places = edge + unit * (box - 2 * edge)
    for _ in range(120):
        shifted = _push_apart(places, radius)
        shifted = np.clip(shifted, radius[:, None] + 2, box - radius[:, None] - 2)
        if np.abs(shifted - places).max() < 0.05:
            break
        places = shifted
    return np.asarray(places)


def _push_apart(places: Floats, radius: Floats) -> Floats:
    """Move overlapping circles apart by half of their overlap."""
    between = places[:, None] - places[None]
    apart = np.hypot(between[..., 0], between[..., 1])
    wanted = radius[:, None] + radius[None] + _GAP
    np.fill_diagonal(wanted, 0.0)
    n = len(places)
    golden = 2.399963 * np.abs(np.arange(n)[:, None] + np.arange(n)[None])
    aside = np.stack([np.cos(golden), np.sin(golden)], axis=-1)
    aside *= np.sign(np.arange(n)[:, None] - np.arange(n)[None])[..., None]
    safe = np.where(apart > 1e-9, apart, 1.0)[..., None]
    direction = np.where(apart[..., None] > 1e-9, between / safe, aside)
    push = np.maximum(wanted - apart, 0.0)[..., None] * direction * 0.5
    return np.asarray(places + push.sum(axis=1))


def labels(
    names: list[list[str]],
    order: list[int],
    places: Floats,
    radius: Floats,
    size: tuple[float, float],
    most: int,
) -> list[Label]:
    """Labels that overlap nothing: two words if they fit, else one word, else none.

    Topics are labelled in ``order``; earlier topics get their position first.
    """
    circles = np.column_stack([places - radius[:, None], places + radius[:, None]])
    taken = [*circles]
    found: list[Label] = []
    for k in order:
        if len(found) == most:
            break
        for text in dict.fromkeys([" · ".join(names[k][:2]), names[k][0] if names[k] else ""]):
            label, box = _first_free(k, text, places[k], radius[k], taken, size)
            if label is not None and box is not None:
                found.append(label)
                taken.append(box)
                break
    return found


def _first_free(
    k: int, text: str, place: Floats, r: float, taken: list[Floats], size: tuple[float, float]
) -> tuple[Label | None, Floats | None]:
    """First of eight positions around a circle at which the text overlaps nothing, and its box."""
    if not text:
        return None, None
    x, y = float(place[0]), float(place[1])
    wide = text_width(text, 12)
    boxes = np.array(taken)
    for anchor, left, base in (
        ("start", x + r + _GAP + 1, y + 4),
        ("end", x - r - _GAP - 1 - wide, y + 4),
        ("middle", min(max(x - wide / 2, 0.0), size[0] - wide), y - r - 6),
        ("middle", min(max(x - wide / 2, 0.0), size[0] - wide), y + r + 14),
        ("start", x - r, y + r + 13),
        ("end", x + r - wide, y + r + 13),
        ("start", x - r, y - r - 5),
        ("end", x + r - wide, y - r - 5),
    ):
        box = np.array([left, base - 11, left + wide, base + 4])
        inside = box[0] >= 0 and box[1] >= 0 and box[2] <= size[0] and box[3] <= size[1]
        apart = (
            (boxes[:, 2] <= box[0])
            | (boxes[:, 0] >= box[2])
            | (boxes[:, 3] <= box[1])
            | (boxes[:, 1] >= box[3])
        )
        if inside and apart.all():
            at = {"start": left, "end": left + wide, "middle": left + wide / 2}[anchor]
            return Label(k, text, at, base, anchor), box
    return None, None
