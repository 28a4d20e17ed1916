"""The house itself: import direction, a light front door, one key per paper, no clutter."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAPERS = ("min2024", "boursier2024", "lyu2021", "lee2022", "phuong2021", "chistikov2023")


def test_every_room_imports_only_from_the_left():
    from importlinter.api import read_configuration
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    assert read_configuration(config_filename=str(ROOT / "pyproject.toml"))["contracts_options"]
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, "an import points to the right; run `make lint` to see which"


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
def test_no_room_without_a_subject(name):
    assert not list((ROOT / "src").rglob(name))


def test_files_read_in_one_sitting():
    long = {
        str(p.relative_to(ROOT)): n
        for ending in ("py", "js", "css", "html")
        for p in (ROOT / "src").rglob(f"*.{ending}")
        if (n := len(p.read_text().splitlines())) > 400
    }
    assert not long


@pytest.mark.parametrize("room", ["dynamics", "dynamics/flow", "dynamics/descent"])
def test_the_reading_order_of_a_room_is_that_of_its_imports(room):
    """Its `__init__` names every file; a file imports, when it is loaded, from those named before it only."""
    folder = ROOT / "src" / "reluflow" / room
    lines = re.findall(r"^- (`[^:]*`):", (folder / "__init__.py").read_text(), flags=re.MULTILINE)
    order = [name for line in lines for name in re.findall(r"`(\w+)`", line)]
    assert sorted(order) == sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
    package = "reluflow." + room.replace("/", r"\.")
    for name in order:
        text = (folder / f"{name}.py").read_text()
        known = re.findall(rf"^from {package}\.(\w+) import", text, flags=re.MULTILINE)
        assert set(known) <= set(order[: order.index(name)]), name


def test_no_two_classes_share_a_name():
    """Except `Settings`, of which every figure has its own."""
    homes = {}
    for path in (ROOT / "src").rglob("*.py"):
        for name in re.findall(r"^class (\w+)", path.read_text(), flags=re.MULTILINE):
            homes.setdefault(name, []).append(path.name)
    assert {name: found for name, found in homes.items() if len(found) > 1 and name != "Settings"} == {}
