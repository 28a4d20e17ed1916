"""Every named result of Min, Zhu & Vidal (2025), in the paper's order [min2025]."""

from reluflow.papers.min2025.alignments import Alignments
from reluflow.papers.min2025.assumptions import PRINTED_CONDITION, SEPARABLE_CLASSES, SEPARABLE_WITH_BIAS
from reluflow.papers.min2025.collapse import collapse_metrics
from reluflow.papers.min2025.theorems.binary_case import SEC_4_1
from reluflow.papers.min2025.theorems.class_cones import LEMMA_6, LEMMA_7, LEMMA_8, LEMMA_9, LEMMA_10
from reluflow.papers.min2025.theorems.class_margins import LEMMA_11, LEMMA_12, LEMMA_13
from reluflow.papers.min2025.theorems.early_alignment import LEMMA_1, LEMMA_2, LEMMA_3
from reluflow.papers.min2025.theorems.laws import COLLAPSE_LIMITS, GROWTH, LEARNING_TIMES
from reluflow.papers.min2025.theorems.max_margin import PROP_2, THM_1
from reluflow.papers.min2025.theorems.separation import LEMMA_4, PROP_1, PROP_3
from reluflow.papers.min2025.theorems.traps import LEMMA_5, OUTPUT_SUMS, TRAP
from reluflow.theory.elsewhere import condition, definition, ours, part

RESULTS = (
    condition("min2025:assumption1", "Assumption 1", SEPARABLE_CLASSES, "orthogonally separable classes"),
    part("min2025:assumption2", "Assumption 2", THM_1, "the start is balanced: hypothesis `balanced`"),
    THM_1,
    part("min2025:assumption3", "Assumption 3, Eqs. (8), (9)", SEC_4_1, "the binary start: hypothesis `assumption-3`"),
    SEC_4_1,
    definition(
        "min2025:assumption4",
        "Assumption 4, Eq. (18)",
        Alignments.printed_start,
        "the start that is printed, which does not suffice (E1 to E3)",
    ),
    ours("min2025:repair-a", "Assumption 4", Alignments.exclusive_start, "an exclusive start, which suffices"),
    ours("min2025:repair-b", "Assumption 4", Alignments.semi_local_start, "a semi-local start, which suffices"),
    condition("min2025:data-condition", "Sec. 4.2, condition", PRINTED_CONDITION, "the printed condition on the data"),
    PROP_1,
    PROP_2,
    condition("min2025:appA", "App. A", SEPARABLE_WITH_BIAS, "hidden biases: the samples with a constant coordinate"),
    definition("min2025:appB.2", "App. B.2", collapse_metrics, "the metrics NC1, NC2, NC3"),
    LEMMA_1,
    LEMMA_2,
    LEMMA_3,
    PROP_3,
    LEMMA_4,
    LEMMA_5,
    LEMMA_6,
    LEMMA_7,
    LEMMA_8,
    LEMMA_9,
    LEMMA_10,
    LEMMA_11,
    LEMMA_12,
    LEMMA_13,
    TRAP,
    OUTPUT_SUMS,
    LEARNING_TIMES,
    GROWTH,
    COLLAPSE_LIMITS,
)
