"""Every Python block and every command in the README and the documentation runs."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from reluflow.cli.main import COMMANDS, run
from reluflow.theory import erratum
from reluflow.theory.diagnosis import assumptions, main_theorems

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands_of(page: Path) -> str:
    """Its text, a command that goes on in the next line in one."""
    return re.sub(r" *\\\n +", " ", page.read_text())


BLOCKS = [
    pytest.param(block, id=f"{page.name}-{index}")
    for page in PAGES
    if page.name != "gallery.md"  # its blocks are the scripts of `examples/`, which run below
    for index, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S))
]
LINES = sorted(
    {
        " ".join(line.partition("#")[0].removeprefix(".venv/bin/").split())  # a line may be broken in two
        for page in PAGES
        for line in re.findall(r"^reluflow .*$|`((?:\.venv/bin/)?reluflow [a-z][^`]*)`", commands_of(page), flags=re.M)
        if line
    }
    | {
        line.partition("#")[0].strip()
        for page in PAGES
        for line in re.findall(r"^reluflow .*$", commands_of(page), flags=re.M)
    }
)
# run by hand, not by a test; the laboratory serves until it is stopped and has tests of its own
MINUTES = {
    *(line for line in LINES if line.startswith("reluflow lab")),
    "reluflow bench",
    "reluflow bench flow",
    "reluflow bench sweep",
    "reluflow bench dense",
    "reluflow bench outputs",
    "reluflow reproduce --all --full --table FILE.md",
    "reluflow reproduce --all --full --pages DIR",
}


SPOKEN_OF = ("check", "diagnose", "certify", "extremal", "align", "train", "margin", "step-size", "sweep")
SAME_RUN = (
    "reluflow study",
    "reluflow study three-points",
    "reluflow study three-points --out out",
)  # with --animate, below
NOT_HERE = ("COMMAND", "smith2025")  # any command; the example of a package by others, which has its own test


@pytest.mark.parametrize("block", BLOCKS)
def test_python_blocks_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "documentation", "exec"), {})


RUN = [line for line in LINES if line not in (*MINUTES, *SAME_RUN) and not any(word in line for word in NOT_HERE)]


@pytest.mark.parametrize("line", RUN)
@pytest.mark.usefixtures("brief_descent", "one_process")
def test_commands_run(line, request, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if line.startswith("reluflow study") and "--animate" not in line:
        request.getfixturevalue("no_pictures")  # that one draws them
    written = (ROOT / "docs" / "errata.md").read_text()  # measured again by `tests/theory/test_errata.py`
    monkeypatch.setattr(erratum, "errata_page", lambda papers: written)
    Path("network.csv").write_text("w1,w2,a\n0.1,0.8,0.8\n")
    Path("run.toml").write_text('data = "three-points"\nwidth = 20\n')
    Path("mine.csv").write_text("x1,x2,y\n1,0.2,1\n0.4,1,1\n-1,0.3,-1\n")
    Path("data.csv").write_text("a,b,c,y\n1,2,3,0.5\n-1,0.5,2,1.5\n0.25,-2,1,0.25\n")
    shutil.copy(ROOT / "tests" / "network" / "fixtures" / "hidden_bias.pt", "net.pt")
    words = shlex.split(line)[1:]
    stand_ins = {
        "DATASET": "three-points",
        "KEY": "boursier2024:lemma1",
        "PAPER": "boursier2024",
        "THEOREM": "boursier2024:lemma1",
    }
    words = [stand_ins.get(word, word) for word in words]
    if words in [[name] for name in SPOKEN_OF]:
        words.append("--help")  # the command is spoken of, not called
    if words[:2] in (["sweep", "status"], ["sweep", "diagram"]) and len(words) > 2:
        words.append("--help")  # these need a folder that is there, or minutes
    with pytest.raises(SystemExit) as end:
        run(words)
    assert end.value.code == 0, capsys.readouterr().err


def test_every_command_is_in_the_table_of_questions():
    text = (ROOT / "docs" / "commands.md").read_text()
    for command in COMMANDS:
        assert f"`reluflow {command}" in text


def test_conditions_page_lists_every_key():
    text = (ROOT / "docs" / "conditions.md").read_text()
    for item in (*assumptions(), *main_theorems()):
        assert f"| `{item.key}` |" in text


EXAMPLES = [
    pytest.param(path, id=path.name, marks=[pytest.mark.slow] if path.name == "staircase.py" else [])
    for path in sorted((ROOT / "examples").glob("*.py"))
]


@pytest.mark.parametrize("path", EXAMPLES)
def test_examples_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    source = path.read_text()
    exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()
    pictures = [file for file in tmp_path.iterdir() if file.suffix in (".png", ".gif")]
    assert pictures
    gallery = (ROOT / "docs" / "gallery.md").read_text()
    code = source.split('"""', 2)[2].strip()
    assert f"```python\n{code}\n```" in gallery, "run tools/example_pages.py"
    for picture in pictures:
        assert f"gallery/{picture.name}" in gallery
        assert 1_000 < (ROOT / "docs" / "gallery" / picture.name).stat().st_size < 600_000
