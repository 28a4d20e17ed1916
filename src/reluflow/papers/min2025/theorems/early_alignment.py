"""Lemmas 1 to 3: near output 0 the forces are frozen, neurons stay small and turn by the alignment flow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.papers.min2025.paper import EXAMPLE, SETTING
from reluflow.papers.min2025.theorems.shared import SETTING_HYPOTHESES, geometry, largest_row
from reluflow.theory.comparison import Source, Values
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import BALANCED
from reluflow.theory.measures import AtMost, Quantities, ScaledDownTo
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

ROUNDING = 1e-12  # of a logarithm of a norm along a run

# Lemma 1 --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DrawnOutputs:
    """Outputs h drawn with |h| <= 1/4, shape (draws, K)."""

    outputs: FloatArray


def drawn_outputs(evidence: Evidence) -> DrawnOutputs:
    """Two thousand outputs of lengths up to 1/4."""
    rng, K = np.random.default_rng(0), evidence.problem.num_outputs
    h = rng.standard_normal((2000, K))
    h *= 0.25 * rng.random((2000, 1)) / np.linalg.norm(h, axis=1, keepdims=True)
    return DrawnOutputs(h)


def _spread(evidence: Evidence) -> tuple[FloatArray, FloatArray, int]:
    """|p - 1/K| of the drawn outputs, their lengths, and K; the force of the loss on class 0 is e_0 - p."""
    outputs, K = evidence.recorded(DrawnOutputs).outputs, evidence.problem.num_outputs
    p = np.eye(K)[0] - evidence.loss.force(outputs, np.zeros(len(outputs)))
    return np.linalg.norm(p - 1.0 / K, axis=1), np.linalg.norm(outputs, axis=1), K


def _against_printed(evidence: Evidence) -> Values:
    spread, lengths, K = _spread(evidence)
    return [spread / (8.0 / np.sqrt(K) * lengths)]


def _against_half(evidence: Evidence) -> Values:
    spread, lengths, _ = _spread(evidence)
    return [spread / (0.5 * lengths)]


def _against_sharp(evidence: Evidence) -> Values:
    spread, lengths, K = _spread(evidence)
    return [spread / (np.exp(np.sqrt(2.0) * lengths) / K * lengths)]


LEMMA_1 = Theorem(
    "min2025:lemma1",
    Reference("min2025", "Lemma 1"),
    r"Where $|h| \le 1/4$ the probabilities are near $1/K$: $|p - 1/K| \le (8/\sqrt{K})\,|h|$.",
    hypotheses=(SETTING_HYPOTHESES[0],),
    conclusions=(
        Conclusion("near", r"$|p - 1/K| \le (8/\sqrt{K}) |h|$", AtMost(_against_printed, 1.0, allowance=1e-9)),
        Conclusion(
            "half",
            r"$|p - 1/K| \le |h|/2$ for every $h$",
            AtMost(_against_half, 1.0, allowance=1e-9),
            source=Source.RELUFLOW,
        ),
        Conclusion(
            "sharp",
            r"$|p - 1/K| \le e^{\sqrt{2} |h|} |h|/K$",
            AtMost(_against_sharp, 1.0, allowance=1e-9),
            source=Source.RELUFLOW,
        ),
    ),
    record=drawn_outputs,
    setting=SETTING,
    example=EXAMPLE,
    takes_classes=True,
)

# Lemmas 2 and 3 -------------------------------------------------------------------------------------------------------


def largest_length(evidence: Evidence) -> float:
    """X_max."""
    return float(geometry(evidence).norms.max())


def alignment_time(evidence: Evidence) -> float:
    """T = log(1/(sqrt m eps))/(4 n X_max), with eps the scale of the start."""
    m, n = evidence.network.num_neurons, evidence.dataset.n
    return float((-evidence.network.log_scale - 0.5 * np.log(m)) / (4.0 * n * largest_length(evidence)))


def early_plan(evidence: Evidence) -> FlowPlan:
    """Nine snapshots on [0, T]."""
    return FlowPlan(times=tuple(np.linspace(0.0, max(alignment_time(evidence), 1e-6), 9)))


def _log_scale_of_lemma_2(evidence: Evidence, *, roots: bool) -> float:
    """log of sqrt K/(16 X_max sqrt m), Lemma 2's bound on eps, or of 1/(16 X_max sqrt m), Lemma 3's."""
    m, K = evidence.network.num_neurons, evidence.problem.num_outputs
    return float(np.log((np.sqrt(K) if roots else 1.0) / (16.0 * largest_length(evidence) * np.sqrt(m))))


def _excess_scale(evidence: Evidence, *, roots: bool) -> float:
    return evidence.network.log_scale - _log_scale_of_lemma_2(evidence, roots=roots)


def _small_scale(bound: str, *, roots: bool) -> Hypothesis:
    return Hypothesis(
        "small-scale",
        rf"$\varepsilon \le {bound}$",
        AtMost(partial(_excess_scale, roots=roots), 0.0, words=r"$\log\varepsilon$ exceeds the bound by {number:.4g}"),
        is_regime=True,
    )


UNIT_START = Hypothesis(
    "unit-start",
    r"$W_{\max} = \max |w_j(0)|/\varepsilon \le 1$, which the paper uses silently (E12)",
    AtMost(largest_row, 1.0, allowance=1e-12, words=r"$W_{{\max}}$ = {number:.6g}"),
)


def _log_squares(network: Network) -> FloatArray:
    return np.asarray(2.0 * (np.log(row_norms(network.w)) + network.log_scale))


def _norm_excess(evidence: Evidence) -> Values:
    m, log_eps = evidence.network.num_neurons, evidence.network.log_scale
    bound = log_eps - 0.5 * np.log(m)
    return [_log_squares(s.network) - bound for s in evidence.run.snapshots]


def _output_excess(evidence: Evidence) -> Values:
    m, log_eps = evidence.network.num_neurons, evidence.network.log_scale
    bound = np.log(2.0) + log_eps + np.log(largest_length(evidence)) + 0.5 * np.log(m)
    return [log_outputs(s.network, evidence) - bound for s in evidence.run.snapshots]


def log_outputs(network: Network, evidence: Evidence) -> float:
    """log max_k |h(x_k)|, whatever the scale."""
    h = network.shape_outputs(evidence.dataset.X)
    return float(np.log(np.max(np.linalg.norm(h, axis=1))) + 2.0 * network.log_scale)


def _growth_excess(evidence: Evidence) -> Values:
    """log of |w_j(t)|^2/|w_j(0)|^2 over 2 sqrt 2 n X_max t, less 1, at times after 0."""
    start, rate = evidence.run.snapshots[0], 2.0 * np.sqrt(2.0) * evidence.dataset.n * largest_length(evidence)
    first = _log_squares(start.network)
    return [_log_squares(s.network) - first - rate * s.time for s in evidence.run.snapshots if s.time > 0.0]


LEMMA_2 = Theorem(
    "min2025:lemma2",
    Reference("min2025", "Lemma 2"),
    r"Up to $T = \log(1/(\sqrt{m}\,\varepsilon))/(4 n X_{\max})$ neurons stay small: $|w_j|^2 \le "
    r"\varepsilon/\sqrt{m}$ "
    r"and $|h(x_k)| \le 2 \varepsilon X_{\max} \sqrt{m}$.",
    hypotheses=(
        *SETTING_HYPOTHESES,
        BALANCED,
        UNIT_START,
        _small_scale(r"\sqrt{K}/(16 X_{\max} \sqrt{m})", roots=True),
    ),
    conclusions=(
        Conclusion("norm", r"$|w_j|^2 \le \varepsilon/\sqrt{m}$ on $[0, T]$", AtMost(_norm_excess, 0.0)),
        Conclusion(
            "output", r"$|h(x_k)| \le 2 \varepsilon X_{\max} \sqrt{m}$ on $[0, T]$", AtMost(_output_excess, 0.0)
        ),
        Conclusion(
            "growth",
            r"$|w_j(t)|^2 \le |w_j(0)|^2 e^{2\sqrt{2}\, n X_{\max} t}$, at any scale and for all $t$",
            AtMost(_growth_excess, 0.0, allowance=ROUNDING),
            source=Source.RELUFLOW,
        ),
    ),
    constants=Quantities({"T": alignment_time, "largest_length": largest_length}),
    plan=early_plan,
    log_scale=ScaledDownTo(partial(_log_scale_of_lemma_2, roots=True)),
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E12: the factor $W_{\max}$ is missing; here it is asked to be at most 1.",
    takes_classes=True,
)


def _alignment_errors(evidence: Evidence) -> list[tuple[float, float]]:
    """At each recorded time the deviation from the alignment flow, by the recorded outputs, and max |h|."""
    X, K, found = evidence.dataset.X, evidence.problem.num_outputs, []
    labels = geometry(evidence).labels
    for snapshot in evidence.run.snapshots:
        network = snapshot.network
        forces = evidence.loss.force(snapshot.outputs, evidence.dataset.y) - (np.eye(K)[labels] - 1.0 / K)  # 1/K - p
        wh = network.w / row_norms(network.w)[:, None]
        vh = network.v / row_norms(network.v)[:, None]
        active = np.maximum(wh @ X.T, 0.0)
        on_w = ((active > 0.0) * (vh @ forces.T)) @ X
        on_v = active @ forces
        on_w -= np.sum(on_w * wh, axis=1, keepdims=True) * wh
        on_v -= np.sum(on_v * vh, axis=1, keepdims=True) * vh
        largest = max(float(np.max(np.linalg.norm(part, axis=1))) for part in (on_w, on_v))
        found.append((largest, float(np.max(np.linalg.norm(network.outputs(X), axis=1)))))
    return found


def _error_over_printed(evidence: Evidence) -> Values:
    m, n, K = evidence.network.num_neurons, evidence.dataset.n, evidence.problem.num_outputs
    log_bound = np.log(16.0 / np.sqrt(K) * n * np.sqrt(m)) + 2.0 * np.log(largest_length(evidence))
    bound = np.exp(log_bound + evidence.network.log_scale)
    return [error / bound for error, _ in _alignment_errors(evidence)]


def _error_over_outputs(evidence: Evidence) -> Values:
    """|err| over n X_max max|h|/2, where outputs are above rounding."""
    bound = 0.5 * evidence.dataset.n * largest_length(evidence)
    return [(error - 1e-14) / (bound * size + 1e-300) for error, size in _alignment_errors(evidence)]


LEMMA_3 = Theorem(
    "min2025:lemma3",
    Reference("min2025", "Lemma 3, Eqs. (16), (17)"),
    r"Up to $T$ the directions of a neuron turn by the alignment flow $d\hat{w}/dt = \kappa P_w \sum_k \xi_k "
    r"\langle \tilde{e}_{y_k}, \hat{v}\rangle x_k$, $d\hat{v}/dt = \kappa P_v \sum_k \max(\langle "
    r"x_k, \hat{w}\rangle, 0)"
    r"\, \tilde{e}_{y_k}$, up to $(16/\sqrt{K})\, \varepsilon n X_{\max}^2 \sqrt{m}$.",
    hypotheses=(*SETTING_HYPOTHESES, BALANCED, UNIT_START, _small_scale(r"1/(16 X_{\max} \sqrt{m})", roots=False)),
    conclusions=(
        Conclusion("error", "the error of either direction is at most the bound", AtMost(_error_over_printed, 1.0)),
        Conclusion(
            "sharp",
            r"the error is at most $n X_{\max} \max_k |h(x_k)|/2$, whatever the scale",
            AtMost(_error_over_outputs, 1.0),
            source=Source.RELUFLOW,
        ),
    ),
    constants=Quantities({"T": alignment_time}),
    plan=early_plan,
    log_scale=ScaledDownTo(partial(_log_scale_of_lemma_2, roots=False)),
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E12: the factor $W_{\max}$ is missing; here it is asked to be at most 1.",
    takes_classes=True,
)
