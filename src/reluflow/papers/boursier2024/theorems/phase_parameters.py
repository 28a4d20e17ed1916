"""The small numbers that the phases of Theorems 2 and 4 are stated with [boursier2024]."""

from __future__ import annotations

from reluflow.theory.theorem import Parameter

EPS_1 = Parameter(
    "eps", 0.25, r"share of $-\ln(\lambda)/|D^*|$ that the alignment phase lasts", low=0.0, high=1.0 / 3.0
)
EPS_2 = Parameter("eps_2", 0.04, "sum of $a^2$ over the positive neurons at which Phase 2a ends", low=0.0)
EPS_3 = Parameter("eps_3", 5e-7, r"distance of the positive neurons' line to $\beta^*$ at which Phase 2b ends", low=0.0)
EPS_4 = Parameter("eps_4", 0.001, "distance the parameters may move in Phase 3", low=0.0)
DELTA_PRIME = Parameter(
    "delta_prime", 0.004, "least cosine of a positive neuron with a sample in Phase 2b", low=0.0, high=1.0
)
DELTA_4 = Parameter("delta_4", 0.02, "least cosine of a positive neuron with a sample in Phase 3", low=0.0, high=1.0)
DELTA_TILDE = Parameter(
    "delta_tilde",
    0.05,
    "cosine with two facets beyond which a neuron stands across the data (Eq. 52)",
    low=0.0,
    high=1.0,
)

PHASE_PARAMETERS = (EPS_1, EPS_2, EPS_3, EPS_4, DELTA_PRIME, DELTA_4)
LATE_PARAMETERS = (*PHASE_PARAMETERS, DELTA_TILDE)
