"""Boursier & Flammarion (2024): every result with numerical content, in the paper's order [boursier2024].

A key alone is a theorem of this folder; else key, locator, status, place and note, as in `registry.results_table`.
"""

from __future__ import annotations

from reluflow.theory.registry import results_table

RESULTS = results_table(
    "boursier2024",
    r"""
assumption1 | Assumption 1 | condition | boursier-a1 | the derivative of the loss is 1-Lipschitz and not 0 at h =
    0 (E1: the half-square loss, not the square)
eq5 | Eqs. (3) to (5) | definition | theory.boursier2024.neuron_states.log_lambda | the scale lambda, taken as the
    root of sum_j a_j(0)^2 so that Eq. (5) holds for every draw
eq6 | Eq. (6) | definition | dynamics.flow.event_driven.EventDrivenFlow | the flow of one neuron as a differential
    inclusion, with the shortest D where it slides
lemma1
assumption2 | Assumption 2 | condition | boursier-a2 | a law with densities; `general-position` and positive
    constants are its deterministic certificate
lemma2
def1 | Definition 1 | definition | geometry.extremal.extremal_vectors | a subgradient D != 0 in its own cone or in
    the opposite one; all of them, with their kinds
eq7
lemma3
condition1 | Condition 1 | definition | theory.boursier2024.neuron_states.satisfies_condition_1 | part (1), at the
    start; part (2) is looked at along the run
thm1
remark1
remark2
eq8
eq9 | Eq. (9) | part | lemma13 | the pattern does not change between t_2 and tau
eq17
eq19 | Eq. (19) | part | eq7 | the KKT condition of G on the sphere, mu w in its subdifferential, met at extremal
    directions
appD.1 | App. D.1 | definition | geometry.subgradient.minimum_norm_subgradient | D_u, the shortest element of the
    set of subgradients on a cone, and its slopes eta
eq20
eq21 | Eq. (21) | definition | geometry.thresholds.AlignmentConstants.delta_0 | delta_0 = min(delta_0', delta_0'')
eq22 | Eq. (22) | definition | geometry.thresholds.AlignmentConstants.log_lambda_star | ln lambda*, capped at 0;
    it depends on eps as well
eq23 | Eq. (23) | definition | geometry.thresholds.AlignmentConstants.alpha_min | the smaller of Eqs. (24) and (25)
eq24 | Eq. (24) | definition | geometry.thresholds.alignment_constants | alpha_min,+, over the cones that do not
    hold D_u
eq25 | Eq. (25) | definition | geometry.thresholds.alignment_constants | alpha_min,-, over the cones that do not
    hold -D_u (E5: as printed it is 0 on data with negative labels)
lemma9
lemma10
lemma11
appD.3
appD.4 | App. D.4 | definition | theory.boursier2024.critical_manifolds.cone_table | critical cones: those with
    D_u in them, in the opposite one, or 0
lemma12
eq29 | Eq. (29) | part | eq7 | at a maximum l'(0, y_k) > 0 for all samples on the cone's hyperplanes: the rule for
    the kinds
lemma13
lemma14
eq31 | Eq. (31) | part | eq32 | d(w/a)/dt = D - <w/a, D> w/a; its product with D, integrated, is Eq. (32)
eq32
eq33
eq34 | Eq. (34) | part | eq33 | the second way to end: opposite to D in a cone that is not the first
eq35 | Eq. (35) | part | eq32 | Eq. (32) after t_2, where D is constant
eq36
appD.7
eq37 | Eq. (37) | definition | geometry.thresholds.AlignmentConstants.log_c | ln c of Theorem 1's gap
condition2 | Condition 2 | definition | theory.boursier2024.neuron_states.satisfies_condition_2 | part (1), at the
    start; part (2) is the policy to stay where the flow is not unique
thm3
eq39
eq40 | Eq. (40) | definition | theory.boursier2024.early_alignment.log_c_with_saddles | ln c of Theorem 3's gap
remark4
remark5 | Remark 5 | part | lemma13 | without saddles Condition 2(2) is guaranteed up to tau: patterns are frozen
    once they can be
example1
eq38 | Eq. (38) | part | example1 | the inclusion of one neuron on one sample
assumption3 | Assumption 3 | condition | three-point-box | three points in a box of size eta
eq10 | Eq. (10) | part | thm2 | L = (1/2n) sum_k (h(x_k) - y_k)^2, the hypothesis `loss`
thm2
eq11 | Eq. (11) | part | thm2 | h = <beta*, x>, true on the cone of the data (E7)
remark3
lemma4
lemma5
lemma6
lemma7
sec5-nature
sec5-omnidirectional
sec5-unbalanced
sec5-width
assumption4 | Assumption 4 | condition | boursier-a4 | acute samples, positive labels, n >= d, independent
assumption5 | Assumption 5 | condition | boursier-a5 | a single active neuron stays active on all samples
assumption6 | Assumption 6, Eq. (12) | condition | boursier-a6 | no mixed neuron lowers the loss beside beta*
lemma8
eq13 | Eq. (13) | definition | theory.boursier2024.spurious_limit.middle_weights | x_2 from x_1, x_3
eq14 | Eq. (14) | part | lemma8 | signs of the residuals of the line
thm4
appB.2
appF | Appendix F, phases | definition | theory.boursier2024.phase_clock.phase_clock | tau, tau_2, tau_3, tau_4 on
    a run, with the clause that ended each phase (E10)
eq41 | Eq. (41) | part | lemma5 | slowest growth of a_i in Phase 2a
eq42 | Eq. (42) | part | lemma5 | shortest tau_2 - tau
eq43 | Eq. (43) | part | lemma5 | pairwise alignment at tau_2; its exponent is fitted
appF.2 | Appendix F.2, d<wbar_i, wbar_j>/dt | definition | theory.boursier2024.growth_lemmas.pair_drift | <D^t,
    wbar_i + wbar_j> (1 - <wbar_i, wbar_j>), kept as a_i a_j - <w_i, w_j> constant
lemma15
eq44 | Eq. (44) | definition | theory.boursier2024.spurious_constants.SpuriousConstants | `beta_44`, > 0 under
    Assumption 5
eq47 | Eq. (47) | definition | theory.boursier2024.fitting_lemmas.energy_speed | d|beta_I - beta*|_H^2/dt
eq48 | Eq. (48) | part | lemma6 | longest tau_3 - tau_2
lemma16
eq49 | Eq. (49) | definition | theory.boursier2024.spurious_constants.SpuriousConstants | `alpha_49`, least mean
    output of a unit neuron
lemma17
lemma18
lemma19
eq51 | Eq. (51) | definition | theory.boursier2024.spurious_constants.SpuriousConstants | `alpha_4`, with the
    adjacency of Assumption 6
eq52 | Eq. (52) | definition | theory.boursier2024.spurious_constants.mixed_descent_rate | c_4
lemma20
lemma21
eq59 | Eq. (59) | definition | theory.boursier2024.local_lemmas.bend_bound | L - L* against |b|_H^2/2
lemma22
lemma23
lemma24
cor1
""",
)
