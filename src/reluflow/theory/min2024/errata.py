"""Errata of Min, Mallada & Vidal (2024), ICLR version [min2024]."""

from __future__ import annotations

from reluflow.theory.erratum import errata_table
from reluflow.theory.min2024.errata_cases import CASES

ERRATA = errata_table(
    "min2024",
    CASES,
    """
E1 | App. C.2 | zeta = max(zeta_1, zeta_2) | the minimum: the cap must be inside S_- and hold no neuron
E2 | Eqs. (28), (29) | the factor 4 in (28) | 8, or the sharp form of Lemma 3: (29) is twice as strict
E3 | Thm 1, Eq. (30) | t_1 = O(log n/sqrt(mu)) | kappa <= mu^2 is hidden: t_1 is of order mu^(-5/2) log n; separation
    of variables gives mu^(-1/2) up to a logarithm of mu
E4 | Lemma 2 | ln(1 + exp(-y f)) | twice that: |force - y| <= 2|h| asks for a force of 1 at h = 0
E5 | Lemma 12 | (a) for any solution; (b), (c) argued in a circle | (a) for regular ones; (b), (c) by (7), (8)
E6 | App. C.2, paths | condition 2 with k_+ falling or k_- rising | both inequalities the other way
E7 | Eq. (30) | t_1 = 16 log n/(...) for every n | n >= 2: for n = 1 it is 0, which no neuron meets
E8 | Lemma 8, proof | x_+ = -x_- | not in general; -x_- in K serves, the statement stands
E9 | App. D.3 | the stable rank tends to 2 | its limit is at most 2/(1 + mu)
E10 | Eq. (37) | for every cosine | for cosines up to 1/3
E11 | App. E.5 | the set sign(a_j) = sign(a_j(0)) is closed | s_j a_j >= 0 is; a square is missing in (50)
""",
)
