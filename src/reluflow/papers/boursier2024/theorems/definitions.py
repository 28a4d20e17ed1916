"""Assumptions and definitions of Boursier & Flammarion (2024) that are computed elsewhere [boursier2024]."""

from __future__ import annotations

from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.geometry.extremal import extremal_vectors
from reluflow.geometry.subgradient import minimum_norm_subgradient
from reluflow.geometry.thresholds import AlignmentConstants, alignment_constants
from reluflow.papers.boursier2024.assumptions import (
    ACUTE_POSITIVE_DATA,
    DENSITIES,
    FACET_CONDITION,
    RESIDUAL_CONDITION,
    SMOOTH_LOSS,
    THREE_POINT_BOX,
)
from reluflow.theory.elsewhere import condition, definition

ASSUMPTION_1 = condition(
    "boursier2024:assumption1",
    "Assumption 1",
    SMOOTH_LOSS,
    "the derivative of the loss is 1-Lipschitz and not 0 at $h = 0$ (E1: the half-square loss, not the square)",
)
EQ_6 = definition(
    "boursier2024:eq6",
    "Eq. (6)",
    EventDrivenFlow,
    "the flow of one neuron as a differential inclusion, with the shortest $D$ where it slides",
)
ASSUMPTION_2 = condition(
    "boursier2024:assumption2",
    "Assumption 2",
    DENSITIES,
    "a law with densities; `general-position` and positive constants are its deterministic certificate",
)
DEF_1 = definition(
    "boursier2024:def1",
    "Definition 1",
    extremal_vectors,
    r"a subgradient $D \ne 0$ in its own cone or in the opposite one; all of them, with their kinds",
)
APP_D_1 = definition(
    "boursier2024:appD.1",
    "App. D.1",
    minimum_norm_subgradient,
    r"$D_u$, the shortest element of the set of subgradients on a cone, and its slopes $\eta$",
)
EQ_21 = definition(
    "boursier2024:eq21", "Eq. (21)", AlignmentConstants.delta_0, r"$\delta_0 = \min(\delta_0', \delta_0'')$"
)
EQ_22 = definition(
    "boursier2024:eq22",
    "Eq. (22)",
    AlignmentConstants.log_lambda_star,
    r"$\ln\lambda^*$, capped at 0; it depends on $\varepsilon$ as well",
)
EQ_23 = definition("boursier2024:eq23", "Eq. (23)", AlignmentConstants.alpha_min, "the smaller of Eqs. (24) and (25)")
EQ_24 = definition(
    "boursier2024:eq24", "Eq. (24)", alignment_constants, r"$\alpha_{\min}^+$, over the cones that do not hold $D_u$"
)
EQ_25 = definition(
    "boursier2024:eq25",
    "Eq. (25)",
    alignment_constants,
    r"$\alpha_{\min}^-$, over the cones that do not hold $-D_u$ (E5: as printed it is 0 on data with negative labels)",
)
EQ_37 = definition("boursier2024:eq37", "Eq. (37)", AlignmentConstants.log_c, r"$\ln c$ of Theorem 1's gap")
ASSUMPTION_3 = condition(
    "boursier2024:assumption3", "Assumption 3", THREE_POINT_BOX, r"three points in a box of size $\eta$"
)
ASSUMPTION_4 = condition(
    "boursier2024:assumption4",
    "Assumption 4",
    ACUTE_POSITIVE_DATA,
    r"acute samples, positive labels, $n \ge d$, independent",
)
ASSUMPTION_5 = condition(
    "boursier2024:assumption5", "Assumption 5", FACET_CONDITION, "a single active neuron stays active on all samples"
)
ASSUMPTION_6 = condition(
    "boursier2024:assumption6",
    "Assumption 6, Eq. (12)",
    RESIDUAL_CONDITION,
    r"no mixed neuron lowers the loss beside $\beta^*$",
)
