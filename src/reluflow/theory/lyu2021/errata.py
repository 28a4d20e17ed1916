"""Errata of Lyu, Li, Wang & Arora (2021), arXiv v3 [lyu2021]."""

from __future__ import annotations

from reluflow.theory.erratum import errata_table
from reluflow.theory.lyu2021.errata_cases import CASES

ERRATA = errata_table(
    "lyu2021",
    CASES,
    """
E1 | Sec. 5.1 | mu~ = ((1 + leak)/2) mu | ((1 + leak)/4) mu, so lambda_0 = ((1 + leak)/4) |mu|
E2 | App. G | the subgradient of G on C is mu^+ | mu^+/2, and lambda_0^+ = |mu^+|/2; kappa is unaffected
E3 | Thm 5.5 | (1/4)(w*, -w*, 1, -1) | (1/2)(w*, -w*, 1, -1), of norm 1
E4 | Thms A.7 and G.11 | Assumption A.5 | A.5*: the dual multipliers of w^+ themselves must give V* < gamma^+/2; on
    three points A.5 holds and the flow tends to a two-neuron network of margin 0.66087 instead of 1/2
E5 | Thm A.10, A.9 | a_k <= 0 | a_k >= 0, with the mirrored A.6 and A.5*; w^- lacks an index
E6 | Thm 6.2, Lemma A.4, Thm G.9 | gamma^+/2 is a suboptimal margin | for m >= 3 exactly if K > eps sqrt((3 + leak)/(1
    - leak)); for m = 1 it is optimal among a_1 >= 0
E7 | G.3, G.4 | the excluded rays are +mu^- and -mu^+ | -mu^- for a > 0 and +mu^+ for a < 0
E8 | App. A, G.1 | x_i^- is defined as x_i^+ | with the slopes exchanged
E9 | Lemma 5.2 | a constant C for every r | C = 4/lambda_0 + sqrt 2, for r <= sqrt(lambda_0)/2
E10 | Lemmas 5.2, 5.4, E.8 | theta-hat = (b_+, b_+ mu-bar, ...) | (b_+ mu-bar, b_- mu-bar, b_+, b_-)
E11 | Thm 6.2, A.7, A.10, App. G | probability 1 - delta over D_init | 1 - 2^-m over the balanced draw
E12 | Thm H.2, Lemma H.3 | w_k/a_k; f = phi + phi; |theta|^2 = |w^+| + |w^-| | w_k/|a_k|; phi(<x, w^+>) - phi(<x,
    w^->); 2(|w^+| + |w^-|)
E13 | Lemma B.20 | sum(1 - e^(-l_i)) >= 1 - e^(-max l) >= 1 - e^(-nL) | the second step goes the wrong way; 1 - prod(1
    - g_i) <= sum g_i serves
E14 | Thm B.19 | rate c^2 (leak gamma*/2n)^2 | c (leak gamma*/2n)^2, with w* of norm 1
E15 | App. A, G.1 | A.1 is weaker than A.2 | it is stronger; the half-angle is an arctan
E16 | G.4, G.5, G.7 | sqrt(eps/m), max for min, C_1, the window | sqrt(eps/(2m)), min, C_1 = sigma_max/r_max^3, the
    window begins at T0
E17 | F.2, Thm 5.5 | u_2 = -a_2 w_2, (1 - gamma*)/2, max | a_2 w_2, (1 - leak)/2, min, and eps at most arccos((1 +
    leak)/2)
E18 | F.9, (47), (54) | signs and powers of L and n | minus, 2|tangential|, no extra L, l^(-1)(nL)
E19 | I.2 | for all starts, by Thm B.19 | for balanced ones, by Cor. B.18
E20 | Table 1 | the net converges to the max-margin linear classifier | approximately: data not symmetric
""",
)
