"""Print the measures of the code base: ``python -m tests.architecture.measure``.

Each has a target; the exit code is 1 if one is missed.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.architecture.participles import riddles

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "bayou"
LONGEST_FILE, LONGEST_FUNCTION, DEEPEST, MOST_LAYERS = 300, 40, 2, 10


class Measure(NamedTuple):
    """A number of the code base and what it should be."""

    name: str
    value: int
    target: int | None  # the most that is allowed; None: no target
    where: tuple[str, ...] = ()

    @property
    def is_met(self) -> bool:
        """Whether the value is within its target."""
        return self.target is None or self.value <= self.target


def files() -> list[Path]:
    """All Python files of the package."""
    return sorted(SOURCE.rglob("*.py"))


def trees() -> Iterator[tuple[str, ast.Module]]:
    """Every file below the package, parsed."""
    for path in files():
        yield path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def depths() -> dict[str, int]:
    """How many classes each public estimator is below `Estimator`."""
    from bayou import registry
    from bayou.api.estimator import Estimator

    def depth(kind: type) -> int:
        if kind is Estimator:
            return 0
        return 1 + max(depth(base) for base in kind.__bases__ if issubclass(base, Estimator))

    public = {name: registry.find_class(name) for name in registry.MODELS}
    found = {name: kind for name, kind in public.items() if kind and issubclass(kind, Estimator)}
    return {name: depth(kind) for name, kind in found.items()}


def layers() -> int:
    """Layers of the first import contract in pyproject.toml."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return len(config["tool"]["importlinter"]["contracts"][0]["layers"])


def long_files() -> list[str]:
    """Files over the limit; kernels may be longer."""
    found = ((len(p.read_text(encoding="utf-8").splitlines()), p) for p in files())
    return [
        f"{p.relative_to(SOURCE).as_posix()} {n}"
        for n, p in found
        if n > LONGEST_FILE and "kernels" not in p.parts
    ]


def long_functions() -> list[str]:
    """Functions over the limit; kernels may be longer. The docstring does not count."""
    out = []
    for path, tree in trees():
        if path.startswith("kernels"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                n = (node.end_lineno or 0) - (body[0].lineno if body else node.lineno) + 1
                if n > LONGEST_FUNCTION:
                    out.append(f"{path} {node.name} {n}")
    return out


def users_of(name: str) -> list[str]:
    """Files that mention a name."""
    return [p.relative_to(SOURCE).as_posix() for p in files() if name in p.read_text("utf-8")]


def only_raise() -> list[str]:
    """Methods whose body is a single raise."""
    out = []
    for path, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            for item in node.body:
                if isinstance(item, ast.FunctionDef):
                    body = item.body[1:] if ast.get_docstring(item) else item.body
                    if len(body) == 1 and isinstance(body[0], ast.Raise):
                        out.append(f"{path} {node.name}.{item.name}")
    return out


def model_lists() -> list[str]:
    """Files, other than the generated stub, that list at least ten models by name as strings or imports."""
    from bayou import registry

    names = set(registry.MODELS)
    out = []
    for path, tree in trees():
        strings = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
        imports = {a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
        keywords = {k.arg for n in ast.walk(tree) if isinstance(n, ast.Call) for k in n.keywords}
        if len(names & {s for s in strings | imports | keywords if isinstance(s, str)}) >= 10:
            out.append(path)
    return out


def measures() -> list[Measure]:
    """Everything with a target."""
    below = depths()
    deepest = max(below.values(), default=0)
    participles = [f"{f.path}:{f.line} {f.name}" for f in riddles()]
    lists, spaces = model_lists(), users_of("SimpleNamespace")
    long, functions, raising = long_files(), long_functions(), only_raise()
    return [
        Measure("class depth below Estimator", deepest, DEEPEST,
                tuple(n for n, d in below.items() if d > DEEPEST)),
        Measure("import layers", layers(), MOST_LAYERS),
        Measure(f"files over {LONGEST_FILE} lines outside kernels", len(long), 0, tuple(long)),
        Measure(f"functions over {LONGEST_FUNCTION} lines outside kernels", len(functions), None,
                tuple(functions)),
        Measure("functions named by a past participle", len(participles), 0, tuple(participles)),
        Measure("files with SimpleNamespace", len(spaces), 0, tuple(spaces)),
        Measure("methods that only raise", len(raising), 0, tuple(raising)),
        Measure("hand-kept lists of models", len(lists), 1, tuple(lists)),
    ]  # fmt: skip


def folders() -> list[tuple[str, int, int]]:
    """Files and lines per folder."""
    number, lines = Counter[str](), Counter[str]()
    for path in files():
        parts = path.relative_to(SOURCE).parts
        folder = "/".join(parts[:-1][:2]) or "."
        number[folder] += 1
        lines[folder] += len(path.read_text(encoding="utf-8").splitlines())
    return [(folder, number[folder], lines[folder]) for folder in sorted(number)]


def main() -> int:
    """Print all measures; 1 if a target is missed."""
    print(f"{'folder':28}{'files':>7}{'lines':>8}")
    for folder, n, lines in folders():
        print(f"{folder:28}{n:7}{lines:8}")
    print(f"{'all':28}{sum(f[1] for f in folders()):7}{sum(f[2] for f in folders()):8}\n")
    found = measures()
    for measure in found:
        target = "" if measure.target is None else f"(at most {measure.target})"
        mark = "" if measure.is_met else "  MISSED"
        print(f"{measure.name}: {measure.value} {target}{mark}")
        for where in measure.where if "-v" in sys.argv or not measure.is_met else ():
            print(f"    {where}")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"\nat {commit.stdout.strip() or 'an unknown commit'}")
    return 0 if all(measure.is_met for measure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
