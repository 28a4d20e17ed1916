"""Figures are found by their files, listed without importing them, and refused by name with a way out."""

import subprocess
import sys

import pytest

from reluflow.errors import InvalidInputError
from reluflow.papers.registry import Entry, all_entries, entries_named, load_figure, papers


def test_listing_imports_no_figure():
    code = (
        "import sys, reluflow.papers, reluflow.papers.registry as registry\n"
        "entries = registry.all_entries()\n"
        "heavy = ('numba', 'scipy', 'matplotlib', 'jax', 'equinox', 'optax')\n"
        "print([m for m in heavy if m in sys.modules], [e.module for e in entries if e.module in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[] []"


def test_entries_are_in_order():
    keys = [entry.key for entry in all_entries()]
    assert len(set(keys)) == len(keys)
    found = [key.partition("/")[0] for key in keys]
    assert found == sorted(found, key=list(papers()).index)
    assert [key for key in keys if key.startswith("boursier2024/")] == [f"boursier2024/fig{n}" for n in (1, 2, 3)]
    assert all(entry.title.startswith(("Figure", "Table")) for entry in all_entries())


def test_a_paper_or_a_figure_by_name():
    assert [entry.key for entry in entries_named("boursier2024/fig2")] == ["boursier2024/fig2"]
    assert len(entries_named("boursier2024/")) == 3
    assert load_figure(entries_named("boursier2024/fig1")[0]).key == "boursier2024/fig1"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("boursier2023", "did you mean boursier2024?"),
        ("boursier2024/fig9", "boursier2024 has boursier2024/fig1, boursier2024/fig2, boursier2024/fig3."),
        ("boursier2042/fig2", "did you mean boursier2024/fig2?"),
        ("nobody", "`reluflow reproduce` lists them."),
    ],
)
def test_refusals(name, hint):
    with pytest.raises(InvalidInputError) as refusal:
        entries_named(name)
    assert hint in str(refusal.value)
    assert repr(name) in str(refusal.value)


def test_a_module_without_its_figure_is_refused():
    with pytest.raises(InvalidInputError, match="must define FIGURE, a PaperFigure with the key 'x/fig1'"):
        load_figure(Entry("x/fig1", "t", "reluflow.papers.boursier2024.figures.figure_1"))
