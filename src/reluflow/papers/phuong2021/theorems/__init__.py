"""Every named result of Phuong & Lampert (2021), in the paper's order [phuong2021]."""

from reluflow.papers.phuong2021.theorems.extremal_directions import LEMMA_2, LEMMA_A_1, LEMMA_A_2
from reluflow.papers.phuong2021.theorems.large_scale import SEC_3_1
from reluflow.papers.phuong2021.theorems.max_margin_limit import COR_1, THM_1
from reluflow.papers.phuong2021.theorems.motion import LEMMA_A_3, LEMMA_A_4, LEMMA_B_1
from reluflow.papers.phuong2021.theorems.sectors import DEF_1, DEF_2
from reluflow.papers.phuong2021.theorems.sorting import LEMMA_1, LEMMA_3
from reluflow.papers.phuong2021.theorems.two_neuron_limit import LEMMA_C_1

RESULTS = (
    DEF_1,
    DEF_2,
    LEMMA_1,
    LEMMA_2,
    LEMMA_3,
    SEC_3_1,
    THM_1,
    COR_1,
    LEMMA_A_1,
    LEMMA_A_2,
    LEMMA_A_3,
    LEMMA_A_4,
    LEMMA_B_1,
    LEMMA_C_1,
)
