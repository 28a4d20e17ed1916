"""The registered phase diagrams by name."""

from __future__ import annotations

import difflib

from reluflow.errors import InvalidInputError
from reluflow.sweep.diagrams.diagram import AbstractDiagram
from reluflow.sweep.diagrams.max_margin import MaxMarginProbability
from reluflow.sweep.diagrams.optimisation_threshold import OptimisationThreshold
from reluflow.sweep.diagrams.three_point_angle import ThreePointAngle

DIAGRAMS: tuple[AbstractDiagram, ...] = (ThreePointAngle(), MaxMarginProbability(), OptimisationThreshold())


def diagram_named(name: str) -> AbstractDiagram:
    """The diagram of this name.

    >>> diagram_named("three-point-angle").title
    'Least-squares line or interpolation: three points, angle against scale'
    """
    for diagram in DIAGRAMS:
        if diagram.name == name:
            return diagram
    names = [diagram.name for diagram in DIAGRAMS]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]}?" if close else "."
    raise InvalidInputError(f"`diagram` must be one of {', '.join(names)}, got {name!r}{hint}")
