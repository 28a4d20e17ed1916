"""The structure of the repository: import direction, a light import, one key per paper, no clutter."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GUIDES = sorted((ROOT / "docs").glob("adding-a-*.md"))
PAPERS = tuple(path.parent.name for path in sorted((ROOT / "src/reluflow/papers").glob("*/paper.py")))


def test_every_package_imports_only_from_the_left():
    from importlinter.api import read_configuration
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    assert read_configuration(config_filename=str(ROOT / "pyproject.toml"))["contracts_options"]
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, "an import points to the right; run `make lint` to see which"


def test_the_columns_documented_are_those_checked():
    """The lists of packages had fallen behind: no sweep, no laboratory."""
    checked = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    documented = re.search(r"(arrays, deprecation(?:.*\n)*?.*<- cli)\n", (ROOT / "docs/architecture.md").read_text())[1]
    columns = [{package.strip() for package in column.split(",")} for column in documented.split("<-")]
    assert columns == [set(layer.split(" | ")) for layer in reversed(checked)]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", *(f"docs/{path.name}" for path in GUIDES)])
def test_the_files_a_guide_names_are_there(page):
    """From the root, from a package, or from the folder of a paper; a word in angle brackets stands for any."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    named = {
        *re.findall(r"`([\w<>*/.-]+(?:\.(?:py|md|toml|bib|cff)|/))`", text),
        *re.findall(r"\]\(([\w./-]+)\)", text),
    }
    bases = [ROOT, ROOT / "src/reluflow", ROOT / "tests", (ROOT / page).parent]
    bases += [ROOT / "src/reluflow" / package / paper for package in ("theory", "papers") for paper in PAPERS]
    patterns = {name: re.sub(r"<\w+>|\.\.\.", "*", name).rstrip("/") for name in named - {"utils.py", "_kernels.py"}}
    assert len(patterns) >= 3
    assert [name for name, pattern in patterns.items() if not any(any(base.glob(pattern)) for base in bases)] == []


def test_there_is_a_guide_for_each_thing_one_may_add():
    """Their code is run by `tests/test_documents.py`."""
    assert [path.stem.removeprefix("adding-a-") for path in GUIDES] == [
        "dataset", "figure", "loss", "paper", "solver", "theorem"
    ]  # fmt: skip
    for path in GUIDES:
        assert "```python" in path.read_text()
        assert f"docs/{path.name}" in (ROOT / "CONTRIBUTING.md").read_text()


@pytest.mark.parametrize("word", ["float64", "int64", "intp", "bool_", "int8", "uint64"])
def test_array_types_are_named_once(word):
    """In `arrays.py`; the exact type stands nowhere else."""
    spelled = {path.name for path in (ROOT / "src").rglob("*.py") if f"NDArray[np.{word}]" in path.read_text()}
    assert spelled == {"arrays.py"}


def test_no_function_takes_more_than_twelve_arguments_by_position():
    """A kernel of the alignment phase took 25: named tuples say which is which."""
    long = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and len(node.args.posonlyargs + node.args.args) > 12:
                long[node.name] = path.name
    assert long == {}


def test_one_lazy_loader():
    """`lazy_loader` makes the `__getattr__` of every package that has one, from its stub."""
    assert [path.name for path in (ROOT / "src").rglob("*.py") if "\ndef __getattr__" in path.read_text()] == []


def test_one_loop_advances_a_run():
    """`train`; a run is advanced nowhere else, but for the parts of which `SeparatedFlow` makes one."""
    calls = [path.name for path in (ROOT / "src").rglob("*.py") if re.search(r"\brun\.advance\(", path.read_text())]
    assert calls == ["train.py"]


def run_fresh(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return result.stdout


def test_import_is_light():
    heavy = run_fresh(
        "import sys, reluflow; import reluflow.cli.main;"
        "heavy = ('scipy', 'numba', 'matplotlib', 'clarabel', 'jax', 'xarray', 'sklearn');"
        "print([m for m in heavy if m in sys.modules])"
    )
    assert heavy.strip() == "[]"


def test_help_needs_no_numerics():
    loaded = run_fresh(
        "import sys\n"
        "from reluflow.cli.main import run\n"
        "try:\n    run(['--help'])\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "print('LOADED', [m for m in ('scipy', 'numba', 'matplotlib', 'clarabel') if m in sys.modules])"
    )
    assert "LOADED []" in loaded


def test_bibliography_has_every_paper():
    entries = re.findall(r"@\w+\{(\w+),", (ROOT / "references.bib").read_text())
    assert set(PAPERS) <= set(entries)


def test_paper_keys_in_code_are_in_the_bibliography():
    entries = set(re.findall(r"@\w+\{(\w+),", (ROOT / "references.bib").read_text()))
    for path in (ROOT / "src").rglob("*.py"):
        for key in re.findall(r"\[([a-z]+(?:19|20)\d\d\w*)[,\]]", path.read_text()):
            assert key in entries, f"{path} cites [{key}], which references.bib does not have"


@pytest.mark.parametrize("name", ["utils.py", "helpers.py", "common.py", "misc.py"])
def test_no_module_without_a_subject(name):
    assert not list((ROOT / "src").rglob(name))


def test_files_read_in_one_sitting():
    long = {
        str(p.relative_to(ROOT)): n
        for ending in ("py", "js", "css", "html")
        for p in (ROOT / "src").rglob(f"*.{ending}")
        if (n := len(p.read_text().splitlines())) > 400
    }
    assert not long


@pytest.mark.parametrize(
    "package", ["dynamics", "dynamics/event_driven", "dynamics/collocation", "dynamics/shared", "dynamics/descent"]
)
def test_the_reading_order_of_a_package_is_that_of_its_imports(package):
    """Its `__init__` names every file; a file imports, when it is loaded, from those named before it only."""
    folder = ROOT / "src" / "reluflow" / package
    lines = re.findall(r"^- (`[^:]*`):", (folder / "__init__.py").read_text(), flags=re.MULTILINE)
    order = [name for line in lines for name in re.findall(r"`(\w+)`", line)]
    assert sorted(order) == sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
    package = r"reluflow\." + package.replace("/", r"\.")
    for name in order:
        text = (folder / f"{name}.py").read_text()
        known = re.findall(rf"^from {package}\.(\w+) import", text, flags=re.MULTILINE)
        assert set(known) <= set(order[: order.index(name)]), name


def test_no_two_classes_share_a_name():
    """So that a name in a traceback or a search leads to one class; every figure has its own `Settings`."""
    homes = {}
    for path in (ROOT / "src").rglob("*.py"):
        for name in re.findall(r"^class (\w+)", path.read_text(), flags=re.MULTILINE):
            homes.setdefault(name, []).append(path.name)
    assert {name: found for name, found in homes.items() if len(found) > 1 and name != "Settings"} == {}
