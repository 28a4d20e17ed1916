"""Every named result of Lyu, Li, Wang & Arora (2021), in the paper's order [lyu2021]."""

from reluflow.papers.lyu2021.theorems.boundaries import APP_I_2
from reluflow.papers.lyu2021.theorems.closed_form_kkt import ALG_6, APP_I_1_1
from reluflow.papers.lyu2021.theorems.definitions import (
    ALG_1,
    ALG_2,
    ALG_3,
    ALG_5,
    ALG_7,
    ASSUMPTION_3_2,
    ASSUMPTION_4_1,
    ASSUMPTION_4_5,
    ASSUMPTION_4_6,
    ASSUMPTION_A_1,
    ASSUMPTION_A_2,
    ASSUMPTION_A_3,
    ASSUMPTION_A_5,
    ASSUMPTION_A_5_STAR,
    ASSUMPTION_A_6,
    ASSUMPTION_A_8,
    ASSUMPTION_A_9,
    DEF_3_3,
    DEF_6_1,
    DEF_B_6,
    DEF_B_7,
    DEF_B_8,
    DEF_H_1,
)
from reluflow.papers.lyu2021.theorems.early_constants import ALG_4
from reluflow.papers.lyu2021.theorems.embedding import LEMMA_5_3, LEMMA_E_1, LEMMA_E_2
from reluflow.papers.lyu2021.theorems.entering_the_cone import LEMMA_G_1, LEMMA_G_2, LEMMA_G_3, LEMMA_G_4
from reluflow.papers.lyu2021.theorems.flow_identities import COR_B_18, LEMMA_B_15, LEMMA_B_16, LEMMA_B_17, LEMMA_E_10
from reluflow.papers.lyu2021.theorems.gronwall import LEMMA_B_1
from reluflow.papers.lyu2021.theorems.growth_in_the_cone import LEMMA_G_5, LEMMA_G_6, LEMMA_G_7
from reluflow.papers.lyu2021.theorems.hinted import THM_6_2
from reluflow.papers.lyu2021.theorems.homogeneous_nets import (
    DATA_SCALING,
    LEMMA_B_4,
    LEMMA_B_5,
    PROBLEM_M,
    PROBLEM_P,
    THM_B_2,
    THM_B_3,
)
from reluflow.papers.lyu2021.theorems.joint_limit import EQ_4, EQ_5, LEMMA_5_4, LEMMA_E_8, LEMMA_E_9, LEMMA_E_11
from reluflow.papers.lyu2021.theorems.kkt_directions import LEMMA_B_9, THM_3_1
from reluflow.papers.lyu2021.theorems.late_phase import THM_5_5, THM_5_6
from reluflow.papers.lyu2021.theorems.linear_maximiser import APP_C, THM_4_2
from reluflow.papers.lyu2021.theorems.local_maximum import LEMMA_G_10, THM_G_11
from reluflow.papers.lyu2021.theorems.loss_to_zero import LEMMA_B_20, THM_B_19
from reluflow.papers.lyu2021.theorems.margin_growth import (
    LEMMA_F_4,
    LEMMA_F_5,
    LEMMA_F_6,
    LEMMA_F_7,
    LEMMA_F_8,
    LEMMA_F_10,
    LEMMA_F_11,
    THM_F_9,
)
from reluflow.papers.lyu2021.theorems.middle_points import APP_I_1_2
from reluflow.papers.lyu2021.theorems.non_symmetric_limit import THM_A_7, THM_A_10, THM_G_12
from reluflow.papers.lyu2021.theorems.one_neuron import LEMMA_A_4, THM_G_9
from reluflow.papers.lyu2021.theorems.one_sign_takes_over import APP_G_4, LEMMA_G_8
from reluflow.papers.lyu2021.theorems.orthogonally_separable_kkt import LEMMA_H_3, THM_H_2
from reluflow.papers.lyu2021.theorems.phase_one import EQ_3, LEMMA_5_2, LEMMA_D_1, LEMMA_D_2, LEMMA_E_7
from reluflow.papers.lyu2021.theorems.phase_two import DEF_E_3, EQ_14, LEMMA_E_5, LEMMA_E_6, THM_E_4
from reluflow.papers.lyu2021.theorems.smoothed_margin import APP_F_2, APP_F_2_1
from reluflow.papers.lyu2021.theorems.subgradient_bounds import (
    COR_B_13,
    EQ_2,
    LEMMA_B_10,
    LEMMA_B_11,
    LEMMA_B_12,
    LEMMA_B_14,
)
from reluflow.papers.lyu2021.theorems.symmetric_flow import GOOD_EMBEDDING_VECTOR, PI_B
from reluflow.papers.lyu2021.theorems.symmetric_limit import COR_4_4, THM_4_3
from reluflow.papers.lyu2021.theorems.two_neurons import APP_F_1, LEMMA_F_1, LEMMA_F_2, LEMMA_F_3
from reluflow.papers.lyu2021.theorems.unit_ball import DEF_5_1

