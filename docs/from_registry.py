"""Write the text that is generated from `bayou.registry`: `make registry`.

- ``src/bayou/__init__.pyi``: the public names for type checkers
- ``README.md`` and ``docs/index.md``: a table of models between two markers
"""

from collections.abc import Iterator
from pathlib import Path

from bayou.registry import HOMES, LABELS, MODELS, PACKAGES, TASKS

ROOT = Path(__file__).parents[1]
BEGIN = "<!-- generated from src/bayou/registry.py by `make registry` -->"
END = "<!-- end of the generated part -->"


def stub() -> str:
    """The text of ``__init__.pyi``."""
    homes = {**dict.fromkeys(PACKAGES, "bayou"), "__version__": "bayou._version", **HOMES}
    lines = sorted((module, name) for name, module in homes.items())
    head = '# Generated from registry.py by "make registry".\n'
    return "\n".join([head, *(f"from {m} import {n} as {n}" for m, n in lines)]) + "\n"


def table(link: str) -> Iterator[str]:
    """The models as a Markdown table; ``link`` is how a page is written, with ``{}`` for its name."""
    yield "| model | learns from | stream | |"
    yield "|---|---|---|---|"
    for task, title in TASKS.items():
        yield f"| **{title}** | | | |"
        for name, model in MODELS.items():
            if model.task == task:
                source = "words and dates" if task == "time" else LABELS[model.labels]
                stream = "yes" if model.streaming else ""
                page = link.format(name=f"`bayou.{name}`", page=model.page)
                yield f"| {page} | {source} | {stream} | {model.description} |"


def replace_part(text: str, lines: Iterator[str]) -> str:
    """The text with other lines between its two markers."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return "\n".join([before + BEGIN, "", *lines, "", END + after])


def files() -> dict[Path, str]:
    """Every file with generated text, as it should be."""
    readme, index = ROOT / "README.md", ROOT / "docs" / "index.md"
    return {
        ROOT / "src" / "bayou" / "__init__.pyi": stub(),
        readme: replace_part(readme.read_text("utf-8"), table("[{name}](docs/{page}.md)")),
        index: replace_part(index.read_text("utf-8"), table("[{name}]({page}.md)")),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
