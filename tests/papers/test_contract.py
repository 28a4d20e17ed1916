"""Every figure of every paper through the same checks; nothing is computed."""

import ast
import dataclasses
import inspect
from pathlib import Path

import pytest

import reluflow.papers
from reluflow.papers.figure import Size
from reluflow.papers.registry import all_entries, load_figure
from reluflow.papers.sources import code_fingerprint
from reluflow.papers.store import fingerprint

ENTRIES = {entry.key: entry for entry in all_entries()}
FOLDER = Path(reluflow.papers.__file__).parent


@pytest.fixture(params=list(ENTRIES))
def entry(request):
    return ENTRIES[request.param]


def test_figure(entry):
    figure = load_figure(entry)
    assert figure.key == entry.key
    assert figure.title == entry.title
    assert len(figure.shows) > 40, "the rest of the docstring says what the paper shows"
    for size in Size:
        settings = figure.settings(size)
        assert dataclasses.is_dataclass(settings)
        assert settings.__dataclass_params__.frozen
        assert fingerprint(settings) == fingerprint(dataclasses.replace(settings))
    assert type(figure.quick) is type(figure.full)
    assert len(code_fingerprint(figure.compute.__module__)) == 64
    for function, count in ((figure.compute, 2), (figure.claims, 2), (figure.draw, 3)):
        assert len(inspect.signature(function).parameters) == count


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: str(path.relative_to(FOLDER)))
def test_papers_do_not_draw_themselves(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not any(name.partition(".")[0] in ("matplotlib", "pylab", "PIL") for name in names)


@pytest.mark.parametrize("paper", sorted({entry.paper for entry in ENTRIES.values()}))
def test_folder_of_a_paper(paper):
    for name in ("__init__.py", "README.md", "paper.py"):
        assert (FOLDER / paper / name).is_file(), f"papers/{paper} needs {name}"
