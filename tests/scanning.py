"""Random datasets of the kind a paper speaks of, every result of it judged on them: a proven result never fails.

Each paper has `papers/<paper>/random_data.py` with `KINDS`: functions from a random generator to a `Draw`, and
optionally `ONLY`, the kinds that suit a result, by its key without the paper, where not all do.
"""

from __future__ import annotations

import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module

import numpy as np

from reluflow.after_run import StageFailed
from reluflow.data.dataset import Dataset
from reluflow.errors import ReluflowError
from reluflow.network import initialization_named, neuron_rng
from reluflow.theory.check import check, example_problem
from reluflow.theory.theorem import Theorem
from reluflow.theory.verdict import Verdict, VerdictKind

MAX_SECONDS = 10.0  # for one verdict; one that is cut short is inconclusive, which is no `fails`
MAX_STEPS = 4_000


@dataclass(frozen=True)
class Draw:
    """A random dataset, and what else is drawn with it; None leaves the theorem's own setting.

    Parameters
    ----------
    dataset
        The samples.
    leak, width
        Of the network.
    log_factor
        By how many e-folds the network is larger than in the setting; a result with a scale of its own meets that.
    parameters
        Those of them that the result has are set.
    """

    dataset: Dataset
    leak: float | None = None
    width: int | None = None
    log_factor: float = 0.0
    parameters: Mapping[str, float] = field(default_factory=dict)


Kind = Callable[[np.random.Generator], Draw]


@dataclass(frozen=True)
class Finding:
    """A verdict that is `fails`, or an error that is no sentence, with what reproduces it."""

    key: str
    kind: str
    draw: int
    words: str

    def __str__(self) -> str:
        return f"{self.key} on draw {self.draw} of {self.kind}: {self.words}"


def kinds_of(theorem: Theorem) -> dict[str, Kind]:
    """The kinds of random data that a result is judged on, by name."""
    module = import_module(f"papers.{theorem.paper}.random_data")
    only: Mapping[str, tuple[Kind, ...]] = getattr(module, "ONLY", {})
    chosen = only.get(theorem.key.partition(":")[2], module.KINDS)
    return {kind.__name__: kind for kind in chosen}


def generator(kind: str, draw: int) -> np.random.Generator:
    """The source of one draw, the same for every result, so that a finding names what reproduces it."""
    return np.random.default_rng([zlib.crc32(kind.encode()), draw])


def judged(theorem: Theorem, kind: str, draw: int, *, max_seconds: float = MAX_SECONDS) -> Verdict:
    """The verdict on one draw, in the setting of the theorem and at its own scale."""
    drawn = kinds_of(theorem)[kind](generator(kind, draw))
    problem = example_problem(theorem, drawn.dataset, seed=draw, leak=drawn.leak)
    if drawn.width is not None:
        setting = theorem.setting
        network = initialization_named(setting.init)(
            drawn.dataset, width=drawn.width, scale=setting.scale, rng=neuron_rng(draw), leak=problem.network.leak
        )
        problem = replace(problem, network=network)
    if drawn.log_factor:
        problem = replace(problem, network=problem.network.scaled(drawn.log_factor))
    names = {parameter.name for parameter in theorem.parameters}
    chosen = {name: value for name, value in drawn.parameters.items() if name in names}
    return check(theorem, problem, at_own_scale=True, max_steps=MAX_STEPS, max_seconds=max_seconds, **chosen)


def scan(theorem: Theorem, draws: range, *, max_seconds: float = MAX_SECONDS) -> tuple[Counter[str], list[Finding]]:
    """How often each verdict came on the draws of all kinds, and what must not be: `fails`, or an error of ours."""
    counts: Counter[str] = Counter()
    findings = []
    for kind in kinds_of(theorem):
        for draw in draws:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", RuntimeWarning)
                    warnings.simplefilter("error", StageFailed)  # a measure that broke, told as `inconclusive`
                    verdict = judged(theorem, kind, draw, max_seconds=max_seconds)
            except ReluflowError:
                counts["refused"] += 1  # with a sentence: labels that the loss refuses, constants out of reach
                continue
            except Exception as error:
                findings.append(Finding(theorem.key, kind, draw, repr(error)))
                continue
            counts[str(verdict.kind)] += 1
            if verdict.kind is VerdictKind.FAILS:
                findings.append(Finding(theorem.key, kind, draw, verdict.why))
    return counts, findings
