"""Where the neurons went, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.study.motion import output_names
from reluflow.study.neuron_groups import MOST_BUNDLES

if TYPE_CHECKING:
    from reluflow.study.whole_study import Study

FEW_BUNDLES = 3  # are named in a sentence; more belong in a table


def about_groups(found: Study) -> list[str]:
    """Which bundles carry the function, and what the other neurons do."""
    if not found.groups:
        return []
    bundles = [g for g in found.groups if g.name == "bundle"]
    total = sum(g.size for g in found.groups)
    others = [f"{g.size} {_OTHERS[g.name][g.size > 1]}" for g in found.groups if g.name != "bundle"]
    tail = f"; {', '.join(others)}" if others else ""
    most = "the largest " if len(bundles) == MOST_BUNDLES and any(g.name == "rest" for g in found.groups) else ""
    count = f"{most}{len(bundles)} bundle{'s' if len(bundles) != 1 else ''}"
    if len(bundles) > FEW_BUNDLES:
        size = "|a|" if found.dataset.num_outputs == 1 else "|v|"
        members, share = sum(g.size for g in bundles), sum(g.share for g in bundles)
        return [
            f"Of {total} neurons, {members} lie in {count} of neurons that point the same way, with {share:.1%} of "
            f"the weight sum ${size}|w|$, {bundles[0].share:.1%} in the largest (table of the bundles: in the "
            f"report){tail}."
        ]
    if found.dataset.num_outputs > 1:
        names, is_classes = output_names(found.dataset), found.dataset.classes is not None
        parts = [
            f"{g.size} that {_push_words(g.output, names, is_one=g.size == 1, is_classes=is_classes)}, with "
            f"{g.share:.1%} of the weight, active on {g.num_active} of {found.dataset.n} samples"
            for g in bundles
            if g.output is not None
        ]
        return [f"Of {total} neurons, the function is carried by {count}: {'; '.join(parts)}{tail}."]
    parts = [
        f"{g.size} with a {'>' if g.sign > 0 else '<'} 0 and {g.share:.1%} of the weight, active on {g.num_active} of "
        f"{found.dataset.n} samples"
        for g in bundles
    ]
    return [f"Of {total} neurons, the function is carried by {count}: {'; '.join(parts)}{tail}."]


def _push_words(output: FloatArray, names: tuple[str, ...], *, is_one: bool, is_classes: bool) -> str:
    """Which outputs a bundle, or one neuron, raises and lowers most."""
    ending = "s" if is_one else ""
    high, low = int(np.argmax(output)), int(np.argmin(output))
    raised = [f"raise{ending} {names[high]}"] if output[high] > 0.0 else []
    lowered = [f"lower{ending} {names[low]}"] if output[low] < 0.0 else []
    return f"{' and '.join([*raised, *lowered])} most" if is_classes else " and ".join([*raised, *lowered])


_OTHERS = {  # of one neuron, of several
    "light": ("stayed too small to matter", "stayed too small to matter"),
    "dead": ("is dead", "are dead"),
    "rest": ("points in another direction", "point in other directions"),
}
