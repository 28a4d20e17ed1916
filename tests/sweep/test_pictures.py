"""Summaries, pictures and the page."""

import re
import shlex
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.experiment import Experiment
from reluflow.sweep.asked_scales import holds_before_a_run
from reluflow.sweep.diagrams.registry import DIAGRAMS, diagram_named
from reluflow.sweep.diagrams.three_point_angle import box_angles
from reluflow.sweep.executors.serial import SerialExecutor
from reluflow.sweep.lab_link import lab_command
from reluflow.sweep.pictures import axis_numbers, draw_sweep, figure_of, theory_lines
from reluflow.sweep.plan import make_plan
from reluflow.sweep.run import sweep
from reluflow.sweep.summary import summarize
from reluflow.theory.registry import theorem_named
from reluflow.wilson import wilson_interval


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    over = {"angle": [70, 100], "scale": "1e-1..1e-3:log:3", "width": [6, 8], "seed": "0..2"}
    folder = tmp_path_factory.mktemp("swept")
    return sweep("three-point-angle", over=over, measure=["end", "loss"], executor="serial", out=folder)


def test_seeds_are_taken_together(result):
    summary = summarize(result, event="end=interpolates")
    assert summary.names == ("angle", "scale", "width")
    assert len(summary.cells) == 12
    frame = result.frame()
    for cell in summary.cells:
        angle, scale, width = (summary.values[k][cell.place[k]] for k in range(3))
        rows = frame[(frame["angle"] == angle) & (frame["scale"] == scale) & (frame["width"] == width)]
        hits = int((rows["end"] == "interpolates").sum())
        assert cell.value == hits / 3
        assert (cell.low, cell.high) == wilson_interval(hits, 3)
        assert f"--width {width}" in cell.command
    numbers = summarize(result, measure="loss")
    assert not numbers.is_probability
    assert numbers.cells[0].value == pytest.approx(frame["loss"][[0, 1, 2]].mean())


def test_three_settings_are_small_multiples_and_four_are_refused(result):
    figure = figure_of(summarize(result, event="end=interpolates"))
    titles = [axes.get_title() for axes in figure.axes]
    assert [title for title in titles if title] == ["width = 6", "width = 8"]
    over = {"angle": [70], "scale": ["0.1"], "width": [4], "leak": [0.0], "seed": [0]}
    four = sweep("three-point-angle", over=over, measure=["loss"], executor="serial")
    with pytest.raises(InvalidInputError, match="draws over at most three settings"):
        figure_of(summarize(four))
    seeds = sweep("three-points", over={"seed": "0..1"}, measure=["loss"], executor="serial")
    with pytest.raises(InvalidInputError, match="a setting other than the seed"):
        figure_of(summarize(seeds))


def test_one_setting_is_a_curve_with_a_band():
    one = sweep(
        Experiment("three-points", width=6), over={"scale": "1e-1..1e-3:log:3", "seed": "0..2"}, executor="serial"
    )
    figure = figure_of(summarize(one, measure="loss"))
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    assert axes.collections, "the band"


LYU = Experiment("lyu-symmetric", leak=0.5, init="lyu-balanced", until="1e-3")


def test_the_scale_a_theorem_asks_for_is_drawn():
    """`--plot` drew what was measured and never what a theorem among the measures says of the same map."""
    over = {"scale": "1e-1..1e-6:log:3", "width": [4, 16]}
    words = "hypotheses of lyu2021:thm4.3 hold below (first seed)"
    summary, plan = swept_with_a_theorem(over)
    (line,) = theory_lines(summary, plan)
    assert (line.y, line.label) == ((4.0, 16.0), words)
    theorem = theorem_named("lyu2021:thm4.3")
    for scale, width in zip(line.x, line.y, strict=True):
        case = replace(LYU, width=int(width))
        assert holds_before_a_run(theorem, replace(case, scale=0.99 * scale))
        assert not holds_before_a_run(theorem, replace(case, scale=1.01 * scale))
    assert words in legend_of(figure_of(summary, plan=plan))
    summary, plan = swept_with_a_theorem({"width": [4, 16], "scale": ["0.1", "0.2"]})
    (line,) = theory_lines(summary, plan)
    assert (line.x, line.label) == ((), "hypotheses of lyu2021:thm4.3 hold nowhere here (first seed)")
    summary, plan = swept_with_a_theorem({"scale": over["scale"]})
    assert words in legend_of(figure_of(summary, plan=plan))


