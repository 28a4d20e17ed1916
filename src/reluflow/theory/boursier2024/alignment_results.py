"""Results on early alignment: Sections 2 and 3, Appendices C to E [boursier2024]."""

from __future__ import annotations

from reluflow.theory.boursier2024 import alignment_inequalities as inequalities
from reluflow.theory.boursier2024 import alignment_remarks as remarks
from reluflow.theory.boursier2024 import critical_manifolds, critical_points, generic_data
from reluflow.theory.boursier2024.balancedness import LEMMA_1
from reluflow.theory.boursier2024.early_alignment import THEOREM_1, THEOREM_3
from reluflow.theory.registry import Elsewhere
from reluflow.theory.theorem import Theorem

_CONSTANTS = "reluflow.geometry.thresholds.AlignmentConstants"
_STATES = "reluflow.theory.boursier2024.neuron_states"
_TEST_OF_CONSTANTS = "tests/theory/boursier2024/test_alignment_constants.py"
_TEST_OF_STATES = "tests/theory/boursier2024/test_neuron_states.py"


def _definition(result: str, locator: str, where: str, note: str, test: str) -> Elsewhere:
    return Elsewhere(f"boursier2024:{result}", locator, "definition", where, note, test)


def _part(result: str, locator: str, of: str, note: str, test: str) -> Elsewhere:
    where = f"boursier2024:{of}"
    return Elsewhere(f"boursier2024:{result}", locator, "part", where, note, f"tests/theory/boursier2024/{test}.py")


