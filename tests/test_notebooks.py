"""Every notebook runs from top to bottom, and is stored without outputs."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text())
    assert notebook["nbformat"] == 4
    names: dict[str, object] = {}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) >= 5
    for cell in code:
        assert cell["outputs"] == []
        exec(compile("".join(cell["source"]), f"{path.name}, {cell['id']}", "exec"), names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_the_page_of_a_notebook_has_its_cells(path):
    """`tools/example_pages.py` writes it."""
    page = (path.parents[1] / "docs" / "notebooks" / f"{path.stem}.md").read_text()
    for cell in json.loads(path.read_text())["cells"]:
        assert "".join(cell["source"]) in page, "run tools/example_pages.py"
    assert f"notebooks/{path.stem}.md" in (path.parents[1] / "docs" / "notebooks.md").read_text()
