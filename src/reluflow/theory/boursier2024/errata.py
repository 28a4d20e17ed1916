"""Errata of Boursier & Flammarion (2024), arXiv v3 [boursier2024]."""

from __future__ import annotations

from reluflow.theory.boursier2024.errata_cases import CASES
from reluflow.theory.erratum import errata_table

ERRATA = errata_table(
    "boursier2024",
    CASES,
    """
E1 | Sec. 2, Assumption 1 | (h - y)^2 is an instance | its derivative is 2-Lipschitz; (h - y)^2/2 is one
E2 | Thm 1(ii), Thm 3(ii) | lambda < lambda* of (22) puts every neuron with Condition 1 in an extremal cone at tau |
    also lambda <= exp(-4 D_max^2/(eps D_min^2 min(alpha_min, alpha_0)^2)), so that the neuron has arrived by tau
    (Theorem 3: the factor 2 and alpha_min alone)
E3 | Lemma 8, Thm 2 | eta < 1/6 gives Assumption 5 on the box of Assumption 3 | eta < 0.09765 does, and no more: at
    the worst corner it fails beyond
E4 | Thm 1(ii) | the exceptional neurons have w/|w| = -D/|D| | for a_j > 0; for a_j < 0 it is +D/|D|, so (w/a)/|w/a| =
    -D/|D| for both
E5 | Eq. (25) | alpha_min,- excludes cones that meet D_u | it must exclude cones with D_u in -M_u; as printed it is 0
    on generic data with negative labels
E6 | Eq. (20) | D_u = D~_u + Z_u eta, eta in R^n | D_u = D~_u - Z_u eta, eta in R^K(u)
E7 | Thms 2 and 4, Eq. (11) | h(x) = <beta*, x> for all x | on the cone of the data only: ReLU is not odd
E8 | Thms 2 and 4 | for any width m | some neuron must start positive and active on a sample; a draw has none with
    probability (1 - p)^m
E9 | Lemmas 20, 21, 23; (51), (52) | rate c_4; remainder with a plus; cross term without a factor; u_k' = +1 | rate
    c_4/2; minus; a factor 2 and the root gives c_4/8; u_k' = -1 and only adjacent samples
E10 | tau_3, Lemma 6 | the first clause sums over I and N | over I; and eps_2 <= eps_2~* is meant
E11 | Lemmas 5, 24, Cor. 1 | <w, x_k>; |a_i|; eps_4* | <w-bar, x_k>, for w is of order 1/sqrt(m); |a_i(tau_3)| on N;
    the square of eps_4*
E12 | Lemma 17, (44) | |v_ij| = O(lambda^eps), |x_k^2| | O(lambda^(eps/2)), and |x_k|^2 in the A-term
E13 | Sec. 3 | Theorem 1 covers orthogonal data | on exactly orthogonal samples eta is at its bound, delta_0 = 0 and
    lambda* = 0: nothing is said
E14 | Thm 1, Lemmas 12 and 13 | G has no saddle | a cone with D_u = 0 around which G takes both signs counts as one:
    `no-dead-saddle`
F1 | Remark 3 | the line is reached on similar data outside the box | not on all with Assumptions 4 and 6: without
    Assumption 5 neurons leave the all-active cone, and on three such points training ends 0.59 from the line at every
    scale
""",
)
