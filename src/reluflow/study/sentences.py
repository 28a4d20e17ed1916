"""The findings of a study in plain sentences with numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reluflow.data.dataset import Dataset
from reluflow.study.class_order import about_class_limit, about_class_order
from reluflow.study.end_sentences import about_end
from reluflow.study.group_sentences import about_groups
from reluflow.study.scale_advice import power_of_ten

if TYPE_CHECKING:
    from reluflow.study.sensitivity import Variation
    from reluflow.study.whole_study import Study


def verdict(found: Study) -> list[str]:
    """Where training ends and whether that depends on the draw."""
    return [*about_end(found), *_about_variations(found)]


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
    neurons = f"{total:,} neurons ({source})"
    return [f"As the scale vanishes, of {neurons} {'; '.join(shares)}{last}."]


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
