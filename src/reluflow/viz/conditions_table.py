"""A diagnosis as a table: every assumption by paper, whether it holds, and by what margin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reluflow.found_papers import found_papers
from reluflow.viz.picture_words import picture_lines
from reluflow.viz.style import DARK, GREEN, GREY, LIGHT, VERMILLION, figure_style, new_figure, setting_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reluflow.theory.condition import Condition
    from reluflow.theory.diagnosis import Diagnosis

ELSEWHERE = "elsewhere"  # an assumption on labels of another kind, which does not fail
VERDICTS: dict[bool | str | None, tuple[str, str, str]] = {
    True: ("✓", GREEN, "holds"),
    False: ("✗", VERMILLION, "fails"),
    None: ("?", GREY, "undecided"),
    ELSEWHERE: ("·", DARK, "for other labels"),
}

WIDTH, LINE, GAP, HEAD, FOOT = 7.0, 0.145, 0.06, 0.62, 0.1  # inches
MARK, KEY, STATEMENT, MARGIN = 0.22, 0.38, 2.22, 6.85  # inches from the left; the last is a right edge
STATEMENT_LETTERS = 70


def plot_conditions(diagnosis: Diagnosis) -> Figure:
    """Draw a diagnosis as a table, one row per condition under its paper.

    A tick, a cross, a question mark or a dot, each in its own colour, says that the condition holds, fails, is
    undecided or speaks of labels of another kind; on the right stands its signed margin, positive inside the
    assumption, or a dash where it has no number.

    Parameters
    ----------
    diagnosis
        From `diagnose`.

    Returns
    -------
    Figure
        A matplotlib figure; `save_figure` writes it.

    Examples
    --------
    >>> import reluflow
    >>> figure = plot_conditions(reluflow.diagnose(reluflow.load("three-points")))
    >>> any(text.get_text() == "boursier-a5" for text in figure.texts)
    True
    """
    groups: dict[str, list[Condition]] = {}
    for condition in diagnosis.conditions:
        groups.setdefault(condition.paper, []).append(condition)
    wrapped = {c.key: picture_lines(c.statement, STATEMENT_LETTERS) for c in diagnosis.conditions}
    height = HEAD + FOOT + sum(LINE + 3 * GAP for _ in groups)
    height += sum(LINE * len(lines) + GAP for lines in wrapped.values())
    with figure_style():
        from matplotlib.lines import Line2D

        figure = new_figure(WIDTH, height)

        def write(x: float, y: float, words: str, size: float = 7.0, colour: str = DARK, **options: Any) -> None:
            options = {"va": "top", "ha": "left", "parse_math": False, **options}
            figure.text(x / WIDTH, y / height, words, fontsize=size, color=colour, **options)

        title = setting_title(diagnosis.dataset, diagnosis.loss, diagnosis.leak)
        write(WIDTH / 2, height - 0.08, title, 10.0, ha="center")
        used = {verdict_of(condition) for condition in diagnosis.conditions} | {True, False, None}
        for place, (mark, colour, word) in enumerate(look for verdict, look in VERDICTS.items() if verdict in used):
            write(MARK + 0.95 * place, height - 0.36, mark, 9.0, colour, ha="center", weight="bold")
            write(MARK + 0.95 * place + 0.12, height - 0.375, word, 7.5)
        write(MARGIN, height - 0.375, "signed margin", 7.5, ha="right")
        y = height - HEAD
        for paper, conditions in groups.items():
            y -= GAP
            write(0.1, y, found_papers()[paper].shortly_cited if paper in found_papers() else paper, 8.0, weight="bold")
            y -= LINE + 1.2 * GAP
            rule = Line2D([0.1 / WIDTH, MARGIN / WIDTH], [y / height] * 2, color=LIGHT, linewidth=0.8)
            figure.add_artist(rule)
            y -= 0.8 * GAP
            for condition in conditions:
                mark, colour, _ = VERDICTS[verdict_of(condition)]
                write(MARK, y + 0.015, mark, 8.5, colour, ha="center", weight="bold")
                write(KEY, y, condition.key, weight="bold" if condition.holds else "normal")
                for number, line in enumerate(wrapped[condition.key]):
                    write(STATEMENT, y - (number + 0.6) * LINE, line, va="baseline", parse_math=True)
                write(MARGIN, y, margin_words(condition.margin), ha="right")
                y -= LINE * len(wrapped[condition.key]) + GAP
    return figure


def verdict_of(condition: Condition) -> bool | str | None:
    """Which of `VERDICTS` a condition has."""
    return ELSEWHERE if condition.is_for_other_labels else condition.holds


def margin_words(margin: float | None) -> str:
    """A signed margin for the reader, a dash where there is none.

    >>> margin_words(0.127), margin_words(-3.5), margin_words(0.0), margin_words(None)
    ('+0.127', '−3.5', '0', '–')
    """
    if margin is None:
        return "–"
    return "0" if margin == 0.0 else f"{margin:+.4g}".replace("-", "−")
