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

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.network_margin import network_margin
from reluflow.errors import BackendError
from reluflow.network.network import Network
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.lyu2021.figures.panels import LEAK, NAMES, SHARPER, example
from reluflow.papers.lyu2021.hinted_data import figure1_right
from reluflow.papers.lyu2021.theorems.closed_form_kkt import closed_form_direction
from reluflow.papers.workbench import Workbench

ALL = (*NAMES, SHARPER)


@dataclass(frozen=True)
class Settings:
    """How close the two bounds of the best margin must come, relative, and how fine the boundaries are followed."""

    tol: float = 1e-9
    num_points: int = 240


@dataclass(frozen=True, eq=False)
class PanelMargins:
    """The KKT direction of one dataset and the network of largest margin.

    Parameters
    ----------
    margin, residual, bend
        Of the KKT direction: its margin, what the best multipliers leave, and how far from straight its boundary is.
    best, upper
        The largest margin that was found, and a bound that no network exceeds.
    best_bend, best_w, best_a
        Of the network with that margin: how far from straight its boundary is, and its weights.
    """

    margin: float
    residual: float
    bend: float
    best: float
    upper: float
    best_bend: float
    best_w: FloatArray
    best_a: FloatArray

    @property
    def share(self) -> float:
        """The margin of the KKT direction over the best."""
        return self.margin / self.best


@dataclass(frozen=True, eq=False)
class KKTMargins:
    """What Figure 1 shows of each dataset, by the name of its panel."""

    panels: Mapping[str, PanelMargins]


def compute(settings: Settings, workbench: Workbench) -> KKTMargins:
    """For each dataset the KKT direction, the best network, and how far from straight their boundaries are."""
    panels = {}
    for count, name in enumerate(ALL):
        workbench.progress(count / len(ALL), name)
        case = example(name)
        best = network_margin(case.dataset, LEAK, tol=settings.tol)
        if best.network is None:
            raise BackendError(f"no network that classifies the samples of {case.dataset.name} was found.")
        direction = kkt_direction(name)
        certificate = kkt_certificate(direction, case.dataset)
        panels[name] = PanelMargins(
            margin=certificate.margin,
            residual=certificate.residual,
            bend=case.bend(direction, settings.num_points),
            best=best.margin,
            upper=best.upper,
            best_bend=case.bend(best.network, settings.num_points),
            best_w=best.network.w,
            best_a=best.network.a,
        )
    return KKTMargins(panels)


def kkt_direction(name: str) -> Network:
    """The orange network: the three neurons of App. I.1.1 on the left, otherwise the one neuron w^+."""
    case = example(name)
    return closed_form_direction(LEAK).network if case.is_symmetric else case.limit


def of_panel(name: str, place: str) -> str:
    """Who speaks of a panel: the paper at that place, or we of the set that it does not have."""
    return OURS if name == SHARPER else place


def claims(settings: Settings, results: KKTMargins) -> tuple[Claim, ...]:
    """KKT, not the best, and which of the two is straight."""
    left = results.panels["left"]
    judged = [
        Claim.near(
            r"left: the best margin is $(1 + \mathrm{leak})/4$ times that of the linear separator (Theorem 4.2)",
            left.best,
            example("left").margin,
            rtol=1e-7,
            source="Theorem 4.2",
        ),
        Claim.near(
            r"left: the KKT direction has margin $(1 + \mathrm{leak})\,\cos b/(2(1 + \cos b))$",
            left.margin,
            closed_form_direction(LEAK).margin,
            rtol=1e-9,
            source=OURS,
        ),
        Claim.below(
            "left: the best boundary is straight (bend, % of the window)",
            left.best_bend,
            1e-3,
            source="App. I.1.1, Theorem 4.2",
        ),
        Claim.above(
            "left: that of the KKT direction is not (bend, % of the window)",
            left.bend,
            1.0,
            source="App. I.1.1",
        ),
    ]
    for name in ALL:
        panel = results.panels[name]
        judged += [
            Claim.below(
                f"{name}: the orange network is a KKT direction (residual of the best multipliers)",
                panel.residual,
                1e-8,
                source=of_panel(name, "Fig. 1, caption"),
            ),
            Claim(
                f"{name}: its margin is below the best (share of it; the two bounds of the best agree to "
                f"{panel.upper / panel.best - 1.0:.0e})",
                panel.margin < panel.best * (1.0 - 1e-6),
                panel.share,
                "below 1",
                source=of_panel(name, "Fig. 1, caption"),
            ),
        ]
        if name != "left":
            judged += [
                Claim.near(
                    rf"{name}: its margin is half that of the best single neuron, $\gamma^+/2$",
                    panel.margin,
                    example(name).margin,
                    rtol=1e-9,
                    source=of_panel(name, "App. I.1.2; Theorems A.7, 6.2"),
                ),
                Claim.below(
                    f"{name}: its boundary is straight (bend, % of the window)",
                    panel.bend,
                    1e-9,
                    source=of_panel(name, "Fig. 1, caption"),
                ),
                Claim.above(
                    f"{name}: the best boundary is not (bend, % of the window)",
                    panel.best_bend,
                    1.0,
                    source=of_panel(name, "Fig. 1, caption") if name == "middle" else OURS,
                ),
            ]
    hints = figure1_right(leak=LEAK).conditions
    judged.append(
        Claim(
            r"right: the three hints satisfy the hypotheses of Theorem 6.2, made explicit ($H$ above, $K$ above, "
            r"$\varepsilon$ below)",
            hints.is_admissible and hints.is_suboptimal,
            (hints.H, hints.K, hints.eps),
            (max(hints.eps, hints.H_0, hints.H_3), hints.K_min, hints.eps_limit),
            source="Theorem 6.2",
        )
    )
    return tuple(judged)


def draw(settings: Settings, results: KKTMargins, folder: Path) -> tuple[Path, ...]:
    """Three planes."""
    from reluflow.viz.decision_planes import DecisionBoundary, DecisionPlane, plot_decision_planes
    from reluflow.viz.saving import save_figure

    planes = []
    for name in NAMES:
        case = example(name)
        panel = results.panels[name]
        best = Network(panel.best_w, panel.best_a, leak=LEAK)
        planes.append(
            DecisionPlane(
                f"{name}: {panel.margin:.4f}, {100 * panel.share:.0f}% of {panel.best:.4f}",
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
