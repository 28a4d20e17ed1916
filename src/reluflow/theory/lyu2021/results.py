"""Lyu, Li, Wang & Arora (2021): every result with numerical content, in the paper's order [lyu2021].

A key alone is a theorem of this folder; else key, locator, status, place and note, as in `registry.results_table`.
"""

from __future__ import annotations

from reluflow.theory.registry import results_table

RESULTS = results_table(
    "lyu2021",
    r"""
data-scaling
thm3.1
problemM
problemP | Sec. 3, (P) | part | problemM | least norm subject to q_i >= 1; equivalent to (M)
assumption3.2 | Assumption 3.2 | condition | linearly-separable | some w has y_i <w, x_i> >= 1 for all i
def3.3 | Def. 3.3 | definition | certificates.hard_margin.linear_separator | the max-margin linear separator w*
    and its margin gamma*
alg1 | Def. 3.3, how it is computed | ours | certificates.hard_margin.hard_margin | the point of least norm
    in the hull of the y_i x_i, with its multipliers and duality gap
alg2 | Def. B.8, how it is tested | ours | certificates.kkt.kkt_certificate | multipliers and slopes of a
    KKT direction by a linear program, with the residual recomputed
assumption4.1 | Assumption 4.1 | condition | symmetric | with (x, y) the data hold (-x, -y)
thm4.2
thm4.3
cor4.4
assumption4.5 | Assumption 4.5 | condition | lyu-4.5 | <mu, x_i> != 0 for all i
assumption4.6 | Assumption 4.6 | condition | non-branching | the flow near the aligned networks is unique; on a
    run, no ridge is met
eq2
eq3
def5.1 | Def. 5.1 | definition | theory.lyu2021.unit_ball.m_norm | |theta|_M = max over neurons of max(|w_k|, |a_k|)
lemma5.2
good-embedding | Sec. 5.2, good embedding vector | definition | theory.lyu2021.symmetric_flow.is_good_embedding |
    no entry is zero and both signs occur
embedding | Sec. 5.2, embedding pi_b | definition | theory.lyu2021.symmetric_flow.embed | two neurons spread over
    m in the ratios b_k/b_+ and b_k/b_-
lemma5.3
lemma5.4
eq4 | Eq. (4) | part | lemma5.4 | theta~(t) = lim phi(r theta-hat, T2(r) + t) exists and is not zero
eq5 | Eq. (5) | part | lemma5.4 | theta(T12 + t) tends to pi_b(theta~(t))
thm5.5
thm5.6
lemmaB.1
thmB.2
thmB.3
lemmaB.4
lemmaB.5
defB.6 | Def. B.6 | definition | certificates.kkt.kkt_certificate | KKT points of a locally Lipschitz program
defB.7 | Def. B.7 | definition | certificates.kkt.kkt_certificate | KKT directions of a homogeneous network
defB.8 | Def. B.8 | definition | certificates.kkt.kkt_certificate | KKT directions of the two-layer network
lemmaB.9
lemmaB.10
lemmaB.11
lemmaB.12
corB.13
lemmaB.14
lemmaB.15
lemmaB.16
lemmaB.17
corB.18
thmB.19
lemmaB.20
appC
lemmaD.1
lemmaD.2
lemmaE.1
lemmaE.2
defE.3 | Def. E.3 | definition | theory.lyu2021.phase_two.is_well_aligned | well-aligned: active neurons maximise
    |G| and are balanced, the others are zero
eq14 | Eq. (14) | definition | theory.lyu2021.phase_two.threshold_time | t0, up to which Theorem E.4 speaks
thmE.4
lemmaE.5
lemmaE.6
lemmaE.7
lemmaE.8
lemmaE.9
lemmaE.10
lemmaE.11
alg3 | problem (M) | ours | certificates.network_margin.network_margin | the largest margin of any network,
    from both sides
alg4 | App. G.1 | ours | theory.lyu2021.early_constants.CorrectCone | the cones C_delta and K^eps, delta,
    eps_1 and h_min
alg5 | App. A.2 | ours | data.published.lyu2021_hinted.hinted | hinted datasets and what Theorem 6.2 asks of
    them
alg6 | App. I.1.1 | ours | theory.lyu2021.closed_form_kkt.closed_form_direction | KKT directions in closed form
alg7 | Assumption A.5, how it is tested | ours | certificates.network_margin.opposite_sign_margin | V of Assumption A.5
    and V* of its repair
def6.1 | Definition 6.1 | condition | hinted | three hints added to a separable set
thm6.2
assumptionA.1 | Assumption A.1 | condition | principal-direction | a direction dominates every sample
assumptionA.2 | Assumption A.2 | condition | lyu-a2 | every pull of a small network classifies every sample
assumptionA.3 | Assumption A.3 | condition | lyu-a3 | |mu^+| > |mu^-|
lemmaA.4
assumptionA.5 | Assumption A.5 | condition | lyu-a5 | as printed; it does not suffice for Theorem A.7 (erratum E4)
assumptionA.5* | Assumption A.5* | ours | theory.lyu2021.conditions.negative_neurons_do_not_take_over | the repair of
    A.5 (erratum E4); `reluflow diagnose` judges it as `lyu-a5-star`
assumptionA.6 | Assumption A.6 | condition | non-branching | the flow near aligned networks is unique
thmA.7
assumptionA.8 | Assumption A.8 | condition | lyu-a8 | |mu^+| < |mu^-|
assumptionA.9 | Assumption A.9 | condition | lyu-a9 | A.5* with the signs exchanged (erratum E5)
thmA.10
lemmaF.1
lemmaF.2
lemmaF.3
appF.1
appF.2
appF.2.1
lemmaF.4 | Lemma F.4 | left out |  | existence only: the desingularising function is not named, so there is no
    number to check
lemmaF.5 | Lemma F.5 | left out |  | existence only: the desingularising function is not named, so there is no
    number to check
lemmaF.6
lemmaF.7 | Lemma F.7 | left out |  | finitely many asymptotic critical values: no number is given
lemmaF.8
thmF.9
lemmaF.10 | Lemma F.10 | left out |  | existence of one function for both regimes of Lemma F.11: nothing to compute
lemmaF.11
lemmaG.1
lemmaG.2
lemmaG.3
lemmaG.4
lemmaG.5
lemmaG.6
lemmaG.7
appG.4 | App. G.4 | definition | theory.lyu2021.one_sign_takes_over.extended_embedding | the embedding pi_b with
    zero entries
lemmaG.8
thmG.9
lemmaG.10
thmG.11
thmG.12 | Theorem G.12 | left out |  | Theorem A.7 along a sequence of scales; A.7 is judged at one scale, the
    limit is not taken
defH.1 | Definition H.1 | condition | orthogonally-separable | inner products > 0 within a class, <= 0 across
thmH.2
lemmaH.3
appI.1.1
appI.1.2
appI.2
""",
)
