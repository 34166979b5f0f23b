"""Public names are there when asked for, and cost nothing before."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import bayou
import bayou.data
from bayou.registry import HOMES, PACKAGES

SLOW = ("numpy", "scipy", "sklearn", "numba", "pandas")


def shown_to_type_checkers(path):
    tree = ast.parse(path.read_text())
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    lines = blocks[0].body if blocks else tree.body
    return {alias.name: line.module for line in lines for alias in line.names}


def test_types_and_names_agree():
    stub = shown_to_type_checkers(Path(bayou.__file__).with_suffix(".pyi"))
    packages = {name for name, home in stub.items() if home == "bayou"}
    assert packages == {*PACKAGES}
    assert {n: home for n, home in stub.items() if n not in packages} == {
        **HOMES, "__version__": "bayou._version"
    }  # fmt: skip
    assert set(bayou.__all__) == {*HOMES, "__version__"}
    assert shown_to_type_checkers(Path(bayou.data.__file__)) == bayou.data._MODULE_OF
    assert set(bayou.data.__all__) == {*bayou.data._MODULE_OF}


@pytest.mark.parametrize(
    ("package", "homes"), [(bayou, HOMES), (bayou.data, bayou.data._MODULE_OF)]
)
def test_names_are_imported_when_used(package, homes):
    assert {*package.__all__} <= {*dir(package)}
    for name, home in homes.items():
        assert getattr(package, name) is getattr(sys.modules[home], name)
    with pytest.raises(AttributeError, match="has no attribute 'LAD'"):
        package.LAD  # noqa: B018


def public_modules():
    """bayou, its public packages, and the modules that these name in ``__all__`` or ``dir``."""
    found, new = {}, [bayou]
    while new:
        module = new.pop()
        found[module.__name__] = module
        inside = [getattr(module, name) for name in dir(module)]
        ours = (m for m in inside if inspect.ismodule(m) and m.__name__.startswith("bayou."))
        new += [m for m in ours if m.__name__ not in found]
    return found


def test_every_name_that_is_shown_is_there():
    modules = public_modules()
    assert {"bayou", *(f"bayou.{name}" for name in PACKAGES)} <= {*modules}
    for module in modules.values():
        names = dir(module)
        assert len(names) == len(set(names))
        for name in [*names, *getattr(module, "__all__", ())]:
            assert hasattr(module, name), f"{module.__name__}.{name}"
    assert {name for name, _ in inspect.getmembers(bayou)} >= {*bayou.__all__}


def test_help_works_in_a_fresh_process():
    """`inspect.getmembers` and `help` ask for every name of `dir`, before anything else was imported."""
    code = "import bayou, inspect, pydoc; inspect.getmembers(bayou); print(pydoc.render_doc(bayou))"
    assert "OnlineLDA" in run(code)


def run(code):
    words = [sys.executable, "-c", code]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_the_command_line_starts_without_the_slow_libraries():
    show = f"print([name for name in {SLOW} if name in sys.modules])"
    for words in (["--help"], ["fit", "--help"], ["models"], ["fit", "none.csv"]):
        call = f"import sys; from bayou.cli import app; app({words}, standalone_mode=False); {show}"
        assert run(call).splitlines()[-1] == "[]", words


def test_a_file_names_any_model(tmp_path):
    corpus, _ = bayou.data.sample_lda(n_docs=20, n_topics=2, n_terms=10, seed=0)
    bayou.OnlineLDA(n_topics=2, random_state=0).fit(corpus).save(tmp_path / "m")
    code = f"from bayou.api.files import load; print(type(load({str(tmp_path / 'm')!r})).__name__)"
    assert run(code) == "OnlineLDA\n"
    assert run("import bayou; print(bayou.metrics.npmi.__name__)") == "npmi\n"


def test_loading_a_file_imports_its_model_alone(tmp_path):
    corpus, _ = bayou.data.sample_lda(n_docs=20, n_topics=2, n_terms=10, seed=0)
    bayou.OnlineLDA(n_topics=2, random_state=0).fit(corpus).save(tmp_path / "m")
    show = "print(sorted(m for m in sys.modules if m.startswith('bayou.models.')))"
    code = f"import sys, bayou; bayou.load({str(tmp_path / 'm')!r}); {show}"
    assert run(code) == "['bayou.models.online_lda']\n"