RESULTS: tuple[Theorem | Elsewhere, ...] = (
    Elsewhere(
        "boursier2024:assumption1",
        "Assumption 1",
        "condition",
        "boursier-a1",
        "the derivative of the loss is 1-Lipschitz and not 0 at h = 0 (E1: the half-square loss, not the square)",
        "tests/theory/boursier2024/test_balancedness.py",
    ),
    _definition(
        "eq5",
        "Eqs. (3) to (5)",
        f"{_STATES}.log_lambda",
        "the scale lambda, taken as the root of sum_j a_j(0)^2 so that Eq. (5) holds for every draw",
        _TEST_OF_STATES,
    ),
    _definition(
        "eq6",
        "Eq. (6)",
        "reluflow.dynamics.flow.event_driven.EventDrivenFlow",
        "the flow of one neuron as a differential inclusion, with the shortest D where it slides",
        "tests/dynamics/flow/test_agreement.py",
    ),
    LEMMA_1,
    Elsewhere(
        "boursier2024:assumption2",
        "Assumption 2",
        "condition",
        "boursier-a2",
        "a law with densities; `general-position` and positive constants are its deterministic certificate",
        "tests/theory/boursier2024/test_generic_data.py",
    ),
    generic_data.LEMMA_2,
    _definition(
        "def1",
        "Definition 1",
        "reluflow.geometry.extremal.extremal_vectors",
        "a subgradient D != 0 in its own cone or in the opposite one; all of them, with their kinds",
        "tests/theory/boursier2024/test_critical_points.py",
    ),
    critical_points.EQUATION_7,
    generic_data.LEMMA_3,
    _definition(
        "condition1",
        "Condition 1",
        f"{_STATES}.satisfies_condition_1",
        "part (1), at the start; part (2) is looked at along the run",
        _TEST_OF_STATES,
    ),
    THEOREM_1,
    remarks.REMARK_1,
    remarks.REMARK_2,
    inequalities.EQUATION_8,
    _part(
        "eq9",
        "Eq. (9)",
        "lemma13",
        "the pattern does not change between t_2 and tau",
        "test_critical_manifolds",
    ),
    critical_points.EQUATION_17,
    _part(
        "eq19",
        "Eq. (19)",
        "eq7",
        "the KKT condition of G on the sphere, mu w in its subdifferential, met at extremal directions",
        "test_critical_points",
    ),
    _definition(
        "appD.1",
        "App. D.1",
        "reluflow.geometry.subgradient.minimum_norm_subgradient",
        "D_u, the shortest element of the set of subgradients on a cone, and its slopes eta",
        "tests/theory/boursier2024/test_critical_points.py",
    ),
    critical_points.EQUATION_20,
    _definition("eq21", "Eq. (21)", f"{_CONSTANTS}.delta_0", "delta_0 = min(delta_0', delta_0'')", _TEST_OF_CONSTANTS),
    _definition(
        "eq22",
        "Eq. (22)",
        f"{_CONSTANTS}.log_lambda_star",
        "ln lambda*, capped at 0; it depends on eps as well",
        _TEST_OF_CONSTANTS,
    ),
    _definition("eq23", "Eq. (23)", f"{_CONSTANTS}.alpha_min", "the smaller of Eqs. (24) and (25)", _TEST_OF_CONSTANTS),
    _definition(
        "eq24",
        "Eq. (24)",
        "reluflow.geometry.thresholds.alignment_constants",
        "alpha_min,+, over the cones that do not hold D_u",
        _TEST_OF_CONSTANTS,
    ),
    _definition(
        "eq25",
        "Eq. (25)",
        "reluflow.geometry.thresholds.alignment_constants",
        "alpha_min,-, over the cones that do not hold -D_u (E5: as printed it is 0 on data with negative labels)",
        _TEST_OF_CONSTANTS,
    ),
    generic_data.LEMMA_9,
    generic_data.LEMMA_10,
    critical_manifolds.LEMMA_11,
    inequalities.APPENDIX_D3,
    _definition(
        "appD.4",
        "App. D.4",
        "reluflow.theory.boursier2024.critical_manifolds.cone_table",
        "critical cones: those with D_u in them, in the opposite one, or 0",
        "tests/theory/boursier2024/test_critical_manifolds.py",
    ),
    critical_manifolds.LEMMA_12,
    _part(
        "eq29",
        "Eq. (29)",
        "eq7",
        "at a maximum l'(0, y_k) > 0 for all samples on the cone's hyperplanes: the rule for the kinds",
        "test_critical_points",
    ),
    critical_manifolds.LEMMA_13,
    critical_manifolds.LEMMA_14,
    _part(
        "eq31",
        "Eq. (31)",
        "eq32",
        "d(w/a)/dt = D - <w/a, D> w/a; its product with D, integrated, is Eq. (32)",
        "test_alignment_inequalities",
    ),
    inequalities.EQUATION_32,
    inequalities.EQUATION_33,
    _part(
        "eq34",
        "Eq. (34)",
        "eq33",
        "the second way to end: opposite to D in a cone that is not the first",
        "test_alignment_inequalities",
    ),
    _part("eq35", "Eq. (35)", "eq32", "Eq. (32) after t_2, where D is constant", "test_alignment_inequalities"),
    inequalities.EQUATION_36,
    remarks.ELEMENTARY_INEQUALITIES,
    _definition("eq37", "Eq. (37)", f"{_CONSTANTS}.log_c", "ln c of Theorem 1's gap", _TEST_OF_CONSTANTS),
    _definition(
        "condition2",
        "Condition 2",
        f"{_STATES}.satisfies_condition_2",
        "part (1), at the start; part (2) is the policy to stay where the flow is not unique",
        _TEST_OF_STATES,
    ),
    THEOREM_3,
    inequalities.EQUATION_39,
    _definition(
        "eq40",
        "Eq. (40)",
        "reluflow.theory.boursier2024.early_alignment.log_c_with_saddles",
        "ln c of Theorem 3's gap",
        _TEST_OF_CONSTANTS,
    ),
    remarks.REMARK_4,
    _part(
        "remark5",
        "Remark 5",
        "lemma13",
        "without saddles Condition 2(2) is guaranteed up to tau: patterns are frozen once they can be",
        "test_critical_manifolds",
    ),
    remarks.EXAMPLE_1,
    _part("eq38", "Eq. (38)", "example1", "the inclusion of one neuron on one sample", "test_alignment_remarks"),
)
