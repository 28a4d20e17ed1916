"""Every named result of Boursier & Flammarion (2024), in the paper's order [boursier2024]."""

from reluflow.papers.boursier2024.theorems.active_neurons import LEMMA_16, LEMMA_17, LEMMA_18
from reluflow.papers.boursier2024.theorems.aligned_lemmas import LEMMA_4, LEMMA_15
from reluflow.papers.boursier2024.theorems.alignment_inequalities import (
    APP_D_3,
    EQ_8,
    EQ_31,
    EQ_32,
    EQ_35,
    REMARK_1,
    REMARK_2,
)
from reluflow.papers.boursier2024.theorems.balancedness import LEMMA_1
from reluflow.papers.boursier2024.theorems.best_neuron import SEC_5_BEST_NEURON
from reluflow.papers.boursier2024.theorems.confinement import COR_1, LEMMA_7, LEMMA_24
from reluflow.papers.boursier2024.theorems.critical_cones import APP_D_4, EQ_9, LEMMA_11, LEMMA_12, LEMMA_13, REMARK_5
from reluflow.papers.boursier2024.theorems.critical_points import EQ_7, EQ_17, EQ_19, EQ_20, EQ_29, LEMMA_14
from reluflow.papers.boursier2024.theorems.definitions import (
    APP_D_1,
    ASSUMPTION_1,
    ASSUMPTION_2,
    ASSUMPTION_3,
    ASSUMPTION_4,
    ASSUMPTION_5,
    ASSUMPTION_6,
    DEF_1,
    EQ_6,
    EQ_21,
    EQ_22,
    EQ_23,
    EQ_24,
    EQ_25,
    EQ_37,
)
from reluflow.papers.boursier2024.theorems.early_alignment import EQ_40, THM_1, THM_3
from reluflow.papers.boursier2024.theorems.elementary_inequalities import APP_D_7
from reluflow.papers.boursier2024.theorems.euler_limits import APP_E_1
from reluflow.papers.boursier2024.theorems.fitting_lemmas import EQ_47, EQ_48, LEMMA_6
from reluflow.papers.boursier2024.theorems.generic_data import LEMMA_2, LEMMA_3, LEMMA_9, LEMMA_10
from reluflow.papers.boursier2024.theorems.growth_lemmas import APP_F_2, EQ_41, EQ_42, EQ_43, LEMMA_5
from reluflow.papers.boursier2024.theorems.last_cone import EQ_33, EQ_34, EQ_36, EQ_39, REMARK_4
from reluflow.papers.boursier2024.theorems.local_lemmas import EQ_59, LEMMA_21, LEMMA_22, LEMMA_23
from reluflow.papers.boursier2024.theorems.mixed_lemmas import LEMMA_19, LEMMA_20
from reluflow.papers.boursier2024.theorems.neuron_states import CONDITION_1, CONDITION_2, EQ_5
from reluflow.papers.boursier2024.theorems.omnidirectionality import (
    SEC_5_NATURE,
    SEC_5_OMNIDIRECTIONAL,
    SEC_5_UNBALANCED,
)
from reluflow.papers.boursier2024.theorems.phase_clock import APP_F
from reluflow.papers.boursier2024.theorems.residual_forecast import APP_B_2
from reluflow.papers.boursier2024.theorems.spurious_constants import EQ_44, EQ_49, EQ_51, EQ_52
from reluflow.papers.boursier2024.theorems.spurious_limit import EQ_10, EQ_11, REMARK_3, SEC_5_WIDTH, THM_2, THM_4
from reluflow.papers.boursier2024.theorems.three_points import EQ_13, EQ_14, LEMMA_8
from reluflow.papers.boursier2024.theorems.waiting_neuron import EQ_38, EXAMPLE_1

RESULTS = (
    ASSUMPTION_1,
    EQ_5,
    EQ_6,
    LEMMA_1,
    ASSUMPTION_2,
    LEMMA_2,
    DEF_1,
    EQ_7,
    LEMMA_3,
    CONDITION_1,
    THM_1,
    REMARK_1,
    REMARK_2,
    EQ_8,
    EQ_9,
    EQ_17,
    EQ_19,
    APP_D_1,
    EQ_20,
    EQ_21,
    EQ_22,
    EQ_23,
    EQ_24,
    EQ_25,
    LEMMA_9,
    LEMMA_10,
    LEMMA_11,
    APP_D_3,
    APP_D_4,
    LEMMA_12,
    EQ_29,
    LEMMA_13,
    LEMMA_14,
    EQ_31,
    EQ_32,
    EQ_33,
    EQ_34,
    EQ_35,
    EQ_36,
    APP_D_7,
    EQ_37,
    CONDITION_2,
    THM_3,
    EQ_39,
    EQ_40,
    REMARK_4,
    REMARK_5,
    EXAMPLE_1,
    EQ_38,
    APP_E_1,
    ASSUMPTION_3,
    EQ_10,
    THM_2,
    EQ_11,
    REMARK_3,
    LEMMA_4,
    LEMMA_5,
    LEMMA_6,
    LEMMA_7,
    SEC_5_NATURE,
    SEC_5_OMNIDIRECTIONAL,
    SEC_5_UNBALANCED,
    SEC_5_WIDTH,
    SEC_5_BEST_NEURON,
    ASSUMPTION_4,
    ASSUMPTION_5,
    ASSUMPTION_6,
    LEMMA_8,
    EQ_13,
    EQ_14,
    THM_4,
    APP_B_2,
    APP_F,
    EQ_41,
    EQ_42,
    EQ_43,
    APP_F_2,
    LEMMA_15,
    EQ_44,
    EQ_47,
    EQ_48,
    LEMMA_16,
    EQ_49,
    LEMMA_17,
    LEMMA_18,
    LEMMA_19,
    EQ_51,
    EQ_52,
    LEMMA_20,
    LEMMA_21,
    EQ_59,
    LEMMA_22,
    LEMMA_23,
    LEMMA_24,
    COR_1,
)
