"""Figure 1: KKT directions whose margin is not the largest.

The paper draws, for leaky ReLU with leak 1/2, three linearly separable datasets with the decision boundary of largest
margin over all networks in black, and another KKT direction in orange. Left: six symmetric points; the nonlinear
network of three neurons is a KKT direction, the best is linear, and the flow from small neurons goes to the best.
Middle: the linear classifier is a KKT direction with a much smaller margin than the nonlinear best one, and the flow
goes to the linear one. Right: three extra points, crosses, do the same to any separable set; the first of them lies far
outside, where the arrow points.

Nothing is trained here. The best margins come from a cone program with a dual bound, the KKT directions are certified
by a linear program. Coordinates of the middle and right sets are not printed; these are instances of their recipes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.network_margin import network_margin
from reluflow.errors import BackendError
from reluflow.experiments.store import Results
from reluflow.experiments.workbench import Workbench
from reluflow.network.network import Network
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.lyu2021.figures.panels import LEAK, NAMES, SHARPER, example
from reluflow.papers.lyu2021.hinted_data import figure1_right
from reluflow.papers.lyu2021.theorems.closed_form_kkt import closed_form_direction

ALL = (*NAMES, SHARPER)


@dataclass(frozen=True)
class Settings:
    """How close the two bounds of the best margin must come, relative, and how fine the boundaries are followed."""

    tol: float = 1e-9
    num_points: int = 240


def compute(settings: Settings, workbench: Workbench) -> Results:
    """For each dataset the KKT direction, the best network, and how far from straight their boundaries are."""
    results: Results = {}
    for count, name in enumerate(ALL):
        workbench.progress(count / len(ALL), name)
        case = example(name)
        best = network_margin(case.dataset, LEAK, tol=settings.tol)
        if best.network is None:
            raise BackendError(f"no network that classifies the samples of {case.dataset.name} was found.")
        direction = kkt_direction(name)
        certificate = kkt_certificate(direction, case.dataset)
        results |= {
            f"{name}_margin": certificate.margin,
            f"{name}_residual": certificate.residual,
            f"{name}_best": best.margin,
            f"{name}_upper": best.upper,
            f"{name}_bend": case.bend(direction, settings.num_points),
            f"{name}_best_bend": case.bend(best.network, settings.num_points),
            f"{name}_best_w": best.network.w,
            f"{name}_best_a": best.network.a,
        }
    return results


def kkt_direction(name: str) -> Network:
    """The orange network: the three neurons of App. I.1.1 on the left, otherwise the one neuron w^+."""
    case = example(name)
    return closed_form_direction(LEAK).network if case.is_symmetric else case.limit


def claims(settings: Settings, results: Results) -> tuple[Claim, ...]:
    """KKT, not the best, and which of the two is straight."""
    left = example("left")
    judged = [
        Claim.near(
            "left: the best margin is (1 + leak)/4 times that of the linear separator (Theorem 4.2)",
            results["left_best"],
            left.margin,
            rtol=1e-7,
        ),
        Claim.near(
            "left: the KKT direction has margin (1 + leak) cos b/(2(1 + cos b))",
            results["left_margin"],
            closed_form_direction(LEAK).margin,
            rtol=1e-9,
        ),
        Claim.below("left: the best boundary is straight (bend, % of the window)", results["left_best_bend"], 1e-3),
        Claim.above("left: that of the KKT direction is not (bend, % of the window)", results["left_bend"], 1.0),
    ]
    for name in ALL:
        judged += [
            Claim.below(
                f"{name}: the orange network is a KKT direction (residual of the best multipliers)",
                results[f"{name}_residual"],
                1e-8,
            ),
            Claim(
                f"{name}: its margin is below the best (share of it; the two bounds of the best agree to "
                f"{results[f'{name}_upper'] / results[f'{name}_best'] - 1.0:.0e})",
                results[f"{name}_margin"] < results[f"{name}_best"] * (1.0 - 1e-6),
                results[f"{name}_margin"] / results[f"{name}_best"],
                "below 1",
            ),
        ]
        if name != "left":
            judged += [
                Claim.near(
                    f"{name}: its margin is half that of the best single neuron, gamma^+/2",
                    results[f"{name}_margin"],
                    example(name).margin,
                    rtol=1e-9,
                ),
                Claim.below(f"{name}: its boundary is straight (bend, % of the window)", results[f"{name}_bend"], 1e-9),
                Claim.above(
                    f"{name}: the best boundary is not (bend, % of the window)", results[f"{name}_best_bend"], 1.0
                ),
            ]
    hints = figure1_right(leak=LEAK).conditions
    judged.append(
        Claim(
            "right: the three hints satisfy the hypotheses of Theorem 6.2, made explicit (H above, K above, eps below)",
            hints.is_admissible and hints.is_suboptimal,
            (hints.H, hints.K, hints.eps),
            (max(hints.eps, hints.H_0, hints.H_3), hints.K_min, hints.eps_limit),
        )
    )
    return tuple(judged)


def draw(settings: Settings, results: Results, folder: Path) -> tuple[Path, ...]:
    """Three planes."""
    from reluflow.viz.decision_planes import DecisionBoundary, DecisionPlane, plot_decision_planes
    from reluflow.viz.saving import save_figure

    planes = []
    for name in NAMES:
        case = example(name)
        best = Network(results[f"{name}_best_w"], results[f"{name}_best_a"], leak=LEAK)
        share = results[f"{name}_margin"] / results[f"{name}_best"]
        planes.append(
            DecisionPlane(
                f"{name}: {results[f'{name}_margin']:.4f}, {100 * share:.0f}% of {results[f'{name}_best']:.4f}",
                *case.grid(settings.num_points),
                case.dataset.X[:, :2],
                case.dataset.y,
                boundaries=[
                    DecisionBoundary(case.values(best, settings.num_points), "global max margin", "black"),
                    DecisionBoundary(
                        case.values(kkt_direction(name), settings.num_points), "KKT direction, not the best", "orange"
                    ),
                ],
                crosses=(0, 1, 2) if name == "right" else (),
            )
        )
    figure = plot_decision_planes(planes, title="margin of the KKT direction, and the best of any network (leak 1/2)")
    return (save_figure(figure, folder / "fig1.png"),)


FIGURE = PaperFigure("lyu2021/fig1", __doc__, Settings(), Settings(num_points=800), compute, claims, draw)
