"""Rendering of a report: findings, tables and drawings, filled into the template."""

from __future__ import annotations

import base64
import hashlib
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bayou.data.errors import DataError
from bayou.data.whole_file import replace_file
from bayou.report import (
    charts,
    class_charts,
    classes,
    cloud,
    findings,
    share_bands,
    tables,
    targets,
    text,
)
from bayou.report.data import ReportData
from bayou.report.measure import perplexity
from bayou.report.svg import Markup

MOST_CLOUDS = 12


def render(data: ReportData) -> str:
    """Render a report as one self-contained HTML document.

    Parameters
    ----------
    data : ReportData

    Returns
    -------
    str

    Raises
    ------
    ImportError
        If jinja2 is not installed; it is part of the extra ``report``.
    """
    return fill_template(
        "page.html",
        **_drawing_values(data),
        data=data,
        sort_key=lambda value: f"{value if math.isfinite(value) else -9:.5f}",
        interval=tables.share_interval,
        between=tables.between,
        perplexity=perplexity,
        findings=findings.findings(data),
        figures=tables.figures(data),
        methods=tables.methods(data),
        heat=tables.heat(data),
        **_prediction_values(data),
    )


def fill_template(template: str, **values: Any) -> str:
    """Fill a template; add the style, the script and a content policy that allows only these two."""
    templates = _templates()
    style = templates.get_template("style.css").render()
    script = templates.get_template("script.js").render()
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    shell = {"style": Markup(style), "script": Markup(script), "policy": policy}
    return str(templates.get_template(template).render(charts=charts, text=text, **shell, **values))


def write(path: str | os.PathLike[str], data: ReportData) -> None:
    """Write a report to a file. A failed write leaves an existing file unchanged.

    Parameters
    ----------
    path : path
        File to write; its folder must exist. An existing file is replaced.
    data : ReportData
    """
    write_page(path, lambda: render(data))


def write_page(path: str | os.PathLike[str], make_page: Callable[[], str]) -> None:
    """Render a page and write it to a file. A failed write leaves an existing file unchanged."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise DataError(f"{path} is a folder; pass a file name such as {target / 'report.html'}")
    replace_file(target, [make_page().encode()])


def _prediction_values(data: ReportData) -> dict[str, Any]:
    """Template values of a supervised model: classes of a classifier or targets of a regression."""
    found = data.classes
    if found is None:
        return {
            "target_parts": [
                (target, targets.bars(target, data.topics), targets.dots(target))
                for target in data.targets
            ]
        }
    return {
        "noun": "label" if found.several else "class",
        "noun_plural": "labels" if found.several else "classes",
        "class_weights": class_charts.weight_bars(found, data.topics),
        "class_profiles": class_charts.share_profiles(found, data.topics),
        "label_clouds": class_charts.label_clouds(found),
        "class_scores": classes.scores(found),
        "class_accuracy": dict(found.measures).get("accuracy", classes.accuracy(found)),
        "class_mistakes": classes.confusion_rows(found),
        "strongest": min(class_charts.STRONGEST, len(data.topics)),
        "most_classes": classes.MOST_CLASSES,
    }


def _templates() -> Any:
    try:
        import jinja2
    except ImportError:
        raise ImportError(
            "a report needs jinja2, which is not installed; run: pip install 'bayou[report]'"
        ) from None
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bayou.report"),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment


def _digest(content: str) -> str:
    """Hash by which a content policy allows one style or script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _drawing_values(data: ReportData) -> dict[str, Any]:
    """Template values of the drawings of topics."""
    by_share = sorted(data.topics, key=lambda topic: topic.rank)
    clouds = [
        (topic, cloud.draw(topic.words, f"Words of topic {topic.id}: {topic.name(8)}"))
        for topic in [topic for topic in by_share if not topic.bare][:MOST_CLOUDS]
    ]
    band_topics = [] if data.course is None else share_bands.band_topics(data, data.course)
    return {
        "by_share": by_share,
        "clouds": clouds,
        "map": charts.topic_map(data) if len(data.topics) > 1 else [],
        "curve": charts.curve(data) if len(data.curve) > 1 else [],
        "band_topics": band_topics,
        "bands": share_bands.bands(band_topics, data.course) if data.course is not None else [],
        "widest_share": max(
            (t.share.value for t in data.topics if t.share.value >= 0), default=1.0
        ),
        # Keeps a page of 200 topics below 500 kB, also with shares over time.
        "n_words": 10 if len(data.topics) <= 100 else 7 if data.course is None else 5,
    }
