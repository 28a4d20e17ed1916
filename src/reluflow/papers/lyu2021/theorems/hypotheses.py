"""Hypotheses that many results of Lyu et al. (2021) share: on the loss, the labels and the data [lyu2021]."""

from __future__ import annotations

from functools import partial

from reluflow.papers.lyu2021.assumptions import A_2, A_3, MEAN_OFF_BOUNDARIES, SYMMETRIC_SAMPLES
from reluflow.theory.hypotheses import (
    LEAKY,
    ONE_NEURON_OR_MORE,
    TWO_NEURONS_OR_MORE,
    assumed,
    has_binary_labels,
    is_mean,
)
from reluflow.theory.separability import LINEARLY_SEPARABLE
from reluflow.theory.theorem import Hypothesis

MEAN_LOSS = Hypothesis("loss", "the loss is the mean logistic loss", partial(is_mean, name="logistic"))
MEAN_LOGISTIC = Hypothesis("mean-logistic", "the loss is the mean logistic loss", partial(is_mean, name="logistic"))
BINARY_LABELS = Hypothesis("binary", "the labels are -1 and 1", has_binary_labels)

SEPARABLE = (MEAN_LOSS, LEAKY, assumed(LINEARLY_SEPARABLE))
SYMMETRIC_DATA = (assumed(LINEARLY_SEPARABLE), assumed(SYMMETRIC_SAMPLES), assumed(MEAN_OFF_BOUNDARIES))
SYMMETRIC = (MEAN_LOSS, LEAKY, *SYMMETRIC_DATA, TWO_NEURONS_OR_MORE)
SYMMETRIC_AT_ANY_WIDTH = (MEAN_LOSS, LEAKY, *SYMMETRIC_DATA, ONE_NEURON_OR_MORE)
CONE_DATA = (BINARY_LABELS, MEAN_LOGISTIC, LEAKY, assumed(A_2), assumed(A_3))
