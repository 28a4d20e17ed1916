"""Errata on the limit and its metrics: E4 to E6, E8, E10, E11, E15 and E16 [min2025]."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.hard_margin import hard_margin
from reluflow.certificates.pair_kkt import pair_kkt
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.train import train
from reluflow.papers.min2025 import starts
from reluflow.papers.min2025.alignments import Alignments
from reluflow.papers.min2025.class_geometry import ClassGeometry, pseudo_labels
from reluflow.papers.min2025.collapse import limit_network, margin_one_network
from reluflow.theory.comparison import Comparison, above_rounding, at_least, at_most, equals, none_of
from reluflow.theory.erratum import Erratum


def _sideways(*, printed: bool) -> Comparison:
    """Least max_k <xi, x_k> over unit xi orthogonal to u: of {(1, 0), (2, 0.1)}, or of {(1, 1), (1, -1)}."""
    rows = np.array([[1.0, 0.0], [2.0, 0.1]] if printed else [[1.0, 1.0], [1.0, -1.0]])
    u = hard_margin(rows).w
    across = np.array([-u[1], u[0]])
    least = min(float(np.max(rows @ xi)) for xi in (across, -across))
    shown = above_rounding(least, 1e-9)
    return at_least(least, 1e-9, detail=f"least $\\max_k \\langle \\xi, x_k\\rangle$ is {shown} on {rows.tolist()}")


E4 = Erratum(
    "min2025:E4",
    partial(_sideways, printed=True),
    partial(_sideways, printed=False),
    where="Lemma 12",
    printed=r"$\min_{\xi \perp u_c} \max_{I_c} \langle \xi, x_k\rangle > 0$ for positively correlated samples",
    corrected=r"where the support samples span the class, over $\xi$ of its span. Proposition 2 does not need it",
)


def trace_of_lemma_13(differences: FloatArray) -> float:
    """sum_k sum_c' p_kc' <Pi (th_c - th_c'), x_k> for x = (1,1), (1,1), (1,-1), whose u is (1, 0)."""
    X = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    gaps = X @ differences.T  # (n, K - 1)
    top = np.maximum(np.max(-gaps, axis=1, keepdims=True), 0.0)
    weights = np.exp(-gaps - top)
    p = weights / (np.exp(-top) + weights.sum(axis=1, keepdims=True))
    return float(np.sum(p * (X[:, 1:] * differences[:, 1])))


def _trace(*, printed: bool) -> Comparison:
    """The trace for |Pi (th_1 - th_2)| = 500, with the part along u growing along, or held at 20."""
    length = 500.0
    found = trace_of_lemma_13(np.array([[length + 20.0 if printed else 20.0, length], [1.0, 0.2]]))
    return at_most(found, 0.0, detail=f"the trace is {found:.4g} for $|\\Pi(\\theta_1 - \\theta_2)| = 500$")


E5 = Erratum(
    "min2025:E5",
    partial(_trace, printed=True),
    partial(_trace, printed=False),
    where="Lemma 13; Prop. 2, proof",
    printed=r"the trace is at most 0 once $|\Pi(\theta_c - \theta_{c'})|$ is sufficiently large",
    corrected=r"how large depends on $\langle \theta_c - \theta_{c'}, u\rangle$, which grows along in the proof of "
    "Prop. 2; that follows from the KKT conditions by Perron's theorem instead",
)


def _without_alignment(*, printed: bool) -> Comparison:
    """Neurons that left their class by t = 5 on set a, of a start on exactly one class each, with B_1 = -1 or 1."""
    problem = starts.golden_a()
    geometry = ClassGeometry.of(problem.dataset)
    v = problem.network.v.copy()
    v[0] = (-1.0 if printed else 1.0) * pseudo_labels(3)[0]
    run = train(
        starts.problem_of(problem.dataset, problem.network.replace(v=v)),
        CollocationFlow(rtol=1e-9),
        until=5.0,
        times=[5.0],
    )
    first = Alignments.of(problem.network, geometry).full_classes
    wrong = int(np.sum(Alignments.of(run.snapshots[-1].network, geometry).full_classes != first))
    return none_of(wrong, total=first.size, detail=f"{wrong} of {first.size} neurons left their class by $t$ = 5")


E6 = Erratum(
    "min2025:E6",
    partial(_without_alignment, printed=True),
    partial(_without_alignment, printed=False),
    where="Prop. 2",
    printed="separated neurons, without a bound on $B_c$ or on the scale",
    corrected=r"neurons in traps: separated, and $B_c \ge \sqrt{(K-2)/(2K-2)}$; then at any scale",
)


@cache
def _late_norms() -> tuple[float, float]:
    """|theta| at log t = 100 and 600 on set a."""
    times = [float(np.exp(100.0)), float(np.exp(600.0))]
    run = train(starts.golden_a(), CollocationFlow(rtol=1e-9), until=Exhausted(), times=times, horizon=times[-1])
    return tuple(float(np.sqrt(s.network.squared_norm())) for s in run.snapshots)  # type: ignore[return-value]


def _growth(*, printed: bool) -> Comparison:
    """The exponent of |theta| in log t from 100 to 600."""
    first, last = _late_norms()
    power, stated = float(np.log(last / first) / np.log(6.0)), 1.0 if printed else 0.5
    words = f"$|\\theta|$ grows like $\\log t$ to the power {power:.3f}, {stated:g} stated"
    return equals(power, stated, atol=0.05, detail=words)


E8 = Erratum(
    "min2025:E8",
    partial(_growth, printed=True),
    partial(_growth, printed=False),
    where="App. D, end; Eq. (74)",
    printed=r"weights grow like $\log t$; the right-hand side of (74) like $1/t$",
    corrected=r"like $\sqrt{\log t}$, and $1/(t \log t)$, whose integral diverges too",
)


def _target(*, printed: bool) -> Comparison:
    """The norm of the target of NC3, of which a normalised matrix is subtracted."""
    length = float(np.linalg.norm(pseudo_labels(3) / np.sqrt(2.0 if printed else 3.0)))
    return equals(length, 1.0, atol=1e-12, detail=f"the target of NC3 has norm {length:.6g} for $K = 3$")


E10 = Erratum(
    "min2025:E10",
    partial(_target, printed=True),
    partial(_target, printed=False),
    where="App. B.2, NC3",
    printed=r"the target $\tilde{E}/\sqrt{K-1}$, so that NC3 is at least $\sqrt{K/(K-1)} - 1$",
    corrected=r"$\tilde{E}/\sqrt{K}$, of norm 1",
)


def _simplex(*, printed: bool) -> Comparison:
    """Distance of V V^T of the limit, normalised, from a simplex frame: of set a, or of three samples of a simplex."""
    equal = Dataset(pseudo_labels(3), [0, 1, 2], classes=("1", "2", "3"), name="equal margins")
    data = load("min2025-a") if printed else equal
    v = limit_network(ClassGeometry.of(data)).v
    gram, frame = v.T @ v, pseudo_labels(3) @ pseudo_labels(3).T
    distance = float(np.linalg.norm(gram / np.linalg.norm(gram) - frame / np.linalg.norm(frame)))
    return at_most(distance, 1e-9, detail=f"{above_rounding(distance, 1e-9)} from a simplex frame ({data.name})")


E11 = Erratum(
    "min2025:E11",
    partial(_simplex, printed=True),
    partial(_simplex, printed=False),
    where="Sec. 3, remarks on Theorem 1",
    printed=r"the classifier is a scaled simplex equiangular tight frame; $\bar{\Phi} "
    r"\bar{\Phi}^\top$ for a $K \times K$ matrix",
    corrected=r"only where all $\gamma_c$ are equal; $\bar{\Phi}^\top \bar{\Phi}$",
)


def _span(*, printed: bool) -> Comparison:
    """Least rank of the support samples of a class of set a, against d; or the KKT residual of the limit there."""
    data = load("min2025-a")
    geometry = ClassGeometry.of(data)
    if not printed:
        residual = pair_kkt(margin_one_network(geometry), data).residual
        return at_most(residual, 1e-9, detail=f"the limit is a KKT point there to {above_rounding(residual, 1e-9)}")
    ranks = [
        int(np.linalg.matrix_rank(data.X[members][margin.multipliers > 1e-9]))
        for members, margin in zip(geometry.members, geometry.margins, strict=True)
    ]
    return at_least(
        min(ranks), data.d, detail=f"support samples of rank {min(ranks)} in dimension {data.d} (min2025-a)"
    )


E15 = Erratum(
    "min2025:E15",
    partial(_span, printed=True),
    partial(_span, printed=False),
    where="Sec. 4.1",
    printed="Theorem 1 of phuong2021, whose span assumption is not listed",
    corrected="the KKT argument needs no span",
)
E16 = Erratum(
    "min2025:E16",
    None,
    None,
    where="App. D",
    printed="the limit of the direction exists by Lyu & Li (2020)",
    corrected="by Ji & Telgarsky (2020); Lyu & Li show that limit points are KKT points",
    unmeasured="who proved a theorem is no number; both are cited, and the statement used stands",
)
