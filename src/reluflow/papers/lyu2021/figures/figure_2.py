"""Figure 2: training from small weights on the datasets of Figure 1 gives linear decision boundaries.

The paper runs gradient descent with a small step from 0.001 times the He initialisation on the three datasets of Figure
1 and shows the outputs in colours, lighter where they are higher. In all three pictures the boundary is a straight
line: on the left the best one, in the middle and on the right one of suboptimal margin.

Beside descent stands the exact flow from the same neurons, taken far beyond, and descent from the balanced start that
Theorems 6.2 and A.7 assume. Width, steps and seed are not printed; here 100 neurons, step 0.01, raised in proportion
to 1/L once every sample is rightly classified, until |theta|^2 reaches 1000.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.experiments.store import Results
from reluflow.network.network import Network
from reluflow.papers.claim import Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.lyu2021.figures.panels import LEAK, NAMES, example
from reluflow.papers.lyu2021.figures.training_run import GRID_POINTS, STARTS, Settings, compute

START_WORDS = {"he": "0.001 He", "lyu-balanced": "balanced"}


def claims(settings: Settings, results: Results) -> tuple[Claim, ...]:
    """Straight boundaries, the predicted functions and margins, and how closely descent follows the flow."""
    judged: list[Claim] = []
    for start in STARTS:
        for name in NAMES:
            judged += _of_run(results, name, start, START_WORDS[start])
    scales = ", ".join(f"{scale:g}" for scale in settings.scales)
    for place, name in enumerate(NAMES):
        ratios = results["scale_margins"][place] / example(name).margin  # (starts, seeds, scales)
        certified = np.sum(np.abs(ratios - 1.0) <= 1e-6, axis=(0, 1))
        draws = ratios[..., 0].size
        judged.append(
            Claim(
                f"{name}: from a small enough scale the exact flow of every draw tends to the predicted direction "
                f"(certified limits among {draws} draws from both starts, at scale {scales})",
                int(certified[-1]) == draws,
                tuple(certified.tolist()),
                f"{draws} at the last",
                ours=True,
            )
        )
    return tuple(judged)


def _of_run(results: Results, name: str, start: str, words: str) -> list[Claim]:
    case = example(name)
    run = {key: results[f"{name}_{start}_{key}"] for key in ("sign_difference", "function_difference", "distances")}
    margins, norms = results[f"{name}_{start}_margins"], results[f"{name}_{start}_norms"]
    smoothed = results[f"{name}_{start}_flow_smoothed"] / case.margin
    end = f"e^{results[f'{name}_{start}_flow_log_time']:.0f}"
    bends = {"finding": True, "why": "0.001 is too large a scale here, and the boundary bends: see the margin below."}
    judged = [
        Claim.below(
            f"{name}, {words}: descent ends with the predicted linear decision boundary (% of the window on the wrong "
            f"side, at |theta|^2 = {norms[-1]:.0f})",
            100 * run["sign_difference"],
            0.1,
            **(bends if name == "right" else {}),
        ),
        Claim.below(
            f"{name}, {words}: descent follows the exact flow from the same neurons (largest distance of the unit "
            "directions at equal times, %)",
            100 * np.max(run["distances"]),
            1.0,
            ours=True,
        ),
    ]
    if case.is_symmetric:
        return [
            *judged,
            Claim.below(
                f"{name}, {words}: the function over |theta|^2 is (1 + leak)/4 <w*, x> (largest difference, relative)",
                run["function_difference"],
                1e-3,
            ),
        ]
    best = results[f"{name}_best"]
    judged.append(
        Claim(
            f"{name}, {words}: the margin stays below the best (share of it)",
            margins[-1] < best,
            margins[-1] / best,
            "below 1",
        )
    )
    text = f"{name}, {words}: the margin of descent ends at gamma^+/2 (relative to it)"
    if name == "middle":
        return [*judged, Claim.near(text, margins[-1] / case.margin, 1.0, atol=0.01)]
    passed = norms[np.argmax(margins > case.margin)] if np.any(margins > case.margin) else np.inf
    return [
        *judged,
        Claim.near(
            text,
            margins[-1] / case.margin,
            1.0,
            atol=0.01,
            finding=True,
            why=(
                f"0.001 is too large a scale here: {results[f'{name}_{start}_num_strays']} positive neurons are left "
                "outside the cone in which all positive samples are active; they grow faster than the others (share of "
                f"|theta|^2 {results[f'{name}_{start}_stray_share']:.3f}), and the boundary bends. The margin passes "
                f"gamma^+/2 at |theta|^2 = {passed:.0f}. By t = {end} the smoothed margin of the exact flow, which "
                f"never falls, is {smoothed:.3f} times it, so the flow does not end there either. The theorem asks "
                "for a scale below a bound that depends on the draw: see the smaller scales."
            ),
        ),
    ]


def draw(settings: Settings, results: Results, folder: Path) -> tuple[Path, ...]:
    """Nine planes, and the margins as the norm grows."""
    from reluflow.viz.decision_planes import DecisionBoundary, DecisionPlane, plot_decision_planes
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    rows = (
        ("he", "", f"descent, {START_WORDS['he']}"),
        ("he", "flow_", f"exact flow, {START_WORDS['he']}"),
        ("lyu-balanced", "", f"descent, {START_WORDS['lyu-balanced']}"),
    )
    planes = []
    for start, prefix, words in rows:
        for name in NAMES:
            case = example(name)
            key = f"{name}_{start}_{prefix}"
            outputs = case.values(Network(results[f"{key}w"], results[f"{key}a"], leak=LEAK), GRID_POINTS)
            planes.append(
                DecisionPlane(
                    f"{name}: {words}\n" + rf"$\|\theta\|^2$ = {results[f'{key}norms'][-1]:,.0f}",
                    *case.grid(GRID_POINTS),
                    case.dataset.X[:, :2],
                    case.dataset.y,
                    outputs=outputs,
                    boundaries=[
                        DecisionBoundary(outputs, "trained network", "black"),
                        DecisionBoundary(
                            case.values(case.limit, GRID_POINTS), "limit of Theorems 4.3, A.7, 6.2", "white"
                        ),
                    ],
                    crosses=(0, 1, 2) if name == "right" else (),
                )
            )
    title = f"{settings.width} neurons, step {settings.lr:g}; lighter colours mean higher outputs"
    panels = []
    for name in NAMES:
        case = example(name)
        curves = []
        for place, start in enumerate(STARTS):
            key = f"{name}_{start}_"
            grown = results[f"{key}flow_norms"] > 0.1
            curves += [
                Curve(
                    results[f"{key}norms"][1::4],
                    results[f"{key}margins"][1::4],
                    f"descent, {START_WORDS[start]}",
                    look=place,
                    kind="points",
                ),
                Curve(
                    results[f"{key}flow_norms"][grown],
                    results[f"{key}flow_margins"][grown],
                    f"exact flow, {START_WORDS[start]}",
                    look=place,
                ),
            ]
        levels = [Guide(results[f"{name}_best"], "best of any network", look=7)]
        if not case.is_symmetric:
            levels.append(Guide(case.margin, r"$\gamma^+/2$", look=2))
        lowest = float(np.min(results[f"{name}_he_flow_margins"][results[f"{name}_he_flow_norms"] > 0.1]))
        room = 0.15 * (results[f"{name}_best"] - lowest)
        panels.append(
            Panel(
                name,
                r"$\|\theta\|^2$",
                r"margin $\min_i y_i f(x_i)/\|\theta\|^2$",
                curves,
                levels=levels,
                x_scale="log",
                x_limits=(0.1, 2e4),
                y_limits=(lowest - room, results[f"{name}_best"] + room),
                legend="below" if name == "middle" else "",
            )
        )
    return (
        save_figure(plot_decision_planes(planes, title=title), folder / "fig2.png"),
        save_figure(plot_panels(panels, columns=3, panel_size=(3.5, 3.2)), folder / "fig2-margins.png"),
    )


FIGURE = PaperFigure(
    "lyu2021/fig2",
    __doc__,
    Settings(log_horizon=200.0, scales=(1e-9,), scale_seeds=(0,)),
    Settings(log_horizon=2000.0, scales=(1e-3, 1e-4, 1e-6, 1e-9, 1e-12), scale_seeds=(0, 1, 2, 3, 4)),
    compute,
    claims,
    draw,
)
