"""Every named result of Lee, Sim & Ye (2022), in the paper's order [lee2022]."""

from reluflow.papers.lee2022.theorems.deep_flow import EQ_9, EQ_10, PROP_3_5, PROP_3_6, THM_3_7, THM_3_8, THM_3_9
from reluflow.papers.lee2022.theorems.descent import COR_4_3, THM_4_2, THM_A_1, THM_A_2, THM_A_3
from reluflow.papers.lee2022.theorems.gaussian_moments import LEMMA_2_1, PROP_B_1
from reluflow.papers.lee2022.theorems.one_layer_flow import (
    EQ_1,
    EQ_2,
    EQ_3,
    EQ_4,
    EQ_5,
    EQ_6,
    EQ_7,
    EQ_8,
    PROP_3_1,
    THM_3_2,
    THM_3_3,
    THM_3_4,
)
from reluflow.papers.lee2022.theorems.phases import APP_D_1, EQ_11, SEC_5_2
from reluflow.papers.lee2022.theorems.random_directions import PROP_C_1
from reluflow.papers.lee2022.theorems.scalar_equations import EQ_12, LEMMA_C_2, THM_4_1
from reluflow.papers.lee2022.theorems.unique_minimum import PROP_B_2

RESULTS = (
    EQ_1,
    EQ_2,
    EQ_3,
    LEMMA_2_1,
    PROP_3_1,
    EQ_4,
    EQ_5,
    EQ_6,
    EQ_7,
    THM_3_2,
    THM_3_3,
    EQ_8,
    THM_3_4,
    PROP_3_5,
    PROP_3_6,
    EQ_9,
    EQ_10,
    THM_3_7,
    EQ_11,
    THM_3_8,
    THM_3_9,
    THM_4_1,
    EQ_12,
    THM_4_2,
    COR_4_3,
    SEC_5_2,
    THM_A_1,
    THM_A_2,
    THM_A_3,
    PROP_B_1,
    PROP_B_2,
    PROP_C_1,
    LEMMA_C_2,
    APP_D_1,
)
