"""Every named result of Chistikov, Englert & Lazic (2023), in the paper's order [chistikov2023]."""

from reluflow.papers.chistikov2023.theorems.bundle import SET_S
from reluflow.papers.chistikov2023.theorems.crossings import PROP_2, PROP_13, PROP_14
from reluflow.papers.chistikov2023.theorems.delta_bounds import PROP_16, PROP_17, PROP_18
from reluflow.papers.chistikov2023.theorems.escape import LEMMA_32, THM_6
from reluflow.papers.chistikov2023.theorems.following import LEMMA_3, LEMMA_5, LEMMA_21, LEMMA_23, PROP_22
from reluflow.papers.chistikov2023.theorems.hypotheses import ASM_1, ASM_1I, ASM_1III, SEC_2
from reluflow.papers.chistikov2023.theorems.least_norm import (
    ASM_3,
    CLAIM_36,
    EX_37,
    EX_37B,
    REMARK_38,
    REMARK_38III,
    THM_8I,
    THM_8II,
)
from reluflow.papers.chistikov2023.theorems.limit import LEMMA_34, THM_7
from reluflow.papers.chistikov2023.theorems.motion import PROP_1
from reluflow.papers.chistikov2023.theorems.norms_of_interpolators import REMARK_38I
from reluflow.papers.chistikov2023.theorems.phase_one import CLAIM_20, LEMMA_4, LEMMA_19
from reluflow.papers.chistikov2023.theorems.phase_two import CLAIM_29, LEMMA_28, PROP_24
from reluflow.papers.chistikov2023.theorems.points_of_s import PROP_25, PROP_26, PROP_27
from reluflow.papers.chistikov2023.theorems.polar_form import COR_10, PROP_9
from reluflow.papers.chistikov2023.theorems.scene import ASM_2, DELTA
from reluflow.papers.chistikov2023.theorems.yardstick_laws import COR_15, PROP_11, PROP_12

RESULTS = (
    SEC_2,
    PROP_1,
    ASM_1I,
    ASM_1III,
    ASM_1,
    DELTA,
    ASM_2,
    PROP_2,
    LEMMA_3,
    LEMMA_4,
    LEMMA_5,
    THM_6,
    THM_7,
    ASM_3,
    THM_8I,
    THM_8II,
    PROP_9,
    COR_10,
    PROP_11,
    PROP_12,
    PROP_13,
    PROP_14,
    COR_15,
    PROP_16,
    PROP_17,
    PROP_18,
    LEMMA_19,
    CLAIM_20,
    LEMMA_21,
    PROP_22,
    LEMMA_23,
    SET_S,
    PROP_24,
    PROP_25,
    PROP_26,
    PROP_27,
    LEMMA_28,
    CLAIM_29,
    LEMMA_32,
    LEMMA_34,
    CLAIM_36,
    EX_37,
    EX_37B,
    REMARK_38,
    REMARK_38I,
    REMARK_38III,
)
