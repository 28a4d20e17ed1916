"""Chistikov, Englert & Lazic (2023): every named result, in the paper's order [chistikov2023].

A key alone is a theorem of this folder; else key, locator, status, place and note, as in `registry.results_table`.
"""

from __future__ import annotations

from reluflow.theory.registry import results_table

RESULTS = results_table(
    "chistikov2023",
    r"""
sec2 | Sec. 2 | condition | correlated-teacher | the standing assumption: all samples within 45 degrees of the teacher
prop1
asm1i | Assumption 1(i) | condition | chistikov-a1i | spanning samples and a unit teacher
asm1iii | Assumption 1(iii) | condition | chistikov-a1iii | generic directions, eigenvalues and teacher
asm1 | Assumption 1(ii), (iv) | definition | theory.chistikov2023.assumptions.ASSUMPTION_1 | on the start: hypotheses
    of every result below; (v) is what the flow does
delta | Sec. 3 | definition | theory.chistikov2023.scene.Scene.delta_terms | delta, the least of eleven numbers; Delta
asm2 | Assumption 2 | definition | theory.chistikov2023.scene.Scene.largest_log_scale | the scale, as a logarithm
prop2
lemma3
lemma4
lemma5
thm6
thm7
asm3 | Assumption 3 | part | thm8i | n = d, m > 1, M not 0
thm8i
thm8ii
prop9 | Prop. 9 | left out |  | dL/dt = -|dtheta/dt|^2, cited there from others
cor10 | Cor. 10 | left out |  | polar form of Prop. 1(i)
prop11 | Prop. 11 | left out |  | elementary facts on gamma_I and alpha, used by the recursion of Prop. 14
prop12 | Prop. 12 | left out |  | continuity and one-sided limits, used by the recursion of Prop. 14
prop13 | Prop. 13 | part | prop14 | the norm of a yardstick
prop14
cor15 | Cor. 15 | left out |  | Assumption 1(iv) fails for a null set of starts only
prop16
prop17
prop18
lemma19
claim20 | Claim 20 | part | lemma19 | outputs of the first phase
lemma21 | Lemma 21 | part | lemma3 | the long form of Lemma 3
prop22 | Prop. 22 | part | lemma5 | the last stage of a positive yardstick
lemma23 | Lemma 23 | part | lemma5 | the long form of Lemma 5; its (i) is left out
S | Sec. 5 | definition | theory.chistikov2023.bundle.Bundle.slack | the set S, with the slack of its constraints
prop24
prop25 | Prop. 25 | left out |  | on all points of S, not only those of a run
prop26 | Prop. 26 | left out |  | the printed constant has no proof (erratum E4)
prop27 | Prop. 27 | left out |  | on all points of S, not only those of a run (erratum E5)
lemma28
claim29 | Claims 29, 30 | left out |  | steps of the proof of Lemma 28
lemma32
lemma34
claim36
ex37 | Example 37, M < 0 | definition | data.published.chistikov2023.simplex | the dataset `chistikov-simplex`
ex37b | Example 37, M > 0 | definition | data.published.chistikov2023.fan | the dataset `chistikov-fan`
remark38
remark38i | Remark 38(i) | left out |  | a lower bound on the norm of interpolators that the dual of Theorem 8 sharpens
remark38iii | Remark 38(iii) | part | thm8i | Theorem 8 needs Assumption 1(i) only
""",
)
