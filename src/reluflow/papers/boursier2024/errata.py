"""Errata of Boursier & Flammarion (2024), arXiv v3: what is printed, where it fails, and what holds instead."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.geometry.alignment import align_until
from reluflow.geometry.thresholds import alignment_constants
from reluflow.losses import SquareLoss
from reluflow.network import Network
from reluflow.papers.boursier2024.assumptions import facet_condition, loss_is_smooth, no_dead_saddle, no_saddle
from reluflow.papers.boursier2024.theorems.spurious_constants import spurious_constants
from reluflow.papers.boursier2024.theorems.three_points import box_corners, facet_margins
from reluflow.theory.comparison import Comparison, above_rounding, at_least, at_most, none_of
from reluflow.theory.erratum import Erratum
from reluflow.theory.facts import DatasetFacts

FINDING_DATA = Dataset([[-1.59, 1.61], [-0.29, 1.69], [0.39, 0.54]], [1.33, 0.2, 0.27], name="off-the-line")


def _facts(dataset: Dataset) -> DatasetFacts:
    return DatasetFacts(dataset, SquareLoss(), 0.0)


def _pull(dataset: Dataset, w: FloatArray) -> FloatArray:
    """D(w, 0) off the boundaries."""
    return np.asarray((dataset.y * (dataset.X @ w > 0.0)) @ dataset.X / dataset.n)


def _lipschitz(factor: float) -> Comparison:
    """1 minus the Lipschitz constant of the derivative of factor (h - y)^2/2."""
    margin = loss_is_smooth(DatasetFacts(load("three-points"), SquareLoss(factor=factor), 0.0)).margin
    constant = 1.0 - (margin if margin is not None else -np.inf)
    return at_most(constant, 1.0, detail=rf"$d\ell/dh$ of {factor:g} $(h - y)^2/2$ has Lipschitz constant {constant:g}")


E1 = Erratum(
    "boursier2024:E1",
    partial(_lipschitz, 2.0),
    partial(_lipschitz, 1.0),
    where="Sec. 2, Assumption 1",
    printed="$(h - y)^2$ is an instance",
    corrected="its derivative is 2-Lipschitz; $(h - y)^2/2$ is one",
)


def _late_neurons(*, printed: bool) -> Comparison:
    """Neurons with Condition 1, alpha_0 = 1, outside the extremal cone at tau, eps = 0.1, three points, frozen forces.

    At lambda = 0.01, below (22), or at the corrected threshold; the way of each neuron is known in closed form.
    """
    data, eps = load("three-points"), 0.1
    constants = alignment_constants(data, SquareLoss())
    log_lambda = float(np.log(0.01)) if printed else constants.log_lambda_corrected(eps, 1.0)
    angles = np.linspace(-np.pi, np.pi, 400, endpoint=False)
    w = np.column_stack([np.cos(angles), np.sin(angles)])
    start = np.array([_pull(data, row) for row in w])
    w = w[(np.sum(start * w, axis=1) > 0.0) & np.any(start != 0.0, axis=1)]
    ends = align_until(data.X, data.y / data.n, w, np.ones(len(w)), constants.tau(log_lambda, eps)).w
    late = int(np.sum(~np.all(ends @ data.X.T > 0.0, axis=1)))
    words = rf"{late} of {len(w)} neurons with Condition 1 are outside the extremal cone at $\tau$"
    allowed = constants.log_lambda_star(eps, 1.0)
    return none_of(late, detail=rf"{words}, $\ln\lambda$ = {log_lambda:.4g}; (22) allows {allowed:.4g}")


E2 = Erratum(
    "boursier2024:E2",
    partial(_late_neurons, printed=True),
    partial(_late_neurons, printed=False),
    where="Thm 1(ii), Thm 3(ii)",
    printed=r"$\lambda < \lambda^*$ of (22) puts every neuron with Condition 1 in an extremal cone at $\tau$",
    corrected=r"also $\lambda \le \exp(-4 D_{\max}^2/(\varepsilon D_{\min}^2\,\min(\alpha_{\min}, \alpha_0)^2))$, "
    r"so that the neuron has arrived by $\tau$ (Theorem 3: the factor 2 and $\alpha_{\min}$ alone)",
)


def _facets(eta: float) -> Comparison:
    least = float(facet_margins(*box_corners(eta)).min())
    return at_least(
        least, 0.0, detail=rf"least margin of Assumption 5 over the corners at $\eta$ = {eta:g} is {least:.4g}"
    )


E3 = Erratum(
    "boursier2024:E3",
    partial(_facets, 0.16),
    partial(_facets, 0.0976),
    where="Lemma 8, Thm 2",
    printed=r"$\eta < 1/6$ gives Assumption 5 on the box of Assumption 3",
    corrected=r"$\eta < 0.09765$ does, and no more: at the worst corner it fails beyond",
)


def _repels(side: float) -> Comparison:
    """How fast a negative neuron beside side * D/|D| leaves it: an exceptional direction repels."""
    pull = np.array([0.6, 0.8])
    start = side * pull + 1e-6 * np.array([-0.8, 0.6])
    moved = start - 1e-3 * (pull - (pull @ start) * start)  # a < 0
    rate = float(np.log(np.linalg.norm(moved - side * pull) / np.linalg.norm(start - side * pull))) / 1e-3
    return at_least(
        rate, 0.0, detail=f"a neuron with $a < 0$ leaves the ray of {side:+g} times $D/|D|$ at the rate {rate:.4g}"
    )


E4 = Erratum(
    "boursier2024:E4",
    partial(_repels, -1.0),
    partial(_repels, 1.0),
    where="Thm 1(ii)",
    printed="the exceptional neurons have $w/|w| = -D/|D|$",
    corrected="for $a_j > 0$; for $a_j < 0$ it is $+D/|D|$, so $(w/a)/|w/a| = -D/|D|$ for both",
)


def _alpha_minus(*, printed: bool) -> Comparison:
    """alpha_min^- on two samples with negative labels: 0 if the cone with D_u in -M_u is not excluded."""
    data = Dataset([[1.0, 0.2], [0.3, 1.0]], [-1.0, -0.5])
    pull = _pull(data, np.array([1.0, 1.0]))  # of the all-active cone, which holds -D_u
    cosine = float(np.min(-pull @ pull / (pull @ pull), where=np.min(data.X @ -pull) > 0.0, initial=1.0))
    value = alignment_constants(data, SquareLoss()).alpha_min_minus
    if printed:
        value = min(value, float(np.sqrt(1.0 - cosine**2)))
    return at_least(
        value, 1e-9, detail=rf"$\alpha_{{\min}}^-$ = {value:.4g}, $-D_u$ = ({-pull[0]:.3g}, {-pull[1]:.3g}) in $M_u$"
    )


E5 = Erratum(
    "boursier2024:E5",
    partial(_alpha_minus, printed=True),
    partial(_alpha_minus, printed=False),
    where="Eq. (25)",
    printed=r"$\alpha_{\min}^-$ excludes cones that meet $D_u$",
    corrected="it must exclude cones with $D_u$ in $-M_u$; as printed it is 0 on generic data with negative labels",
)


def _boundary_pull(sign: float) -> Comparison:
    """<D_u, x_2>/|x_2| of D_u = D~_u + sign Z_u eta on the boundary of x_2, where the shortest D_u is tangential."""
    data = Dataset([[1.0, 0.3], [-0.8, 1.0]], [1.0, 1.0])
    rest = data.y[0] * data.X[0] / data.n
    Z = -data.y[1] * data.X[1] / data.n  # l'(0, y) = -y
    eta = float(rest @ data.X[1] / (Z @ data.X[1]))  # the slope of the shortest element, in [0, 1]
    across = abs(float((rest + sign * Z * eta) @ data.X[1])) / float(np.linalg.norm(data.X[1]))
    left = above_rounding(across, 1e-12)
    return at_most(
        across, 1e-12, detail=rf"$\tilde{{D}}_u$ {'+' if sign > 0 else '-'} $Z_u \eta$ leaves its boundary by {left}"
    )


E6 = Erratum(
    "boursier2024:E6",
    partial(_boundary_pull, 1.0),
    partial(_boundary_pull, -1.0),
    where="Eq. (20)",
    printed=r"$D_u = \tilde D_u + Z_u \eta$, $\eta$ in $\mathbb{R}^n$",
    corrected=r"$D_u = \tilde D_u - Z_u \eta$, $\eta$ in $\mathbb{R}^{K(u)}$",
)


def _line_and_network(x: tuple[float, float]) -> Comparison:
    """The limit of Theorem 2 in its simplest form, one neuron along beta*, against the line at a point."""
    data = load("three-points")
    beta = _facts(data).least_squares
    size = np.sqrt(np.linalg.norm(beta))
    network = Network([beta / size], [size])
    gap = abs(float(network.outputs(np.array([x]))[0]) - float(np.dot(beta, x)))
    return at_most(gap, 1e-12, detail=rf"$|h(x) - \langle\beta^*, x\rangle|$ = {gap:.4g} at $x$ = ({x[0]:g}, {x[1]:g})")


E7 = Erratum(
    "boursier2024:E7",
    partial(_line_and_network, (0.0, -1.0)),
    partial(_line_and_network, (-0.4, 1.0)),
    where="Thms 2 and 4, Eq. (11)",
    printed=r"$h(x) = \langle\beta^*, x\rangle$ for all $x$",
    corrected="on the cone of the data only: ReLU is not odd",
)


def _best_loss(sign: float) -> Comparison:
    """The least loss of one neuron of this output sign on three points, against that of the line.

    Labels are positive, so that a negative neuron does best at 0; a positive one can be the line itself.
    """
    data = load("three-points")
    beta = _facts(data).least_squares
    network = Network([beta], [1.0]) if sign > 0 else Network([0.0 * beta], [-1.0])
    loss, line = (float(np.mean((h - data.y) ** 2)) / 2.0 for h in (network.outputs(data.X), data.X @ beta))
    name = "positive" if sign > 0 else "negative"
    return at_most(loss - line, 1e-12, detail=f"one {name} neuron leaves the loss {loss:.4g}, the line {line:.4g}")


E8 = Erratum(
    "boursier2024:E8",
    partial(_best_loss, -1.0),
    partial(_best_loss, 1.0),
    where="Thms 2 and 4",
    printed="for any width $m$",
    corrected="some neuron must start positive and active on a sample; a draw has none with probability $(1 - p)^m$",
)


def _least_facet_pull(*, printed: bool) -> Comparison:
    """alpha_4 of Eq. (51) on three points, which Lemma 20 needs positive.

    As printed, the least <D_u, x_k> over every cone with an active sample and every facet k off its boundary; or the
    least u_k <D, x_k> over the cones across the data and the facets they touch.
    """
    facts = _facts(load("three-points"))
    constants, X = spurious_constants(facts), facts.dataset.X
    patterns = facts.cones.patterns[np.any(facts.cones.patterns > 0, axis=1)]
    pulls = (patterns > 0) * constants.residuals @ X / facts.dataset.n
    products = (pulls @ X.T)[:, constants.facets]
    least = float(np.min(products, where=patterns[:, constants.facets] != 0, initial=np.inf))
    value = least if printed else constants.alpha_4
    read = "every cone and facet" if printed else "the facets that mixed cones touch"
    return at_least(value, 1e-9, detail=rf"$\alpha_4$ over {read} is {value:.4g} on three points")


E9 = Erratum(
    "boursier2024:E9",
    partial(_least_facet_pull, printed=True),
    partial(_least_facet_pull, printed=False),
    where="Lemmas 20, 21, 23; (51), (52)",
    printed="rate $c_4$; remainder with a plus; cross term without a factor; $u_{k'} = +1$",
    corrected="rate $c_4/2$; minus; a factor 2 and the root gives $c_4/8$; $u_{k'} = -1$ and only adjacent samples",
)


def _line_at_the_end(*, printed: bool) -> Comparison:
    """|beta* - beta_I| where the first clause of tau_3 has just fired, against the eps_3 = 0.01 of Lemma 6.

    A neuron of I along the line and a negative one with a^2 = lambda^(2(1 - eps)), lambda = 0.01 and eps = 1/4, which
    the other clauses allow. The clause watches the sum of a w over both, or over I.
    """
    beta, eps_3, light = _facts(load("three-points")).least_squares, 0.01, 0.01**1.5
    length = float(np.linalg.norm(beta))
    square = length - eps_3 - (light if printed else 0.0)  # of a in I, where the clause fires
    a = np.array([np.sqrt(square), -np.sqrt(light)])
    parts = a[:, None] * Network(np.outer(a, beta / length), a).w
    watched, reached = (float(np.linalg.norm(beta - total)) for total in (parts.sum(axis=0), parts[0]))
    words = (
        rf"with the sum over {'I and N' if printed else 'I'} at {watched if printed else reached:.5g} from "
        rf"$\beta^*$"
    )
    return at_most(reached, eps_3, allowance=1e-12, detail=rf"$|\beta^* - \beta_I|$ = {reached:.5g} {words}")


E10 = Erratum(
    "boursier2024:E10",
    partial(_line_at_the_end, printed=True),
    partial(_line_at_the_end, printed=False),
    where=r"$\tau_3$, Lemma 6",
    printed="the first clause sums over $I$ and $N$",
    corrected=r"over $I$; and $\varepsilon_2 \le \tilde{\varepsilon}_2^*$ is meant",
)


def _projection(*, printed: bool) -> Comparison:
    """<w_i, x_k> or <w_i/a_i, x_k> of 100 equal neurons along D* with sum a^2 = 1e-3, against delta_k of Lemma 5."""
    data = load("three-point-box-worst:eta=0.09")
    pull = data.y @ data.X / data.n
    along = data.X @ pull / np.linalg.norm(pull)
    weight = np.sqrt(1e-3 / 100)
    lengths = np.linalg.norm(data.X, axis=1)
    deltas = along - 2.0 * np.mean(lengths**2) * 1e-3 * lengths / np.linalg.norm(pull)
    slack = float(np.min((weight if printed else 1.0) * along - deltas))
    name = r"$\langle w, x_k\rangle$" if printed else r"$\langle\bar{w}, x_k\rangle$"
    return at_least(slack, 0.0, detail=rf"least {name} - $\delta_k$ is {slack:.4g} for 100 neurons")


E11 = Erratum(
    "boursier2024:E11",
    partial(_projection, printed=True),
    partial(_projection, printed=False),
    where="Lemmas 5, 24, Cor. 1",
    printed=r"$\langle w, x_k\rangle$; $|a_i|$; $\varepsilon_4^*$",
    corrected=r"$\langle\bar{w}, x_k\rangle$, for $w$ is of order $1/\sqrt{m}$; $|a_i(\tau_3)|$ on $N$; the square "
    r"of $\varepsilon_4^*$",
)


def _difference(power: float) -> Comparison:
    """|wbar_i - wbar_j| of unit vectors with 1 - <wbar_i, wbar_j> = delta, against (2 delta)^power, delta = 1e-6."""
    delta = 1e-6
    angle = np.arccos(1.0 - delta)
    distance = float(np.hypot(1.0 - np.cos(angle), np.sin(angle)))
    bound = (2.0 * delta) ** power
    return at_most(
        distance, bound, allowance=1e-9, detail=rf"$|\bar{{w}}_i - \bar{{w}}_j|$ = {distance:.4g} against {bound:.4g}"
    )


E12 = Erratum(
    "boursier2024:E12",
    partial(_difference, 1.0),
    partial(_difference, 0.5),
    where="Lemma 17, (44)",
    printed=r"$|v_{ij}| = O(\lambda^\varepsilon)$, $|x_k^2|$",
    corrected=r"$O(\lambda^{\varepsilon/2})$, and $|x_k|^2$ in the $A$-term",
)


def _threshold(name: str) -> Comparison:
    """ln lambda* of Eq. (22) for eps = 0.1, alpha_0 = 1: it must be finite for the theorem to say anything."""
    constants = alignment_constants(load(name), SquareLoss())
    value = constants.log_lambda_star(0.1, 1.0)
    return at_least(
        value, -1e6, detail=rf"$\delta_0$ = {constants.delta_0:.4g}, $\ln\lambda^*$ = {value:.4g} on {name}"
    )


E13 = Erratum(
    "boursier2024:E13",
    partial(_threshold, "orthogonal-triple"),
    partial(_threshold, "three-points"),
    where="Sec. 3",
    printed="Theorem 1 covers orthogonal data",
    corrected=r"on exactly orthogonal samples $\eta$ is at its bound, $\delta_0 = 0$ and $\lambda^* = 0$: nothing "
    r"is said",
)


_DEAD_FACE = Dataset([[1.0, 0.1, 0.0], [0.1, 1.0, 0.2], [0.0, 0.2, 1.0]], [1.0, 0.7, -0.8], name="a dead face")


def _dead_saddles(*, printed: bool) -> Comparison:
    """Cones with D_u = 0 around which G takes both signs, on data where no extremal vector is a saddle."""
    dataset = _DEAD_FACE if printed else load("three-points")
    facts = _facts(dataset)
    words = f"{no_saddle(facts).detail}; {no_dead_saddle(facts).detail}"
    return none_of(len(facts.extremal.dead_saddles), detail=f"{words} ({dataset.name})")


E14 = Erratum(
    "boursier2024:E14",
    partial(_dead_saddles, printed=True),
    partial(_dead_saddles, printed=False),
    where="Thm 1, Lemmas 12 and 13",
    printed="$G$ has no saddle",
    corrected="a cone with $D_u = 0$ around which $G$ takes both signs counts as one: `no-dead-saddle`",
)


def _facet_margin(*, printed: bool) -> Comparison:
    """Assumption 5, which keeps every neuron in the all-active cone: its least margin at the facets."""
    dataset = FINDING_DATA if printed else load("three-point-box-worst:eta=0.09")
    margin = facet_condition(_facts(dataset)).margin
    value = float("nan") if margin is None else float(margin)
    return at_least(value, 0.0, detail=f"margin of Assumption 5 {value:.4g} on `{dataset.name}`")


F1 = Erratum(
    "boursier2024:F1",
    partial(_facet_margin, printed=True),
    partial(_facet_margin, printed=False),
    where="Remark 3",
    printed="the line is reached on similar data outside the box",
    corrected="not on all with Assumptions 4 and 6: without Assumption 5 neurons leave the all-active cone, and on "
    "three such points training ends 0.59 from the line at every scale",
)


E15 = Erratum(
    "boursier2024:E15",
    None,
    None,
    where="Eq. (10), Sec. 6, App. B",
    printed="the runs of Figures 2 and 3 minimise $(1/(2n)) \\sum_k (h(x_k) - y_k)^2$",
    corrected="without the factor 1/2: with it everything comes at twice the iterations",
    unmeasured="the text prints no iteration of an inner snapshot; the factor shows in the authors' code and in the "
    "iterations of their animations alone, which both figures follow",
)


ERRATA = (E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13, E14, E15, F1)
