"""The story of one dataset: what holds, where neurons can go, where they do go, told in sentences with numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reluflow.certificates.hard_margin import HardMargin, linear_separator
from reluflow.data.dataset import Dataset
from reluflow.geometry.alignment import Alignment, alignment_of
from reluflow.geometry.extremal import ExtremalVectors, extremal_vectors
from reluflow.losses import AbstractLoss
from reluflow.network.initialization import Initialization, balanced_initialization
from reluflow.theory.diagnosis import Diagnosis, default_loss, diagnose

Stage = Callable[[str], None]

LARGEST_SEPARATOR = 50_000_000  # n d beyond which the separator is left out


@dataclass(frozen=True, eq=False)
class Study:
    """Everything found about one dataset, without training.

    Parameters
    ----------
    dataset, loss, leak
        The problem.
    diagnosis
        Every data assumption of the five papers, and the theorems they leave.
    extremal
        Where neurons can align.
    alignment
        Where `width` drawn neurons do go as the scale vanishes.
    initialization, width, seed
        How those neurons were drawn.
    separator
        The max-margin linear classifier; None for regression or where it is out of reach.
    """

    dataset: Dataset
    loss: AbstractLoss
    leak: float
    diagnosis: Diagnosis
    extremal: ExtremalVectors
    alignment: Alignment
    initialization: Initialization
    width: int
    seed: int
    separator: HardMargin | None

    def sentences(self) -> list[str]:
        """The findings in plain words, most important first."""
        return [*_about_data(self), *_about_directions(self), *_about_neurons(self), *_about_theorems(self)]

    def __repr__(self) -> str:
        return "\n".join(self.sentences())


def study(
    dataset: Dataset,
    loss: AbstractLoss | None = None,
    *,
    leak: float = 0.0,
    initialization: Initialization = balanced_initialization,
    width: int = 10_000,
    seed: int = 0,
    on_stage: Stage | None = None,
) -> Study:
    """Diagnose a dataset, find its extremal vectors, and follow drawn neurons to where they align.

    Parameters
    ----------
    dataset
        At least two distinct, non-zero samples.
    loss
        By default the averaged square loss for regression, logistic for classification.
    leak
        Negative slope of the activation.
    initialization, width, seed
        How the neurons of the alignment are drawn.
    on_stage
        Called with the name of each stage as it starts, for a progress bar.
    """
    say = on_stage or (lambda name: None)
    chosen = default_loss(dataset) if loss is None else loss
    say("checking every assumption")
    diagnosis = diagnose(dataset, chosen, leak=leak)
    say("finding the extremal vectors")
    extremal = extremal_vectors(dataset, chosen, leak=leak)
    say("following neurons to their alignment")
    network = initialization(dataset, width=width, scale=1.0, rng=np.random.default_rng(seed), leak=leak)
    alignment = alignment_of(dataset, chosen, network.w, network.a, leak=leak)
    separator = None
    if dataset.is_binary and dataset.X.size <= LARGEST_SEPARATOR:
        say("separating the classes")
        separator = linear_separator(dataset)
    return Study(dataset, chosen, leak, diagnosis, extremal, alignment, initialization, width, seed, separator)


def _about_data(found: Study) -> list[str]:
    data = found.dataset
    sentences = [f"{data.name}: {data.n} samples in dimension {data.d}, {data.task}; {data.provenance}."]
    if found.separator is not None:
        if found.separator.separable:
            sentences.append(
                f"A linear classifier through the origin separates it with margin {found.separator.margin:.6g}."
            )
        else:
            sentences.append("No linear classifier through the origin separates it.")
    elif data.task == "regression":
        residual = data.y - data.X @ np.linalg.lstsq(data.X, data.y, rcond=None)[0]
        value = found.loss.total(data.y - residual, data.y)
        sentences.append(
            f"The best linear function leaves a loss of {value:.7g} ({found.loss.name}, {found.loss.reduction})."
        )
    return sentences


def _about_directions(found: Study) -> list[str]:
    extremal = found.extremal
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
    counts, alignment = found.alignment.counts, found.alignment
    words = {
        "maximum": "align with a maximum and push outputs up",
        "minimum": "align with a minimum and push outputs down",
        "dead": "die: no sample pulls them any more",
        "saddle": "stay at a saddle",
        "open": "meet a point where the flow is not unique",
    }
    shares = [f"{counts[name] / found.width:.1%} {words[name]}" for name in words if counts[name]]
    settled = alignment.times[np.isfinite(alignment.times)]
    last = f"; the last one enters its final cone at time {settled.max():.4g}" if settled.size else ""
    return [
        f"As the scale vanishes, of {found.width:,} neurons ({found.initialization.name}, seed {found.seed}) "
        f"{'; '.join(shares)}{last}."
    ]


def _about_theorems(found: Study) -> list[str]:
    by_verdict: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for theorem in found.diagnosis.theorems:
        by_verdict[theorem.applicable].append(theorem.key)
    sentences = []
    if by_verdict[True]:
        sentences.append(f"The data meet the hypotheses of {', '.join(by_verdict[True])}.")
    else:
        sentences.append("The data meet the hypotheses of none of the theorems.")
    if by_verdict[None]:
        sentences.append(f"Undecided: {', '.join(by_verdict[None])}.")
    near = [c for c in found.diagnosis.conditions if c.holds and c.margin is not None and 0 < c.margin < 1e-3]
    if near:
        sentences.append(f"Close calls (margin below 0.001): {', '.join(f'{c.key} {c.margin:.2g}' for c in near)}.")
    return sentences
