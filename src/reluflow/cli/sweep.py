"""`reluflow sweep DATASET`, `reluflow sweep FILE.toml`, `reluflow sweep status DIR`, `reluflow sweep diagram NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reluflow.cli.arguments import json_option, path_option
from reluflow.cli.inputs import reading_of
from reluflow.cli.output import number, print_json, print_table
from reluflow.cli.progress import sweep_bar
from reluflow.cli.run_options import DATA, DESCENT, FLOW, LOSS, VARIANT, GivenOptions, run_options
from reluflow.errors import InvalidInputError

if TYPE_CHECKING:
    from reluflow.experiment import Experiment
    from reluflow.sweep.plan import Plan
    from reluflow.sweep.run import SweepState

INTERRUPTED = 130
LISTED = 20
DEFAULT_MEASURES = "outcome,loss"
DEFAULT_OUT = Path("out/sweep")


EXECUTORS = ("serial", "processes", "dask")


@click.command()
@click.argument(
    "dataset",
    metavar="DATASET|FILE.toml|status|diagram",
    help="What to sweep: a dataset, or a file that describes a sweep. `status DIR` shows how far one is, "
    "`diagram NAME` draws a registered phase diagram.",
)
@click.argument("name", required=False, metavar="[DIR|NAME]", help="With status and diagram.")
@click.option(
    "--over", multiple=True, metavar="NAME=VALUES",
    help="a,b,c or 0..19 or 1e-1..1e-12:log:12 (:lin: evenly); repeatable.",
)  # fmt: skip
@click.option(
    "--measure", multiple=True, metavar="M,M",
    help="What to keep: outcome, loss, kind, time, crossings, theorem:KEY, ...",
)  # fmt: skip
@path_option("--out", "DIR", "Where results are kept.", default=DEFAULT_OUT)
@click.option(
    "--executor", type=click.Choice(EXECUTORS), help="Where cases run; default: processes, or dask with --scheduler."
)
@click.option("--scheduler", metavar="ADDRESS", help="Of a Dask scheduler: tcp://host:8786.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; default: one per core.")
@click.option("--retry-failed", is_flag=True, help="Compute failed cases again.")
@click.option("--dry-run", is_flag=True, help="List the cases, their number and the time.")
@click.option("--plot", is_flag=True, help="Draw the table: a picture and a page in DIR.")
@click.option("--event", metavar="MEASURE=VALUE", help="With --plot: draw how often this happens.")
@click.option("--quick", is_flag=True, help="With diagram: a coarse one, in a minute or so.")
@run_options(
    *DATA, *LOSS, "leak", *VARIANT, "width", "scale", "init", "output_bias", "nodes", "method", *FLOW, "until",
    "horizon", *DESCENT,
)  # fmt: skip
@json_option
def command(
    dataset: str,
    name: str | None,
    *,
    over: tuple[str, ...],
    measure: tuple[str, ...],
    out: Path,
    executor: str | None,
    scheduler: str | None,
    workers: int | None,
    retry_failed: bool,
    dry_run: bool,
    plot: bool,
    event: str | None,
    quick: bool,
    run: GivenOptions,
    json: bool,
) -> int:
    """Run every combination of some values and keep the measures; the same command again computes what is missing.

    Example: reluflow sweep three-points --over scale=1e-1..1e-6:log:6 --over seed=0..4 --measure end --out out/sweep
    """
    if dataset == "status":
        _status(out if name is None else Path(name), as_json=json)
        return 0
    if dataset == "diagram":
        return _diagram(name, out, quick=quick, executor=executor, workers=workers, scheduler=scheduler, as_json=json)
    if name is not None:
        raise InvalidInputError(f"`{name}` is not expected after {dataset!r}; values to sweep are given with --over.")
    measures = [word for words in measure for word in words.split(",") if word.strip()]
    if Path(dataset).suffix.lower() in (".toml", ".yaml", ".yml"):
        base, values, measures, out = _from_file(Path(dataset), over, measures, out)
        base = run.over(base, data=base.data)
    else:
        base, values = run.experiment(dataset), _over(over)
    if not values:
        raise InvalidInputError(
            "`--over` must be given at least once: --over seed=0..19, --over scale=1e-1..1e-6:log:6."
        )
    from reluflow.sweep.plan import make_plan

    plan = make_plan(base, values, measures or DEFAULT_MEASURES.split(","))
    if plan.base.data in dict(plan.base.digests):
        reading_of(plan.base)
    if event is not None:
        _check_event(event, plan)
    if dry_run:
        _dry_run(plan, out, workers, executor, as_json=json)
        return 0
    return _run(
        plan, out, executor, workers, scheduler, retry_failed=retry_failed, plot=plot, event=event, as_json=json
    )


def _over(over: tuple[str, ...]) -> dict[str, str]:
    values: dict[str, str] = {}
    for word in over:
        name, equals, text = word.partition("=")
        if not equals or not name.strip():
            raise InvalidInputError(f"`--over` must read NAME=VALUES, such as seed=0..19, got {word!r}.")
        if name.strip() in values:
            raise InvalidInputError(f"`--over` must name {name.strip()!r} once, got it twice.")
        values[name.strip()] = text
    return values


def _from_file(
    path: Path, over: tuple[str, ...], measures: list[str], out: Path
) -> tuple[Experiment, dict[str, Any], list[str], Path]:
    """A sweep described in a file; what is given beside it wins."""
    from reluflow.sweep.plan import read_plan

    base, values, asked, rest = read_plan(path)
    unknown = [key for key in rest if key != "out"]
    if unknown:
        raise InvalidInputError(f"`{path}` must hold case, over, measure and out, got {unknown[0]!r}.")
    is_default = out == DEFAULT_OUT
    return (
        base,
        {**values, **_over(over)},
        measures or asked,
        Path(rest["out"]) if is_default and "out" in rest else out,
    )


def _run(
    plan: Plan,
    out: Path,
    executor: str | None,
    workers: int | None,
    scheduler: str | None,
    *,
    retry_failed: bool,
    plot: bool,
    event: str | None,
    as_json: bool,
) -> int:
    from reluflow.sweep.result import gathered
    from reluflow.sweep.run import executor_named, run_plan
    from reluflow.sweep.store import open_folder
    from reluflow.sweep.table import check_packages

    check_packages()
    chosen = executor_named(executor, workers, scheduler)
    folder = open_folder(out)
    state: list[SweepState] = []
    is_interrupted = False
    with sweep_bar() as show:

        def look(now: SweepState) -> None:
            state[:] = [now]
            show(now)

        try:
            state[:] = [run_plan(plan, folder, chosen, retry_failed=retry_failed, progress=look)]
        except KeyboardInterrupt:
            is_interrupted = True
    last = state[0] if state else None
    result = gathered(plan, folder, computed=last.computed if last else 0, seconds=last.seconds if last else 0.0)
    files = []
    if plot and not is_interrupted:
        from reluflow.sweep.pictures import draw_sweep

        files = draw_sweep(result, event=event)
    if as_json:
        print_json(
            {
                "cases": result.cases,
                "done": result.done,
                "computed": result.computed,
                "failed": result.failed,
                "seconds": result.seconds,
                "table": str(result.table),
                "files": [str(path) for path in files],
            }
        )
    else:
        print(f"{result.cases} cases: {result.done} done, {result.failed} failed; {_computed_now(result)}.")
        if result.failed:
            _print_failures(result)
        print(f"Table: {result.table}")
        for path in files:
            print(path)
    if is_interrupted:
        click.echo(f"Interrupted; {result.done} of {result.cases} are done and kept.", err=True)
        return INTERRUPTED
    return 0


def _computed_now(result: Any) -> str:
    if result.computed:
        return f"{result.computed} computed now in {number(result.seconds, 3)} s"
    return "0 computed now" if result.done + result.failed < result.cases else "0 computed now, nothing was missing"


def _print_failures(result: Any) -> None:
    """The sentences of failed cases, the most frequent first."""
    frame = result.frame()
    counted = frame.loc[frame["status"] == "failed", "error"].value_counts().head(5)
    print_table(("failed", "why"), [(str(count), str(sentence)) for sentence, count in counted.items()])
    print("Once mended, --retry-failed computes these again.")


def _check_event(event: str, plan: Plan) -> None:
    name = event.partition("=")[0]
    names = [measure.name for measure in plan.measures]
    if name not in names:
        raise InvalidInputError(f"`--event` must name one of the measures {', '.join(names)}, got {event!r}.")


def _status(folder: Path, *, as_json: bool) -> None:
    from reluflow.sweep.store import status

    found = status(folder)
    if as_json:
        print_json(found)
        return
    left = found["cases"] - found["done"] - found["failed"]
    print(
        f"{found['cases']} cases: {found['done']} done, {found['failed']} failed, {found['running']} running now, "
        f"{left} without a result."
    )


def _dry_run(plan: Plan, out: Path, workers: int | None, executor: str | None, *, as_json: bool) -> None:
    from reluflow.cli.progress import stage_spinner
    from reluflow.sweep.estimate import estimate
    from reluflow.sweep.store import DONE_CODE, FAILED_CODE, Progress
    from reluflow.sweep.table import swept_values
    from reluflow.workers.starting import available_cores

    done = failed = 0
    if (out / "results").is_dir():
        known = Progress(plan, out)
        done, failed = known.count(DONE_CODE), known.count(FAILED_CODE)
    with stage_spinner() as on_stage:
        on_stage("timing a few cases")
        cost = estimate(plan, out)
    at_once = 1 if executor == "serial" else workers or available_cores()
    seconds = cost.seconds * (len(plan) - done - failed) / at_once
    shown = {axis.name: dict(zip(axis.values, swept_values(axis.values), strict=True)) for axis in plan.axes}
    first = (zip(plan.names, plan.values_at(index), strict=True) for index in range(min(LISTED, len(plan))))
    listed = [{name: shown[name][value] for name, value in case} for case in first]
    if as_json:
        print_json(
            {
                "cases": len(plan),
                "done": done,
                "computed": 0,
                "failed": failed,
                "seconds": 0.0,
                "table": None,
                "estimate_s": seconds,
                "seconds_per_case": cost.seconds,
                "listed": listed,
            }
        )
        return
    print_table(plan.names, [tuple(str(value) for value in case.values()) for case in listed])
    if len(plan) > LISTED:
        print(f"... and {len(plan) - LISTED:,} more.")
    least = "at least " if cost.is_cut_short else ""
    print(f"{len(plan):,} cases, {done:,} done, {failed:,} failed.")
    print(
        f"About {least}{number(cost.seconds, 3)} s each (mean of {cost.count} {cost.source}): {least}"
        f"{_duration(seconds)} for the rest on {at_once} {'core' if at_once == 1 else 'cores'}."
    )


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


def _diagram(
    name: str | None,
    out: Path,
    *,
    quick: bool,
    executor: str | None,
    workers: int | None,
    scheduler: str | None,
    as_json: bool,
) -> int:
    from reluflow.sweep.diagrams.registry import DIAGRAMS, diagram_named

    if name is None:
        if as_json:
            print_json({"diagrams": [{"name": item.name, "title": item.title} for item in DIAGRAMS]})
        else:
            print_table(("diagram", "title"), [(item.name, item.title) for item in DIAGRAMS])
        return 0
    from reluflow.sweep.run import executor_named
    from reluflow.sweep.table import check_packages

    check_packages()
    diagram = diagram_named(name)
    with sweep_bar() as show:
        made = diagram.make(out, executor_named(executor, workers, scheduler), is_quick=quick, progress=show)
    if as_json:
        print_json({"name": name, "findings": made.findings, "files": [str(path) for path in made.files]})
        return 0
    for sentence in made.findings:
        print(sentence)
    for path in made.files:
        print(path)
    return 0
