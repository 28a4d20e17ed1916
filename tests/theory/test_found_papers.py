"""Papers are found, not listed: a folder more or less, and packages of other people, broken ones among them."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import reluflow
from reluflow.data import registered_datasets
from reluflow.found_papers import found_papers
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorems

SOURCES = Path(reluflow.__file__).parent
EXAMPLE = SOURCES.parents[1] / "examples" / "own_paper"


class Said(NamedTuple):
    """How a command ended and what it said."""

    code: int
    stdout: str
    stderr: str


IN_ONE_PROCESS = """
import contextlib, io, json, sys
sys.path[:0] = json.loads(sys.argv[1])
from reluflow.cli.main import run
said = []
for words in json.loads(sys.argv[2]):
    code, out, err = 0, io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            run(words)
        except SystemExit as end:
            code = end.code
    said.append((code, out.getvalue(), err.getvalue()))
menu = []
if len(sys.argv) > 3:
    from reluflow.lab.adapter import schemes
    menu = [scheme["name"] for scheme in schemes()]
print(json.dumps({"said": said, "menu": menu}))
"""


def run(*commands, paths=(SOURCES.parent,), asks_the_lab=False):
    """What each of several commands says in one process, with these folders first in the path, and the lab's starts."""
    given = [json.dumps([str(path) for path in paths]), json.dumps(commands), *(["lab"] if asks_the_lab else [])]
    process = [sys.executable, "-c", IN_ONE_PROCESS, *given]
    found = json.loads(subprocess.run(process, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return [Said(*said) for said in found["said"]], found["menu"]


def text_of(file, old, new):
    """A file of the example with some words changed."""
    text = (EXAMPLE / "own_paper" / "smith2025" / file).read_text()
    assert old in text
    return text.replace(old, new)


ASSUMPTIONS = """
from reluflow.theory.condition import Assumption

def judge(facts):
    raise ValueError("out of ink")

ASSUMPTIONS = (Assumption("carter-a1", "carter2025", "the points are two", judge),)
"""
STARTS = """
import numpy as np
from reluflow.network import Initialization
STARTS = (Initialization("wright-row", "wright2025", "Sec. 1", "each neuron one", lambda m, d, K, rng: (np.ones((m, d)),
                         np.ones((m, K)))),)
"""
# the packages of other people: the example under another key, with a file changed
PACKAGES = {
    "adams2025": ("paper.py", "import no_such_package"),
    "brown2025": ("paper.py", "PAPER = 7"),
    "clark2025": ("data.py", "raise ValueError('out of ink')"),
    "davis2025": ("data.py", "DATASETS = (7,)"),
    "evans2025": ("theorems.py", "RESULTS = 7"),
    "foster2025": ("figures/figure_1.py", "def ("),
    "green2025": ("data.py", text_of("data.py", "smith-two-points", "three-points").replace("smith2025", "green2025")),
    "harris2025": ("theorems.py", text_of("theorems.py", '"smith2025:thm1"', '"jones:thm1"')),
    "carter2025": ("assumptions.py", ASSUMPTIONS),
    "wright2025": ("starts.py", STARTS),
    "phuong2021": ("paper.py", text_of("paper.py", "smith2025", "phuong2021")),
}
COMMANDS = {
    "datasets": ["datasets"],
    "theorems": ["theorems"],
    "reproduce": ["reproduce"],
    "diagnose": ["diagnose", "three-points", "--json"],
    "train": ["train", "wright-two-points", "--init", "wright-row", "--width", "2", "--scale", "0.5", "--json"],
    "refused": ["train", "three-points", "--init", "wright-row "],
}


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """What commands say with these packages installed, and the starts on the lab's menu: one process, 2 seconds."""
    folder = tmp_path_factory.mktemp("others")
    for key, (changed, text) in PACKAGES.items():
        package = folder / "own_paper" / key
        shutil.copytree(EXAMPLE / "own_paper" / "smith2025", package, ignore=shutil.ignore_patterns("__pycache__"))
        for file in package.rglob("*.py"):
            file.write_text(file.read_text().replace("smith2025", key).replace("smith-", f"{key[:-4]}-"))
        (package / changed).write_text(text)
    (folder / "own_paper" / "__init__.py").write_text("")
    metadata = folder / "own_paper-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: own_paper\nVersion: 1\n")
    points = "".join(f"{key} = own_paper.{key}\n" for key in PACKAGES)
    (metadata / "entry_points.txt").write_text(f"[reluflow.papers]\n{points}")
    said, menu = run(*COMMANDS.values(), paths=(folder, SOURCES.parent), asks_the_lab=True)
    return {**dict(zip(COMMANDS, said, strict=True)), "menu": menu}


def sentences_about(key, others):
    """Every line on the standard error of any command that names a package, with the command."""
    return [
        (command, line)
        for command in COMMANDS
        for line in others[command].stderr.splitlines()
        if f"`own_paper.{key}`" in line
    ]


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
    (*listed, drawn), _ = run(*listing, draw, paths=paths)
    for found, words in zip(listed, ("smith2025:thm1", "smith-two-points", "Verdict: holds"), strict=True):
        assert found.code == 0
        assert words in found.stdout, found.stderr
    (figure,) = json.loads(drawn.stdout)["figures"]
    assert [claim["holds"] for claim in figure["claims"]] == [True]
    assert Path(figure["files"][0]).is_file()


NO_TUPLE = "it must be a tuple of "


@pytest.mark.parametrize(
    ("listing", "ours", "key", "what", "why"),
    [
        ("datasets", "three-points", "adams2025", "The", "it fails with ModuleNotFoundError: "),
        ("datasets", "three-points", "brown2025", "The", "`paper.PAPER` must be a Paper with the key "),
        ("datasets", "three-points", "clark2025", "`data`", "it fails with ValueError: "),
        ("datasets", "three-points", "davis2025", "`data.DATASETS`", NO_TUPLE),
        ("theorems", "lyu2021:thm3.1", "evans2025", "`theorems.RESULTS`", NO_TUPLE),
        ("reproduce", "lyu2021/fig1", "foster2025", "`figure_1.py`", "it fails with SyntaxError"),
    ],
)
def test_a_broken_one_is_named_in_one_sentence_and_the_others_are_there(others, listing, ours, key, what, why):
    """A list that is none, and a figure that is no Python, ended every command with the trace of an error."""
    assert others[listing].code == 0, others[listing].stderr
    assert ours in others[listing].stdout
    ((command, sentence),) = sentences_about(key, others)
    assert command == listing
    subject = what if what == "The" else f"{what} of the"
    assert sentence.startswith(f"Note: {subject} paper `{key}` in `own_paper.{key}` is left out: {why}")


def test_nothing_else_is_said_of_them(others):
    said = [line for command in ("datasets", "theorems", "reproduce") for line in others[command].stderr.splitlines()]
    assert len(said) == 6 + 3, said  # the broken ones; a name, a result and a key that are others'


def test_a_name_that_is_taken_stays_with_its_owner(others):
    """A dataset called three-points in the package of somebody else took the place of ours without a word."""
    assert json.loads(others["diagnose"].stdout)["n"] == 3
    ((_, sentence),) = sentences_about("green2025", others)
    left_out = "of the paper `green2025` in `own_paper.green2025` is left out: the name is taken."
    assert sentence == f"Note: `three-points` in `data.DATASETS` {left_out}"


def test_a_result_under_the_key_of_another_paper_is_left_out(others):
    """It was listed, and `check` did not know it."""
    assert others["theorems"].code == 0
    assert "wright2025:thm1" in others["theorems"].stdout
    assert "jones:thm1" not in others["theorems"].stdout
    ((_, sentence),) = sentences_about("harris2025", others)
    left_out = "of the paper `harris2025` in `own_paper.harris2025` is left out: a key must begin with harris2025:."
    assert sentence == f"Note: `jones:thm1` in `theorems.RESULTS` {left_out}"


def test_an_assumption_that_cannot_be_judged_is_undecided_and_the_others_are_judged(others):
    """`diagnose` ended with the trace of an error for every dataset."""
    assert others["diagnose"].code == 0, others["diagnose"].stderr
    conditions = {condition["key"]: condition for condition in json.loads(others["diagnose"].stdout)["conditions"]}
    assert conditions["carter-a1"]["holds"] is None
    assert conditions["carter-a1"]["detail"] == "its judgement fails with ValueError: out of ink"
    assert conditions["boursier-a4"]["holds"] is not None


def test_a_paper_brings_its_initialisations(others):
    """They are found like its datasets: `class-pairs`, which one paper alone uses, lived outside its folder."""
    assert '"outcome"' in others["train"].stdout, others["train"].stderr
    assert others["refused"].code == 2
    assert "wright-row" in others["refused"].stderr
    assert "wright-row" in others["menu"]
    assert "class-pairs" in others["menu"]
    assert not [name for name in others["menu"] if name.startswith("min2025-s")], "a start on one dataset is on no menu"


def test_a_key_that_is_taken_is_left_out(others):
    ((_, sentence),) = sentences_about("phuong2021", others)
    assert "there is a paper of this key already" in sentence
    assert "phuong-toy" in others["datasets"].stdout


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
    for found in run(["theorems"], ["datasets"], ["reproduce"], paths=(tmp_path,))[0]:
        assert found.code == 0, found.stderr
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
