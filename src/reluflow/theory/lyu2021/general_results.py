"""Results on phase III and non-symmetric data: Section 6, Appendices A and F to I [lyu2021]."""

from __future__ import annotations

from reluflow.theory.lyu2021.arc_length import LEMMA_F_11
from reluflow.theory.lyu2021.boundaries import APPENDIX_I_2
from reluflow.theory.lyu2021.closed_form_kkt import APPENDIX_I_1_1, APPENDIX_I_1_2
from reluflow.theory.lyu2021.cones_of_appendix_g import LEMMA_G_1, LEMMA_G_2
from reluflow.theory.lyu2021.entering_the_cone import LEMMA_G_3, LEMMA_G_4
from reluflow.theory.lyu2021.growth_in_the_cone import LEMMA_G_5, LEMMA_G_6, LEMMA_G_7
from reluflow.theory.lyu2021.hinted import THEOREM_6_2
from reluflow.theory.lyu2021.margin_growth import LEMMA_F_6, LEMMA_F_8, THEOREM_F_9
from reluflow.theory.lyu2021.non_symmetric_limit import THEOREM_A_7, THEOREM_A_10
from reluflow.theory.lyu2021.one_neuron import LEMMA_A_4, LEMMA_G_10, THEOREM_G_9
from reluflow.theory.lyu2021.one_sign_takes_over import LEMMA_G_8, THEOREM_G_11
from reluflow.theory.lyu2021.orthogonally_separable_kkt import LEMMA_H_3, THEOREM_H_2
from reluflow.theory.lyu2021.smoothed_margin import QUOTED_BOUNDS, SMOOTHED_MARGIN
from reluflow.theory.lyu2021.two_neurons import ANGLES, LEMMA_F_1, LEMMA_F_2, LEMMA_F_3
from reluflow.theory.registry import Elsewhere
from reluflow.theory.theorem import Theorem

_TESTS = "tests/theory/lyu2021"
_EXISTENCE = "existence only: the desingularising function is not named, so there is no number to check"


def _definition(result: str, locator: str, where: str, note: str, test: str) -> Elsewhere:
    return Elsewhere(f"lyu2021:{result}", locator, "definition", where, note, f"{_TESTS}/{test}")


def _condition(result: str, where: str, note: str) -> Elsewhere:
    locator = result.replace("assumption", "Assumption ").replace("def", "Definition ")
    return Elsewhere(
        f"lyu2021:{result}", locator, "condition", where, note, f"{_TESTS}/test_non_symmetric_conditions.py"
    )


RESULTS: tuple[Theorem | Elsewhere, ...] = (
    _definition(
        "alg3",
        "problem (M)",
        "reluflow.certificates.network_margin.network_margin",
        "the largest margin of any network, from both sides",
        "test_hinted.py",
    ),
    _definition(
        "alg4",
        "App. G.1",
        "reluflow.theory.lyu2021.early_constants.CorrectCone",
        "the cones C_delta and K^eps, delta, eps_1 and h_min",
        "test_early_constants.py",
    ),
    _definition(
        "alg5",
        "App. A.2",
        "reluflow.data.published.lyu2021_hinted.hinted",
        "hinted datasets and what Theorem 6.2 asks of them",
        "test_hinted.py",
    ),
    _definition(
        "alg6",
        "App. I.1.1",
        "reluflow.theory.lyu2021.closed_form_kkt.closed_form_direction",
        "KKT directions in closed form",
        "test_closed_form_kkt.py",
    ),
    _definition(
        "alg7",
        "Assumption A.5",
        "reluflow.certificates.network_margin.opposite_sign_margin",
        "V of Assumption A.5 and V* of its repair",
        "test_non_symmetric_conditions.py",
    ),
    _condition("def6.1", "hinted", "three hints added to a separable set"),
    THEOREM_6_2,
    _condition("assumptionA.1", "principal-direction", "a direction dominates every sample"),
    _condition("assumptionA.2", "lyu-a2", "every pull of a small network classifies every sample"),
    _condition("assumptionA.3", "lyu-a3", "|mu^+| > |mu^-|"),
    LEMMA_A_4,
    _condition("assumptionA.5", "lyu-a5", "as printed; it does not suffice for Theorem A.7 (erratum E4)"),
    _condition("assumptionA.5*", "lyu-a5-star", "the repair of A.5 (erratum E4)"),
    _condition("assumptionA.6", "non-branching", "the flow near aligned networks is unique"),
    THEOREM_A_7,
    _condition("assumptionA.8", "lyu-a8", "|mu^+| < |mu^-|"),
    _condition("assumptionA.9", "lyu-a9", "A.5* with the signs exchanged (erratum E5)"),
    THEOREM_A_10,
    LEMMA_F_1,
    LEMMA_F_2,
    LEMMA_F_3,
    ANGLES,
    SMOOTHED_MARGIN,
    QUOTED_BOUNDS,
    Elsewhere("lyu2021:lemmaF.4", "Lemma F.4", "left out", "", _EXISTENCE),
    Elsewhere("lyu2021:lemmaF.5", "Lemma F.5", "left out", "", _EXISTENCE),
    LEMMA_F_6,
    Elsewhere(
        "lyu2021:lemmaF.7", "Lemma F.7", "left out", "", "finitely many asymptotic critical values: no number is given"
    ),
    LEMMA_F_8,
    THEOREM_F_9,
    Elsewhere(
        "lyu2021:lemmaF.10",
        "Lemma F.10",
        "part",
        "lyu2021:lemmaF.11",
        "existence of one function for both regimes; its threshold is among the constants there",
        f"{_TESTS}/test_arc_length.py",
    ),
    LEMMA_F_11,
    LEMMA_G_1,
    LEMMA_G_2,
    LEMMA_G_3,
    LEMMA_G_4,
    LEMMA_G_5,
    LEMMA_G_6,
    LEMMA_G_7,
    _definition(
        "appG.4",
        "App. G.4",
        "reluflow.theory.lyu2021.one_sign_takes_over.extended_embedding",
        "the embedding pi_b with zero entries",
        "test_one_sign_takes_over.py",
    ),
    LEMMA_G_8,
    THEOREM_G_9,
    LEMMA_G_10,
    THEOREM_G_11,
    Elsewhere(
        "lyu2021:thmG.12",
        "Theorem G.12",
        "part",
        "lyu2021:thmA.7",
        "Theorem A.7 along a sequence of scales",
        f"{_TESTS}/test_non_symmetric_limit.py",
    ),
    _condition("defH.1", "orthogonally-separable", "inner products > 0 within a class, <= 0 across"),
    THEOREM_H_2,
    LEMMA_H_3,
    APPENDIX_I_1_1,
    APPENDIX_I_1_2,
    APPENDIX_I_2,
)
