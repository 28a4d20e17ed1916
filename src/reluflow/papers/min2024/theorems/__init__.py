"""Every named result of Min, Mallada & Vidal (2024), in the paper's order [min2024]."""

from reluflow.papers.min2024.theorems.activation_changes import (
    APP_E_2,
    DEF_1,
    EQ_7,
    EQ_8,
    LEMMA_12,
    ORTHOGONAL_COMPARISON,
    REMARK_7,
)
from reluflow.papers.min2024.theorems.aggregates import EXTREME_VECTORS, LEMMA_11
from reluflow.papers.min2024.theorems.alignment_paths import BOUNDARY_SPEED, DWELL_TIME, EQ_30, PATHS, SHARP_ALIGNMENT
from reluflow.papers.min2024.theorems.alignment_scale import BOUNDED_ALIGNMENT_TIME, EQ_28, EQ_29
from reluflow.papers.min2024.theorems.cone_geometry import LEMMA_5, LEMMA_6, LEMMA_7, LEMMA_8, LEMMA_9
from reluflow.papers.min2024.theorems.constants import EQ_26, REMARK_3
from reluflow.papers.min2024.theorems.counterexamples import APP_E_3, APP_E_4, REMARK_6
from reluflow.papers.min2024.theorems.early_alignment import REFINED_ALIGNMENT, THM_1
from reluflow.papers.min2024.theorems.filippov import APP_F, REMARK_8
from reluflow.papers.min2024.theorems.fitting import LEMMA_15, RATE
from reluflow.papers.min2024.theorems.growth import EQ_32, EQ_36, EQ_39, LEMMA_13, LEMMA_14, T_2
from reluflow.papers.min2024.theorems.low_rank import APP_D_3, EQ_41, EQ_42, EQ_43, STABLE_RANK
from reluflow.papers.min2024.theorems.random_start import RANDOM_START
from reluflow.papers.min2024.theorems.shared_hypotheses import ASSUMPTION_1, ASSUMPTION_2
from reluflow.papers.min2024.theorems.small_outputs import (
    EQ_4,
    LEMMA_1,
    LEMMA_2,
    LEMMA_3,
    LEMMA_4,
    LEMMA_10,
    REMARK_4,
    REMARK_5,
)
from reluflow.papers.min2024.theorems.solutions import APP_E_1, EQ_50, REMARK_1, REMARK_2
from reluflow.papers.min2024.theorems.turning_in_the_cone import COSINE_QUARTER, EQ_37, EQ_40, NORM_GROWTH
from reluflow.papers.min2024.theorems.two_phase_measures import APP_A_5

RESULTS = (
    REMARK_1,
    REMARK_2,
    REMARK_3,
    EQ_4,
    EXTREME_VECTORS,
    ASSUMPTION_1,
    ASSUMPTION_2,
    DEF_1,
    THM_1,
    RANDOM_START,
    BOUNDED_ALIGNMENT_TIME,
    REFINED_ALIGNMENT,
    ORTHOGONAL_COMPARISON,
    LEMMA_1,
    EQ_7,
    EQ_8,
    LEMMA_2,
    REMARK_4,
    LEMMA_3,
    LEMMA_4,
    REMARK_5,
    LEMMA_5,
    LEMMA_6,
    LEMMA_7,
    LEMMA_8,
    LEMMA_9,
    LEMMA_10,
    LEMMA_11,
    EQ_26,
    EQ_28,
    EQ_29,
    BOUNDARY_SPEED,
    DWELL_TIME,
    PATHS,
    EQ_30,
    SHARP_ALIGNMENT,
    LEMMA_12,
    LEMMA_13,
    LEMMA_14,
    LEMMA_15,
    EQ_32,
    T_2,
    RATE,
    EQ_36,
    EQ_39,
    EQ_40,
    EQ_37,
    COSINE_QUARTER,
    NORM_GROWTH,
    APP_D_3,
    EQ_41,
    EQ_42,
    EQ_43,
    STABLE_RANK,
    APP_E_1,
    APP_E_2,
    APP_E_3,
    APP_E_4,
    REMARK_6,
    REMARK_7,
    REMARK_8,
    EQ_50,
    APP_F,
    APP_A_5,
)
