"""The table of conditions: a symbol, a colour and a margin for each."""

import warnings

import pytest
from matplotlib.colors import to_hex

from reluflow.data.dataset import Dataset
from reluflow.found_papers import found_papers
from reluflow.losses import SquareLoss
from reluflow.theory.condition import Condition
from reluflow.theory.diagnosis import Diagnosis, diagnose
from reluflow.viz import plot_conditions
from reluflow.viz.conditions_table import ELSEWHERE, VERDICTS, margin_words, verdict_of
from viz.figure_parts import colliding_words, words

THREE_POINTS = Dataset([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]], [1.1, 0.1, 0.8], name="three points")
BY_HAND = Diagnosis(
    THREE_POINTS,
    SquareLoss(),
    0.0,
    (
        Condition(
            "first",
            "lyu2021",
            "holds with a $ sign $ and a statement that must be broken " + "on " * 20,
            True,
            0.25,
            "",
        ),
        Condition("second", "boursier2024", "fails", False, -3.0, ""),
        Condition("third", "lyu2021", "is undecided", None, None, "why"),
        Condition("fourth", "somebody1999", "holds without a number", True, None, ""),
    ),
    (),
)


def count(figure, mark, colour):
    return sum(text.get_text() == mark and to_hex(text.get_color()) == colour.lower() for text in words(figure))


@pytest.mark.parametrize("diagnosis", [BY_HAND, diagnose(THREE_POINTS)], ids=["by hand", "three points"])
def test_every_verdict_has_its_symbol_in_its_colour(diagnosis):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = plot_conditions(diagnosis)
        assert colliding_words(figure) == []
    for verdict, (mark, colour, _) in VERDICTS.items():
        in_table = sum(verdict_of(condition) is verdict for condition in diagnosis.conditions)
        in_heading = verdict != ELSEWHERE or in_table > 0
        assert count(figure, mark, colour) == in_table + in_heading
    assert len({mark for mark, _, _ in VERDICTS.values()}) == len({colour for _, colour, _ in VERDICTS.values()}) == 4
    shown = [text.get_text() for text in words(figure)]
    for condition in diagnosis.conditions:
        assert condition.key in shown
        papers = found_papers()
        assert (papers[condition.paper].shortly_cited if condition.paper in papers else condition.paper) in shown


def test_margins_stand_beside_their_conditions():
    figure = plot_conditions(BY_HAND)
    rows = {text.get_text(): text.get_position()[1] for text in words(figure)}
    assert rows["+0.25"] == rows["first"]
    assert rows["−3"] == rows["second"]
    assert margin_words(None) == "–"


def test_an_assumption_on_classes_does_not_fail_on_regression():
    """ "linearly-separable" had a cross on real labels, of which it does not speak."""
    (found,) = (c for c in diagnose(THREE_POINTS).conditions if c.key == "linearly-separable")
    assert verdict_of(found) == ELSEWHERE
    binary = Dataset([[1.0, 0.0], [1.0, 0.1]], [1.0, -1.0])
    assert all(verdict_of(condition) != ELSEWHERE for condition in diagnose(binary).conditions)


def test_papers_are_grouped():
    rows = {text.get_text(): text.get_position()[1] for text in words(plot_conditions(BY_HAND))}
    order = ["Lyu et al. (2021)", "first", "third", "Boursier & Flammarion (2024)", "second", "somebody1999", "fourth"]
    assert sorted(order, key=lambda word: -rows[word]) == order
