"""Results on homogeneous nets and symmetric data: Sections 3 to 5, Appendices B to E [lyu2021]."""

from __future__ import annotations

from functools import partial

from reluflow.theory.lyu2021 import (
    embedding,
    flow_identities,
    homogeneous_nets,
    joint_limit,
    kkt_directions,
    late_phase,
    loss_to_zero,
    phase_one,
    phase_two,
    subgradient_bounds,
    symmetric_margin,
)
from reluflow.theory.registry import Elsewhere
from reluflow.theory.theorem import Theorem

_condition = partial(Elsewhere, status="condition", test="tests/theory/test_diagnosis.py")
_definition = partial(Elsewhere, status="definition")
_part = partial(Elsewhere, status="part")
_KKT = "reluflow.certificates.kkt.kkt_certificate"
_KKT_TEST = "tests/certificates/test_kkt.py"
_FLOW = "reluflow.theory.lyu2021.symmetric_flow"
_FLOW_TEST = "tests/theory/lyu2021/test_symmetric_flow.py"

RESULTS: tuple[Theorem | Elsewhere, ...] = (
    homogeneous_nets.DATA_SCALING,
    kkt_directions.THEOREM_3_1,
    homogeneous_nets.PROBLEM_M,
    _part(
        "lyu2021:problemP",
        "Sec. 3, (P)",
        where="lyu2021:problemM",
        note="least norm subject to q_i >= 1; equivalent to (M)",
        test="tests/theory/lyu2021/test_homogeneous_nets.py",
    ),
    _condition(
        "lyu2021:assumption3.2",
        "Assumption 3.2",
        where="linearly-separable",
        note="some w has y_i <w, x_i> >= 1 for all i",
    ),
    _definition(
        "lyu2021:def3.3",
        "Def. 3.3",
        where="reluflow.certificates.hard_margin.linear_separator",
        note="the max-margin linear separator w* and its margin gamma*",
        test="tests/certificates/test_hard_margin.py",
    ),
    _definition(
        "lyu2021:alg1",
        "Def. 3.3, how it is computed",
        where="reluflow.certificates.hard_margin.hard_margin",
        note="the point of least norm in the hull of the y_i x_i, with its multipliers and duality gap",
        test="tests/certificates/test_hard_margin.py",
    ),
    _definition(
        "lyu2021:alg2",
        "Def. B.8, how it is tested",
        where=_KKT,
        note="multipliers and slopes of a KKT direction by a linear program, with the residual recomputed",
        test=_KKT_TEST,
    ),
    _condition("lyu2021:assumption4.1", "Assumption 4.1", where="symmetric", note="with (x, y) the data hold (-x, -y)"),
    symmetric_margin.THEOREM_4_2,
    symmetric_margin.THEOREM_4_3,
    symmetric_margin.COROLLARY_4_4,
    _condition("lyu2021:assumption4.5", "Assumption 4.5", where="lyu-4.5", note="<mu, x_i> != 0 for all i"),
    _condition(
        "lyu2021:assumption4.6",
        "Assumption 4.6",
        where="non-branching",
        note="the flow near the aligned networks is unique; on a run, no ridge is met",
    ),
    subgradient_bounds.EQUATION_2,
    phase_one.EQUATION_3,
    _definition(
        "lyu2021:def5.1",
        "Def. 5.1",
        where="reluflow.theory.lyu2021.unit_ball.m_norm",
        note="|theta|_M = max over neurons of max(|w_k|, |a_k|)",
        test="tests/theory/lyu2021/test_unit_ball.py",
    ),
    phase_one.LEMMA_5_2,
    _definition(
        "lyu2021:good-embedding",
        "Sec. 5.2, good embedding vector",
        where=f"{_FLOW}.is_good_embedding",
        note="no entry is zero and both signs occur",
        test=_FLOW_TEST,
    ),
    _definition(
        "lyu2021:embedding",
        "Sec. 5.2, embedding pi_b",
        where=f"{_FLOW}.embed",
        note="two neurons spread over m in the ratios b_k/b_+ and b_k/b_-",
        test=_FLOW_TEST,
    ),
    embedding.LEMMA_5_3,
    joint_limit.LEMMA_5_4,
    _part(
        "lyu2021:eq4",
        "Eq. (4)",
        where="lyu2021:lemma5.4",
        note="theta~(t) = lim phi(r theta-hat, T2(r) + t) exists and is not zero",
        test="tests/theory/lyu2021/test_joint_limit.py",
    ),
    _part(
        "lyu2021:eq5",
        "Eq. (5)",
        where="lyu2021:lemma5.4",
        note="theta(T12 + t) tends to pi_b(theta~(t))",
        test="tests/theory/lyu2021/test_joint_limit.py",
    ),
    late_phase.THEOREM_5_5,
    late_phase.THEOREM_5_6,
    loss_to_zero.LEMMA_B1,
    homogeneous_nets.THEOREM_B2,
    homogeneous_nets.THEOREM_B3,
    homogeneous_nets.LEMMA_B4,
    homogeneous_nets.LEMMA_B5,
    _definition(
        "lyu2021:defB.6", "Def. B.6", where=_KKT, note="KKT points of a locally Lipschitz program", test=_KKT_TEST
    ),
    _definition(
        "lyu2021:defB.7", "Def. B.7", where=_KKT, note="KKT directions of a homogeneous network", test=_KKT_TEST
    ),
    _definition(
        "lyu2021:defB.8", "Def. B.8", where=_KKT, note="KKT directions of the two-layer network", test=_KKT_TEST
    ),
    kkt_directions.LEMMA_B9,
    subgradient_bounds.LEMMA_B10,
    subgradient_bounds.LEMMA_B11,
    subgradient_bounds.LEMMA_B12,
    subgradient_bounds.COROLLARY_B13,
    subgradient_bounds.LEMMA_B14,
    flow_identities.LEMMA_B15,
    flow_identities.LEMMA_B16,
    flow_identities.LEMMA_B17,
    flow_identities.COROLLARY_B18,
    loss_to_zero.THEOREM_B19,
    loss_to_zero.LEMMA_B20,
    symmetric_margin.APPENDIX_C,
    phase_one.LEMMA_D1,
    phase_one.LEMMA_D2,
    embedding.LEMMA_E1,
    embedding.LEMMA_E2,
    _definition(
        "lyu2021:defE.3",
        "Def. E.3",
        where="reluflow.theory.lyu2021.phase_two.is_well_aligned",
        note="well-aligned: active neurons maximise |G| and are balanced, the others are zero",
        test="tests/theory/lyu2021/test_phase_two.py",
    ),
    _definition(
        "lyu2021:eq14",
        "Eq. (14)",
        where="reluflow.theory.lyu2021.phase_two.threshold_time",
        note="t0, up to which Theorem E.4 speaks",
        test="tests/theory/lyu2021/test_phase_two.py",
    ),
    phase_two.THEOREM_E4,
    phase_two.LEMMA_E5,
    phase_two.LEMMA_E6,
    phase_one.LEMMA_E7,
    joint_limit.LEMMA_E8,
    joint_limit.LEMMA_E9,
    subgradient_bounds.LEMMA_E10,
    joint_limit.LEMMA_E11,
)
