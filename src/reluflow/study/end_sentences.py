"""The sentences of a study on where a run ends, and what is known where it has not ended."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.certificate import Kind
from reluflow.certificates.network_margin import linear_network_margin
from reluflow.data.classified import wrongly_classified
from reluflow.dynamics.trajectory import Outcome
from reluflow.study.numbering import numbered

if TYPE_CHECKING:
    from reluflow.study.flow_summary import FlowSummary
    from reluflow.study.whole_study import Study

NEAR = 0.01  # of the best margin known: a run as near as that deserves a sentence although its end is open
TIGHT = 1e-6  # gap, relative, below which the best network found is the best
_KINDS = {
    "global-minimum": "a global minimum",
    "local-minimum": "a local minimum",
    "saddle": "a saddle",
    "kkt-direction": "a KKT direction of the margin problem",
    "max-margin": "the max-margin direction",
    "partial-direction": "a KKT direction of the samples it does not ignore",
    "stationary": "a stationary point, of which it is open whether it is a minimum",
    "not-stationary": "a point that is not stationary",
    "undecided": "a limit that could not be certified",
}


def best_linear_loss(found: Study) -> float | None:
    """Loss of the least-squares linear function; None for a classification loss."""
    if found.loss.is_classification:
        return None
    return found.loss.total(_linear_outputs(found), found.dataset.y)


def _linear_outputs(found: Study) -> FloatArray:
    """Least squares on the samples, with a constant where the network trains an output bias."""
    data = found.dataset
    X = np.column_stack([data.X, np.ones(data.n)]) if found.output_bias == "train" else data.X
    return np.asarray(X @ np.linalg.lstsq(X, data.y, rcond=None)[0])


def about_end(found: Study) -> list[str]:
    """Where the run ends, how far that is proved, and what is known where it did not end."""
    flow = found.flow
    if flow is None and found.pending:
        return ["The run is under way."]
    if flow is None:
        return ["The flow could not be run on these data; the reason is below."]
    certificate, trajectory = flow.limit.certificate, flow.trajectory
    who = f"The gradient flow of {found.width} small neurons"
    handed_over: list[str] = []
    if flow.descent is not None:
        handed_over = [
            f"The run of {found.width} small neurons is {flow.descent}; an end reached by descent need not be that of "
            "the flow."
        ]
        who = "The descent"
    if not flow.has_ended:
        right = f" {_classified(found, flow)} but" if found.loss.is_classification else ""
        return [
            f"{who}{right} did not reach its end: {trajectory.outcome.sentence} After {trajectory.steps} steps "
            f"({_clock(flow)}) the loss is {trajectory.loss:.6g}; its limit is not determined here.",
            *handed_over,
            *(_margins(flow) if found.loss.is_classification and certificate.margin > 0 else []),
        ]
    proof = "" if flow.limit.is_proof else " (computed, not proved)"
    kind = _KINDS.get(str(certificate.kind), str(certificate.kind))
    if certificate.ignored:
        is_one = len(certificate.ignored) == 1
        return [
            f"{who} {_classified(found, flow)}. Its norm grows without bound, and it ignores "
            f"{'sample' if is_one else 'samples'} {numbered(certificate.ignored)}: no neuron is active there, the "
            f"output stays 0, and the loss tends to {certificate.residuals['loss_at_infinity']:.6g}, not to 0. Its "
            f"direction converges to {kind}{proof}.",
            *handed_over,
        ]
    if trajectory.outcome is Outcome.DIRECTION_CONVERGED:
        converges = f"its direction converges to {kind}{proof}"
        if str(certificate.kind) == "not-stationary":
            converges = "its direction hardly turns any more, but it is not established what it converges to"
        return [
            f"{who} {_classified(found, flow)}, and its norm grows without bound; {converges}.",
            *handed_over,
            *([] if flow.limit.is_proof else [flow.limit.reason]),
            *_margins(flow),
        ]
    if trajectory.outcome is Outcome.LEVELLED_OFF:
        if trajectory.problem.has_single_output:
            why = (
                "without a minimum: the forces of samples that cannot be fitted together cancel, while others are "
                "fitted ever better and the norm grows without bound"
            )
        else:  # the bound is of matrices of any rank: certificates/endless_fall
            why = "less than a millionth above a loss that no network in these activation patterns attains"
        return [
            f"{who} {_classified(found, flow)}; its loss levels off at {trajectory.loss:.6g}, at {_clock(flow)}, "
            f"{why}.",
            *handed_over,
            *certificate.reasons,
        ]
    accuracy = f"{_classified(found, flow)} and " if found.loss.is_classification else ""
    ended = f"{who} {accuracy}ends at {kind}{proof}, with loss {trajectory.loss:.6g}, at {_clock(flow)}."
    words = [ended, *handed_over]
    words += _against_linear(found, flow)
    escape = certificate.escape
    if escape is not None and escape.neuron is not None:
        words.append(
            f"Changing neuron {escape.neuron + 1} would lower the loss by {escape.actual_decrease:.4g} (measured), but "
            "the flow does not move it that way."
        )
    elif escape is not None:
        words.append(
            "It is a local minimum for this network but not for wider ones: an additional neuron, started at zero, "
            f"would lower the loss by {escape.actual_decrease:.4g} (measured)."
        )
    words += [f"Not decided: {point}" for point in certificate.open_points]
    return words


def _classified(found: Study, flow: FlowSummary) -> str:
    """How many samples are classified as they are labelled, and which are not."""
    wrong = np.flatnonzero(wrongly_classified(found.dataset, flow.trajectory.predictions))
    n = found.dataset.n
    if len(wrong) == 0:
        return f"classifies all {n} samples correctly"
    right = n - len(wrong)
    return f"classifies {right} of {n} samples correctly ({right / n:.1%}; wrong: {numbered(wrong)})"


def _against_linear(found: Study, flow: FlowSummary) -> list[str]:
    linear = best_linear_loss(found)
    if linear is None:
        return []
    data, loss = found.dataset, flow.trajectory.loss
    gap = float(np.max(np.abs(flow.trajectory.predictions - _linear_outputs(found))))
    size = float(np.max(np.abs(data.y))) or 1.0
    if gap <= 1e-6 * size:
        return [f"On the samples it equals the least-squares linear function (largest difference {gap:.2g})."]
    if loss <= 1e-9 * found.loss.total(data.zero_outputs(), data.y):
        return [f"It fits every sample; the best linear function leaves a loss of {linear:.6g}."]
    return [f"The best linear function has loss {linear:.6g}, {_ratio(linear, loss)} times that of the network."]


def _margins(flow: FlowSummary) -> list[str]:
    """The margin that was reached, what no network exceeds, what lies between, and how nearly the direction is KKT."""
    certificate = flow.limit.certificate
    if certificate.kind is Kind.UNDECIDED:
        return []
    margin, best, bound = certificate.margin, certificate.global_margin, certificate.margin_bound
    words = [f"Its normalised margin is {margin:.6g}"]
    if math.isfinite(certificate.best_linear_margin):
        linear = linear_network_margin(certificate.best_linear_margin, flow.trajectory.problem.network.leak)
        words[0] += f"; the best linear function, written as a network, has {linear:.6g}"
    if not flow.trajectory.problem.is_plain:
        words[0] += f"; the best margin of any network is open for {flow.trajectory.problem.variant}"
    elif not (math.isfinite(best) and best > 0.0):
        words[0] += "; the best margin of a two-layer network was not computed at this size"
    elif bound - best <= TIGHT * bound:
        words[0] += f"; the best two-layer network has {best:.6g} (it reaches {margin / best:.1%} of that)"
    else:
        words[0] += (
            f"; the best two-layer network found has {best:.6g} (it reaches {margin / best:.1%} of that), and none has "
            f"more than {bound:.6g}"
        )
    known = max((value for value in (best, flow.limit.other_margin) if math.isfinite(value)), default=math.nan)
    is_at_bound = math.isfinite(bound) and margin >= (1.0 - NEAR) * bound
    target = bound if is_at_bound else known
    residual = certificate.residuals.get("kkt")
    if target > 0.0 and not flow.limit.is_proof:
        what = "the bound on all networks" if is_at_bound else "the best margin known"
        gap = 1.0 - margin / target
        place = f"{gap:.2g} (relative) below" if gap > 0.0 else f"{-gap:.2g} (relative) above"
        words.append(f"What is known: its margin is {place} {what}, {target:.6g}")
    if residual is not None and not flow.limit.is_proof:
        words.append(f"The relative residual of the KKT conditions at its direction is {residual:.2g}")
    return [". ".join(words) + "."]


def _clock(flow: FlowSummary) -> str:
    trajectory = flow.trajectory
    return f"t = {trajectory.time:.5g}" if math.isfinite(trajectory.time) else f"ln t = {trajectory.log_time:.5g}"


def _ratio(one: float, two: float) -> str:
    return f"{one / two:.3g}" if two > 0 else "infinitely many"
