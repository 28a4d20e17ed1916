"""The numbers that the results of Lyu et al. (2021) leave to their reader [lyu2021]."""

from __future__ import annotations

from reluflow.theory.evidence import Evidence
from reluflow.theory.theorem import Parameter


def chosen(evidence: Evidence, *, parameter: Parameter) -> float:
    """The value of a parameter, where it is itself the bound of a conclusion."""
    return evidence.parameter(parameter.name)


FACTOR = Parameter("factor", 7.0, "$c$, the factor of the samples", low=0.0)
SIZE = Parameter("size", 0.05, "$M$-norm of the pair at the start", low=0.0)
UNTIL = Parameter("until", 150.0, "unit-ball time up to which the runs are followed", low=0.0)
START_MARGIN = Parameter("start_margin", 30.0, "smallest output margin at the start, which fixes the norm", low=1.0)
REACH = Parameter("reach", 3.0, "largest distance travelled to be accepted, over the perturbation", low=0.0)
EPS = Parameter("eps", 0.1, "allowed relative change of the forces", low=0.0, high=1.0)
UNTIL_60 = Parameter("until", 60.0, "unit-ball time up to which the run is followed", low=0.0)
UNTIL_SNAPSHOTS = Parameter("until", 300.0, "unit-ball time up to which snapshots are taken", low=0.0)
UNTIL_300 = Parameter("until", 300.0, "unit-ball time up to which the run is followed", low=0.0)
OUTPUT_RATIO = Parameter(
    "output_ratio", 1.0, r"$c_{\mathrm{ainit}}$, standard deviation of $a$ over that of $w$", low=0.0
)
UNTIL_40 = Parameter("until", 40.0, "unit-ball time up to which the run is followed", low=0.0)
RTOL = Parameter(
    "rtol", 1e-7, "allowed relative error of the certified limit (the KKT solver's is about 1e-12)", low=0.0
)
CLOSE = Parameter("close", 0.05, "largest distance of the run's last direction to the limit", low=0.0)
LATE_MARGIN = Parameter("late_margin", 60.0, "smallest margin $y h$ at which the limit is first asked for", low=0.0)
LOG_HORIZON = Parameter("log_horizon", 700.0, "natural logarithm of the time at which to give up", low=0.0)
LATE_MARGIN_ABOVE_1 = Parameter(
    "late_margin", 60.0, "smallest margin $y h$ at which the limit is first asked for", low=1.0
)
KAPPA = Parameter("kappa", 1.5, "the exponent that splits the two regimes", low=1.0, high=2.0)
FOLDS = Parameter("folds", 4.0, "e-folds of growth in the window the run is followed over", low=0.0)
EMBEDDING = Parameter("embedding", 0.001, "allowed relative distance to one neuron at the smallest scale", low=0.0)
RTOL_OF_LIMIT = Parameter("rtol", 1e-7, "allowed relative error of the certified limit", low=0.0)
STRETCH = Parameter("stretch", 3.0, "how many growth times the run is followed for", low=0.0)