RESULTS = (
    DATA_SCALING,
    THM_3_1,
    PROBLEM_M,
    PROBLEM_P,
    ASSUMPTION_3_2,
    DEF_3_3,
    ALG_1,
    ALG_2,
    ASSUMPTION_4_1,
    THM_4_2,
    THM_4_3,
    COR_4_4,
    ASSUMPTION_4_5,
    ASSUMPTION_4_6,
    EQ_2,
    EQ_3,
    DEF_5_1,
    LEMMA_5_2,
    GOOD_EMBEDDING_VECTOR,
    PI_B,
    LEMMA_5_3,
    LEMMA_5_4,
    EQ_4,
    EQ_5,
    THM_5_5,
    THM_5_6,
    LEMMA_B_1,
    THM_B_2,
    THM_B_3,
    LEMMA_B_4,
    LEMMA_B_5,
    DEF_B_6,
    DEF_B_7,
    DEF_B_8,
    LEMMA_B_9,
    LEMMA_B_10,
    LEMMA_B_11,
    LEMMA_B_12,
    COR_B_13,
    LEMMA_B_14,
    LEMMA_B_15,
    LEMMA_B_16,
    LEMMA_B_17,
    COR_B_18,
    THM_B_19,
    LEMMA_B_20,
    APP_C,
    LEMMA_D_1,
    LEMMA_D_2,
    LEMMA_E_1,
    LEMMA_E_2,
    DEF_E_3,
    EQ_14,
    THM_E_4,
    LEMMA_E_5,
    LEMMA_E_6,
    LEMMA_E_7,
    LEMMA_E_8,
    LEMMA_E_9,
    LEMMA_E_10,
    LEMMA_E_11,
    ALG_3,
    ALG_4,
    ALG_5,
    ALG_6,
    ALG_7,
    DEF_6_1,
    THM_6_2,
    ASSUMPTION_A_1,
    ASSUMPTION_A_2,
    ASSUMPTION_A_3,
    LEMMA_A_4,
    ASSUMPTION_A_5,
    ASSUMPTION_A_5_STAR,
    ASSUMPTION_A_6,
    THM_A_7,
    ASSUMPTION_A_8,
    ASSUMPTION_A_9,
    THM_A_10,
    LEMMA_F_1,
    LEMMA_F_2,
    LEMMA_F_3,
    APP_F_1,
    APP_F_2,
    APP_F_2_1,
    LEMMA_F_4,
    LEMMA_F_5,
    LEMMA_F_6,
    LEMMA_F_7,
    LEMMA_F_8,
    THM_F_9,
    LEMMA_F_10,
    LEMMA_F_11,
    LEMMA_G_1,
    LEMMA_G_2,
    LEMMA_G_3,
    LEMMA_G_4,
    LEMMA_G_5,
    LEMMA_G_6,
    LEMMA_G_7,
    APP_G_4,
    LEMMA_G_8,
    THM_G_9,
    LEMMA_G_10,
    THM_G_11,
    THM_G_12,
    DEF_H_1,
    THM_H_2,
    LEMMA_H_3,
    APP_I_1_1,
    APP_I_1_2,
    APP_I_2,
)
