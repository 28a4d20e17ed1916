"""The scripts of the page hold what their JSDoc types say."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "src" / "reluflow" / "lab" / "page"
OPTIONS = json.loads((PAGE / "jsconfig.json").read_text())["compilerOptions"]


def test_every_script_asks_to_be_checked():
    """Every file said `@ts-check` and nothing ran it: the checker found 215 errors."""
    scripts = list(PAGE.glob("*.js"))
    assert len(scripts) > 25
    assert [one.name for one in scripts if "// @ts-check" not in one.read_text().split("\n")[:4]] == []


def test_the_check_is_strict_and_nothing_is_exempt():
    """With `noImplicitAny` off, 830 parameters and variables had no type."""
    assert OPTIONS["strict"] is True
    assert OPTIONS["checkJs"] is True
    weakened = [name for name in OPTIONS if name.startswith(("no", "strict", "use")) and OPTIONS[name] is False]
    assert weakened == []
    exempt = re.compile(r"@ts-(?:ignore|nocheck|expect-error)|[{<|(,:]\s*any\b\s*(?:\[\]|[}>|),=])")
    assert [one.name for one in PAGE.glob("*.*s") if exempt.search(one.read_text())] == []


def test_the_type_checker_finds_nothing():
    """CI fetches the checker; here it is run where it is installed."""
    tsc = shutil.which("tsc")
    if tsc is None:
        pytest.skip("The TypeScript compiler `tsc` is not installed; CI runs it.")
    done = subprocess.run([tsc, "-p", str(PAGE / "jsconfig.json")], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
