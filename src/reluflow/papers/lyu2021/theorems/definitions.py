"""Assumptions, definitions and algorithms of Lyu et al. (2021), and where each is computed [lyu2021]."""

from __future__ import annotations

from reluflow.certificates.hard_margin import hard_margin, linear_separator
from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.network_margin import network_margin, opposite_sign_margin
from reluflow.papers.lyu2021.assumptions import (
    A_2,
    A_3,
    A_5,
    A_8,
    A_9,
    HINTED,
    MEAN_OFF_BOUNDARIES,
    NON_BRANCHING,
    PRINCIPAL_DIRECTION,
    SYMMETRIC_SAMPLES,
    opposite_networks,
)
from reluflow.papers.lyu2021.hinted_data import hinted
from reluflow.theory.elsewhere import condition, definition, ours
from reluflow.theory.separability import LINEARLY_SEPARABLE, ORTHOGONALLY_SEPARABLE

ASSUMPTION_3_2 = condition(
    "lyu2021:assumption3.2",
    "Assumption 3.2",
    LINEARLY_SEPARABLE,
    r"some $w$ has $y_i \langle w, x_i\rangle \ge 1$ for all $i$",
)
DEF_3_3 = definition(
    "lyu2021:def3.3", "Def. 3.3", linear_separator, r"the max-margin linear separator $w^*$ and its margin $\gamma^*$"
)
ALG_1 = ours(
    "lyu2021:alg1",
    "Def. 3.3, how it is computed",
    hard_margin,
    "the point of least norm in the hull of the $y_i x_i$, with its multipliers and duality gap",
)
ALG_2 = ours(
    "lyu2021:alg2",
    "Def. B.8, how it is tested",
    kkt_certificate,
    "multipliers and slopes of a KKT direction by a linear program, with the residual recomputed",
)
ASSUMPTION_4_1 = condition(
    "lyu2021:assumption4.1", "Assumption 4.1", SYMMETRIC_SAMPLES, "with $(x, y)$ the data hold $(-x, -y)$"
)
ASSUMPTION_4_5 = condition(
    "lyu2021:assumption4.5", "Assumption 4.5", MEAN_OFF_BOUNDARIES, r"$\langle\mu, x_i\rangle \ne 0$ for all $i$"
)
ASSUMPTION_4_6 = condition(
    "lyu2021:assumption4.6",
    "Assumption 4.6",
    NON_BRANCHING,
    "the flow near the aligned networks is unique; on a run, no ridge is met",
)
DEF_B_6 = definition("lyu2021:defB.6", "Def. B.6", kkt_certificate, "KKT points of a locally Lipschitz program")
DEF_B_7 = definition("lyu2021:defB.7", "Def. B.7", kkt_certificate, "KKT directions of a homogeneous network")
DEF_B_8 = definition("lyu2021:defB.8", "Def. B.8", kkt_certificate, "KKT directions of the two-layer network")
ALG_3 = ours("lyu2021:alg3", "problem (M)", network_margin, "the largest margin of any network, from both sides")
ALG_5 = ours("lyu2021:alg5", "App. A.2", hinted, "hinted datasets and what Theorem 6.2 asks of them")
ALG_7 = ours(
    "lyu2021:alg7",
    "Assumption A.5, how it is tested",
    opposite_sign_margin,
    "$V$ of Assumption A.5 and $V^*$ of its repair",
)
DEF_6_1 = condition("lyu2021:def6.1", "Definition 6.1", HINTED, "three hints added to a separable set")
ASSUMPTION_A_1 = condition(
    "lyu2021:assumptionA.1", "Assumption A.1", PRINCIPAL_DIRECTION, "a direction dominates every sample"
)
ASSUMPTION_A_2 = condition(
    "lyu2021:assumptionA.2", "Assumption A.2", A_2, "every pull of a small network classifies every sample"
)
ASSUMPTION_A_3 = condition("lyu2021:assumptionA.3", "Assumption A.3", A_3, r"$|\mu^+| > |\mu^-|$")
ASSUMPTION_A_5 = condition(
    "lyu2021:assumptionA.5", "Assumption A.5", A_5, "as printed; it does not suffice for Theorem A.7 (erratum E4)"
)
ASSUMPTION_A_5_STAR = ours(
    "lyu2021:assumptionA.5*",
    "Assumption A.5*",
    opposite_networks,
    "the repair of A.5 (erratum E4); `reluflow diagnose` judges it as `lyu-a5-star`",
)
ASSUMPTION_A_6 = condition(
    "lyu2021:assumptionA.6", "Assumption A.6", NON_BRANCHING, "the flow near aligned networks is unique"
)
ASSUMPTION_A_8 = condition("lyu2021:assumptionA.8", "Assumption A.8", A_8, r"$|\mu^+| < |\mu^-|$")
ASSUMPTION_A_9 = condition("lyu2021:assumptionA.9", "Assumption A.9", A_9, "A.5* with the signs exchanged (erratum E5)")
DEF_H_1 = condition(
    "lyu2021:defH.1",
    "Definition H.1",
    ORTHOGONALLY_SEPARABLE,
    "inner products positive within a class, at most 0 across",
)