def swept_with_a_theorem(over):
    """A summary of runs without the theorem's own, which take a while, and the plan with it."""
    plan = make_plan(LYU, over, ["outcome", "theorem:lyu2021:thm4.3"])
    return summarize(sweep(LYU, over=over, measure=["outcome"], executor="serial")), plan


def legend_of(figure):
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_values_that_are_no_numbers_stand_at_their_ticks():
    """Losses stood at 0 and 1 without a word, the scale 1e-400 at the number 0, and a failed cell ended it."""
    over = {"scale": ["1e-3", "1e-400"], "loss": ["square", "logistic"]}
    swept = sweep(Experiment("three-points", width=6), over=over, measure=["outcome"], executor="serial")
    axes = figure_of(summarize(swept)).axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0.001", "1e-400"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["square", "logistic"]
    over = {"init": ["balanced", "dominated"]}
    one = sweep(Experiment("three-points", width=6), over=over, measure=["loss"], executor="serial")
    assert figure_of(summarize(one)).axes[0].get_xlabel() == "init: 0 balanced, 1 dominated"


def test_the_page_has_a_cell_and_a_command_for_every_point(result):
    picture, page = draw_sweep(result, event="end=interpolates", title="a < b")
    assert picture.read_bytes()[:4] == b"\x89PNG"
    text = page.read_text()
    assert text.count('<rect class="cell"') == 12
    assert "<h1>a &lt; b</h1>" in text
    commands = re.findall(r'data-command="([^"]*)"', text)
    assert len(set(commands)) == 12
    assert all(command.startswith("reluflow train three-point-angle:angle=") for command in commands)
    assert not re.findall(r'(?:src|href)="(?!data:)', text)
    links = [unescape(link) for link in re.findall(r'data-lab="([^"]*)"', text)]
    assert len(set(links)) == 12
    assert links[0] == ("reluflow lab '#v=1&name=three-point-angle:angle=70.0&width=6&scale=0.1'")


def test_the_laboratory_is_offered_only_where_it_shows_the_very_run():
    """The link's state makes the same problem; settings the laboratory has no control for give no link."""
    from reluflow.cli.lab import _opening
    from reluflow.cli.run_options import GivenOptions
    from reluflow.lab import adapter
    from reluflow.lab.state import read_state, state_of
    from reluflow.sweep.training import problem_of

    case = Experiment("min-toy", width=7, scale="1e-400", leak=0.25, seed=3)
    (_, _, link) = shlex.split(lab_command(case))
    _, fragment = _opening(link, GivenOptions({}, None, {}, frozenset()))
    ours = adapter.problem_of(read_state(state_of(Experiment.from_link("#" + fragment))))
    theirs = problem_of(case)
    assert ours.dataset == theirs.dataset
    assert type(ours.loss) is type(theirs.loss)
    np.testing.assert_array_equal(ours.network.w, theirs.network.w)
    assert ours.network.log_scale == theirs.network.log_scale
    for changes in ({"width": "inf"}, {"width": 6000}, {"rtol": 1e-4}, {"until": "aligned"}, {"scale": "1e-2000"}):
        assert lab_command(Experiment("three-points", **changes)) is None


def test_axes_know_logarithms_and_words():
    assert axis_numbers([1e-1, 1e-3, 1e-6])[1:] == ("log", False)
    assert axis_numbers([60, 70, 80])[1:] == ("linear", False)
    numbers, scale, are_places = axis_numbers(["square", "logistic"])
    np.testing.assert_array_equal(numbers, [0, 1])
    assert (scale, are_places) == ("linear", True)
    assert axis_numbers([10, 100, float("inf")])[2]


def test_the_box_ends_at_a_right_angle():
    low, high = box_angles()
    assert high == pytest.approx(90.0, abs=1e-2)
    assert low == pytest.approx(np.rad2deg(2 * np.arctan(1 - 1 / 6)), abs=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("diagram", DIAGRAMS, ids=lambda diagram: diagram.name)
def test_diagrams_are_made_and_resumed(diagram, tmp_path):
    made = diagram.make(tmp_path, SerialExecutor(), is_quick=True)
    assert made.findings
    assert all(path.stat().st_size > 1000 for path in made.files)
    assert diagram.make(tmp_path, SerialExecutor(), is_quick=True).findings == made.findings


def test_unknown_diagrams_are_refused():
    with pytest.raises(InvalidInputError, match="did you mean max-margin"):
        diagram_named("max-margins")
