"""Errata of Lee, Sim & Ye (2022) [lee2022]."""

from __future__ import annotations

from reluflow.theory.erratum import errata_table
from reluflow.theory.lee2022.errata_cases import CASES

ERRATA = errata_table(
    "lee2022",
    CASES,
    """
E1 | Thm 3.8 | eps_0 in the v_0-term of both curves | the same eps in both terms of a curve
E2 | Eq. (8) | |w| < (1 - e^(-t/2)) v* for |w_0| near 0 | false near t = 0 for any start; late it holds exactly if pi
    cos phi_0 + sin phi_0 > 0
E3 | Eq. (15) | v^(q+1) + V(1 - eps) | minus: only it gives the printed 2F1 and Eq. (9)
E4 | Thm 4.1 | 1 - c eta M_1 M_2, c eta M_3/(2(2 - c eta)) | not a bound; its leading term is
E5 | Thm A.3 | strict bounds for descent | up to O(eta); the step must be small beside 1/v*^2
E6 | Thms 4.2, A.2 | (1 - 3 c eta)^T | (1 - c eta)^(3T)
E7 | Prop. B.2 | a full-rank covariance suffices | of the inputs on which the teacher is active
E8 | Prop. C.1 | one-sided, with a factor 2 | two-sided |cos|; one step is false for small d, not the end
E9 | Lemma C.2 | no condition on f and g | Lipschitz: f = g = sqrt|x| is a counterexample
E10 | App. D.1 | all bounds are convex | from below convex up to (qA/(2q+1))^(1/(q+1)), concave later
E11 | Sec. 5.2 | every large start has two phases | for q = 0 only if phi_0 v*/|w_0| + pi cos phi_0 + sin phi_0 > 0
E12 | App. D.3 | weights N(0, k) | k is the standard deviation
E13 | abstract | phi = pi theta | phi = pi - theta
E14 | Secs. 2, 3.2 | m > 1 layers, balance from k = 1 | q >= 1, with v_0 = |w| in the balance
E15 | Lemma 2.1 | the matrix of one indicator | of two indicators
E16 | Prop. 3.5 | dv_k/dt > 0 at v_k = 0 | it is 0 there; the limit from above serves
E17 | Figs. 1 to 3 | green and orange in the captions | exchanged: lower green, upper orange
E18 | Thm 3.3 and others | strict for all t | equality at t = 0
""",
)
