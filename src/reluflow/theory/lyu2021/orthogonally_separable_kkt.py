"""ReLU on orthogonally separable data has one KKT function: Theorem H.2 and Lemma H.3 [lyu2021]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import kkt_certificate, normalized_margin
from reluflow.certificates.pattern_margin import max_margin_in_patterns
from reluflow.network.network import Network, row_norms
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.limit import unit_norm
from reluflow.theory.lyu2021.limits import best_network
from reluflow.theory.measurement import Measurement, at_most, equals, need
from reluflow.theory.theorem import Constants, Setting

_SETTING = Setting(loss="logistic", leak=0.0, init="lyu-balanced", width=6, scale="1e-3")
_NUM_STARTS = 12
_NUM_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class ClassVectors:
    """w_Q^+ and w_Q^-: the shortest w with <w, x_i> >= 1 on the samples of one class; zero for a class without any."""

    positive: FloatArray
    negative: FloatArray

    @property
    def margin(self) -> float:
        """1/(2(|w_Q^+| + |w_Q^-|)), the margin of every KKT direction (erratum E12: the 2)."""
        return 0.5 / float(np.linalg.norm(self.positive) + np.linalg.norm(self.negative))

    def outputs(self, X: FloatArray) -> FloatArray:
        """phi(<w_Q^+, x>) - phi(<w_Q^-, x>), the function at smallest margin 1 (erratum E12: the minus)."""
        return np.asarray(np.maximum(X @ self.positive, 0.0) - np.maximum(X @ self.negative, 0.0))


def class_vectors(evidence: Evidence) -> ClassVectors:
    """The solutions of problem (Q) for both classes."""
    found, zero = evidence.facts.one_class, np.zeros(evidence.dataset.d)
    plus, minus = found.positive, found.negative
    return ClassVectors(zero if plus is None else plus.w, zero if minus is None else minus.w)


@drawn("directions")
def kkt_directions(evidence: Evidence) -> list[Network]:
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
        for _ in range(_NUM_ROUNDS):
            network = unit_norm(max_margin_in_patterns(network, dataset))
            if kkt_certificate(network, dataset).residual <= 1e-8:
                found.append(network)
                break
    return found


def _are_kkt(evidence: Evidence) -> Measurement:
    found = kkt_directions(evidence)
    worst = max(kkt_certificate(n, evidence.dataset, active_rtol=1e-7, kink_rtol=1e-7).residual for n in found)
    return at_most(worst, 1e-7, detail=f"largest KKT residual {worst:.2g} of {len(found)} directions")


def _same_function(evidence: Evidence) -> Measurement:
    """Largest difference of outputs on random points from margin * (phi(<w_Q^+, x>) - phi(<w_Q^-, x>))."""
    vectors, points = class_vectors(evidence), np.random.default_rng(1).standard_normal((200, evidence.dataset.d))
    expected = vectors.margin * vectors.outputs(points)
    worst = max(float(np.max(np.abs(n.outputs(points) - expected))) for n in kkt_directions(evidence))
    return at_most(worst, 1e-7, detail=f"outputs differ by at most {worst:.2g} on 200 random points")


def _global_optimum(evidence: Evidence) -> Measurement:
    """The formula's margin against the largest margin of any network, found without it."""
    best = best_network(evidence)
    need(best.gap <= 1e-6, f"the best margin is known to a relative {best.gap:.2g} only")
    margins = [normalized_margin(n, evidence.dataset) for n in kkt_directions(evidence)]
    lowest = min(margins, key=lambda margin: -abs(margin - best.upper))
    words = f"formula {class_vectors(evidence).margin:.9g}, KKT directions {lowest:.9g}, best of all {best.upper:.9g}"
    worst = max(abs(class_vectors(evidence).margin - best.upper), abs(lowest - best.upper))
    return at_most(worst, 1e-7 * best.upper, detail=words)


def _constants(evidence: Evidence) -> Constants:
    vectors = class_vectors(evidence)
    return {
        "w_plus": vectors.positive.tolist(),
        "w_minus": vectors.negative.tolist(),
        "squared_norm": 1.0 / vectors.margin,
        "margin": vectors.margin,
    }


def _scaled_neurons(evidence: Evidence) -> Measurement:
    """Largest |(sum of a_j^2 over its sign) w_k/|a_k| - w_Q| over neurons, relative to |w_Q|, at smallest margin 1."""
    vectors, worst, count = class_vectors(evidence), 0.0, 0
    for network in kkt_directions(evidence):
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


def _balanced(evidence: Evidence) -> Measurement:
    worst = max(float(np.max(np.abs(np.abs(n.a) - row_norms(n.w)))) for n in kkt_directions(evidence))
    return equals(worst, 0.0, atol=1e-9, detail=f"||a_k| - |w_k|| is at most {worst:.2g}")
