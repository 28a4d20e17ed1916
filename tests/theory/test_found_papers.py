"""Papers are found, not listed: a folder more or less, and packages of other people, broken ones among them."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import reluflow
from reluflow.experiments.check import check, example_problem
from reluflow.found_papers import found_papers
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named, theorems

SOURCES = Path(reluflow.__file__).parent
IN_PYTHON = [paper.key for paper in found_papers().values() if not paper.is_tables]

SMITH = {
    "__init__.py": "",
    "paper.py": """
        from reluflow.found_papers import Paper
        PAPER = Paper("smith2025", "Smith", 2025, "On losses", "losses")
        """,
    "data.py": """
        from reluflow.data import Dataset, RegisteredDataset, SuggestedSettings, Task

        def two():
            return Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])

        DATASETS = (
            RegisteredDataset(
                "smith-two", 2, 2, "two points", two, task=Task.CLASSIFICATION, paper="smith2025",
                settings=SuggestedSettings("logistic"),
            ),
        )
        """,
    "assumptions.py": """
        from reluflow.theory.comparison import positive
        from reluflow.theory.condition import Assumption

        def even(facts):
            return positive(0.5 - facts.dataset.n % 2, f"{facts.dataset.n} samples")

        EVEN = Assumption("smith-even", "smith2025", "an even number of samples", even)
        ASSUMPTIONS = (EVEN,)
        """,
    "theorems.py": """
        from smith_experiments.smith2025.assumptions import EVEN
        from reluflow.theory.flow_plan import FlowPlan
        from reluflow.theory.hypotheses import assumed
        from reluflow.theory.measures import AtMost
        from reluflow.theory.setting import Setting
        from reluflow.theory.theorem import Conclusion, Reference, Theorem

        def last_over_first(evidence):
            return evidence.run.loss / evidence.problem.initial_loss

        def plan(evidence):
            return FlowPlan(times=(0.0, 1.0))

        THM_1 = Theorem(
            "smith2025:thm1", Reference("smith2025", "Theorem 1"), "The loss of an even number of samples never rises.",
            hypotheses=(assumed(EVEN),),
            conclusions=(Conclusion("fall", "L(1) <= L(0)", AtMost(last_over_first, 1.0)),),
            plan=plan, setting=Setting(loss="logistic"), example="smith-two",
        )
        RESULTS = (THM_1,)
        """,
}


@pytest.fixture
def smith(tmp_path):
    """A package of somebody else, installed in a folder: its files, and the entry point of a paper."""

    def install(files, key="smith2025"):
        package = tmp_path / "smith_experiments" / key
        package.mkdir(parents=True)
        (package.parent / "__init__.py").write_text("")
        for name, text in files.items():
            (package / name).write_text(textwrap.dedent(text))
        metadata = tmp_path / "smith_experiments-1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: smith_experiments\nVersion: 1\n")
        (metadata / "entry_points.txt").write_text(f"[reluflow.papers]\n{key} = smith_experiments.{key}\n")
        return tmp_path

    return install


def run(*words, paths=(SOURCES.parent,)):
    """A command with these folders first in the path."""
    path = f"import sys; sys.path[:0] = {[str(path) for path in paths]!r}"
    code = f"{path}\nfrom reluflow.cli.main import run; run({list(words)!r})"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_a_paper_of_another_package_is_there(smith):
    paths = (smith(SMITH), SOURCES.parent)
    assert "smith2025:thm1" in run("theorems", "smith2025", paths=paths).stdout
    assert "smith-two" in run("datasets", paths=paths).stdout
    assert "smith-even" in run("diagnose", "smith-two", "--all", paths=paths).stdout
    checked = run("check", "smith2025:thm1", paths=paths)
    assert "Verdict: holds" in checked.stdout, checked.stderr


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"paper.py": "import no_such_package\n"}, "its `paper` fails with ModuleNotFoundError: No module named"),
        ({"paper.py": "PAPER = 7\n"}, "`paper.PAPER` must be a Paper with the key 'smith2025'"),
        ({"data.py": "raise ValueError('out of ink')\n"}, "its `data` fails with ValueError: out of ink"),
    ],
)
def test_a_broken_one_is_named_in_one_sentence_and_the_others_are_there(smith, broken, why):
    found = run("datasets", paths=(smith({**SMITH, **broken}), SOURCES.parent))
    assert found.returncode == 0
    assert "three-points" in found.stdout
    (sentence,) = found.stderr.strip().splitlines()
    assert sentence.startswith("The paper `smith2025` of `smith_experiments.smith2025` is left out: ")
    assert why in sentence


def test_a_key_that_is_taken_is_left_out(smith):
    files = {"__init__.py": "", "paper.py": SMITH["paper.py"].replace("smith2025", "phuong2021")}
    found = run("datasets", paths=(smith(files, key="phuong2021"), SOURCES.parent))
    assert "there is a paper of this key already" in found.stderr
    assert "phuong-toy" in found.stdout


@pytest.mark.slow
@pytest.mark.parametrize("paper", IN_PYTHON)
def test_without_its_folder_a_paper_is_gone_and_everything_else_works(tmp_path, paper):
    shutil.copytree(SOURCES, tmp_path / "reluflow", ignore=shutil.ignore_patterns("__pycache__", paper))
    for words in (["theorems"], ["theorems", "--coverage"], ["datasets"], ["reproduce"], ["diagnose", "three-points"]):
        found = run(*words, paths=(tmp_path,))
        assert found.returncode == 0, found.stderr
        assert f"{paper}:" not in found.stdout
        assert f"{paper}/" not in found.stdout
        assert len(found.stdout) > 300


def test_listing_datasets_loads_no_drawing_and_no_theorem():
    code = (
        f"import sys; sys.path.insert(0, {str(SOURCES.parent)!r})\n"
        "from reluflow.data import registered_datasets\n"
        "assert len(registered_datasets()) > 40\n"
        "print([m for m in ('matplotlib', 'numba', 'reluflow.theory.theorem') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("theorem", theorems(IN_PYTHON), ids=lambda theorem: theorem.key)
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
