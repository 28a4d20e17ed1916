"""The story of one dataset: what holds, where neurons can go, where they do go, where training ends, and what if."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from reluflow.certificates.hard_margin import HardMargin, linear_separator
from reluflow.data.dataset import Dataset
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import ReluflowError
from reluflow.geometry.alignment import Alignment, alignment_of
from reluflow.geometry.extremal import ExtremalVectors, extremal_vectors
from reluflow.jump_process.forecast import forecast
from reluflow.jump_process.process import JumpProcess
from reluflow.losses import AbstractLoss
from reluflow.network.initialization import Initialization, balanced_initialization, neuron_rng
from reluflow.network.network import Network
from reluflow.study.flow_story import FlowStory, estimated_seconds, follow_flow
from reluflow.study.neuron_groups import NeuronGroup, neuron_groups
from reluflow.study.scale_advice import ScaleAdvice, scale_advice
from reluflow.study.sensitivity import Variation, vary
from reluflow.study.verdicts import TheoremAnswer, ask_theorems
from reluflow.theory.diagnosis import Diagnosis, default_loss, diagnose
from reluflow.theory.theorem import Theorem

Stage = Callable[[str], None]
Found = TypeVar("Found")

LARGEST_SEPARATOR = 50_000_000  # n d beyond which the separator is left out
ALIGNED_NEURONS, ALIGNMENT_WORK = 10_000, 1e9  # neurons followed in closed form, fewer where n d m would be too large
LARGEST_FOR_THEOREMS = 1_000  # n d beyond which the theorems' own runs would take minutes
WIDTHS = (200, 100, 50, 30, 10)
LARGEST_PRODUCT = 700_000  # n d m
LARGEST_GEOMETRY = 200_000  # n d beyond which extremal vectors and alignments would take minutes
LARGEST_FORECAST = 5_000  # n d m beyond which the path at vanishing scale may take minutes
SENSITIVITY_SECONDS = 20.0
DEFAULT_SCALES = ("1e-1", "1e-3", "1e-6")


@dataclass(frozen=True, eq=False)
class Study:
    """Everything found about one dataset.

    Parameters
    ----------
    dataset, loss, leak
        The problem.
    initialization, width, scale, seed
        How its neurons are drawn.
    diagnosis
        Every data assumption of the five papers; None where there are too few samples to compare.
    extremal
        Where neurons can align.
    alignment
        Where drawn neurons do go as the scale vanishes.
    separator
        The max-margin linear classifier; None for regression or where it is out of reach.
    advice
        The scale each applicable theorem asks for.
    flow
        The flow from the drawn neurons to its limit.
    groups
        Where the neurons of that run went.
    answers
        The theorems' verdicts.
    variations
        The same run from other seeds and scales.
    open_questions
        A sentence for each thing that could not be decided.
    process
        The path of these neurons as the scale vanishes; None where it was not looked for.
    """

    dataset: Dataset
    loss: AbstractLoss
    leak: float
    initialization: Initialization
    width: int
    scale: str
    seed: int
    diagnosis: Diagnosis | None
    extremal: ExtremalVectors | None
    alignment: Alignment | None
    separator: HardMargin | None
    advice: tuple[ScaleAdvice, ...]
    flow: FlowStory | None
    groups: tuple[NeuronGroup, ...]
    answers: tuple[TheoremAnswer, ...]
    variations: tuple[Variation, ...]
    open_questions: tuple[str, ...]
    process: JumpProcess | None = None

    def verdict(self) -> list[str]:
        """The end of the story in a few sentences: where training ends and whether that depends on the draw."""
        from reluflow.study.sentences import verdict

        return verdict(self)

    def sentences(self) -> list[str]:
        """The whole story in plain words, in the order it happens."""
        from reluflow.study.sentences import sentences

        return sentences(self)

    def __repr__(self) -> str:
        return "\n".join([*self.verdict(), "", *self.sentences()])

    def _repr_html_(self) -> str:
        from html import escape

        paragraphs = [*self.verdict(), *self.sentences()]
        return "".join(f"<p>{escape(sentence)}</p>" for sentence in paragraphs)


def study(
    dataset: Dataset,
    loss: AbstractLoss | None = None,
    *,
    leak: float = 0.0,
    initialization: Initialization = balanced_initialization,
    width: int | None = None,
    scale: str = "1e-3",
    seed: int = 0,
    seeds: int = 3,
    scales: Sequence[str] = DEFAULT_SCALES,
    theorems: Sequence[Theorem] | None = None,
    max_steps: int | None = None,
    on_stage: Stage | None = None,
) -> Study:
    """Tell the whole story of a dataset.

    Diagnose it, find its extremal vectors, follow drawn neurons to their alignment, run the flow to its limit, certify
    the end point, ask the theorems, and repeat the run from other seeds and scales. What cannot be decided is a
    sentence in `open_questions`, never an error.

    Parameters
    ----------
    dataset
        Distinct, non-zero samples.
    loss
        By default the averaged square loss for regression, logistic for classification.
    leak
        Negative slope of the activation.
    initialization, width, scale, seed
        How the neurons are drawn; by default 200 of them, fewer where the data are large.
    seeds, scales
        How many draws and which scales the story is repeated with; 0 or none leaves that part out.
    theorems
        Which to ask; by default the main theorems of the five papers.
    max_steps
        Steps allowed to each run; by default as many as cost some ten seconds.
    on_stage
        Called with the name of each stage as it starts, for a progress bar.
    """
    say = on_stage or (lambda name: None)
    chosen = default_loss(dataset) if loss is None else loss
    neurons = default_width(dataset) if width is None else width
    open_questions: list[str] = []

    def attempt(stage: str, what: str, compute: Callable[[], Found], *, is_geometry: bool = False) -> Found | None:
        if is_geometry and dataset.X.size > LARGEST_GEOMETRY:
            open_questions.append(f"{what} was not looked for: n d = {dataset.X.size:,} is above {LARGEST_GEOMETRY:,}.")
            return None
        say(stage)
        try:
            return compute()
        except ReluflowError as error:
            open_questions.append(f"{what} could not be told: {error}")
            return None

    def draw(draw_seed: int, draw_scale: str, draw_width: int = neurons) -> Network:
        return initialization(dataset, width=draw_width, scale=draw_scale, rng=neuron_rng(draw_seed), leak=leak)

    def aligned() -> Alignment:
        followed = int(np.clip(ALIGNMENT_WORK / dataset.X.size, 100, ALIGNED_NEURONS))
        network = draw(seed, "1", followed)
        return alignment_of(dataset, chosen, network.w, network.a, leak=leak)

    asked = main_theorems() if theorems is None else theorems
    problem = TrainingProblem(dataset, chosen, draw(seed, scale))
    diagnosis = attempt(
        "checking every assumption", "Which assumptions hold", lambda: diagnose(dataset, chosen, leak=leak)
    )
    extremal = attempt(
        "finding the extremal vectors",
        "Where neurons can align",
        lambda: extremal_vectors(dataset, chosen, leak=leak),
        is_geometry=True,
    )
    alignment = attempt("following neurons to their alignment", "Where neurons align", aligned, is_geometry=True)
    process = None
    if dataset.X.size * neurons <= LARGEST_FORECAST:
        process = attempt("jumping at vanishing scale", "The path at vanishing scale", lambda: forecast(problem))
    separator = None
    if dataset.is_binary and dataset.X.size <= LARGEST_SEPARATOR:
        separator = attempt("separating the classes", "A separator", lambda: linear_separator(dataset))
    flow = attempt("running the flow to its limit", "The flow", lambda: follow_flow(problem, max_steps=max_steps))
    groups = neuron_groups(flow.limit.network, dataset) if flow is not None else ()
    advice: tuple[ScaleAdvice, ...] = ()
    answers: tuple[TheoremAnswer, ...] = ()
    if asked and dataset.X.size > LARGEST_FOR_THEOREMS:
        open_questions.append(
            f"The theorems were not asked: n d = {dataset.X.size:,} is above {LARGEST_FOR_THEOREMS:,}; "
            "`reluflow check` asks one."
        )
    elif asked:
        advice = attempt("finding the theorems' scales", "Scales", lambda: scale_advice(problem, asked)) or ()
        answers = ask_theorems(dataset, asked, leak=leak, seed=seed, on_theorem=say)
    variations: tuple[Variation, ...] = ()
    if flow is not None and seeds > 0 and scales and not flow.has_ended:
        open_questions.append("Other draws and scales were not tried, for the first run did not reach its end.")
    elif flow is not None and seeds > 0 and scales:
        fewer = min(seeds, int(SENSITIVITY_SECONDS / (len(scales) * max(estimated_seconds(flow), 1e-3))))
        if fewer == 0:
            open_questions.append(
                f"Other draws and scales were not tried: a run takes {flow.trajectory.steps} steps of a large problem."
            )
        elif fewer < seeds:
            open_questions.append(
                f"Only {fewer} of {seeds} draws were repeated at each scale: a run takes {flow.trajectory.steps} steps."
            )
        variations = vary(flow, draw, seeds=range(seed, seed + fewer), scales=scales, on_run=say)
    return Study(
        dataset, chosen, leak, initialization, neurons, scale, seed, diagnosis, extremal, alignment, separator,
        advice, flow, groups, answers, variations, tuple(open_questions), process,
    )  # fmt: skip


def default_width(dataset: Dataset) -> int:
    """The largest of `WIDTHS` at which a step of the flow stays small; the bound is a choice, not a measurement."""
    return next((width for width in WIDTHS if width * dataset.X.size <= LARGEST_PRODUCT), WIDTHS[-1])


def main_theorems() -> tuple[Theorem, ...]:
    """The theorems proper of the five papers, without their lemmas."""
    from reluflow.theory.registry import theorems

    return tuple(theorem for theorem in theorems() if theorem.key.partition(":")[2].startswith("thm"))
