"""Lee, Sim & Ye (2022), every result with numerical content, in the paper's order [lee2022]."""

from __future__ import annotations

from reluflow.theory.lee2022.deep_results import PROP_3_5, PROP_3_6, THEOREM_3_7, THEOREM_3_8, THEOREM_3_9
from reluflow.theory.lee2022.descent_results import COROLLARY_4_3, THEOREM_4_2, THEOREM_A_1, THEOREM_A_2, THEOREM_A_3
from reluflow.theory.lee2022.euler_results import LEMMA_C_2, THEOREM_4_1
from reluflow.theory.lee2022.gaussian_results import LEMMA_2_1, PROP_B_1, PROP_B_2, PROP_C_1
from reluflow.theory.lee2022.one_layer_results import EQUATION_8, PROP_3_1, THEOREM_3_2, THEOREM_3_3, THEOREM_3_4
from reluflow.theory.lee2022.phase_results import APPENDIX_D_1, EQUATION_11, SECTION_5_2
from reluflow.theory.registry import Elsewhere
from reluflow.theory.theorem import Theorem

_NEURON = "reluflow.single_neuron"
_TESTS = "tests/single_neuron"


def _part(equation: int, containing: str, note: str, file: str = "test_flow_results.py") -> Elsewhere:
    test = f"tests/theory/lee2022/{file}"
    return Elsewhere(f"lee2022:eq{equation}", f"Eq. ({equation})", "part", f"lee2022:{containing}", note, test)


RESULTS: tuple[Theorem | Elsewhere, ...] = (
    Elsewhere(
        "lee2022:eq1",
        "Eq. (1)",
        "definition",
        f"{_NEURON}.population_loss",
        "the population loss in closed form",
        f"{_TESTS}/test_population.py",
    ),
    Elsewhere(
        "lee2022:eq2",
        "Eq. (2)",
        "definition",
        f"{_NEURON}.parameter_flow",
        "the gradient flow of all parameters",
        f"{_TESTS}/test_flows.py",
    ),
    Elsewhere(
        "lee2022:eq3",
        "Eq. (3)",
        "definition",
        f"{_NEURON}.population_descent",
        "gradient descent on the population loss",
        f"{_TESTS}/test_descent.py",
    ),
    LEMMA_2_1,
    PROP_3_1,
    _part(4, "prop3.1", "dw/dt for q = 0 as an expectation"),
    _part(5, "prop3.1", "dw/dt for q = 0 with the expectations of Lemma 2.1"),
    _part(6, "prop3.1", "d|w|/dt for q = 0"),
    _part(7, "prop3.1", "dphi/dt for q = 0"),
    THEOREM_3_2,
    THEOREM_3_3,
    EQUATION_8,
    THEOREM_3_4,
    PROP_3_5,
    PROP_3_6,
    _part(9, "prop3.6", "dv/dt of a balanced neuron"),
    _part(10, "prop3.6", "dphi/dt of a balanced neuron"),
    THEOREM_3_7,
    EQUATION_11,
    THEOREM_3_8,
    THEOREM_3_9,
    THEOREM_4_1,
    _part(12, "thm4.1", "Euler's method up to O(T eta^2)", "test_euler_results.py"),
    THEOREM_4_2,
    COROLLARY_4_3,
    SECTION_5_2,
    THEOREM_A_1,
    THEOREM_A_2,
    THEOREM_A_3,
    PROP_B_1,
    PROP_B_2,
    PROP_C_1,
    LEMMA_C_2,
    APPENDIX_D_1,
)
