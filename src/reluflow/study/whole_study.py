"""The study of one dataset: what holds, where neurons can go, where they do go, where training ends, and what if."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reluflow.certificates.hard_margin import HardMargin
from reluflow.data.dataset import Dataset
from reluflow.data.in_memory import as_dataset
from reluflow.deprecation import warn_old_form
from reluflow.dynamics.stopping import Allowance
from reluflow.experiment.building import with_output_bias
from reluflow.formulas import as_html, as_unicode
from reluflow.geometry.alignment import Alignment
from reluflow.geometry.extremal import ExtremalVectors
from reluflow.learning_rates.step_size import StepSize
from reluflow.losses import AbstractLoss, loss_named
from reluflow.network.initialization import Initialization, balanced_initialization, neuron_rng
from reluflow.network.network import Network
from reluflow.study.cut_parts import CutPart
from reluflow.study.flow_summary import FlowSummary
from reluflow.study.neuron_groups import NeuronGroup
from reluflow.study.pieces import Pieces
from reluflow.study.scale_advice import ScaleAdvice
from reluflow.study.sensitivity import Variation
from reluflow.study.verdicts import TheoremAnswer
from reluflow.study.width import default_width
from reluflow.study.workers import AbstractWorkers, started_workers
from reluflow.theory.diagnosis import Diagnosis, default_loss
from reluflow.theory.theorem import Theorem
from reluflow.vanishing_scale.process import JumpProcess

STUDY_SECONDS = 60.0  # of work, where nothing else is said
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
        Every data assumption of the papers; None where there are too few samples to compare.
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
    pending
        What is still to come, in words, while the study is under way; empty when it is over.
    is_given
        Whether the network of the run was given rather than drawn.
    process
        The path of these neurons as the scale vanishes; None where it was not looked for.
    descent
        Gradient descent beside the flow, learning rate by learning rate; None where the two were not compared.
    notes
        What the labels were taken for where that is a guess, and how to say otherwise.
    cuts
        The parts that a limit on time or work cut short.
    output_bias
        `fixed` or `train` where the network has an output bias, else `none`.
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
    flow: FlowSummary | None
    groups: tuple[NeuronGroup, ...]
    answers: tuple[TheoremAnswer, ...]
    variations: tuple[Variation, ...]
    open_questions: tuple[str, ...]
    pending: tuple[str, ...] = ()
    is_given: bool = False
    process: JumpProcess | None = None
    descent: StepSize | None = None
    notes: tuple[str, ...] = ()
    cuts: tuple[CutPart, ...] = ()
    output_bias: str = "none"

    def verdict(self) -> list[str]:
        """The answer in a few sentences: where training ends and whether that depends on the draw."""
        from reluflow.study.sentences import verdict

        return verdict(self)

    def sentences(self) -> list[str]:
        """All findings in plain words, in the order in which things happen."""
        from reluflow.study.sentences import sentences

        return sentences(self)

    def __repr__(self) -> str:
        return as_unicode("\n".join([*self.verdict(), "", *self.sentences()]))

    def _repr_html_(self) -> str:
        paragraphs = [*self.verdict(), *self.sentences()]
        return "".join(f"<p>{as_html(sentence)}</p>" for sentence in paragraphs)


class StudyInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a study.

    Parameters
    ----------
    study
        What was found until then; what is missing is named in its open questions.
    """

    def __init__(self, study: Study) -> None:
        super().__init__("the study was interrupted")
        self.study = study


