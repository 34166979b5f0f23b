"""From the values to one page: findings by rule, the tables, and the template."""

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
from bayou.report import charts, classes, cloud, tables, targets, text
from bayou.report.data import ReportData
from bayou.report.measure import perplexity
from bayou.report.svg import Markup

MOST_CLOUDS = 12


def render(data: ReportData) -> str:
    """The report as one HTML document that asks nothing of the network.

    Parameters
    ----------
    data : ReportData

    Returns
    -------
    str

    Raises
    ------
    ImportError
        If jinja2 is missing; the extra ``report`` brings it.
    """
    return fill_template(
        "page.html",
        **_drawings(data),
        data=data,
        sort_key=lambda value: f"{value if math.isfinite(value) else -9:.5f}",
        interval=tables.share_interval,
        between=tables.between,
        perplexity=perplexity,
        findings=tables.findings(data),
        figures=tables.figures(data),
        methods=tables.methods(data),
        heat=tables.heat(data),
        **_class_parts(data),
    )


def fill_template(template: str, **values: Any) -> str:
    """A template with its values, and with the one style and the one script that its policy allows."""
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
    """Write the report to a file, wholly or not at all.

    Parameters
    ----------
    path : path
        The file to write; its folder must exist. A file that is there is replaced.
    data : ReportData
    """
    write_page(path, lambda: render(data))


def write_page(path: str | os.PathLike[str], made: Callable[[], str]) -> None:
    """Make a page and write it to a file, wholly or not at all."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise DataError(f"{path} is a folder; name a file in it, as in {target / 'report.html'}")
    replace_file(target, [made().encode()])


def _class_parts(data: ReportData) -> dict[str, Any]:
    """What is drawn and told of the classes, or of the numbers, of a supervised model."""
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
        "class_weights": classes.weight_bars(found, data.topics),
        "class_profiles": classes.profiles(found, data.topics),
        "label_clouds": classes.label_clouds(found),
        "class_scores": classes.scores(found),
        "class_accuracy": dict(found.measures).get("accuracy", classes.accuracy(found)),
        "class_mistakes": classes.mistakes(found),
        "strongest": min(classes.STRONGEST, len(data.topics)),
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
    """How a content policy names the one style and the one script that may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _drawings(data: ReportData) -> dict[str, Any]:
    by_share = sorted(data.topics, key=lambda topic: topic.rank)
    clouds = [
        (topic, cloud.draw(topic.words, f"Words of topic {topic.id}: {topic.name(8)}"))
        for topic in [topic for topic in by_share if not topic.bare][:MOST_CLOUDS]
    ]
    rivers = [] if data.course is None else charts.river_topics(data, data.course)
    return {
        "by_share": by_share,
        "clouds": clouds,
        "map": charts.topic_map(data) if len(data.topics) > 1 else [],
        "curve": charts.curve(data) if len(data.curve) > 1 else [],
        "river_topics": rivers,
        "rivers": charts.rivers(rivers, data.course) if data.course is not None else [],
        "widest_share": max(
            (t.share.value for t in data.topics if t.share.value >= 0), default=1.0
        ),
        # A page of 200 topics stays under 500 kB, with courses too.
        "n_words": 10 if len(data.topics) <= 100 else 7 if data.course is None else 5,
    }
