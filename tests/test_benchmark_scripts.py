"""Scripts of benchmarks that no command runs."""

import runpy
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted(Path(__file__).parents[1].glob("benchmarks/*.py"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_finds_what_it_imports(path, monkeypatch):
    """The one of the laboratory was named as the folder of its tests, and imported itself."""
    monkeypatch.setattr(sys, "path", [str(path.parent), *sys.path])
    for name in [name for name in sys.modules if name == "lab" or name.startswith("lab.")]:
        monkeypatch.delitem(sys.modules, name)
    assert callable(runpy.run_path(str(path), run_name="a_script")["main"])