def study(
    data: Any,
    y: Any = None,
    *,
    loss: AbstractLoss | str | None = None,
    bias: bool = False,
    leak: float = 0.0,
    initialization: Initialization = balanced_initialization,
    network: Network | None = None,
    output_bias: str | None = None,
    width: int | None = None,
    scale: str = "1e-3",
    seed: int = 0,
    seeds: int = 3,
    scales: Sequence[str] = DEFAULT_SCALES,
    theorems: Sequence[Theorem] | None = None,
    max_steps: float | None = None,
    max_seconds: float | None = None,
    processes: int | AbstractWorkers = 1,
    pieces: Pieces | None = None,
    notes: Sequence[str] = (),
    on_stage: Callable[[str], None] | None = None,
    on_share: Callable[[float], None] | None = None,
    on_found: Callable[[Study], None] | None = None,
) -> Study:
    """Study a dataset: everything the package can say about it, in one object.

    Diagnose it, find its extremal vectors, follow drawn neurons to their alignment, run the flow to its limit, certify
    the end point, ask the theorems, and repeat the run from other seeds and scales. What cannot be decided is a
    sentence in `open_questions`, never an error. Where the exact flow may cost no more, gradient descent goes on from
    there, and the study says so.

    Parameters
    ----------
    data
        A dataset of distinct, non-zero samples, or anything `as_dataset` takes: samples, a data frame, a file, a name.
    y
        Labels, where `data` holds samples only.
    loss
        A loss or its name; by default the averaged square loss for regression, logistic for classification.
    bias
        Append the constant coordinate 1.
    leak
        Negative slope of the activation.
    initialization, width, scale, seed
        How the neurons are drawn; by default 200 of them, fewer where the data are large.
    network
        The network to start from instead; it is not repeated from other draws or scales.
    output_bias
        `none`, `fixed` or `train`; by default `train` where the given network has one, else `none`. A drawn network
        starts with 0.
    seeds, scales
        How many draws and which scales the run is repeated with; 0 or none leaves that part out.
    theorems
        Which to ask; by default the main theorems of the papers.
    max_steps
        Steps allowed to each run; by default as many as fit into what the study may cost.
    max_seconds
        Time allowed to the whole study, on the clock on the wall; more than half of it to its first run. By default
        work is counted instead, as much as two cores of the reference machine do in about `STUDY_SECONDS`: so the same
        call gives the same answer on a busy machine and on an idle one.
    processes
        Computed in this process, or in so many others side by side, or by workers that have been started already; the
        numbers are the same.
    pieces
        Where what is finished is kept as soon as it is there, and taken from where an earlier call with the same
        question left it; `pieces.remove()` when the study is written down.
    notes
        What the reader of the study should know of the data before anything else.
    on_stage, on_share
        Called with what is being done, and with the share that is done, for a progress bar.
    on_found
        Called with the study so far whenever something was found; its `pending` names what is still to come.

    Returns
    -------
    Study
        The findings; `verdict()` and `sentences()` put them in words.

    Raises
    ------
    StudyInterrupted
        On Ctrl-C; a KeyboardInterrupt that holds the study up to then.

    Examples
    --------
    >>> found = study("three-points", width=20, seeds=0, theorems=())
    >>> print(found.verdict()[1][:58])
    On the samples it equals the least-squares linear function
    """
    from reluflow.study.allowed import Allowed
    from reluflow.study.plan import RunningStudy

    Allowance(
        np.inf if max_seconds is None else max_seconds, np.inf if max_steps is None else max_steps
    )  # refuses what is none
    if isinstance(y, AbstractLoss | str):
        warn_old_form("study(data, loss)", "study(data, loss=...)")
        y, loss = None, y
    dataset = as_dataset(data, y, bias=bias)
    named = loss_named(loss) if isinstance(loss, str) else loss
    fitting = loss_named(dataset.default_loss) if dataset.num_outputs > 1 else default_loss(dataset)
    chosen = fitting if named is None else named
    neurons = default_width(dataset, chosen) if width is None else width

    def draw(draw_seed: int, draw_scale: str, draw_width: int) -> Network:
        start_network = initialization(
            dataset, width=draw_width, scale=draw_scale, rng=neuron_rng(draw_seed), leak=leak
        )
        return with_output_bias(start_network, output_bias)

    start = draw(seed, scale, neurons) if network is None else with_output_bias(network, output_bias)
    nothing = Study(
        dataset, chosen, start.leak, initialization, start.num_neurons, scale, seed, None, None, None, None, (), None,
        (), (), (), (), is_given=network is not None, notes=tuple(notes),
        output_bias="none" if start.b is None else "fixed" if output_bias == "fixed" else "train",
    )  # fmt: skip
    workers = started_workers(processes) if isinstance(processes, int) else processes
    try:
        running = RunningStudy(
            nothing,
            draw if network is None else None,
            start,
            seeds=seeds,
            scales=scales,
            allowed=Allowed(max_steps, STUDY_SECONDS if max_seconds is None else max_seconds, max_seconds is None),
            workers=workers,
            pieces=pieces,
        )
        say = on_stage or (lambda name: None)
        running.compile(say)
        running.begin(main_theorems() if theorems is None else theorems)
        if on_found is not None:
            on_found(replace(nothing, pending=("everything but the data",)))
        try:
            return running.run(say, on_share or (lambda share: None), on_found)
        except KeyboardInterrupt as interrupt:
            raise StudyInterrupted(running.interrupt(interrupt)) from interrupt
    finally:
        workers.close()


def main_theorems() -> tuple[Theorem, ...]:
    """The theorems proper of the papers, without their lemmas."""
    from reluflow.theory.registry import theorems

    return tuple(theorem for theorem in theorems() if theorem.key.partition(":")[2].startswith("thm"))
