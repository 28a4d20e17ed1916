"""What the tasks of a study do, in words."""

from __future__ import annotations

from collections.abc import Container, Sequence

TASK_WORDS = {  # task: what it does, and what is not known without it
    "diagnosis": ("checking every assumption", "Which assumptions hold"),
    "extremal": ("finding the extremal vectors", "Where neurons can align"),
    "alignment": ("following neurons to their alignment", "Where neurons align"),
    "process": ("following the path at vanishing scale", "The path at vanishing scale"),
    "descent": ("setting gradient descent beside the flow", "Up to which rate descent follows the flow"),
    "separator": ("separating the classes", "A separator"),
    "flow": ("running the flow to its limit", "The flow"),
    "advice": ("finding the theorems' scales", "Scales"),
}


def listed(names: Sequence[str], theorems: Container[str]) -> str:
    """Names of tasks in words, alike ones counted."""
    return ", ".join(parts_of(names, theorems))


def parts_of(names: Sequence[str], theorems: Container[str]) -> list[str]:
    """What tasks do, alike ones counted."""
    known = list(dict.fromkeys(TASK_WORDS[name][0] for name in names if name in TASK_WORDS))
    asked = sum(name in theorems for name in names)
    runs = sum(name not in TASK_WORDS and name not in theorems for name in names)
    if asked:
        known.append(f"checking {asked} theorem{'s' if asked > 1 else ''}")
    if runs:
        known.append(f"{runs} repetition{'s' if runs > 1 else ''} of the run")
    return known
