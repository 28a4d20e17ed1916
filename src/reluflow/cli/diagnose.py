"""`reluflow diagnose DATASET`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from reluflow.cli.arguments import dataset_argument, json_option, max_seconds_option
from reluflow.cli.inputs import dataset_of
from reluflow.cli.output import number, print_json, print_table
from reluflow.cli.progress import compile_first, share_bar
from reluflow.cli.run_options import DATA, LOSS, GivenOptions, run_options

if TYPE_CHECKING:
    from reluflow.theory.condition import Condition
    from reluflow.theory.diagnosis import Applicability, Diagnosis

_WORDS = {True: "yes", False: "no", None: "?"}
NEARLY = 0.05  # a margin this little below 0 is shown with what holds
_NEVER_NEARLY = ("linearly-separable",)  # its margin is 0 on every set without a separator, however far from one


@click.command()
@dataset_argument()
@run_options(*DATA, *LOSS, "leak")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Every condition and theorem with what was measured, not the short account.",
)
@max_seconds_option()
@json_option
def command(dataset: str | None, *, run: GivenOptions, everything: bool, max_seconds: float, json: bool) -> None:
    """Report which assumption of which paper holds on a dataset, and by what margin.

    Shows what holds or nearly holds and names the rest; --all shows everything.

    Example: reluflow diagnose three-points --json
    """
    from reluflow.theory.diagnosis import diagnose
    from reluflow.warm_up import Work

    experiment = run.experiment(dataset)
    data, leak = dataset_of(experiment), experiment.leak
    chosen = experiment.loss_for(data)
    compile_first(Work.EXTREMAL_VECTORS)
    with share_bar("checking every assumption") as progress:
        diagnosis = diagnose(data, chosen, leak=leak, max_seconds=max_seconds, progress=progress)
    if json:
        print_json(
            {
                "n": data.n,
                "d": data.d,
                "conditions": [asdict(condition) for condition in diagnosis.conditions],
                "theorems": [asdict(theorem) for theorem in diagnosis.theorems],
            }
        )
        return
    print(f"{data.name}: {data.n} samples in dimension {data.d}, {data.task} ({data.provenance})")
    if data.num_outputs > 1:
        way = "--labels CLASS sets one class against the rest" if data.classes else "--target NAME keeps one column"
        print(f"{data.num_outputs} outputs: what is stated for one output is not judged; {way}.")
    if everything:
        _print_all(diagnosis)
    else:
        _print_short(diagnosis)


def _print_all(diagnosis: Diagnosis) -> None:
    print_table(
        ("condition", "paper", "holds", "margin", "measured"),
        [(c.key, c.paper, _condition_word(c), number(c.margin), c.detail) for c in diagnosis.conditions],
    )
    print()
    print_table(
        ("theorem", "data allow it", "why"),
        [(t.key, _theorem_word(t), t.why) for t in diagnosis.theorems],
    )


def _print_short(diagnosis: Diagnosis) -> None:
    """What holds or nearly holds as a table, the names of the rest in sentences."""
    near = [c for c in diagnosis.conditions if _nearly_holds(c)]
    shown = [c for c in diagnosis.conditions if c.holds] + near
    words = {True: "yes", False: "nearly", None: "?"}
    if shown:
        print_table(
            ("condition", "holds", "margin", "measured"),
            [(c.key, words[c.holds], number(c.margin), c.detail) for c in shown],
        )
    rest = [c for c in diagnosis.conditions if c not in shown]
    for word, opening in (("no", "Do not hold"), ("?", "Not decidable here"), ("n/a", "Do not apply to such labels")):
        if keys := [c.key for c in rest if _condition_word(c) == word]:
            _print_names(opening, keys)
    print()
    allowed = [t for t in diagnosis.theorems if t.applicable is not False]
    if allowed:
        print_table(("theorem", "data allow it", "why"), [(t.key, _WORDS[t.applicable], t.why) for t in allowed])
    else:
        print("The data allow none of the main theorems.")
    for word, opening in (("no", "Refused by the data"), ("n/a", "Stated for another loss or other labels")):
        if keys := [t.key for t in diagnosis.theorems if _theorem_word(t) == word]:
            _print_names(opening, keys)
    print("What was measured for each: reluflow diagnose DATASET --all")


def _nearly_holds(condition: Condition) -> bool:
    margin = condition.margin
    is_near = not condition.holds and margin is not None and -NEARLY <= margin <= 0.0
    return is_near and condition.key not in _NEVER_NEARLY


def _condition_word(condition: Condition) -> str:
    """Yes, no or ?; `n/a` for an assumption on data of another kind, which is not a no."""
    return "n/a" if condition.is_for_other_labels else _WORDS[condition.holds]


def _theorem_word(theorem: Applicability) -> str:
    from reluflow.theory.condition import NOT_BINARY

    is_elsewhere = theorem.applicable is False and (theorem.why.startswith("stated for") or NOT_BINARY in theorem.why)
    return "n/a" if is_elsewhere else _WORDS[theorem.applicable]


def _print_names(opening: str, names: list[str]) -> None:
    import shutil
    import textwrap

    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    print(textwrap.fill(f"{opening}: {', '.join(names)}.", width, subsequent_indent="  ", break_on_hyphens=False))
