"""Errata of Phuong & Lampert (2021), ICLR version [phuong2021]."""

from __future__ import annotations

from reluflow.theory.erratum import errata_table
from reluflow.theory.phuong2021.errata_cases import CASES

ERRATA = errata_table(
    "phuong2021",
    CASES,
    """
P1 | Lemma A.4, Eq. (58) | a^2 grows at most like exp(nBVt) | exp(2nBVt)
P2 | Eq. (80) | y_i <w_-, x_i> > 0 for y_i = -1 | <w_-, x_i> > 0
P3 | Lemma 2, proof | moving along a positive sample raises G | only where G > 0; where G < 0 move against the sum of
    the active negative samples. The statement stands
P4 | Lemma 2, proof | some maximum is strict or G is constant | the maximum is explicit and strict
P5 | Eqs. (13), (14) | case 0 | empty under the span assumption
P6 | Sec. 2 | orthogonally separable means opposite orthants | sufficient, not necessary, for d >= 3
P7 | Thm 1 | probability 1 - 2^-p | at least; u and z are normalised as in P16
P8 | Sec. 2 | any loss of the kind described | the lemmas; Theorem 1 needs an exponential tail
P9 | Lemma A.2, proof | Eq. (47) | Eq. (39)
P10 | Lemma A.1, proof | sigma-hat in S | w-hat in S
P11 | Eq. (90) | L_theta, indices mixed | the activation diagonal I_theta(x_i)
P12 | Def. 1 | a region in input space | in weight space
P13 | Fig. 1 | the setting of the theorem | the span assumption fails and the start is not balanced
P14 | Sec. 5.1 | all but two singular values are zero | the third is the initial noise
P15 | Sec. 3.1 | small lambda is crucial | for finite times; for the limit it seems not to be
P16 | Eqs. (10), (70) | constants u and z | 1/(2(|w_+| + |w_-|)) each
""",
)
