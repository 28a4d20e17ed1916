"""Certificates of a problem: what its network is, and the largest margin on its data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reluflow.certificates import certify as certifying
from reluflow.certificates import network_margin as margins
from reluflow.certificates.certificate import Certificate
from reluflow.certificates.regularised import certify_variant
from reluflow.deprecation import warn_old_form
from reluflow.dynamics.problem import TrainingProblem
from reluflow.network.network import Network


def certify(
    problem: TrainingProblem,
    network: Network | None = None,
    *old_arguments: Any,
    rtol: float = 1e-6,
    with_norm: bool = False,
    max_seconds: float = np.inf,
    **old_options: Any,
) -> Certificate:
    """Decide what a network is for a problem: a minimum, a saddle, a KKT or max-margin direction, or none of these.

    A network that classifies every sample is judged by its direction, any other by its stationarity; with weight decay
    or a frozen output layer, by the stationarity of the loss with its penalty.

    Parameters
    ----------
    problem
        Dataset, loss and network.
    network
        The network to judge; by default the problem's own.
    rtol
        Bound on the relative residuals that a positive verdict must meet.
    with_norm
        Whether to say of a network that fits every label how far its norm is above the least, where that is quick.
    max_seconds
        Processor time for the best margin of any network, beside which a classifier is put.
    old_arguments, old_options
        Of version 0.2, `certify(network, dataset, loss)`, which works until version 0.4 with a warning;
        `reluflow.certificates.certify.certify` takes these.

    Returns
    -------
    Certificate
        Its `kind`, the residuals and multipliers that prove it, and what is not decided.

    Examples
    --------
    >>> import reluflow
    >>> data = reluflow.Dataset([[1.0, 0.0], [-1.0, 0.0]], [1, -1])
    >>> network = reluflow.Network(w=[[1.0, 0.0], [-1.0, 0.0]], a=[1.0, -1.0])
    >>> certify(reluflow.TrainingProblem(data, "logistic", network)).kind.value
    'max-margin'
    """
    options: dict[str, Any] = {"rtol": rtol, "with_norm": with_norm, "max_seconds": max_seconds}
    given: Any = problem
    if isinstance(given, Network):
        warn_old_form("certify(network, dataset, loss)", "certify(problem)")
        old: tuple[Any, ...] = (network, *old_arguments)
        judge: Any = certifying.certify
        certificate: Certificate = judge(given, *old, **options, **old_options)
        return certificate
    if old_arguments or old_options:
        more = next(iter(old_options), "a third argument")
        raise TypeError(f"certify(problem, network) takes the data and the loss from the problem, got {more}.")
    judged = problem.network if network is None else network
    if problem.is_plain:
        return certifying.certify(judged, problem.dataset, problem.loss, **options)
    return certify_variant(
        judged,
        problem.dataset,
        problem.loss,
        weight_decay=problem.weight_decay,
        trains_output_layer=problem.trains_output_layer,
        rtol=rtol,
    )


def network_margin(
    problem: TrainingProblem,
    leak: float | None = None,
    *,
    signs: tuple[int, ...] = (1, -1),
    tol: float = 1e-9,
    max_seconds: float = np.inf,
    progress: Callable[[float], None] | None = None,
    **old_options: Any,
) -> margins.NetworkMargin:
    """The largest margin that any two-layer network has on the data of a problem, with a bound from above.

    Linear separability is not needed: a network may separate what no half-space does.

    Parameters
    ----------
    problem
        Its dataset, with labels -1 and 1, and the leak of its network.
    leak
        Of version 0.2, `network_margin(dataset, leak)`, which works until version 0.4 with a warning.
    signs
        Output signs the neurons may have.
    tol
        Stop when (upper - margin) / upper is at most this.
    max_seconds
        Processor time allowed; the bracket is valid wherever it ends.
    progress
        Called with the share of the work that is done, or of the time that is spent.
    old_options
        Of version 0.2.

    Returns
    -------
    NetworkMargin
        The margin of an explicit network, and an upper bound from explicit multipliers.

    Examples
    --------
    >>> import reluflow
    >>> print(network_margin(reluflow.Experiment("min-toy").problem()))
    NetworkMargin(0.20586285 of at most 0.20586285, 2 neurons)
    """
    options: dict[str, Any] = {"signs": signs, "tol": tol, "max_seconds": max_seconds, "progress": progress}
    if not isinstance(problem, TrainingProblem):
        warn_old_form("network_margin(dataset, leak)", "network_margin(problem)")
        return margins.network_margin(problem, 0.0 if leak is None else leak, **options, **old_options)
    if leak is not None or old_options:
        more = "leak" if leak is not None else next(iter(old_options))
        raise TypeError(f"network_margin(problem) takes the data and the leak from the problem, got {more}.")
    return margins.network_margin(problem.dataset, problem.network.leak, **options)
