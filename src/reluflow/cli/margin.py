"""`reluflow margin DATASET`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from reluflow.cli.arguments import dataset_argument, json_option, max_seconds_option
from reluflow.cli.inputs import note_suggested_leak, reading_of
from reluflow.cli.output import number, print_json, print_table, vector
from reluflow.cli.progress import share_bar
from reluflow.cli.run_options import DATA, GivenOptions, run_options

if TYPE_CHECKING:
    from reluflow.certificates.hard_margin import HardMargin
    from reluflow.certificates.network_margin import NetworkMargin
    from reluflow.certificates.one_class import LeakyMargin, OneClassVector, OneClassVectors
    from reluflow.data.dataset import Dataset


@click.command()
@dataset_argument()
@run_options(*DATA, "leak")
@click.option(
    "--network/--no-network",
    default=None,
    help="The best margin of a two-layer network; default: where it takes seconds.",
)
@max_seconds_option()
@json_option
def command(dataset: str | None, *, run: GivenOptions, network: bool | None, max_seconds: float, json: bool) -> None:
    """Find the hard-margin separators of a dataset, and the best margin of a two-layer network on it.

    A set that no half-space separates gets its certificate, not an error.

    Example: reluflow margin phuong-toy --json
    """
    from reluflow.certificates.hard_margin import Separability, linear_separator, require_labels
    from reluflow.certificates.network_margin import is_tractable, network_margin
    from reluflow.certificates.one_class import leaky_margins, one_class_vectors

    experiment = run.experiment(dataset)
    data, leak = reading_of(experiment).dataset, experiment.leak
    require_labels(data)
    note_suggested_leak(experiment)
    separator = linear_separator(data)
    classes = one_class_vectors(data)
    leaky = leaky_margins(data, leak)
    is_wanted = is_tractable(data, leak) if network is None else network
    if not json:  # the answer for lines must not wait for that for networks
        _print_separators(data, separator, classes)
    best = None
    if is_wanted:
        with share_bar("looking for the network of largest margin") as progress:
            best = network_margin(data, leak, max_seconds=max_seconds, progress=progress)
    verdict = {Separability.SEPARABLE: True, Separability.NOT_SEPARABLE: False, Separability.UNDECIDED: None}
    if json:
        print_json(
            {
                "separable": verdict[separator.status],
                "w": separator.w,
                "margin": separator.margin,
                "upper": separator.upper,
                "multipliers": separator.multipliers,
                "gap": separator.gap,
                "positive": _one_class(classes.positive, leaky.positive),
                "negative": _one_class(classes.negative, leaky.negative),
                "network": _network(best),
            }
        )
        return
    if best is None:
        print("The best two-layer network was not sought at this size; --network forces it.")
        return
    how = "" if best.is_exact else " (a relaxation; the true bound may be smaller)"
    print(f"Best two-layer network at leak {leak:g}: margin {best.margin:.9g}, at most {best.upper:.9g}{how}.")
    if best.gap > 1e-6:
        print("What lies between the two is open: the search was stopped, or the bound is not tight.")


def _print_separators(data: Dataset, separator: HardMargin, classes: OneClassVectors) -> None:
    _print(data, separator.status, separator.margin, separator.gap, separator.w)
    if separator.status == "not-separable":
        combination = float(np.linalg.norm(separator.multipliers @ (data.y[:, None] * data.X)))
        print(
            f"Certificate: a convex combination of the y_i x_i vanishes, verified exactly (norm {combination:.3g} as "
            "computed)."
        )
    rows = [
        (name, vector(found.w), number(found.norm), str(len(found.support)), str(found.support_rank))
        for name, found in (("w_+", classes.positive), ("w_-", classes.negative))
        if found is not None and found.feasible
    ]
    if rows:
        print_table(("one class", "vector", "norm", "support samples", "rank of the support"), rows)
    else:
        print(_no_vectors(classes))
    sys.stdout.flush()


def _no_vectors(classes: OneClassVectors) -> str:
    """Why there is no w_+ and no w_- to print; what was not proved is not said."""
    found = [vector for vector in (classes.positive, classes.negative) if vector is not None]
    if any(vector.separator.status == "undecided" for vector in found):
        return "Neither w_+ nor w_- was found; whether they exist could not be verified exactly."
    return "No class lies in an open half-space, so that neither w_+ nor w_- exists."


def _print(data: Dataset, status: str, margin: float, gap: float, w: Any) -> None:
    print(f"{data.name}: {data.n} samples in dimension {data.d}")
    if status == "separable":
        print(f"Linearly separable with margin {margin:.12g} (relative duality gap {gap:.2g}), w = {vector(w)}")
    else:
        words = "no" if status == "not-separable" else "undecided: neither a separator nor its absence was verified"
        print(f"Linearly separable through the origin: {words}.")


def _one_class(found: OneClassVector | None, leaky: LeakyMargin) -> dict[str, Any] | None:
    """w_+ or w_- of Phuong & Lampert, and what Lyu et al.'s neuron of that sign sees."""
    result: dict[str, Any] = {
        "leaky": {
            "mean": leaky.mean,
            "w": leaky.w if leaky.separator.separable else None,
            "margin": leaky.margin,
            "multipliers": leaky.separator.multipliers,
            "support": leaky.closest,
        }
    }
    if found is None:
        return result | {"w": None, "norm": None, "multipliers": None, "support": [], "support_rank": 0, "gap": None}
    return result | {
        "w": found.w if found.feasible else None,
        "norm": found.norm if found.feasible else None,
        "multipliers": found.multipliers,
        "support": found.support,
        "support_rank": found.support_rank,
        "gap": found.separator.gap,
    }


def _network(best: NetworkMargin | None) -> dict[str, Any]:
    if best is None:
        why = "not attempted at this size; --network forces it"
        return {"margin": None, "upper": None, "neurons": [], "exact": None, "why": why}
    neurons = [] if best.network is None else zip(best.network.w, best.network.a, strict=True)
    return {
        "margin": best.margin,
        "upper": best.upper,
        "exact": best.is_exact,
        "gap": best.gap,
        "multipliers": best.multipliers,
        "neurons": [{"w": w, "a": a} for w, a in neurons],
    }
