"""step_size: up to which learning rate gradient descent meets the same walls as the flow and ends at the same limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reluflow.budget import Budget
from reluflow.dynamics.descent.descent_run import materialized
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.learning_rates.error_bound import AlongTheFlow, curvature_along
from reluflow.learning_rates.followed_rate import FollowedRate, comparison_steps, follow_rate
from reluflow.learning_rates.gate_history import Departure
from reluflow.learning_rates.rate_search import RateBoundary, find_boundary
from reluflow.learning_rates.reference_flow import ReferenceFlow
from reluflow.learning_rates.sharpness import Sharpness, sharpness
from reluflow.learning_rates.stochastic import ShareAtLimit, share_at_limit
from reluflow.learning_rates.watched_descent import DescentRule
from reluflow.tables import RowsToFrame, html_table

Progress = Callable[[float, str], None]

_SHARES = (2.0, 1.2, 0.6, 0.3, 0.15, 0.075, 0.0375)  # default rates, in units of the largest stable one
_LONG = 0.1  # of the seconds allowed: where the flow alone took more, three rates are followed by default
_LEAST_SECONDS = 0.2  # for a part of the work that is begun, however little is left
_FLOW_SHARE = 0.45  # of the seconds allowed, for the flow; where it has not ended by then its limit is not compared
_MOST_PRODUCTS = 4e9  # of a neuron's weight and a sample's coordinate that one descent may take: some seconds
_WIDENINGS = 5  # how often rates beyond those given are tried where all of them, or none, end at the limit
_PLAIN_WORDS = {
    "local-minimum": "minimum",
    "global-minimum": "minimum",
    "max-margin": "max-margin classifier",
    "kkt-direction": "KKT direction",
    "partial-direction": "direction, which ignores some samples,",
}


@dataclass(frozen=True, eq=False)
class StepSize(RowsToFrame):
    """Descent beside the flow, for one dataset, network and loss.

    Parameters
    ----------
    reference
        The flow.
    sharpness
        At its limit; of a classifier, whose sharpness fades there, at the end of the comparison.
    along
        Curvature along the flow, and what it allows descent to be away.
    runs
        Descent at some learning rates, the largest first.
    same_gates, same_limit
        Up to which rate descent meets the same walls in the same order; up to which it ends at the same limit.
    departing, departing_ends_there
        The smallest rate tried at which it met other walls, and where; None if there was none. Whether it ended at the
        flow's limit all the same; None where that is open.
    shares
        How often SGD, or descent with momentum, ends at the limit, where that was asked for.
    is_cut_short
        Whether the seconds allowed were spent before the boundaries were found.
    """

    reference: ReferenceFlow
    sharpness: Sharpness
    along: AlongTheFlow
    runs: tuple[FollowedRate, ...]
    same_gates: RateBoundary
    same_limit: RateBoundary
    departing: tuple[float, Departure] | None
    departing_ends_there: bool | None = None
    shares: tuple[ShareAtLimit, ...] = ()
    is_cut_short: bool = False

    @property
    def stable_below(self) -> float:
        """2 / sharpness: no larger learning rate can stay at the limit."""
        return self.sharpness.stable_below

    def sentence(self) -> str:
        """The answer in one or two sentences."""
        boundary, limit = self.same_limit, self.reference.limit
        if limit is None:
            return self._without_limit() + self._first_departure()
        kind = str(limit.certificate.kind)
        what = _PLAIN_WORDS.get(kind, kind)
        if boundary.up_to is None and boundary.fails_at is None:
            return (
                "At no learning rate could it be decided in the time allowed where descent ends."
                + self._first_departure()
            )
        num_decided = sum(run.same_limit is not None for run in self.runs)
        if boundary.up_to is None and num_decided < len(self.runs):
            words = (
                f"Where gradient descent ends could be decided in the time allowed for {num_decided} of "
                f"{len(self.runs)} learning rates, and it is not at the {what} of the flow"
            )
        elif boundary.up_to is None:
            words = f"At no learning rate that was tried does gradient descent end at the {what} of the flow"
        else:
            words = f"Up to a learning rate of {boundary.up_to:.3g} gradient descent ends at the {what} of the flow"
        if not self.reference.problem.loss.is_classification:
            if boundary.up_to is None or boundary.up_to <= self.stable_below:
                words += f"; above {self.stable_below:.3g} it cannot stay there"
            else:
                words += (
                    f", in the same function on the data: above {self.stable_below:.3g} it cannot stay at the flow's "
                    "own weights and finds flatter ones"
                )
        words += "."
        if boundary.is_ragged:
            words += (
                f" The boundary is ragged: of the rates tried up to half as large again, {boundary.share_above:.0%} "
                "end there too."
            )
        words += self._first_departure()
        return words + (" The seconds allowed were spent before the boundaries were narrowed down." * self.is_cut_short)

    def _without_limit(self) -> str:
        """What is known where the flow was cut short."""
        flow = self.reference.trajectory
        clock = f"t = {flow.time:.4g}" if np.isfinite(flow.time) else f"log t = {flow.log_time:.4g}"
        words = (
            f"The flow was not at its end when its share of the time was spent ({clock}, loss {flow.loss:.4g}), so "
            "that limits are not compared."
        )
        near = min(self.runs, key=lambda run: run.largest_distance, default=None)
        if near is not None and np.isfinite(near.largest_distance) and len(near.times):
            words += (
                f" Up to t = {near.times[-1]:.4g} the outputs of descent at {near.lr:.3g} stay within "
                f"{near.largest_distance:.3g} of the flow's."
            )
        return words

    def _first_departure(self) -> str:
        """Where the smallest rate that meets other walls first does, and whether it mattered."""
        if self.departing is None:
            return ""
        (lr, place), matters = self.departing, self.departing_ends_there
        effect = "" if matters is None else (", and ends there all the same" if matters else ", and ends elsewhere")
        return (
            f" At {lr:.3g} neuron {place.neuron + 1} first departs from the flow at the activation boundary of sample "
            f"{place.sample + 1}, at t = {place.time:.4g}{effect}."
        )

    def table(self) -> list[dict[str, Any]]:
        """One row per learning rate."""
        return [
            {
                "lr": run.lr,
                "outcome": str(run.outcome),
                "largest_distance": run.largest_distance,
                "order": run.order,
                "bound": run.lr * self.along.largest_bound(float(run.times[-1])) if len(run.times) else float("inf"),
                "same_gates": run.same_gates,
                "same_limit": run.same_limit,
            }
            for run in self.runs
        ]

    def as_json(self) -> dict[str, Any]:
        """As `reluflow step-size --json` prints it."""
        first = None
        if self.departing is not None:
            lr, place = self.departing
            first = {"lr": lr, "time": place.time, "neuron": place.neuron, "sample": place.sample}
        limit = self.reference.limit
        return {
            "sharpness": self.sharpness.largest,
            "stable_below": self.stable_below,
            "same_gates_up_to": self.same_gates.up_to,
            "same_limit_up_to": self.same_limit.up_to,
            "first_departure": first,
            "runs": [
                row | {"curve": {"t": run.times, "distance": run.distances}, "loss": run.loss}
                for row, run in zip(self.table(), self.runs, strict=True)
            ],
            "limit": None if limit is None else str(limit.certificate.kind),
            "proof": limit is not None and limit.is_proof,
            "horizon": self.reference.horizon,
            "boundary": {
                "fails_at": self.same_limit.fails_at,
                "ragged": self.same_limit.is_ragged,
                "share_above": self.same_limit.share_above,
            },
            "sharpness_along": {"t": self.along.times, "largest": self.along.largest, "smallest": self.along.smallest},
            "shares": [
                {
                    "lr": share.rule.lr,
                    "batch": share.rule.batch,
                    "momentum": share.rule.momentum,
                    "share": share.share,
                    "interval": list(share.interval),
                    "trials": share.trials,
                }
                for share in self.shares
            ],
            "cut_short": self.is_cut_short,
            "sentence": self.sentence(),
        }

    def _repr_html_(self) -> str:
        return html_table(self.sentence(), self.table())

    def __repr__(self) -> str:
        return (
            f"StepSize(stable_below={self.stable_below:.4g}, same_gates_up_to={self.same_gates.up_to}, "
            f"same_limit_up_to={self.same_limit.up_to})"
        )


def step_size(
    problem: TrainingProblem, *, rates: Sequence[float] = (), horizon: float | None = None,
    batch: int | None = None, momentum: float = 0.0, trials: int = 20, max_seconds: float = 60.0,
    progress: Progress | None = None,
) -> StepSize:  # fmt: skip
    """Compare gradient descent with the exact flow from the same start.

    The flow is run to its limit. Descent at several rates is followed beside it: the largest distance of the outputs,
    the walls its neurons meet, and where it ends. The largest rates up to which walls and limit are the flow's are
    found by bisection with the flow as judge.

    Parameters
    ----------
    problem
        Dataset, loss and initial network, of a scale that descent can hold.
    rates
        Learning rates to follow; by default seven around the largest that is stable at the limit.
    horizon
        Time up to which outputs and walls are compared; by default where the loss has come down.
    batch, momentum
        Where one is given, SGD with this batch, and descent with this momentum, are judged at every rate too.
    trials
        Seeds of SGD at each rate.
    max_seconds
        Processor time allowed; at the bound what is known is given.
    progress
        Called with the share done and what is being done.

    Returns
    -------
    StepSize
        The answer, with every rate that was followed.

    Notes
    -----
    A learning rate above 2 / sharpness cannot stay at a minimum: Cohen et al. (2021), Sec. 2 [cohen2021].

    Examples
    --------
    >>> import reluflow
    >>> data = reluflow.Dataset([[1.0]], [4.0])
    >>> problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), reluflow.Network(w=[[0.1]], a=[0.1]))
    >>> answer = step_size(problem)
    >>> round(answer.sharpness.largest, 6), round(answer.stable_below, 6)
    (8.0, 0.25)
    """
    for rate in rates:
        if not (np.isfinite(rate) and rate > 0.0):
            raise InvalidInputError(f"`rates` must hold positive learning rates, got {rate}.")
    problem.refuse_several_outputs("a comparison with descent")
    materialized(problem.network)  # refuses a scale that descent cannot hold, before the flow is run
    allowed, report = Budget(max_seconds), progress or _silent
    report(0.0, "the flow")
    reference = ReferenceFlow.of(problem, horizon=horizon, max_seconds=_FLOW_SHARE * max_seconds)
    report(0.15, "curvature along the flow")
    num_times = 48 if problem.network.w.size < 1000 else 12
    along = curvature_along(reference, num_times=num_times, max_seconds=max(0.1 * allowed.left, _LEAST_SECONDS))
    limit = None if problem.loss.is_classification else reference.limit
    end = _fading(along) if limit is None else sharpness(problem, limit.network)
    chosen = sorted(set(rates), reverse=True) or _default_rates(problem, reference.horizon, end, along)
    if not rates and 1.0 - allowed.left / max_seconds > _LONG:  # the flow that judges an end takes long too
        chosen = chosen[1::2][:3] or chosen
    report(0.25, "the outputs of the flow")
    moments = np.concatenate([lr * comparison_steps(lr, reference.horizon) for lr in chosen])
    outputs = reference.outputs_at(moments, max_seconds=max(0.2 * allowed.left, _LEAST_SECONDS))
    runs: list[FollowedRate] = []
    for at, lr in enumerate(chosen):
        report(0.3 + 0.4 * at / len(chosen), f"learning rate {lr:.3g}")
        part = 0.8 if len(chosen) > 3 else 0.95  # one slow rate leaves time for the others
        share = part * allowed.left / (len(chosen) - at)
        runs.append(follow_rate(reference, DescentRule(lr), outputs, max_seconds=max(share, _LEAST_SECONDS)))
        if allowed.is_spent:
            break
    followed = {run.lr: run for run in runs}

    def look_at(lr: float) -> FollowedRate:
        if lr not in followed:
            report(0.7 + 0.3 * allowed.share, f"learning rate {lr:.3g}")
            followed[lr] = follow_rate(reference, DescentRule(lr), max_seconds=max(allowed.left, 1.0))
        return followed[lr]

    same_limit = find_boundary(
        lambda lr: look_at(lr).same_limit,
        {run.lr: run.same_limit for run in runs if run.same_limit is not None},
        widenings=_WIDENINGS,
        is_spent=lambda: allowed.is_spent,
    )
    same_gates = find_boundary(
        lambda lr: look_at(lr).same_gates,
        {lr: run.same_gates for lr, run in followed.items() if run.same_gates is not None},
        looks_around=False,
        widenings=_WIDENINGS,
        is_spent=lambda: allowed.is_spent,
    )
    departing = min(((lr, run.departure) for lr, run in followed.items() if run.departure), default=None, key=_rate)
    shares: list[ShareAtLimit] = []
    if batch is not None or momentum > 0.0:
        for lr in chosen:
            if not allowed.is_spent:
                report(0.95, f"learning rate {lr:.3g}, {'batches' if batch is not None else 'momentum'}")
                rule = DescentRule(lr, momentum=momentum, batch=batch)
                found = share_at_limit(
                    reference, rule, trials=trials, max_seconds=allowed.left, is_spent=lambda: allowed.is_spent
                )
                shares += [found] if found.trials else []
    return StepSize(
        *(reference, end, along, _with_orders(runs), same_gates, same_limit, departing),
        departing_ends_there=None if departing is None else followed[departing[0]].same_limit,
        shares=tuple(shares),
        is_cut_short=allowed.is_spent or reference.limit is None or any(run.same_limit is None for run in runs),
    )


def _rate(item: tuple[float, Departure]) -> float:
    return item[0]


def _silent(share: float, words: str) -> None:
    """Progress that nobody asked for."""


def _fading(along: AlongTheFlow) -> Sharpness:
    """Of a classifier, whose sharpness falls to 0: at the end of the comparison."""
    return Sharpness(float(along.largest[-1]), float(along.smallest[-1]))


def _default_rates(problem: TrainingProblem, horizon: float, end: Sharpness, along: AlongTheFlow) -> list[float]:
    """Rates around the largest stable one, as small as can be afforded."""
    sharpest = end.largest if not problem.loss.is_classification else float(np.max(along.largest))
    unit = 2.0 / sharpest if sharpest > 0.0 else 0.01 * horizon
    products = 2.0 * problem.dataset.X.size * problem.network.num_neurons
    smallest = horizon * products / _MOST_PRODUCTS
    rates = [share * unit for share in _SHARES if share * unit >= smallest]
    return rates or [max(smallest, _SHARES[-1] * unit)]


def _with_orders(runs: Sequence[FollowedRate]) -> tuple[FollowedRate, ...]:
    """The runs, each with the order of its distance against the next smaller rate."""
    found = []
    for run, smaller in zip(runs, [*runs[1:], None], strict=True):
        order = float("nan")
        if smaller is not None and 0.0 < smaller.largest_distance < np.inf > run.largest_distance > 0.0:
            order = float(np.log(run.largest_distance / smaller.largest_distance) / np.log(run.lr / smaller.lr))
        found.append(replace(run, order=order))
    return tuple(found)
