"""The findings of a study in plain sentences with numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.certificate import Kind
from reluflow.certificates.network_margin import linear_network_margin
from reluflow.data.classified import wrongly_classified
from reluflow.data.dataset import Dataset
from reluflow.dynamics.trajectory import Outcome
from reluflow.study.class_order import about_class_limit, about_class_order
from reluflow.study.group_sentences import about_groups
from reluflow.study.numbering import numbered
from reluflow.study.scale_advice import power_of_ten

if TYPE_CHECKING:
    from reluflow.study.flow_summary import FlowSummary
    from reluflow.study.sensitivity import Variation
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


def verdict(found: Study) -> list[str]:
    """Where training ends and whether that depends on the draw."""
    return [*_about_end(found), *_about_variations(found)]


def sentences(found: Study) -> list[str]:
    """All findings in the order in which things happen."""
    return [
        *_about_data(found),
        *_about_directions(found),
        *_about_neurons(found),
        *([] if found.process is None else [found.process.sentence()]),
        *about_class_order(found),
        *_about_scale(found),
        *_about_phases(found),
        *about_groups(found),
        *about_class_limit(found),
        *([] if found.descent is None else [found.descent.sentence()]),
        *_about_theorems(found),
        *found.open_questions,
    ]


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


def _about_end(found: Study) -> list[str]:
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
        why = (
            "without a minimum: the forces of samples that cannot be fitted together cancel, while others are fitted "
            "ever better and the norm grows without bound"
        )
        if not trajectory.problem.has_single_output:  # the bound is of matrices of any rank: certificates/endless_fall
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


def _about_variations(found: Study) -> list[str]:
    if not found.variations:
        return []
    same = [v for v in found.variations if v.ends_in_same_function is True]
    other = [v for v in found.variations if v.ends_in_same_function is False]
    unknown = [v for v in found.variations if v.ends_in_same_function is None]
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


def _bias_words(data: Dataset) -> str:
    """What a dimension counts where its last coordinate is the constant one."""
    if data.d < 2 or not np.all(data.X[:, -1] == 1.0):
        return ""
    return f" ({data.d - 1} input{'s' if data.d > 2 else ''} + bias)"


def _about_data(found: Study) -> list[str]:
    data = found.dataset
    size = f"{data.n} samples in dimension {data.d}{_bias_words(data)}"
    sentences = [f"{data.name}: {size}, {_task_words(data)}; {data.provenance}."]
    if found.output_bias != "none":
        sentences.append(
            "The network has an output bias, which is trained."
            if found.output_bias == "train"
            else "The network has an output bias, which stays as it is."
        )
    if found.separator is not None:
        if found.separator.separable:
            sentences.append(
                f"A linear classifier through the origin separates it with margin {found.separator.margin:.6g}."
            )
        elif str(found.separator.status) == "not-separable":
            sentences.append("No linear classifier through the origin separates it.")
        else:
            sentences.append("Whether a linear classifier through the origin separates it is not decided.")
    return sentences


def _task_words(data: Dataset) -> str:
    """What the labels are."""
    if data.classes is not None:
        counts = np.bincount(data.y.astype(np.int64), minlength=data.num_outputs)
        of = "of class " if any(name.replace(".", "", 1).lstrip("-").isdigit() for name in data.classes) else ""
        listed = ", ".join(f"{count} {of}{name}" for count, name in zip(counts[:12], data.classes, strict=False))
        return f"{data.num_outputs} classes ({listed}{', ...' if data.num_outputs > 12 else ''})"
    return str(data.task) if data.num_outputs == 1 else f"{data.task} of {data.num_outputs} outputs"


def _about_directions(found: Study) -> list[str]:
    extremal = found.extremal
    if extremal is None:
        return []
    if len(extremal) == 0:
        return ["There is no extremal vector: small neurons have no direction to align with."]
    kinds = {kind: sum(k == kind for k in extremal.kinds) for kind in ("maximum", "minimum", "saddle")}
    plural = {"maximum": "maxima", "minimum": "minima", "saddle": "saddles"}
    parts = [f"{count} {kind if count == 1 else plural[kind]}" for kind, count in kinds.items() if count]
    certainty = "" if extremal.exact else " (found by search; there may be more)"
    count = "one extremal vector" if len(extremal) == 1 else f"{len(extremal)} extremal vectors"
    return [
        f"Small neurons can align with {count}: {', '.join(parts)}{certainty}. The longest has $|D|$ = "
        f"{extremal.norms[0]:.6g}: a neuron aligned with it grows by a factor $e$ in {1 / extremal.norms[0]:.4g} "
        f"units of time."
    ]


def _about_neurons(found: Study) -> list[str]:
    alignment = found.alignment
    if alignment is None:
        return []
    counts = alignment.counts
    total = sum(counts.values())
    words = {
        "maximum": "align with a maximum and increase outputs",
        "minimum": "align with a minimum and decrease outputs",
        "dead": "die (no sample acts on them any more)",
        "saddle": "converge to a saddle",
        "open": f"have no end here ({alignment.why_open})",
    }
    shares = [f"{counts[name] / total:.1%} {words[name]}" for name in words if counts[name]]
    settled = alignment.times[np.isfinite(alignment.times)]
    last = f"; the last of them enters its final cone at time {settled.max():.4g}" if settled.size else ""
    source = "given" if found.is_given else f"{found.initialization.name}, seed {found.seed}"
    drawn = f"{total:,} neurons ({source})"
    return [f"As the scale vanishes, of {drawn} {'; '.join(shares)}{last}."]


def _about_scale(found: Study) -> list[str]:
    if not found.advice:
        return []
    used = power_of_ten(found.advice[0].log_used)
    words = rf"The initial network has size $\sqrt{{\sum_j a_j^2}}$ = {used}."
    asked = [
        f"{a.theorem} {power_of_ten(a.log_asked)}{'' if a.is_met else ' (not met)'}"
        for a in found.advice
        if a.log_asked is not None
    ]
    if asked:
        words += f" The theorems require at most: {', '.join(asked)}."
    silent = [
        f"{a.theorem} (checked at {power_of_ten(a.log_shown)})" if a.log_shown is not None else a.theorem
        for a in found.advice
        if a.log_asked is None
    ]
    if silent:
        words += f" These state no threshold that can be evaluated here: {', '.join(silent)}."
    shown = [f"{a.theorem} {power_of_ten(a.log_shown)}" for a in found.advice if a.log_asked and a.log_shown]
    if shown:
        words += f" Each was checked at a scale small enough for its bounds to say something: {', '.join(shown)}."
    return [words]


def _about_phases(found: Study) -> list[str]:
    if found.flow is None or not found.flow.trajectory.phases:
        return []
    phases = [f"{p.name} from {p.start:.4g} to {p.end:.4g}" for p in found.flow.trajectory.phases]
    trajectory = found.flow.trajectory
    return [
        f"Phases of the run: {'; '.join(phases)}. Neurons reached the activation boundary of a sample "
        f"{how_often(trajectory.crossings)}"
        f"{f', and began to slide along it {how_often(trajectory.slides)}' if trajectory.slides else ''}."
    ]


def how_often(count: int) -> str:
    """A count of meetings in words."""
    return "once" if count == 1 else f"{count} times"


_OPENINGS = (
    ("holds", "Theorems whose hypotheses hold here and whose conclusions were confirmed numerically"),
    ("fails", "Theorems whose hypotheses hold here and of which a conclusion FAILS"),
)


def _about_theorems(found: Study) -> list[str]:
    sentences = []
    if found.answers:
        for word, opening in _OPENINGS:
            keys = [a.theorem.key for a in found.answers if a.word == word]
            if keys:
                sentences.append(f"{opening}: {', '.join(keys)}.")
        undecided = [a.theorem.key for a in found.answers if a.word == "inconclusive"]
        if not undecided and not any(a.is_applicable for a in found.answers):
            sentences.append("None of the theorems checked applies to these data.")
        if undecided:
            sentences.append(f"Theorems that were checked without a verdict: {', '.join(undecided)}.")
    if found.diagnosis is not None:
        close = [c for c in found.diagnosis.conditions if c.holds and c.margin is not None and 0 < c.margin < 1e-3]
        if close:
            names = ", ".join(f"{c.key} {c.margin:.2g}" for c in close)
            sentences.append(f"Assumptions that hold by a margin below 0.001: {names}.")
    return sentences


def _clock(flow: FlowSummary) -> str:
    trajectory = flow.trajectory
    return f"t = {trajectory.time:.5g}" if math.isfinite(trajectory.time) else f"ln t = {trajectory.log_time:.5g}"


def _ratio(one: float, two: float) -> str:
    return f"{one / two:.3g}" if two > 0 else "infinitely many"
