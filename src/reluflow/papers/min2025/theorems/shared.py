"""What the results of the paper share: their hypotheses, the classes of the data, and the groups of neurons."""

from __future__ import annotations

import numpy as np

from reluflow.network import Network
from reluflow.papers.min2025.alignments import Alignments
from reluflow.papers.min2025.assumptions import SEPARABLE_CLASSES
from reluflow.papers.min2025.class_geometry import ClassGeometry
from reluflow.theory.comparison import Comparison, judgement
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.hypotheses import BALANCED, RELU, SOFTMAX_LOSS, assumed
from reluflow.theory.theorem import Hypothesis


@computed_once
def geometry(evidence: Evidence) -> ClassGeometry:
    """The classes of the samples."""
    return ClassGeometry.of(evidence.dataset)


def with_an_output_per_class(network: Network) -> Network:
    """The network itself, or one with output a as two outputs with v = (a, -a)/sqrt 2, of the same lengths.

    So the binary case is that of K = 2: the centred one-hot labels are (1, -1)/sqrt 2 and its negative.
    """
    if network.num_outputs > 1:
        return network
    return Network(
        network.w,
        v=np.column_stack([network.a, -network.a]) / np.sqrt(2.0),
        leak=network.leak,
        log_scale=network.log_scale,
        weight=network.weight,
    )


def alignments(evidence: Evidence, network: Network | None = None) -> Alignments:
    """The neurons of a network, by default of the start, against the classes."""
    found = evidence.network if network is None else network
    return Alignments.of(with_an_output_per_class(found), geometry(evidence))


def is_summed(evidence: Evidence) -> Comparison:
    """The loss is a sum over the samples with factor 1, on which times and constants depend."""
    loss = evidence.loss
    holds = loss.reduction == "sum" and loss.factor == 1.0
    return judgement(holds, None, f"the loss is a {loss.reduction}, factor {loss.factor:g}")


def largest_row(evidence: Evidence) -> float:
    """W_max: the largest |w_j| of the start without its scale."""
    return float(np.max(np.linalg.norm(evidence.network.w, axis=1)))


SUMMED = Hypothesis("summed-softmax", "the loss is the sum over the samples", is_summed)
SETTING_HYPOTHESES = (SOFTMAX_LOSS, RELU, SUMMED)
SEPARABLE = assumed(SEPARABLE_CLASSES)
START_HYPOTHESES = (*SETTING_HYPOTHESES, SEPARABLE, BALANCED)
