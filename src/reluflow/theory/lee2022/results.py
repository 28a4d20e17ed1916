"""Lee, Sim & Ye (2022): every result with numerical content, in the paper's order [lee2022].

A key alone is a theorem of this folder; else key, locator, status, place and note, as in `registry.results_table`.
"""

from __future__ import annotations

from reluflow.theory.registry import results_table

RESULTS = results_table(
    "lee2022",
    r"""
eq1 | Eq. (1) | definition | single_neuron.population_loss | the population loss in closed form
eq2 | Eq. (2) | definition | single_neuron.parameter_flow | the gradient flow of all parameters
eq3 | Eq. (3) | definition | single_neuron.population_descent | gradient descent on the population loss
lemma2.1
prop3.1
eq4 | Eq. (4) | part | prop3.1 | dw/dt for q = 0 as an expectation
eq5 | Eq. (5) | part | prop3.1 | dw/dt for q = 0 with the expectations of Lemma 2.1
eq6 | Eq. (6) | part | prop3.1 | d|w|/dt for q = 0
eq7 | Eq. (7) | part | prop3.1 | dphi/dt for q = 0
thm3.2
thm3.3
eq8
thm3.4
prop3.5
prop3.6
eq9 | Eq. (9) | part | prop3.6 | dv/dt of a balanced neuron
eq10 | Eq. (10) | part | prop3.6 | dphi/dt of a balanced neuron
thm3.7
eq11
thm3.8
thm3.9
thm4.1
eq12 | Eq. (12) | part | thm4.1 | Euler's method up to O(T eta^2)
thm4.2
cor4.3
sec5.2
thmA.1
thmA.2
thmA.3
propB.1
propB.2
propC.1
lemmaC.2
appD.1
""",
)
