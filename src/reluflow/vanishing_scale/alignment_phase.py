"""The alignment phase of a problem: where its neurons go as the scale vanishes, and the directions there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reluflow.deprecation import warn_old_form
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.geometry import alignment, extremal
from reluflow.geometry.aligned_pairs import PairAlignment
from reluflow.geometry.cones import DEFAULT_MAX_CONES
from reluflow.geometry.extremal_pairs import ExtremalPairs, extremal_pairs
from reluflow.geometry.pair_alignment import pair_alignment_of

Progress = Callable[[float], None] | None


def align(
    problem: TrainingProblem,
    *old_arguments: Any,
    max_seconds: float = np.inf,
    progress: Progress = None,
    **old_options: Any,
) -> alignment.Alignment | PairAlignment:
    r"""Follow every neuron of a problem to its end in the limit of vanishing scale, in closed form.

    The forces are those of the labels at zero output, and each neuron moves by $dw/dt = a D$,
    $da/dt = \langle w, D\rangle$
    with $D = \sum_k \eta_k r_k x_k$; only the direction of (w, a) matters, not the scale of the network.
    With K outputs D is a matrix and v in $R^K$ stands for a: $dw/dt = D v$, $dv/dt = D^\top w$, and neurons tend to
    extremal pairs of directions.

    Parameters
    ----------
    problem
        Dataset, loss and network.
    max_seconds
        Processor time; neurons whose turn has not come by then are `open`.
    progress
        Called with the share of the neurons that are done.
    old_arguments, old_options
        Of version 0.2, `align(X, forces, w, a, leak=...)`, which works until version 0.4 with a warning;
        `reluflow.geometry.alignment.align` takes arrays.

    Returns
    -------
    Alignment or, for several outputs, PairAlignment
        For each neuron its end, its extremal vector, the time and the samples it crossed.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=50).problem()
    >>> align(problem).counts
    {'maximum': 17, 'minimum': 0, 'dead': 33, 'saddle': 0, 'open': 0}
    """
    if not isinstance(problem, TrainingProblem):
        warn_old_form("align(X, forces, w, a)", "align(problem)")
        return alignment.align(problem, *old_arguments, max_seconds=max_seconds, progress=progress, **old_options)
    _refuse_more("align", old_arguments, old_options)
    network = problem.network
    if problem.num_outputs > 1:
        if network.b is not None or not problem.moves_freely:
            raise InvalidInputError(
                "`problem` must have neurons that move by the loss alone for the alignment phase, got "
                f"{problem.variant}; leave out all but the outputs."
            )
        return pair_alignment_of(
            problem.dataset,
            problem.loss,
            network.w,
            network.v,
            leak=network.leak,
            max_seconds=max_seconds,
            progress=progress,
        )
    problem.refuse_variant("the alignment phase", "its neurons move by the loss alone.")
    return alignment.alignment_of(
        problem.dataset,
        problem.loss,
        network.w,
        network.a,
        leak=network.leak,
        max_seconds=max_seconds,
        progress=progress,
    )


def extremal_vectors(
    problem: TrainingProblem,
    *old_arguments: Any,
    max_cones: int = DEFAULT_MAX_CONES,
    max_seconds: float = np.inf,
    progress: Progress = None,
    **old_options: Any,
) -> extremal.ExtremalVectors | ExtremalPairs:
    """Enumerate the directions that neurons of a problem can align with when the scale vanishes.

    A vector D != 0 is extremal if it is a subgradient of G on some cone $M_u$ and lies in $M_u$ or in $-M_u$. The data,
    the loss and the leak decide them; the neurons do not matter. With K outputs they are pairs of directions.

    Parameters
    ----------
    problem
        Dataset, loss, and the leak of its network.
    max_cones
        Visit every cone if there are at most this many; otherwise search for attractors and return `exact` False.
    max_seconds
        Processor time for that search.
    progress
        Called with the share of the search that is done.
    old_arguments, old_options
        Of version 0.2, `extremal_vectors(dataset, loss, leak=...)`, which works until version 0.4 with a warning;
        `reluflow.geometry.extremal.extremal_vectors` takes a dataset.

    Returns
    -------
    ExtremalVectors or, for several outputs, ExtremalPairs
        Sorted by norm, longest first.

    References
    ----------
    Boursier & Flammarion (2024), Def. 1 and Eq. (7), with errata E6, E13, E14 [boursier2024].

    Examples
    --------
    >>> import reluflow
    >>> extremal_vectors(reluflow.Experiment("three-points").problem()).vectors.round(7)
    array([[-0.2583333,  0.6666667]])
    """
    options: dict[str, Any] = {"max_cones": max_cones, "max_seconds": max_seconds, "progress": progress}
    if not isinstance(problem, TrainingProblem):
        warn_old_form("extremal_vectors(dataset, loss)", "extremal_vectors(problem)")
        return extremal.extremal_vectors(problem, *old_arguments, **options, **old_options)
    _refuse_more("extremal_vectors", old_arguments, old_options)
    if problem.num_outputs > 1:
        return extremal_pairs(problem.dataset, problem.loss, leak=problem.network.leak, **options)
    return extremal.extremal_vectors(problem.dataset, problem.loss, leak=problem.network.leak, **options)


def _refuse_more(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    if arguments or options:
        more = next(iter(options), "a second argument")
        raise TypeError(f"{name}(problem) takes the data, the loss and the leak from the problem, got {more}.")
