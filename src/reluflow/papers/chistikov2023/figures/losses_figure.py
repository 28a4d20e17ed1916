"""Claims and pictures that Figures 2 and 9 share: losses over iterations, one curve per scale."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.experiments.store import Results
from reluflow.papers.chistikov2023.figures.losses_run import Settings
from reluflow.papers.claim import Claim

LATE = float(np.log(1e-9))  # ln of the training loss at which test losses are compared


def late_rates(results: Results) -> tuple[float, ...]:
    """Slope of -ln L per iteration over the last factor 10 of the training loss, per scale."""
    found = []
    for iterations, losses in zip(results["iterations"], results["training"], strict=True):
        late = losses <= 10.0 * losses[-1]
        found.append(-float(np.polyfit(iterations[late], np.log(losses[late]), 1)[0]))
    return tuple(found)


def claims(settings: Settings, results: Results) -> tuple[Claim, ...]:
    """Exponential decay at the rate of the theory; test losses that fall with the scale; descent beside the flow."""
    tests = [
        float(np.exp(np.interp(-LATE, -np.log(training), np.log(test))))
        for training, test in zip(results["training"], results["test"], strict=True)
    ]
    whole, half = (float(value) for value in results["descent_differences"])
    shares = tuple(rate / float(results["late_rate"]) for rate in late_rates(results))
    return (
        Claim.below(
            "the training loss falls to the target from every scale (largest at the end)",
            float(np.max(results["training"][:, -1])),
            5.000001e-10,
        ),
        Claim(
            "its decay is exponential (late rate over the 2 mu of a rank-one bundle, per scale)",
            all(0.8 < share < 1.25 for share in shares[len(shares) // 2 :]),
            tuple(round(share, 3) for share in shares),
            "0.8 to 1.25 at the smaller half of the scales",
        ),
        Claim.above(
            "the smaller the scale, the smaller the test loss: where the training loss is 1e-9, from the largest scale "
            f"({tests[0]:.4g}) over from the smallest ({tests[-1]:.4g})",
            tests[0] / tests[-1],
            1.0,
        ),
        Claim.between(
            f"descent at the authors' step lags behind the exact flow (losses differ by up to {100 * whole:.3g} % of "
            "the first) by a term of first order: the same at half the step, over that",
            half / whole,
            0.4,
            0.6,
            ours=True,
        ),
    )


def draw_losses(settings: Settings, results: Results, path: Path) -> tuple[Path, ...]:
    """Training loss on logarithmic axes, test loss on a linear one."""
    from reluflow.viz.panels import Curve, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    def curves(name: str) -> list[Curve]:
        return [
            Curve(iterations, values, f"$\\lambda = 4^{{-{power}}}$", look=look)
            for look, (power, iterations, values) in enumerate(
                zip(settings.powers, results["iterations"], results[name], strict=True)
            )
        ]

    kind = "centred" if settings.centred else "uncentred"
    panels = [
        Panel("training loss", "iteration", "L", curves("training"), x_scale="log", y_scale="log", legend="lower left"),
        Panel("test loss, 64 Gaussian inputs", "iteration", "L", curves("test"), x_scale="log", legend="lower left"),
    ]
    title = f"one {kind} set, d = n = {settings.d}, m = {settings.width}"
    return (save_figure(plot_panels(panels, columns=2, title=title, panel_size=(4.0, 3.2)), path),)
