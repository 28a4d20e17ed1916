"""ReLU on orthogonally separable data: all KKT directions are one function; Theorem H.2, Lemma H.3 [lyu2021]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.limits.directions import unit_norm
from reluflow.network.network import Network, row_norms
from reluflow.papers.lyu2021.theorems.limits import KKTDirections, best_network, kkt_residuals, settled_direction
from reluflow.papers.lyu2021.theorems.settings import RELU_SETTING
from reluflow.theory.comparison import Comparison, Level, Values, at_most, require
from reluflow.theory.condition import DataHypotheses
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import RELU, assumed
from reluflow.theory.measures import AtMost, Constants, Equals
from reluflow.theory.separability import ORTHOGONALLY_SEPARABLE
from reluflow.theory.theorem import Conclusion, Reference, Theorem

_NUM_STARTS = 12


@dataclass(frozen=True, eq=False)
class ClassVectors:
    """w_Q^+ and w_Q^-: the shortest w with <w, x_i> >= 1 on the samples of one class; zero for a class without any."""

    positive: FloatArray
    negative: FloatArray

    @property
    def margin(self) -> float:
        """1/(2(|w_Q^+| + |w_Q^-|)), the margin of every KKT direction (erratum E12: the 2)."""
        return 0.5 / float(np.linalg.norm(self.positive) + np.linalg.norm(self.negative))

    @property
    def squared_norm(self) -> float:
        """That of a KKT direction at smallest margin 1."""
        return 1.0 / self.margin

    def outputs(self, X: FloatArray) -> FloatArray:
        """phi(<w_Q^+, x>) - phi(<w_Q^-, x>), the function at smallest margin 1 (erratum E12: the minus)."""
        return np.asarray(np.maximum(X @ self.positive, 0.0) - np.maximum(X @ self.negative, 0.0))


def class_vectors(evidence: Evidence) -> ClassVectors:
    """The solutions of problem (Q) for both classes."""
    found, zero = evidence.facts.one_class, np.zeros(evidence.dataset.d)
    plus, minus = found.positive, found.negative
    return ClassVectors(zero if plus is None else plus.w, zero if minus is None else minus.w)


def _class_constants(evidence: Evidence) -> Constants:
    vectors = class_vectors(evidence)
    return {
        "w_plus": vectors.positive.tolist(),
        "w_minus": vectors.negative.tolist(),
        "squared_norm": vectors.squared_norm,
        "margin": vectors.margin,
    }


def kkt_directions(evidence: Evidence) -> KKTDirections:
    """KKT directions of unit norm: one with random shares of each sign, and those that random starts lead to."""
    rng, dataset = np.random.default_rng(0), evidence.dataset
    vectors = class_vectors(evidence)
    shares = [rng.dirichlet(np.ones(3)) for _ in range(2)]
    rows, outputs = [], []
    for sign, w, parts in ((1.0, vectors.positive, shares[0]), (-1.0, vectors.negative, shares[1])):
        length = float(np.linalg.norm(w))
        if length > 0.0:
            a = np.sqrt(parts * length)
            rows.append(a[:, None] * (w / length))
            outputs.append(sign * a)
    found = [unit_norm(Network(np.vstack(rows), np.concatenate(outputs)))]
    for _ in range(_NUM_STARTS):
        w = rng.standard_normal((6, dataset.d))
        signs = np.where(np.arange(6) < 3, 1.0, -1.0)
        network = Network(w, signs * np.linalg.norm(w, axis=1))
        if (settled := settled_direction(network, dataset)) is not None:
            found.append(settled)
    return KKTDirections(tuple(found))


def _directions(evidence: Evidence) -> tuple[Network, ...]:
    return evidence.recorded(KKTDirections).networks


def _direction_residuals(evidence: Evidence) -> list[float]:
    return kkt_residuals(evidence, _directions(evidence), rtol=1e-7)


# Theorem H.2 ----------------------------------------------------------------------------------------------------------


def _same_function(evidence: Evidence) -> Values:
    """Difference of outputs on random points from margin * (phi(<w_Q^+, x>) - phi(<w_Q^-, x>))."""
    vectors, points = class_vectors(evidence), np.random.default_rng(1).standard_normal((200, evidence.dataset.d))
    expected = vectors.margin * vectors.outputs(points)
    return [np.max(np.abs(n.outputs(points) - expected)) for n in _directions(evidence)]


def _global_optimum(evidence: Evidence) -> Comparison:
    """The formula's margin against the largest margin of any network, found without it."""
    best = best_network(evidence)
    require(best.gap <= 1e-6, f"the best margin is known to a relative {best.gap:.2g} only")
    margins = [normalized_margin(n, evidence.dataset) for n in _directions(evidence)]
    lowest = min(margins, key=lambda margin: -abs(margin - best.upper))
    words = f"formula {class_vectors(evidence).margin:.9g}, KKT directions {lowest:.9g}, best of all {best.upper:.9g}"
    worst = max(abs(class_vectors(evidence).margin - best.upper), abs(lowest - best.upper))
    return at_most(worst, 1e-7 * best.upper, detail=words)


