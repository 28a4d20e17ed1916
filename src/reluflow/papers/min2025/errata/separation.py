"""Errata on the start, the alignment and the separation: E1 to E3, E7, E9, E12 to E14 and E17 [min2025]."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.data.registry import load
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.train import train
from reluflow.losses import SoftmaxLoss
from reluflow.network import neuron_rng
from reluflow.network.network import row_norms
from reluflow.papers.min2025 import starts
from reluflow.papers.min2025.alignments import Alignments
from reluflow.papers.min2025.class_geometry import ClassGeometry, force_length, pseudo_labels
from reluflow.papers.min2025.class_pairs import CLASS_PAIRS
from reluflow.papers.min2025.theorems.class_cones import LEMMA_9, drawn_directions
from reluflow.theory.comparison import Comparison, above_rounding, at_least, at_most, equals, none_of
from reluflow.theory.erratum import Erratum
from reluflow.theory.evidence import Evidence


def _rival_alignment(*, printed: bool) -> Comparison:
    """B_2 of v = (4, 1, -5) against the bound by B_1."""
    B = pseudo_labels(3) @ np.array([4.0, 1.0, -5.0]) / np.sqrt(42.0)
    spread = np.sqrt(3.0) / 2.0 * np.sqrt(1.0 - B[0] ** 2) - B[0] / 2.0
    bound = 2.0 * (1.0 - B[0]) - 0.5 if printed else spread
    return at_most(
        B[1],
        bound,
        allowance=1e-12,
        detail=f"$v = (4, 1, -5)/\\sqrt{{42}}$ has $B_2$ = {B[1]:.4f}, at most {bound:.4f} stated",
    )


E1 = Erratum(
    "min2025:E1",
    partial(_rival_alignment, printed=True),
    partial(_rival_alignment, printed=False),
    where="Lemma 6; the threshold of (18)",
    printed=r"$B_{c'} \le 2(1 - B_c) - 1/(K-1)$",
    corrected=r"$|B_{c'} + B_c/(K-1)| \le \frac{\sqrt{K(K-2)}}{K-1} \sqrt{1 - B_c^2}$; all $B_{c'} \le 0$ only from "
    r"$B_c \ge \sqrt{K(K-2)}/(K-1)$ on",
)


def _lost(problem: TrainingProblem, time: float) -> Comparison:
    """Neurons that do not fire, at a time, on exactly the class they started for."""
    geometry = ClassGeometry.of(problem.dataset)
    start = np.argmax(Alignments.of(problem.network, geometry).printed_start(), axis=1)
    run = train(problem, CollocationFlow(rtol=1e-9), until=time, times=[time])
    end = Alignments.of(run.snapshots[-1].network, geometry).full_classes
    wrong = int(np.sum(end != start))
    words = (
        f"{wrong} of {start.size} neurons do not fire on exactly their class at $t$ = {time:g} ({problem.dataset.name})"
    )
    return none_of(wrong, total=start.size, detail=words)


def _first_counterexample() -> Comparison:
    return _lost(starts.counterexample_1(), 3.0)


def _exclusive_start() -> Comparison:
    return _lost(starts.golden_b(), 3.0)


E2 = Erratum(
    "min2025:E2",
    _first_counterexample,
    _exclusive_start,
    where="Lemma 4, Props. 1 and 3",
    printed=r"from (18) and $X_{\max}^2/(X_{\min}^2 \mu_d \mu_s^2) < 2K - 3$ each neuron of $N_c$ comes to fire on "
    "exactly class $c$",
    corrected="false: a neuron of class 1 goes over to class 2, and the loss tends to $\\log 3$. "
    "True from an exclusive "
    "start, and from a semi-local one",
)


def _second_counterexample() -> Comparison:
    return _lost(starts.counterexample_2(), 0.5)


def _sizes_refuse() -> Comparison:
    """The margin of the semi-local start, whose third condition has the sizes of the classes, at the lost neuron."""
    problem = starts.counterexample_2()
    margin = float(Alignments.of(problem.network, ClassGeometry.of(problem.dataset)).semi_local_start()[0].max())
    return at_most(margin, 0.0, detail=f"the semi-local start refuses that neuron, by a margin of {margin:.4f}")


E3 = Erratum(
    "min2025:E3",
    _second_counterexample,
    _sizes_refuse,
    where="Lemma 4, Props. 1 and 3",
    printed="no size of a class in the hypotheses",
    corrected=r"false also with all $B_{c'} < 0$; add $\mu_d \sum_{I_c^w} |x_k| > \max_{c'} \sum_{I_{c'}^w} |x_k|$",
)


def _foreign_case(*, printed: bool) -> Comparison:
    """Directions that fire on a whole class and on another: how many Lemma 9 leaves out, or the least gap there."""
    problem = starts.golden_a()
    evidence = Evidence(problem)
    record = drawn_directions(evidence)
    found = Alignments(ClassGeometry.of(problem.dataset), record.w, np.ones((len(record.w), 3)))
    full = (found.num_active == found.geometry.sizes) & ((found.num_active > 0).sum(axis=1, keepdims=True) > 1)
    if printed:
        count = int(full.any(axis=1).sum())
        return none_of(count, detail=f"{count} of {len(record.w)} directions fire on a whole class and on another")
    conclusion = next(c for c in LEMMA_9.conclusions if c.name == "foreign-active")
    least = conclusion.measure(LEMMA_9.recorded(evidence)).measured or 0.0
    return at_least(least, 0.0, detail=f"least $1 - A_c^2/|S_c|^2 - \\mu_d^2$ of these is {least:.4g}")


E7 = Erratum(
    "min2025:E7",
    partial(_foreign_case, printed=True),
    partial(_foreign_case, printed=False),
    where="Prop. 3, proof; Lemma 9",
    printed="some sample of class $c$ is inactive",
    corrected=r"also needed where class $c$ is active as a whole and another sample too: $|S_c|^2 - "
    r"A_c^2 \ge \mu_d^2 |S_c|^2$",
)


def _largest_mu_d(*, printed: bool) -> Comparison:
    """mu_d of a simplex, the largest there is for K = 3, against the bound as an attained one."""
    simplex = pseudo_labels(3)
    mu_d = -float((simplex @ simplex.T)[0, 1])
    bound = 1.0 / np.sqrt(2.0) if printed else 0.5
    return equals(mu_d, bound, atol=1e-12, detail=f"a simplex has $\\mu_d$ = {mu_d:.4g}, the bound is {bound:.4g}")


E9 = Erratum(
    "min2025:E9",
    partial(_largest_mu_d, printed=True),
    partial(_largest_mu_d, printed=False),
    where="footnote 2",
    printed=r"$\mu_d \le 1/\sqrt{K-1}$, as the largest that can be",
    corrected=r"$\mu_d \le 1/(K-1)$, attained by a simplex",
)


def _first_norm(*, printed: bool) -> Comparison:
    """|w(0)|^2 against the bound of Lemma 2 at its own eps, with W_max = 10, m = 6, K = 3, X_max = 1."""
    largest, m, K = 10.0, 6, 3
    eps = np.sqrt(K) / (16.0 * np.sqrt(m))
    bound = eps / np.sqrt(m) * (1.0 if printed else largest**2)
    square = (eps * largest) ** 2
    words = f"$|w(0)|^2$ = {square:.4f} against {bound:.4f} for $W_{{\\max}} = 10$, $m = 6$, $\\varepsilon$ = {eps:.4f}"
    return at_most(square, bound, detail=words)


E12 = Erratum(
    "min2025:E12",
    partial(_first_norm, printed=True),
    partial(_first_norm, printed=False),
    where="Lemmas 2 and 3",
    printed=r"$|w_j|^2 \le \varepsilon/\sqrt{m}$ for any start",
    corrected=r"$\varepsilon W_{\max}^2/\sqrt{m}$, by $|f_k| \le \sqrt{2}$ and without a condition on $\varepsilon$",
)


def _force_at_zero(*, printed: bool) -> Comparison:
    """The length of -dl/dh at h = 0 against that of y - yhat, with yhat the outputs or the probabilities."""
    force = SoftmaxLoss().force(np.zeros((1, 3)), np.array([0.0]))
    length = float(np.linalg.norm(force))
    stated = 1.0 if printed else force_length(3)
    words = f"the force at $h = 0$ has length {length:.4f}, $y - \\hat{{y}}$ {stated:.4f}"
    return equals(length, stated, atol=1e-12, detail=words)


E13 = Erratum(
    "min2025:E13",
    partial(_force_at_zero, printed=True),
    partial(_force_at_zero, printed=False),
    where="Sec. 3 and App. C",
    printed=r"$\hat{y}$ stands for the outputs and for the probabilities; the cross-entropy has a "
    r"label inside the logarithm",
    corrected=r"the force is $y - p$ with the probabilities $p$; the loss is $-\log p_y$",
)


def _recipe(*, printed: bool) -> Comparison:
    """Largest ||v| - |w|| of neurons made of samples and labels."""
    data = load("min2025-a")
    geometry = ClassGeometry.of(data)
    if printed:
        w, v = data.X, pseudo_labels(3)[geometry.labels]
    else:
        network = CLASS_PAIRS(data, width=9, scale=1.0, rng=neuron_rng(0))
        w, v = network.w, network.v
    gap = float(np.max(np.abs(row_norms(v) - row_norms(w))))
    return at_most(gap, 1e-12, detail=f"largest $||v| - |w||$ is {above_rounding(gap, 1e-12)}")


E14 = Erratum(
    "min2025:E14",
    partial(_recipe, printed=True),
    partial(_recipe, printed=False),
    where="Sec. 4.2",
    printed=r"neurons $(x_k, \tilde{e}_{y_k})$ of random samples meet Assumption 2",
    corrected=r"scale $v$ by $|x_k|$, or both to one length, and take a sample of each class in turn: "
    r"else they are not "
    "balanced, and a class may have none",
)


def _size_in_lemma_5(*, printed: bool) -> Comparison:
    """How many samples a neuron of class 1 fires on, against the number of neurons of the class, or of its samples."""
    problem = starts.golden_a()
    found = Alignments.of(problem.network, ClassGeometry.of(problem.dataset))
    active = int(found.num_active[0, 0])
    stated = int(np.sum(found.full_classes == 0)) if printed else int(found.geometry.sizes[0])
    return equals(active, stated, atol=0.0, detail=f"a neuron of class 1 fires on {active} samples, {stated} stated")


E17 = Erratum(
    "min2025:E17",
    partial(_size_in_lemma_5, printed=True),
    partial(_size_in_lemma_5, printed=False),
    where="Lemmas 4 and 5, App. D, footnote 3",
    printed="sums over the $N_k$ neurons of a class; inequalities of Lemma 4 end reversed; two "
    "meanings of $T$; the sign of "
    "the Clarke gradient",
    corrected="sums over its $n_k$ samples; slips of the pen, without consequence",
)
