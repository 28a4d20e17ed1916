"""Errata of Chistikov, Englert & Lazic (2023), long version (arXiv 2306.06479) [chistikov2023]."""

from __future__ import annotations

from reluflow.theory.chistikov2023.errata_cases import CASES
from reluflow.theory.erratum import errata_table

ERRATA = errata_table(
    "chistikov2023",
    CASES,
    """
E1 | Lemma 32(ii), proof | |V(T_1)| is of order lambda | of order lambda^2; the chain then gives 8 + eps, but norms
    grow at eta_1 or more, and 4 + eps stands
E2 | Lemma 34, proof | |g| <= eta_1 exp(-5 |gamma| (t - T_2)/8), from Lemma 28(ix) | (ix) bounds the distance from
    below; |g| <= sqrt(2 eta_1 L) and Lemma 32 give the decay. The lemma stands
E3 | Theorem 7, proof | the integral of |dtheta/dt|^2 is finite, so there is a limit | with L <= C exp(-ct) the
    steps |theta(t + 1) - theta(t)| <= sqrt(L(t)) are summable
E4 | Prop. 26, proof | |V| <= r_1 |gamma|/eta_1 in S_1 | |V| <= r_1; the constant is then eta_d^2 nu_d*^2/(2 eta_1
    |gamma|). Whether the printed one holds is open
E5 | Prop. 27, proof | r_k > eta_k/(2 eta_1) for k >= l >= 2 | r_k > eta_k/(4 eta_{l-1}); the conclusion stands
E6 | Example 37 | families that satisfy the assumptions of Theorem 8 | both break Assumption 1(iii); the proof of
    Theorem 8 needs 1(i) alone, and other data satisfy all
E7 | Sec. 3 | the bound on lambda is polynomial in m | for fixed delta; delta is a minimum over neurons and falls
    with m
E8 | Sec. 8 | L with the factor 1/2 | the authors' code has none: time is 0.02 per iteration and training stops at L
    = 5e-10
E9 | Sec. 8 | the distance of v* and mu is sqrt(rho) = 0.644 | that of x_0; of v* it is 0.564
E10 | Lemma 28(ix), proof | first power of |v* - V| | second power
E11 | Lemma 28, proof, Xi | |f| = (1 + lambda^(eps/3)) |V| |g| | at most; the minimum is over all k
E12 | Theorem 7, proof; Prop. 17(i) | a_j = |w_j|; max |x_i|^2 = Delta^2 | |a_j| = |w_j|; at most
E13 | Fig. 10 | groups by the first teacher | by the sign of the output weight, as the code has it
E14 | Tables 1 to 12 | angles below 4e-6 degrees | the floor of arccos in doubles
E15 | Table 8 | medians for m = 25, uncentred | equal to four digits to those of Table 7 for m = 200, centred, from
    4^-4 to 4^-10; perhaps a mix-up
""",
)
