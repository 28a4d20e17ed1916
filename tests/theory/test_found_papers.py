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
from reluflow.theory.registry import theorems

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


def run(*words, before=(), paths=(SOURCES.parent,)):
    """A command, after others in the same process, with these folders first in the path."""
    path = f"import sys; sys.path[:0] = {[str(path) for path in paths]!r}"
    code = f"{path}\nfrom reluflow.cli.main import run\n"
    code += f"for words in {[list(command) for command in before]!r}:\n    try:\n        run(words)\n"
    code += f"    except SystemExit as end:\n        assert end.code == 0\nrun({list(words)!r})"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_example_of_a_paper_by_others_is_installed_and_there(tmp_path):
    """`pip install` of a package of sixty lines: its dataset, its theorem and its figure stand beside ours."""
    copy = tmp_path / "copy"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    place = tmp_path / "installed"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place), str(copy)]
    subprocess.run(install, check=True, timeout=300)
    paths = (place, SOURCES.parent)
    listing = (("theorems", "smith2025"), ("datasets",), ("check", "smith2025:thm1"))
    draw = ("reproduce", "smith2025/fig1", "--quick", "--json", "--out", str(tmp_path / "out"))
    found = run(*draw, before=listing, paths=paths)
    for words in ("smith2025:thm1", "smith-two-points", "Verdict: holds"):
        assert words in found.stdout, found.stderr
    (figure,) = json.loads(found.stdout[found.stdout.rindex("\n{") :])["figures"]
    assert [claim["holds"] for claim in figure["claims"]] == [True]
    assert Path(figure["files"][0]).is_file()


OF_SMITH = "paper `smith2025` in `own_paper.smith2025` is left out:"
NO_TUPLE = "it must be a tuple of "


@pytest.mark.parametrize(
    ("listing", "ours", "file", "text", "what", "why"),
    [
        (
            "datasets",
            "three-points",
            "paper.py",
            "import no_such_package",
            "The",
            "it fails with ModuleNotFoundError: ",
        ),
        ("datasets", "three-points", "paper.py", "PAPER = 7", "The", "`paper.PAPER` must be a Paper with the key "),
        (
            "datasets",
            "three-points",
            "data.py",
            "raise ValueError('out of ink')",
            "`data`",
            "it fails with ValueError: ",
        ),
        ("datasets", "three-points", "data.py", "DATASETS = (7,)", "`data.DATASETS`", NO_TUPLE),
        ("theorems", "lyu2021:thm3.1", "theorems.py", "RESULTS = 7", "`theorems.RESULTS`", NO_TUPLE),
        ("reproduce", "lyu2021/fig1", "figures/figure_1.py", "def (", "`figure_1.py`", "it fails with SyntaxError"),
    ],
)
def test_a_broken_one_is_named_in_one_sentence_and_the_others_are_there(smith, listing, ours, file, text, what, why):
    """A list that is none, and a figure that is no Python, ended every command with the trace of an error."""
    found = run(listing, paths=(smith({file: text}), SOURCES.parent))
    assert found.returncode == 0, found.stderr
    assert ours in found.stdout
    (sentence,) = found.stderr.strip().splitlines()
    subject = what if what == "The" else f"{what} of the"
    assert sentence.startswith(f"Note: {subject} {OF_SMITH} {why}")


def test_a_name_that_is_taken_stays_with_its_owner(smith):
    """A dataset called three-points in the package of somebody else took the place of ours without a word."""
    text = (EXAMPLE / "own_paper" / "smith2025" / "data.py").read_text().replace("smith-two-points", "three-points")
    found = run("diagnose", "three-points", "--json", paths=(smith({"data.py": text}), SOURCES.parent))
    assert json.loads(found.stdout)["n"] == 3
    assert f"Note: `three-points` in `data.DATASETS` of the {OF_SMITH} the name is taken." in found.stderr


