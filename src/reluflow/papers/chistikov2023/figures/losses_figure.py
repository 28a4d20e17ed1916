"""What Figures 2 and 9 share: losses over iterations, one curve per scale, of one set of samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reluflow.papers.chistikov2023.figures.losses_run import LossPath, LossPaths, Settings, compute
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure

COMPARED = 1e-9  # the training loss at which test losses are compared


def losses_figure(key: str, about: str | None, *, quick: Settings, full: Settings) -> PaperFigure[Settings, LossPaths]:
    """The figure of one set of samples."""
    name = key.partition("/")[2]

    def claims(settings: Settings, results: LossPaths) -> tuple[Claim, ...]:
        return loss_claims(results, source=f"Fig. {name.removeprefix('fig')}")

    def draw(settings: Settings, results: LossPaths, folder: Path) -> tuple[Path, ...]:
        return draw_losses(settings, results, folder / f"{name}.png")

    return PaperFigure(key, about, quick, full, compute, claims, draw)


def late_rates(results: LossPaths) -> tuple[float, ...]:
    """Slope of -ln L per iteration over the last factor 10 of the training loss, per scale."""
    found = []
    for path in results.paths:
        late = path.training <= 10.0 * path.training[-1]
        found.append(-float(np.polyfit(path.iterations[late], np.log(path.training[late]), 1)[0]))
    return tuple(found)


def test_loss_when_fitted(path: LossPath) -> float:
    """The test loss where the training loss has fallen to `COMPARED`, so that runs of any length are compared alike."""
    return float(np.exp(np.interp(-np.log(COMPARED), -np.log(path.training), np.log(path.test))))


def loss_claims(results: LossPaths, *, source: str) -> tuple[Claim, ...]:
    """Exponential decay at the rate of the theory; test losses that fall with the scale; descent beside the flow."""
    tests = [test_loss_when_fitted(path) for path in results.paths]
    whole, half = (float(value) for value in results.descent_differences)
    shares = tuple(rate / results.late_rate for rate in late_rates(results))
    return (
        Claim.below(
            "the training loss falls to the target from every scale (largest at the end)",
            max(float(path.training[-1]) for path in results.paths),
            5.000001e-10,
            source=source,
        ),
        Claim(
            r"its decay is exponential (late rate over the $2 \mu$ of a rank-one bundle, per scale)",
            all(0.8 < share < 1.25 for share in shares[len(shares) // 2 :]),
            tuple(round(share, 3) for share in shares),
            "0.8 to 1.25 at the smaller half of the scales",
            source=source,
        ),
        Claim.above(
            "the smaller the scale, the smaller the test loss: where the training loss is 1e-9, from the largest scale "
            f"({tests[0]:.4g}) over from the smallest ({tests[-1]:.4g})",
            tests[0] / tests[-1],
            1.0,
            source=source,
        ),
        Claim.between(
            f"descent at the authors' step lags behind the exact flow (losses differ by up to {100 * whole:.3g} % of "
            "the first) by a term of first order: the same at half the step, over that",
            half / whole,
            0.4,
            0.6,
            source=OURS,
        ),
    )


def draw_losses(settings: Settings, results: LossPaths, path: Path) -> tuple[Path, ...]:
    """Training loss, test loss as in the paper, and the test losses that are compared, against the scale."""
    from reluflow.viz.panels import Curve, Panel, plot_panels
    from reluflow.viz.saving import save_figure

    names = [f"$\\lambda = 4^{{-{power}}}$" for power in settings.powers]
    runs = list(enumerate(zip(names, results.paths, strict=True)))
    training = [Curve(run.iterations, run.training, name, look=look) for look, (name, run) in runs]
    test = [Curve(run.iterations, run.test, name, look=look) for look, (name, run) in runs]
    scales = 4.0 ** -np.array(settings.powers, dtype=float)
    ends = Curve(scales, [test_loss_when_fitted(run) for run in results.paths], kind="marked")
    panels = [
        Panel("training loss", "iteration", "$L$", training, x_scale="log", y_scale="log", legend="lower left"),
        Panel("test loss, 64 Gaussian inputs", "iteration", "test loss", test, x_scale="log", legend="lower left"),
        Panel("test loss where $L = 10^{-9}$", "scale $\\lambda$", "test loss", [ends], x_scale="log"),
    ]
    kind = "centred" if settings.centred else "uncentred"
    title = f"one {kind} set, d = n = {settings.d}, m = {settings.width}"
    return (save_figure(plot_panels(panels, columns=3, title=title, panel_size=(3.7, 3.2)), path),)
