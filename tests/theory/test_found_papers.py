"""Papers are found, not listed: a folder more or less, and packages of other people, broken ones among them."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import reluflow
from reluflow.data import registered_datasets
from reluflow.found_papers import found_papers
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named, theorems

SOURCES = Path(reluflow.__file__).parent
EXAMPLE = SOURCES.parents[1] / "examples" / "own_paper"


@pytest.fixture
def smith(tmp_path):
    """The example of a package by somebody else, in a folder, with some files changed and an entry point."""

    def install(changed, key="smith2025"):
        package = tmp_path / "own_paper" / key
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(EXAMPLE / "own_paper" / "smith2025", package, ignore=ignored)
        (package.parent / "__init__.py").write_text("")
        for name, text in changed.items():
            (package / name).write_text(text)
        metadata = tmp_path / "own_paper-1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: own_paper\nVersion: 1\n")
        (metadata / "entry_points.txt").write_text(f"[reluflow.papers]\n{key} = own_paper.{key}\n")
        return tmp_path

    return install


def run(*words, paths=(SOURCES.parent,)):
    """A command with these folders first in the path."""
    path = f"import sys; sys.path[:0] = {[str(path) for path in paths]!r}"
    code = f"{path}\nfrom reluflow.cli.main import run; run({list(words)!r})"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_example_of_a_paper_by_others_is_installed_and_there(tmp_path):
    """`pip install` of a package of sixty lines: its dataset, its theorem and its figure stand beside ours."""
    copy = tmp_path / "copy"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    place = tmp_path / "installed"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place), str(copy)]
    subprocess.run(install, check=True, timeout=300)
    paths = (place, SOURCES.parent)
    assert "smith2025:thm1" in run("theorems", "smith2025", paths=paths).stdout
    assert "smith-two-points" in run("datasets", paths=paths).stdout
    checked = run("check", "smith2025:thm1", paths=paths)
    assert "Verdict: holds" in checked.stdout, checked.stderr
    drawn = run("reproduce", "smith2025/fig1", "--quick", "--json", "--out", str(tmp_path / "out"), paths=paths)
    (figure,) = json.loads(drawn.stdout)["figures"]
    assert [claim["holds"] for claim in figure["claims"]] == [True]
    assert Path(figure["files"][0]).is_file()


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"paper.py": "import no_such_package\n"}, "its `paper` fails with ModuleNotFoundError: No module named"),
        ({"paper.py": "PAPER = 7\n"}, "`paper.PAPER` must be a Paper with the key 'smith2025'"),
        ({"data.py": "raise ValueError('out of ink')\n"}, "its `data` fails with ValueError: out of ink"),
    ],
)
def test_a_broken_one_is_named_in_one_sentence_and_the_others_are_there(smith, broken, why):
    found = run("datasets", paths=(smith(broken), SOURCES.parent))
    assert found.returncode == 0
    assert "three-points" in found.stdout
    (sentence,) = found.stderr.strip().splitlines()
    assert sentence.startswith("Note: The paper `smith2025` of `own_paper.smith2025` is left out: ")
    assert why in sentence


def test_a_key_that_is_taken_is_left_out(smith):
    paper = (EXAMPLE / "own_paper" / "smith2025" / "paper.py").read_text().replace("smith2025", "phuong2021")
    found = run("datasets", paths=(smith({"paper.py": paper}, key="phuong2021"), SOURCES.parent))
    assert "there is a paper of this key already" in found.stderr
    assert "phuong-toy" in found.stdout


EVERYTHING = """
import sys
sys.path.insert(0, sys.argv[1])
import reluflow
from reluflow.data import registered_datasets
from reluflow.found_papers import found_papers
from reluflow.papers.registry import all_entries, load_figure
from reluflow.theory.coverage import coverage_of, coverage_page
from reluflow.theory.diagnosis import assumptions, diagnose, main_theorems
from reluflow.theory.registry import papers, results_of, theorems

assert reluflow.__file__.startswith(sys.argv[1])
texts = [coverage_page(), str(diagnose(reluflow.load("three-points"), reluflow.SquareLoss()))]
texts += [coverage_of(paper) for paper in papers()]
texts += [erratum.key for paper in found_papers().values() for erratum in paper.values("errata", "ERRATA")]
assert len(main_theorems()) >= len(papers()) - 1
names = {entry.name for entry in registered_datasets()}
for theorem in theorems():
    assert theorem.example.partition(":")[0] in names, theorem.key
    texts.append(theorem.key)
texts += [entry.paper for entry in registered_datasets()] + [assumption.key for assumption in assumptions()]
texts += [load_figure(entry).key for entry in all_entries()]
print(len(papers()), len(theorems()), sys.argv[2] in " ".join(texts))
"""


@pytest.mark.slow
@pytest.mark.parametrize("paper", found_papers())
def test_without_its_folder_a_paper_is_gone_and_everything_else_works(tmp_path, paper):
    """Without boursier2024 the list of figures named one of it, and `diagnose three-points` had no dataset."""
    shutil.copytree(SOURCES, tmp_path / "reluflow", ignore=shutil.ignore_patterns("__pycache__", paper))
    for words in (["theorems"], ["datasets"], ["reproduce"]):
        found = run(*words, paths=(tmp_path,))
        assert found.returncode == 0, found.stderr
        assert paper not in found.stdout
        assert len(found.stdout) > 300
    code = [sys.executable, "-c", EVERYTHING, str(tmp_path), f"{paper}:"]
    left = subprocess.run(code, capture_output=True, text=True, check=False)
    assert left.returncode == 0, left.stderr
    others = len(found_papers()) - 1
    assert left.stdout.split() == [
        str(others),
        str(len(theorems([key for key in found_papers() if key != paper]))),
        "False",
    ]


def test_the_examples_of_a_paper_are_its_own():
    """Five results of boursier2024 were shown on a dataset of lyu2021, and failed without that paper."""
    owners = {entry.name: entry.paper for entry in registered_datasets()}
    for theorem in theorems():
        assert owners[theorem.example.partition(":")[0]] in (theorem.paper, "general"), theorem.key


def test_no_paper_imports_another():
    for path in (SOURCES / "papers").rglob("*/*.py"):
        others = set(found_papers()) - {path.relative_to(SOURCES / "papers").parts[0]}
        text = path.read_text(encoding="utf-8")
        assert not [other for other in others if f"reluflow.papers.{other}" in text], path


def test_listing_datasets_loads_no_drawing_and_no_theorem():
    code = (
        f"import sys; sys.path.insert(0, {str(SOURCES.parent)!r})\n"
        "from reluflow.data import registered_datasets\n"
        "assert len(registered_datasets()) > 40\n"
        "print([m for m in ('matplotlib', 'numba', 'reluflow.theory.theorem') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("theorem", theorems(), ids=lambda theorem: theorem.key)
def test_a_theorem_and_its_plan_pickle(theorem):
    """So that a verdict can come back from another process."""
    again = pickle.loads(pickle.dumps(theorem))
    assert again.key == theorem.key
    assert [c.name for c in again.conclusions] == [c.name for c in theorem.conclusions]
    plan = theorem.plan(Evidence(example_problem(theorem), parameters=theorem.parameter_values({})))
    assert type(pickle.loads(pickle.dumps(plan))) is type(plan)


def test_a_verdict_pickles():
    theorem = theorem_named("phuong2021:lemma2")
    verdict = check(theorem, example_problem(theorem))
    assert pickle.loads(pickle.dumps(verdict)).as_json() == verdict.as_json()
