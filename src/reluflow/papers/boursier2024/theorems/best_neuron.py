"""Section 5: the least-squares line that training ends at is the best fit with one neuron [boursier2024]."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.optimize import linprog

from reluflow.arrays import FloatArray
from reluflow.papers.boursier2024.paper import EXAMPLE, PHASES_SETTING
from reluflow.papers.boursier2024.theorems.phase_parameters import PHASE_PARAMETERS
from reluflow.papers.boursier2024.theorems.spurious_constants import loss_of_the_line
from reluflow.papers.boursier2024.theorems.spurious_hypotheses import (
    GROWTH_ENDED,
    RESIDUAL,
    SCALE_SETTLED,
    scale_factor,
    settled_plan,
)
from reluflow.papers.boursier2024.theorems.spurious_limit import LIMIT_ATOL, at_the_limit
from reluflow.theory.comparison import Comparison, Undecided, at_most
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.measures import Quantities
from reluflow.theory.theorem import Conclusion, Reference, Theorem


@computed_once
def least_loss_of_one_neuron(evidence: Evidence) -> float:
    """The least loss of x -> a max(<w, x>, 0), for positive labels.

    A negative a is no better than none. With a > 0 the loss is a function of beta = a w, quadratic on each open
    activation cone, and no minimum lies between two cones: where <beta, x_k> = 0 the sample's part of the loss has the
    slopes 0 and -y_k/n < 0 on the two sides, so one of any two opposite ways leads down. So the least loss is that of
    no neuron, or of a least-squares vector of the active samples of a cone that lies in this cone.
    """
    if not evidence.facts.has_affordable_cones:
        raise Undecided("the activation cones, which are too many")
    X, y = evidence.dataset.X, evidence.dataset.y
    patterns = evidence.facts.cones.patterns
    least = float(np.sum(y**2))
    for active in np.unique(patterns[np.all(patterns != 0, axis=1)] > 0, axis=0):
        fitted = X[active] @ np.linalg.lstsq(X[active], y[active], rcond=None)[0]
        loss = float(np.sum((fitted - y[active]) ** 2) + np.sum(y[~active] ** 2))
        if loss < least and np.all(fitted > 0.0) and _some_vector_gives(fitted, X[active], X[~active]):
            least = loss
    return 0.5 * least / evidence.dataset.n


def _some_vector_gives(outputs: FloatArray, active: FloatArray, others: FloatArray) -> bool:
    """Whether some beta has these outputs on the active samples, which do not fix it where they are few, and is off."""
    program = linprog(
        np.zeros(active.shape[1]),
        A_ub=others if len(others) else None,
        b_ub=np.zeros(len(others)) if len(others) else None,
        A_eq=active,
        b_eq=outputs,
        bounds=(None, None),
    )
    return bool(program.success)


@at_the_limit
def _excess_over_one_neuron(evidence: Evidence) -> Comparison:
    excess = float(evidence.run.loss) - least_loss_of_one_neuron(evidence)
    words = f"loss {evidence.run.loss:.9g} at the end, {least_loss_of_one_neuron(evidence):.9g} of the best neuron"
    return at_most(excess, LIMIT_ATOL, detail=words)


SEC_5_BEST_NEURON = Theorem(
    "boursier2024:sec5-best-neuron",
    Reference("boursier2024", "Section 5, best fit with one neuron"),
    r"The network that training ends at fits the data as well as one neuron can: no $x \mapsto a\,\max(\langle w, "
    r"x\rangle, 0)$ has a smaller loss.",
    hypotheses=(*RESIDUAL, GROWTH_ENDED, SCALE_SETTLED),
    conclusions=(Conclusion("best-neuron", "its loss is the least of one neuron", _excess_over_one_neuron),),
    constants=Quantities({"loss_star": loss_of_the_line, "least_loss_of_one_neuron": least_loss_of_one_neuron}),
    parameters=PHASE_PARAMETERS,
    plan=settled_plan,
    log_scale=partial(scale_factor, log_lambda=-60.0),
    setting=PHASES_SETTING,
    example=EXAMPLE,
    departs="Judged on all data of Assumptions 4 to 6, by the loss. The best neuron is found by going through all "
    "activation cones.",
)
