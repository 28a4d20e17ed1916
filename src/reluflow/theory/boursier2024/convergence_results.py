"""Results on spurious convergence: Sections 4 and 5, Appendices A, B and F [boursier2024]."""

from __future__ import annotations

from reluflow.theory.boursier2024.aligned_lemmas import LEMMA_4, LEMMA_15
from reluflow.theory.boursier2024.confinement import COROLLARY_1, LEMMA_7, LEMMA_24
from reluflow.theory.boursier2024.fitting_bounds import LEMMA_16, LEMMA_17, LEMMA_18
from reluflow.theory.boursier2024.fitting_lemmas import LEMMA_6
from reluflow.theory.boursier2024.growth_lemmas import LEMMA_5
from reluflow.theory.boursier2024.local_lemmas import LEMMA_21, LEMMA_22, LEMMA_23
from reluflow.theory.boursier2024.mixed_lemmas import LEMMA_19, LEMMA_20
from reluflow.theory.boursier2024.omnidirectionality import NATURE, OMNIDIRECTIONALITY, UNBALANCED
from reluflow.theory.boursier2024.residual_forecast import APPENDIX_B_2
from reluflow.theory.boursier2024.spurious_limit import LEMMA_8, REMARK_3, THEOREM_2, THEOREM_4, WIDTH
from reluflow.theory.registry import Elsewhere
from reluflow.theory.theorem import Theorem

_ROOM = "reluflow.theory.boursier2024"
_TESTS = "tests/theory/boursier2024"


def _condition(result: str, locator: str, where: str, note: str) -> Elsewhere:
    return Elsewhere(f"boursier2024:{result}", locator, "condition", where, note, f"{_TESTS}/test_spurious_limit.py")


def _definition(result: str, locator: str, where: str, note: str, test: str) -> Elsewhere:
    return Elsewhere(f"boursier2024:{result}", locator, "definition", f"{_ROOM}.{where}", note, f"{_TESTS}/{test}")


def _part(result: str, locator: str, where: str, note: str, test: str) -> Elsewhere:
    return Elsewhere(f"boursier2024:{result}", locator, "part", f"boursier2024:{where}", note, f"{_TESTS}/{test}")


RESULTS: tuple[Theorem | Elsewhere, ...] = (
    _condition("assumption3", "Assumption 3", "three-point-box", "three points in a box of size eta"),
    _part("eq10", "Eq. (10)", "thm2", "L = (1/2n) sum (h - y)^2, the hypothesis `loss`", "test_spurious_limit.py"),
    THEOREM_2,
    _part("eq11", "Eq. (11)", "thm2", "h = <beta*, x>, true on the cone of the data (E7)", "test_spurious_limit.py"),
    REMARK_3,
    LEMMA_4,
    LEMMA_5,
    LEMMA_6,
    LEMMA_7,
    NATURE,
    OMNIDIRECTIONALITY,
    UNBALANCED,
    WIDTH,
    _condition("assumption4", "Assumption 4", "boursier-a4", "acute samples, positive labels, n >= d, independent"),
    _condition("assumption5", "Assumption 5", "boursier-a5", "a single active neuron stays active on all samples"),
    _condition("assumption6", "Assumption 6, Eq. (12)", "boursier-a6", "no mixed neuron lowers the loss beside beta*"),
    LEMMA_8,
    _definition("eq13", "Eq. (13)", "spurious_limit.middle_weights", "x_2 from x_1, x_3", "test_spurious_limit.py"),
    _part("eq14", "Eq. (14)", "lemma8", "signs of the residuals of the line", "test_spurious_limit.py"),
    THEOREM_4,
    APPENDIX_B_2,
    _definition(
        "appF",
        "Appendix F, phases",
        "phase_clock.phase_clock",
        "tau, tau_2, tau_3, tau_4 on a run, with the clause that ended each phase (E10)",
        "test_phase_clock.py",
    ),
    _part("eq41", "Eq. (41)", "lemma5", "slowest growth of a_i in Phase 2a", "test_growth_lemmas.py"),
    _part("eq42", "Eq. (42)", "lemma5", "shortest tau_2 - tau", "test_growth_lemmas.py"),
    _part("eq43", "Eq. (43)", "lemma5", "pairwise alignment at tau_2; its exponent is fitted", "test_growth_lemmas.py"),
    _definition(
        "appF.2",
        "Appendix F.2, d<wbar_i, wbar_j>/dt",
        "growth_lemmas.pair_drift",
        "<D^t, wbar_i + wbar_j> (1 - <wbar_i, wbar_j>), kept as a_i a_j - <w_i, w_j> constant",
        "test_growth_lemmas.py",
    ),
    LEMMA_15,
    _definition(
        "eq44",
        "Eq. (44)",
        "spurious_constants.SpuriousConstants",
        "`beta_44`, > 0 under Assumption 5",
        "test_spurious_constants.py",
    ),
    _definition(
        "eq47", "Eq. (47)", "fitting_lemmas.energy_speed", "d|beta_I - beta*|_H^2/dt", "test_fitting_lemmas.py"
    ),
    _part("eq48", "Eq. (48)", "lemma6", "longest tau_3 - tau_2", "test_fitting_lemmas.py"),
    LEMMA_16,
    _definition(
        "eq49",
        "Eq. (49)",
        "spurious_constants.SpuriousConstants",
        "`alpha_49`, least mean output of a unit neuron",
        "test_spurious_constants.py",
    ),
    LEMMA_17,
    LEMMA_18,
    LEMMA_19,
    _definition(
        "eq51",
        "Eq. (51)",
        "spurious_constants.SpuriousConstants",
        "`alpha_4`, with the adjacency of Assumption 6",
        "test_spurious_constants.py",
    ),
    _definition("eq52", "Eq. (52)", "spurious_constants.mixed_descent_rate", "c_4", "test_spurious_constants.py"),
    LEMMA_20,
    LEMMA_21,
    _definition("eq59", "Eq. (59)", "local_lemmas.bend_bound", "L - L* against |b|_H^2/2", "test_local_lemmas.py"),
    LEMMA_22,
    LEMMA_23,
    LEMMA_24,
    COROLLARY_1,
)
