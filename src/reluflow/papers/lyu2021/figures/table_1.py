"""Table 1: test errors of a leaky network and of the SVM on Gaussian samples.

The paper trains 100 leaky ReLU neurons by gradient descent from 0.001 times the He initialisation on $n = 10$ to 100
Gaussian samples in dimension 50, labelled by a linear classifier and moved a little away from it, and compares the
test error with that of the max-margin linear classifier. The two columns are nearly the same, from which the paper
concludes that the network converges to the max-margin linear classifier.

Here every row is the mean of several draws with its spread. Beside the paper's data stands their symmetrised version,
with $(-x, -y)$ for every $(x, y)$, for which Theorem 4.3 does promise the max-margin linear classifier.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.claim import OURS, Claim
from reluflow.papers.figure import PaperFigure
from reluflow.papers.lyu2021.figures.gaussian_run import SIZES, Training
from reluflow.papers.lyu2021.figures.gaussian_table import GaussianTable, Settings, compute

# Table 1, in per cent, by size.
PAPER_SVM = dict(zip(SIZES, (30.2, 19.7, 17.6, 8.0, 6.4, 6.3, 7.6, 3.9, 6.1, 2.9), strict=True))
PAPER_NET = dict(zip(SIZES, (30.5, 18.9, 15.6, 7.1, 5.9, 5.1, 6.5, 3.1, 5.2, 2.9), strict=True))
ENOUGH_SEEDS = 5
# 95% of single draws in ten rows lie below sqrt(18.3/10) = 1.35; the means and spreads of few draws add some.
LARGEST_DISTANCE = 1.6


def claims(settings: Settings, results: GaussianTable) -> tuple[Claim, ...]:
    """The two columns agree; what the network is instead; and the symmetrised data."""
    plain, symmetric, long = results.plain, results.symmetric, results.long
    differences = plain.net_error - plain.svm_error
    by_row = differences.mean(axis=1)
    largest = plain.margin_ratio.max(axis=1)
    is_decided = settings.training.iterations >= 20_000
    columns = [
        _column_claim(settings, plain.svm_error, PAPER_SVM, "SVM", "the translation 0.45 was fitted to it"),
        _column_claim(settings, plain.net_error, PAPER_NET, "network", "not used in the fit"),
    ]
    return (
        Claim.equal("every network classifies all training samples (errors)", plain.train_errors.sum(), 0, source=OURS),
        Claim.below(
            "the test errors of network and SVM are nearly the same (largest difference of a row's means, points)",
            np.max(np.abs(by_row)),
            3.0,
            source="Table 1, caption: “nearly the same”",
        ),
        Claim.below("the same on average over the rows (points)", abs(by_row.mean()), 1.5, source="Table 1"),
        Claim.below(
            "the network's error is on average the lower one, as in 9 of the paper's 10 rows (difference, points; the "
            "paper's mean is -0.79)",
            by_row.mean(),
            0.0,
            source="Table 1",
        ),
        *columns,
        Claim.above(
            "the linear part of the network is nearly the SVM (smallest cosine of all runs)",
            plain.cosine.min(),
            0.97 if is_decided else 0.95,
            source=OURS,
        ),
        Claim(
            "the network converges to the max-margin linear classifier: its margin tends to that of the best linear "
            "function (largest ratio of the two, of all runs)",
            bool(np.max(largest) <= 1.0 + 1e-3),
            float(np.max(largest)),
            "at most 1",
            finding=True,
            why=(
                f"the margin ends above the best linear one in {np.sum(plain.margin_ratio > 1.0)} of "
                f"{plain.margin_ratio.size} runs"
                + ("" if is_decided else f" after {settings.training.iterations:,} iterations")
                + f". The data are not symmetric, so Theorem 4.3 does not apply, and a network that is not linear "
                f"has a larger margin (E20); {100 * plain.even.mean():.0f}% of its outputs are even in $x$."
            ),
            source="App. J: “converges to the max-margin linear classifier”",
        ),
        Claim.below(
            "symmetrised data, Theorem 4.3: the margin stays below that of the best linear function (largest ratio)",
            max(symmetric.margin_ratio.max(), long.margin_ratio.max()),
            1.0 + 1e-9,
            source=OURS,
        ),
        Claim.above(
            f"symmetrised data: and tends to it (smallest ratio after {settings.long_iterations:,} iterations, $n$ "
            f"= {', '.join(map(str, settings.long_sizes))}; smallest of all after "
            f"{settings.training.iterations:,}: {symmetric.margin_ratio.min():.3f})",
            long.margin_ratio.min(),
            0.97,
            source=OURS,
        ),
        Claim.above(
            "symmetrised data: that network decides as the SVM does (smallest agreement on the test samples, %)",
            long.agreement.min(),
            98.0,
            source=OURS,
        ),
    )


def _column_claim(settings: Settings, errors: FloatArray, paper: dict[int, float], words: str, fit: str) -> Claim:
    """Root mean square over the rows of (paper - mean)/spread, about 1 for one draw of the same law."""
    means, spreads = errors.mean(axis=1), _spreads(errors)
    gaps = np.array([paper[n] for n in settings.sizes]) - means
    distance = float(np.sqrt(np.mean((gaps / spreads) ** 2)))
    text = f"the {words} column is the paper's (root mean square distance in standard deviations of one draw; {fit})"
    if len(settings.seeds) < ENOUGH_SEEDS:
        return Claim(
            text, None, distance, f"at most {LARGEST_DISTANCE:g}", "too few draws to know the spread.", source="Table 1"
        )
    return Claim.below(text, distance, LARGEST_DISTANCE, source="Table 1")


def _spreads(errors: FloatArray) -> FloatArray:
    """Standard deviations of the rows as one multiple of the mean error: each alone is poorly known from few draws."""
    if errors.shape[1] < 2:
        return np.full(len(errors), np.nan)
    means = errors.mean(axis=1)
    relative = np.sqrt(np.mean(errors.var(axis=1, ddof=1) / means**2))
    return np.asarray(relative * means)


def draw(settings: Settings, results: GaussianTable, folder: Path) -> tuple[Path, ...]:
    """The table as a figure and as a file, and the errors and margins over n."""
    from reluflow.viz.panels import Curve, Guide, Panel, plot_panels
    from reluflow.viz.results_table import plot_results_table
    from reluflow.viz.saving import save_figure

    sizes = np.array(settings.sizes)
    plain, symmetric = results.plain, results.symmetric
    twins = {n: place for place, n in enumerate(settings.symmetric_sizes)}
    rows = []
    for place, n in enumerate(settings.sizes):
        twin = twins.get(n)
        rows.append(
            [
                str(n),
                f"{PAPER_SVM[n]:.1f}",
                f"{PAPER_NET[n]:.1f}",
                _with_spread(plain.svm_error[place], 1),
                _with_spread(plain.net_error[place], 1),
                _with_spread(plain.net_error[place] - plain.svm_error[place], 1),
                _with_spread(plain.cosine[place], 3),
                _with_spread(plain.margin_ratio[place], 3),
                "" if twin is None else _with_spread(symmetric.margin_ratio[twin], 3),
                "" if twin is None else _with_spread(symmetric.agreement[twin], 1),
            ]
        )
    headings = (
        "n",
        "SVM\npaper",
        "net\npaper",
        "SVM\nhere",
        "net\nhere",
        "net − SVM\nhere",
        "cosine\nof linear part",
        "margin over\nbest linear",
        "the same,\nsymmetrised",
        "net = SVM,\nsymmetrised",
    )
    note = (
        f"Test errors in %, {settings.training.num_test:,} samples. Here: mean ± standard deviation of "
        f"{len(settings.seeds)} draws ({len(settings.symmetric_seeds)} symmetrised), "
        f"{settings.training.iterations:,} iterations.\n"
        "The translation 0.45 was fitted to the paper's SVM column; leak 1/2 is assumed."
    )
    table = plot_results_table(headings, rows, title="Table 1: SVM and two-layer leaky ReLU network", note=note)
    path = folder / "table1.csv"
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow([heading.replace("\n", " ") for heading in headings])
        writer.writerows(rows)

    def band(values: FloatArray, label: str, look: int, at: FloatArray) -> Curve:
        means = values.mean(axis=1)
        spread = values.std(axis=1, ddof=1) if values.shape[1] > 1 else np.zeros(len(means))
        return Curve(at, means, label, look=look, kind="marked", low=means - spread, high=means + spread)

    panels = [
        Panel(
            "test error",
            "$n$",
            "%",
            [
                band(plain.svm_error, "SVM, here", 0, sizes),
                band(plain.net_error, "network, here", 1, sizes),
                Curve(sizes, [PAPER_SVM[n] for n in settings.sizes], "SVM, paper", look=2, kind="points"),
                Curve(sizes, [PAPER_NET[n] for n in settings.sizes], "network, paper", look=3, kind="points"),
            ],
        ),
        Panel(
            "margin over the best linear one",
            "$n$",
            "ratio",
            [
                band(plain.margin_ratio, "the paper's data", 1, sizes),
                band(symmetric.margin_ratio, "symmetrised", 0, np.array(settings.symmetric_sizes)),
                Curve(
                    settings.long_sizes,
                    results.long.margin_ratio.ravel(),
                    f"symmetrised, {settings.long_iterations:,} iterations",
                    look=2,
                    kind="points",
                ),
            ],
            levels=[Guide(1.0, "the best linear one")],
        ),
    ]
    return (
        save_figure(table, folder / "table1.png"),
        save_figure(plot_panels(panels), folder / "table1-errors.png"),
        path,
    )


def _with_spread(values: FloatArray, digits: int) -> str:
    """Mean ± standard deviation; the mean alone for one draw."""
    mean = f"{values.mean():.{digits}f}".replace("-", "−")
    return mean if len(values) < 2 else f"{mean} ± {values.std(ddof=1):.{digits}f}"


FIGURE = PaperFigure(
    "lyu2021/table1",
    __doc__,
    Settings(
        Training(iterations=6_000),
        seeds=(0, 1),
        symmetric_seeds=(0,),
        symmetric_sizes=(10, 30, 50),
        long_sizes=(30,),
        long_iterations=20_000,
    ),
    Settings(
        Training(iterations=20_000),
        seeds=(0, 1, 2, 3, 4, 5, 6, 7),
        symmetric_seeds=(0, 1),
        long_sizes=(50, 100),
        long_iterations=100_000,
    ),
    compute,
    claims,
    draw,
)