def test_a_result_under_the_key_of_another_paper_is_left_out(smith):
    """It was listed, and `check` did not know it."""
    text = (EXAMPLE / "own_paper" / "smith2025" / "theorems.py").read_text().replace('"smith2025:thm1"', '"jones:thm1"')
    found = run("theorems", paths=(smith({"theorems.py": text}), SOURCES.parent))
    assert "jones:thm1" not in found.stdout
    assert (
        f"Note: `jones:thm1` in `theorems.RESULTS` of the {OF_SMITH} a key must begin with smith2025:." in found.stderr
    )


ASSUMPTIONS = """
from reluflow.theory.condition import Assumption

def judge(facts):
    raise ValueError("out of ink")

ASSUMPTIONS = (Assumption("smith-a1", "smith2025", "the points are two", judge),)
"""


def test_an_assumption_that_cannot_be_judged_is_undecided_and_the_others_are_judged(smith):
    """`diagnose` ended with the trace of an error for every dataset."""
    paths = (smith({"assumptions.py": ASSUMPTIONS}), SOURCES.parent)
    found = run("diagnose", "three-points", "--json", paths=paths)
    assert found.returncode == 0, found.stderr
    conditions = {condition["key"]: condition for condition in json.loads(found.stdout)["conditions"]}
    assert conditions["smith-a1"]["holds"] is None
    assert conditions["smith-a1"]["detail"] == "its judgement fails with ValueError: out of ink"
    assert conditions["boursier-a4"]["holds"] is not None


STARTS = """
import numpy as np
from reluflow.network import Initialization
STARTS = (Initialization("smith-row", "smith2025", "Sec. 1", "each neuron one", lambda m, d, K, rng: (np.ones((m, d)),
                         np.ones((m, K)))),)
"""


def test_a_paper_brings_its_initialisations(smith):
    """They are found like its datasets: `class-pairs`, which one paper alone uses, lived outside its folder."""
    paths = (smith({"starts.py": STARTS}), SOURCES.parent)
    words = ("train", "smith-two-points", "--init", "smith-row", "--width", "2", "--scale", "0.5", "--json")
    refused = run("train", "three-points", "--init", "smith-row ", before=(words,), paths=paths)
    assert '"outcome"' in refused.stdout, refused.stderr
    assert "smith-row" in refused.stderr
    menu = "from reluflow.lab.adapter import schemes; print([s['name'] for s in schemes()])"
    path = f"import sys; sys.path[:0] = {[str(path) for path in paths]!r}\n"
    listed = subprocess.run([sys.executable, "-c", path + menu], capture_output=True, text=True, check=True).stdout
    assert "'smith-row'" in listed
    assert "'class-pairs'" in listed
    assert "min2025-s" not in listed, "a start on one dataset alone is on no menu"


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
from reluflow.network import INITIALIZATIONS, found_initializations
from reluflow.papers.registry import all_entries, load_figure
from reluflow.theory.coverage import coverage_of, coverage_page
from reluflow.theory.diagnosis import assumptions, diagnose, main_theorems
from reluflow.theory.erratum import errata_of
from reluflow.theory.registry import papers, results_of, theorems

assert reluflow.__file__.startswith(sys.argv[1])
texts = [coverage_page(), str(diagnose(reluflow.load("three-points"), reluflow.SquareLoss()))]
texts += [coverage_of(paper) for paper in papers()]
texts += [erratum.key for paper in papers() for erratum in errata_of(paper)]
assert len(main_theorems()) >= len(papers()) - 1
names, starts = {entry.name for entry in registered_datasets()}, found_initializations()
texts += [f"{scheme.paper}:" for name, scheme in starts.items() if name not in INITIALIZATIONS]
for theorem in theorems():
    assert theorem.setting.init in starts, theorem.key
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


@pytest.mark.parametrize("theorem", theorems(), ids=lambda theorem: theorem.key)
def test_a_verdict_pickles(theorem):
    verdict = check(theorem, example_problem(theorem), at_own_scale=True, max_steps=5)
    again = pickle.loads(pickle.dumps(verdict))
    assert str(again.as_json()) == str(verdict.as_json())  # as text, for some numbers are none
