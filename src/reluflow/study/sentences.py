"""The findings of a study in plain sentences with numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from reluflow.certificates.certificate import Kind
from reluflow.certificates.network_margin import linear_network_margin
from reluflow.dynamics.trajectory import Outcome
from reluflow.study.scale_advice import power_of_ten

if TYPE_CHECKING:
    from reluflow.study.flow_story import FlowStory
    from reluflow.study.sensitivity import Variation
    from reluflow.study.story import Study

_KINDS = {
    "global-minimum": "a global minimum",
    "local-minimum": "a local minimum",
    "saddle": "a saddle",
    "kkt-direction": "a KKT direction of the margin problem",
    "max-margin": "the max-margin direction",
    "partial-direction": "a KKT direction of the samples it does not ignore",
    "not-stationary": "no stationary point",
    "undecided": "a limit that could not be certified",
}


def verdict(found: Study) -> list[str]:
    """Where training ends and whether that depends on the draw."""
    return [*_about_end(found), *_about_variations(found)]


def sentences(found: Study) -> list[str]:
    """The story in the order it happens."""
    return [
        *_about_data(found),
        *_about_directions(found),
        *_about_neurons(found),
        *([] if found.process is None else [found.process.sentence()]),
        *_about_scale(found),
        *_about_phases(found),
        *_about_groups(found),
        *_about_theorems(found),
        *found.open_questions,
    ]


def best_linear_loss(found: Study) -> float | None:
    """Loss of the least-squares linear function; None for a classification loss."""
    if found.loss.is_classification:
        return None
    data = found.dataset
    beta = np.linalg.lstsq(data.X, data.y, rcond=None)[0]
    return found.loss.total(data.X @ beta, data.y)


def _about_end(found: Study) -> list[str]:
    flow = found.flow
    if flow is None and found.pending:
        return ["The run is under way."]
    if flow is None:
        return ["The flow could not be run on these data; see the open questions below."]
    certificate, trajectory = flow.limit.certificate, flow.trajectory
    who = f"The gradient flow of {found.width} small neurons"
    handed_over: list[str] = []
    if flow.descent is not None:
        handed_over = [f"{who} is {flow.descent}; an end reached by descent need not be that of the flow."]
        who = "The descent"
    if not flow.has_ended:
        told = [
            f"{who} did not reach its end: {trajectory.outcome.sentence} After {trajectory.steps} steps "
            f"({_clock(flow)}) the loss is {trajectory.loss:.6g}. Where it ends is not decided here.",
        ]
        if found.loss.is_classification:
            reached = f"{who} {_classified(found, flow)} when it is stopped; it did not reach its end: "
            told[0] = reached + told[0].partition(": ")[2]
            told += _margins(flow) if certificate.margin > 0 else []
        told[1:1] = handed_over
        return told
    proof = "" if flow.limit.is_proof else " (not a proof)"
    kind = _KINDS.get(str(certificate.kind), str(certificate.kind))
    if certificate.ignored:
        names = ", ".join(str(k) for k in certificate.ignored[:10]) + (", ..." if len(certificate.ignored) > 10 else "")
        is_one = len(certificate.ignored) == 1
        return [
            f"{who} {_classified(found, flow)}, grows for ever and ignores "
            f"{'sample' if is_one else 'samples'} {names} (counted from 0): no neuron "
            f"is active there, the output is 0 for ever, and the loss tends to "
            f"{certificate.residuals['loss_at_infinity']:.6g}, not to 0. Its direction converges to {kind}{proof}.",
            *handed_over,
        ]
    if trajectory.outcome is Outcome.DIRECTION_CONVERGED:
        return [
            f"{who} {_classified(found, flow)} and grows for ever; its direction converges to {kind}{proof}.",
            *handed_over,
            *([] if flow.limit.is_proof else [flow.limit.reason]),
            *_margins(flow),
        ]
    if trajectory.outcome is Outcome.LEVELLED_OFF:
        return [
            f"{who} {_classified(found, flow)}; its loss levels off at {trajectory.loss:.6g}, at {_clock(flow)}, and "
            "has no minimum: samples that contradict each other balance, and the norm grows for ever on others.",
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
            f"A network can do better, and neuron {escape.neuron} could: a change of it lowers the loss by "
            f"{escape.actual_decrease:.4g}, but the flow does not make it."
        )
    elif escape is not None:
        words.append(
            "It is a local minimum for this network; a neuron at zero would be a way down, but no neuron is there."
        )
    words += [f"Not decided: {point}" for point in certificate.open_points]
    return words


def _classified(found: Study, flow: FlowStory) -> str:
    """How many samples have an output of the sign of their label, and which do not; an output of 0 is wrong."""
    wrong = np.flatnonzero(found.dataset.y * flow.trajectory.predictions <= 0.0)
    n = found.dataset.n
    if len(wrong) == 0:
        return f"classifies all {n} samples rightly"
    names = ", ".join(str(k) for k in wrong[:10]) + (", ..." if len(wrong) > 10 else "")
    right = n - len(wrong)
    return f"classifies {right} of {n} samples rightly ({right / n:.1%}; wrong, counted from 0: {names})"


def _against_linear(found: Study, flow: FlowStory) -> list[str]:
    linear = best_linear_loss(found)
    if linear is None:
        return []
    data, loss = found.dataset, flow.trajectory.loss
    beta = np.linalg.lstsq(data.X, data.y, rcond=None)[0]
    gap = float(np.max(np.abs(flow.trajectory.predictions - data.X @ beta)))
    size = float(np.max(np.abs(data.y))) or 1.0
    if gap <= 1e-6 * size:
        return [f"On the samples it is the least-squares linear function (largest difference {gap:.2g}), no more."]
    if loss <= 1e-9 * found.loss.total(np.zeros(data.n), data.y):
        return [f"It fits every sample; the best linear function leaves a loss of {linear:.6g}."]
    return [f"The best linear function has loss {linear:.6g}, {_ratio(linear, loss)} times that of the network."]


def _margins(flow: FlowStory) -> list[str]:
    certificate = flow.limit.certificate
    if certificate.kind is Kind.UNDECIDED:
        return []
    words = f"Its normalised margin is {certificate.margin:.6g}"
    if math.isfinite(certificate.best_linear_margin):
        linear = linear_network_margin(certificate.best_linear_margin, flow.trajectory.problem.network.leak)
        words += f"; the best network that computes a linear function has {linear:.6g}"
    if math.isfinite(certificate.global_margin):
        share = certificate.margin / certificate.global_margin
        words += f", the best two-layer network {certificate.global_margin:.6g} (it reaches {share:.1%} of that)"
    else:
        words += "; the best margin of a two-layer network is out of reach here"
    return [words + "."]


def _about_variations(found: Study) -> list[str]:
    if not found.variations:
        return []
    same = [v for v in found.variations if v.tells_the_same is True]
    other = [v for v in found.variations if v.tells_the_same is False]
    unknown = [v for v in found.variations if v.tells_the_same is None]
    total = len(found.variations)
    scales = ", ".join(dict.fromkeys(v.scale for v in found.variations))
    draws = len({v.seed for v in found.variations})
    plural = "s" if "," in scales else ""
    words = f"Repeated from {draws} draw{'s' if draws > 1 else ''} at scale{plural} {scales}: "
    if len(same) == total:
        return [words + (f"all {total} runs end" if total > 1 else "it ends") + " in the same function."]
    parts = [f"{len(same)} of {total} runs end{'s' if len(same) == 1 else ''} in the same function"] if same else []
    if other:
        parts.append(f"{len(other)} end{'s' if len(other) == 1 else ''} elsewhere ({_elsewhere(found, other)})")
    if unknown:
        parts.append(
            f"{len(unknown)} did not reach an end" + (", nor did the first run" if not _has_ended(found) else "")
        )
    return [words + "; ".join(parts) + "."]


def _has_ended(found: Study) -> bool:
    return found.flow is not None and found.flow.has_ended


def _elsewhere(found: Study, other: list[Variation]) -> str:
    """Losses, or margins of a classifier, and the scales of the runs that end elsewhere."""
    has_margins = found.loss.is_classification and all(v.margin > 0.0 for v in other)  # below 0 it is no margin
    values = sorted(v.margin if has_margins else v.loss for v in other)
    name = "margin" if has_margins else "loss"
    ends = list(dict.fromkeys(f"{value:.4g}" for value in (values[0], values[-1])))
    span = " to ".join(ends)
    scales = list(dict.fromkeys(v.scale for v in other))
    return f"{name} {span}, at scale{'s' if len(scales) > 1 else ''} {', '.join(scales)}"


def _about_data(found: Study) -> list[str]:
    data = found.dataset
    told = [f"{data.name}: {data.n} samples in dimension {data.d}, {data.task}; {data.provenance}."]
    if found.separator is not None:
        if found.separator.separable:
            told.append(
                f"A linear classifier through the origin separates it with margin {found.separator.margin:.6g}."
            )
        elif str(found.separator.status) == "not-separable":
            told.append("No linear classifier through the origin separates it.")
        else:
            told.append("Whether a linear classifier through the origin separates it is not decided.")
    return told


def _about_directions(found: Study) -> list[str]:
    extremal = found.extremal
    if extremal is None:
        return []
    if len(extremal) == 0:
        return ["There is no extremal vector: no direction attracts neurons."]
    kinds = {kind: sum(k == kind for k in extremal.kinds) for kind in ("maximum", "minimum", "saddle")}
    plural = {"maximum": "maxima", "minimum": "minima", "saddle": "saddles"}
    parts = [f"{count} {kind if count == 1 else plural[kind]}" for kind, count in kinds.items() if count]
    certainty = "" if extremal.exact else " (found by search; there may be more)"
    count = "one extremal vector" if len(extremal) == 1 else f"{len(extremal)} extremal vectors"
    return [
        f"Small neurons can align with {count}: {', '.join(parts)}{certainty}. "
        f"The strongest pulls with |D| = {extremal.norms[0]:.6g}, so a neuron aligned with it grows e-fold every "
        f"{1 / extremal.norms[0]:.4g} time units."
    ]


def _about_neurons(found: Study) -> list[str]:
    alignment = found.alignment
    if alignment is None:
        return []
    counts = alignment.counts
    total = sum(counts.values())
    words = {
        "maximum": "align with a maximum and push outputs up",
        "minimum": "align with a minimum and push outputs down",
        "dead": "die: no sample pulls them any more",
        "saddle": "stay at a saddle",
        "open": "meet a point where the flow is not unique",
    }
    shares = [f"{counts[name] / total:.1%} {words[name]}" for name in words if counts[name]]
    settled = alignment.times[np.isfinite(alignment.times)]
    last = f"; the last one enters its final cone at time {settled.max():.4g}" if settled.size else ""
    source = "given" if found.is_given else f"{found.initialization.name}, seed {found.seed}"
    drawn = f"{total:,} neurons ({source})"
    return [f"As the scale vanishes, of {drawn} {'; '.join(shares)}{last}."]


def _about_scale(found: Study) -> list[str]:
    if not found.advice:
        return []
    used = power_of_ten(found.advice[0].log_used)
    words = f"The start has size sqrt(sum_j a_j^2) = {used}."
    asked = [
        f"{a.theorem} {power_of_ten(a.log_asked)}{'' if a.is_met else ' (not met)'}"
        for a in found.advice
        if a.log_asked is not None
    ]
    if asked:
        words += f" The theorems ask for at most: {', '.join(asked)}."
    silent = [
        f"{a.theorem} (checked at {power_of_ten(a.log_shown)})" if a.log_shown is not None else a.theorem
        for a in found.advice
        if a.log_asked is None
    ]
    if silent:
        words += f" No threshold that can be evaluated here is named by: {', '.join(silent)}."
    shown = [f"{a.theorem} {power_of_ten(a.log_shown)}" for a in found.advice if a.log_asked and a.log_shown]
    if shown:
        words += f" Each was checked at a scale at which its bounds inform: {', '.join(shown)}."
    return [words]


def _about_phases(found: Study) -> list[str]:
    if found.flow is None or not found.flow.trajectory.phases:
        return []
    phases = [f"{p.name} from {p.start:.4g} to {p.end:.4g}" for p in found.flow.trajectory.phases]
    trajectory = found.flow.trajectory
    return [
        f"Phases of the run: {'; '.join(phases)}. Neurons met data boundaries {how_often(trajectory.crossings)}"
        f"{f', {how_often(trajectory.slides)} to slide along one' if trajectory.slides else ''}."
    ]


def how_often(count: int) -> str:
    """A count of meetings in words."""
    return "once" if count == 1 else f"{count} times"


def _about_groups(found: Study) -> list[str]:
    if not found.groups:
        return []
    bundles = [g for g in found.groups if g.name == "bundle"]
    total = sum(g.size for g in found.groups)
    parts = [
        f"{g.size} with a {'>' if g.sign > 0 else '<'} 0 and {g.share:.1%} of the weight, active on {g.num_active} of "
        f"{found.dataset.n} samples"
        for g in bundles[:5]
    ]
    more = f", and {len(bundles) - 5} more" if len(bundles) > 5 else ""
    others = [f"{g.size} {_OTHERS[g.name]}" for g in found.groups if g.name != "bundle"]
    count = f"{len(bundles)} bundle{'s' if len(bundles) != 1 else ''}"
    tail = f"; {', '.join(others)}" if others else ""
    return [f"Of {total} neurons, the function is carried by {count}: {'; '.join(parts)}{more}{tail}."]


_OTHERS = {"light": "stayed too small to matter", "dead": "are dead", "rest": "are scattered in other directions"}


def _about_theorems(found: Study) -> list[str]:
    told = []
    if found.answers:
        for word, opening in (("holds", "Theorems that apply and are borne out"), ("fails", "Theorems that FAIL here")):
            keys = [a.theorem.key for a in found.answers if a.word == word]
            if keys:
                told.append(f"{opening}: {', '.join(keys)}.")
        undecided = [a.theorem.key for a in found.answers if a.word == "inconclusive"]
        if not undecided and not any(a.is_applicable for a in found.answers):
            told.append("None of the theorems asked applies to these data.")
        if undecided:
            told.append(f"Inconclusive: {', '.join(undecided)}.")
    if found.diagnosis is not None:
        close = [c for c in found.diagnosis.conditions if c.holds and c.margin is not None and 0 < c.margin < 1e-3]
        if close:
            told.append(f"Close calls (margin below 0.001): {', '.join(f'{c.key} {c.margin:.2g}' for c in close)}.")
    return told


def _clock(flow: FlowStory) -> str:
    trajectory = flow.trajectory
    return f"t = {trajectory.time:.5g}" if math.isfinite(trajectory.time) else f"ln t = {trajectory.log_time:.5g}"


def _ratio(one: float, two: float) -> str:
    return f"{one / two:.3g}" if two > 0 else "infinitely many"