THM_H_2 = Theorem(
    "lyu2021:thmH.2",
    Reference("lyu2021", "Theorem H.2"),
    r"For ReLU on orthogonally separable data every KKT direction is "
    r"$\varphi(\langle w_Q^+, x\rangle) - \varphi(\langle w_Q^-, x\rangle)$ up to scale, so all have the best "
    r"margin, $1/(2(|w_Q^+| + |w_Q^-|))$.",
    hypotheses=(RELU, assumed(ORTHOGONALLY_SEPARABLE)),
    conclusions=(
        Conclusion(
            "kkt",
            "the directions satisfy the KKT conditions",
            AtMost(_direction_residuals, 1e-7, words="largest KKT residual {measured:.2g} of {count} directions"),
            Level.EXACT,
        ),
        Conclusion(
            "same-function",
            "all are the same function",
            AtMost(_same_function, 1e-7, words="outputs differ by at most {measured:.2g} on 200 random points"),
            Level.EXACT,
        ),
        Conclusion("global", "their margin is the largest of any network", _global_optimum, Level.EXACT),
    ),
    constants=_class_constants,
    record=kkt_directions,
    setting=RELU_SETTING,
    example="lyu-orthogonal",
    erratum=r"E12: $f = \varphi(\langle w_Q^+, x\rangle)$ minus $\varphi(\langle w_Q^-, x\rangle)$, and "
    r"$|\theta|^2 = 2(|w_Q^+| + |w_Q^-|)$.",
    departs="KKT directions are built with random shares and searched from random starts.",
    diagnosed=DataHypotheses(losses=("logistic", "exponential"), leaks="relu"),
)

# Lemma H.3 ------------------------------------------------------------------------------------------------------------


def _scaled_neurons(evidence: Evidence) -> Comparison:
    """Largest |(sum of a_j^2 over its sign) w_k/|a_k| - w_Q| over neurons, relative to |w_Q|, at smallest margin 1."""
    vectors, worst, count = class_vectors(evidence), 0.0, 0
    for network in _directions(evidence):
        smallest = normalized_margin(network, evidence.dataset)
        for sign, target in ((1.0, vectors.positive), (-1.0, vectors.negative)):
            rows = (np.sign(network.a) == sign) & (np.abs(network.a) > 1e-6)
            if not np.any(rows):
                continue
            total = float(np.sum(network.a[rows] ** 2)) / smallest
            units = network.w[rows] / np.abs(network.a[rows])[:, None]
            worst = max(worst, float(np.max(np.linalg.norm(total * units - target, axis=1)) / np.linalg.norm(target)))
            count += int(np.sum(rows))
    return at_most(worst, 1e-6, detail=f"relative difference {worst:.2g} over {count} neurons")


def _balanced(evidence: Evidence) -> float:
    return max(float(np.max(np.abs(np.abs(n.a) - row_norms(n.w)))) for n in _directions(evidence))


LEMMA_H_3 = Theorem(
    "lyu2021:lemmaH.3",
    Reference("lyu2021", "Lemma H.3"),
    r"At a KKT point of smallest margin 1, $|a_k| = |w_k|$ and $(\sum_j a_j^2)\, w_k/|a_k|$, the sum over the "
    r"neurons of its sign, is the shortest $w$ with $\langle w, x_i\rangle \ge 1$ on that class.",
    hypotheses=(RELU, assumed(ORTHOGONALLY_SEPARABLE)),
    conclusions=(
        Conclusion(
            "kkt",
            "the points satisfy the KKT conditions",
            AtMost(_direction_residuals, 1e-7, words="largest KKT residual {measured:.2g} of {count} directions"),
            Level.EXACT,
        ),
        Conclusion(
            "balanced",
            "$|a_k| = |w_k|$",
            Equals(_balanced, 0.0, allowance=1e-9, words="$||a_k| - |w_k||$ is at most {measured:.2g}"),
            Level.EXACT,
        ),
        Conclusion("class-vector", "every neuron is its class's vector", _scaled_neurons, Level.EXACT),
    ),
    constants=_class_constants,
    record=kkt_directions,
    setting=RELU_SETTING,
    example="lyu-orthogonal",
    erratum="E12: $w_k/|a_k|$, not $w_k/a_k$.",
    departs="KKT directions are built with random shares and searched from random starts.",
)
