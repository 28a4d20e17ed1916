"""The end point of a run that came to rest: what Theorems 2 and 4 and Lemma 7 conclude of it [boursier2024]."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numpy as np

from reluflow.dynamics.trajectory import Outcome
from reluflow.papers.boursier2024.theorems.phase_states import signs_on
from reluflow.theory.comparison import Comparison, Level, at_most, missing, none_of
from reluflow.theory.evidence import Evidence
from reluflow.theory.theorem import Conclusion

LIMIT_ATOL = 1e-9  # of beta and of the loss at the polished end point; measured below 1e-14


def at_the_limit(measure: Callable[[Evidence], Comparison]) -> Callable[[Evidence], Comparison]:
    """The measurement where the run came to rest by itself; a run cut short has no limit to measure."""

    @wraps(measure)
    def guarded(evidence: Evidence) -> Comparison:
        outcome = evidence.run.outcome
        return measure(evidence) if outcome is Outcome.STATIONARY else missing(f"a run that comes to rest ({outcome})")

    return guarded


@at_the_limit
def _is_stationary(evidence: Evidence) -> Comparison:
    norm = evidence.run.limit.gradient_norm
    return at_most(norm, LIMIT_ATOL, detail=f"gradient norm {norm:.3g} at the end point of a run that came to rest")


@at_the_limit
def _limit_patterns(evidence: Evidence) -> Comparison:
    """Neurons of the end point that are positive on one sample and negative on another."""
    network, started = evidence.run.network, np.any(evidence.network.w != 0.0, axis=1)
    if np.any(started & np.all(network.w == 0.0, axis=1) & (network.a == 0.0)):
        return missing("the patterns of neurons too light for a double beside the others")
    signs = signs_on(network, evidence.dataset.X)
    active, mixed = np.any(signs > 0, axis=1), np.any(signs > 0, axis=1) & np.any(signs < 0, axis=1)
    words = f"{mixed.sum()} of {network.num_neurons} neurons are mixed, {(active & ~mixed).sum()} are active"
    return none_of(int(mixed.sum()), detail=words)


@at_the_limit
def _limit_line(evidence: Evidence) -> Comparison:
    """|sum a w - beta*| over the neurons of the end point that are active on every sample."""
    network = evidence.run.network.materialized()
    active = np.all(signs_on(network, evidence.dataset.X) >= 0, axis=1) & np.any(network.w != 0.0, axis=1)
    line = (network.weight * network.a)[active] @ network.w[active]
    distance = float(np.linalg.norm(line - evidence.facts.least_squares))
    return at_most(
        distance, LIMIT_ATOL, detail=rf"$|\sum a w - \beta^*|$ = {distance:.3g}, {int(active.sum())} neurons"
    )


LIMIT = Conclusion("limit", r"$\theta(t)$ converges", _is_stationary, Level.EXACT)
PATTERNS = Conclusion(
    "patterns", r"every neuron ends with all $\langle w, x_k\rangle \ge 0$ or all $\le 0$", _limit_patterns, Level.EXACT
)
LINE = Conclusion("line", r"sum of $a w$ over the active neurons is $\beta^*$", _limit_line, Level.EXACT)
