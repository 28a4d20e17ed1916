"""The fingerprint of code changes with what the code does, and only with that."""

import importlib
import sys

import pytest

from reluflow.errors import InvalidInputError
from reluflow.papers import sources


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A folder `paperlike` with a figure that imports a neighbour, which imports another."""
    home = tmp_path / "paperlike"
    home.mkdir()
    (home / "__init__.py").write_text('"""A paper."""\n')
    (home / "figure_1.py").write_text("from paperlike.run import go\n\n\ndef compute():\n    return go()\n")
    (home / "run.py").write_text("from paperlike import paper\n\n\ndef go():\n    return paper.WIDTH\n")
    (home / "paper.py").write_text("WIDTH = 5\n")
    (home / "unrelated.py").write_text("WIDTH = 5\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield home
    for name in [name for name in sys.modules if name.split(".")[0] == "paperlike"]:
        del sys.modules[name]


def fingerprint():
    sources.code_fingerprint.cache_clear()
    sources._tree.cache_clear()
    return sources.code_fingerprint("paperlike.figure_1")


@pytest.mark.parametrize(
    ("file", "text", "counts"),
    [
        ("figure_1.py", "from paperlike.run import go\n\n\ndef compute():\n    return 2 * go()\n", True),
        ("run.py", "from paperlike import paper\n\n\ndef go():\n    return -paper.WIDTH\n", True),
        ("paper.py", "WIDTH = 6\n", True),
        ("paper.py", "# a remark\nWIDTH   =   5\n", False),
        ("unrelated.py", "WIDTH = 6\n", False),
    ],
)
def test_what_counts(package, file, text, counts):
    before = fingerprint()
    (package / file).write_text(text)
    assert (fingerprint() != before) is counts


def test_the_version_counts(package, monkeypatch):
    before = fingerprint()
    monkeypatch.setattr("reluflow.__version__", "0.0.0")
    assert fingerprint() != before


def test_a_module_without_source_is_refused():
    with pytest.raises(InvalidInputError, match="must be a module with a source file"):
        sources.code_fingerprint("no.such.module")
