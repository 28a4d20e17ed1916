"""Min, Mallada & Vidal (2024): every result with numerical content, in the paper's order [min2024].

A key alone is a theorem of this folder; else key, locator, status, place and note, as in `registry.results_table`.
"""

from __future__ import annotations

from reluflow.theory.registry import results_table

RESULTS = results_table(
    "min2024",
    r"""
remark1
remark2
remark3 | Remark 3 | definition | theory.min2024.constants.start_norms | the bounds carry W_max and W_min of the
    unscaled start
eq4
extreme-vectors
assumption1 | Assumption 1 | condition | orthogonally-separable-strict | mu > 0
assumption2 | Assumption 2 | condition | min-a2 | of the drawn neurons, so judged with the start:
    `reluflow.theory.min2024.assumptions.ASSUMPTION_2`
def1
thm1
random-start
bounded-alignment-time | Sec. 3.2, why t_1 must be bounded | part | eq28 | t_1 <= T is the second term of (28)
refined-alignment
orthogonal-comparison
lemma1
eq7
eq8 | Eq. (8) | part | eq7 | the mirror image of (7) for negative neurons, checked with it
lemma2
remark4 | Remark 4 | condition | min-loss | Lemmas 1, 3, 4 hold for any loss that satisfies Lemma 2
lemma3
lemma4
remark5 | Remark 5 | part | lemma1 | Lemmas 1 to 4 hold for every leak; tried at leak 0.3 and 1
lemma5
lemma6
lemma7
lemma8
lemma9
lemma10
lemma11
eq26 | Eq. (26) | definition | theory.min2024.constants.proof_constants | zeta_2, and with it zeta, xi and kappa
    (erratum E1)
eq28
eq29
boundary-speed
dwell-time
paths
eq30
sharp-alignment
lemma12
lemma13
lemma14
lemma15
eq32
t2
rate
eq36 | Eq. (36) | part | eq39 | the bound on t_2^+ whose right-hand side (39) spells out
eq39
eq40
eq37
cosine-quarter
norm-growth
appD.3
eq41 | Eq. (41) | part | appD.3 | the conclusion eq41 of Appendix D.3
eq42 | Eq. (42) | part | appD.3 | the conclusion eq42 of Appendix D.3
eq43 | Eq. (43) | part | appD.3 | the conclusion eq43 of Appendix D.3
stable-rank
appE.1
appE.2
appE.3
appE.4
remark6 | Remark 6 | part | appE.4 | Filippov solutions have the same branches; the conclusion `filippov`
remark7 | Remark 7 | part | appE.2 | neurons drawn off the hyperplanes (`off-hyperplanes`) meet no branching point
    (`unbranched`)
remark8
eq50
appF
appA.5 | App. A.5 | definition | theory.min2024.two_phase_measures.direction_change | direction change, and norm
    change beside it
""",
)
