"""What `reluflow align` prints of a network with several outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from reluflow.cli.output import number, print_json, print_table, vector

if TYPE_CHECKING:
    from reluflow.geometry.aligned_pairs import PairAlignment
    from reluflow.network import Network


def print_pairs(result: PairAlignment, network: Network, heading: str, *, json: bool) -> None:
    """The ends of all neurons, and for classes what the neurons of each do."""
    if json:
        print_json(_document(result))
        return
    print(f"{heading} in the limit of vanishing scale")
    print_table(("end", "neurons"), [(name, str(count)) for name, count in result.counts.items() if count])
    if result.why_open:
        print(f"Open: {result.why_open}.")
    rows = []
    for k, extremal in enumerate(result.extremal):
        members = result.indices == k
        share = float(network.weight[members].sum() / network.weight.sum())
        rows.append(
            (
                vector(extremal),
                vector(result.extremal_outputs[k]),
                number(float(result.rates[k])),
                result.end_names[int(np.flatnonzero(members)[0])],
                f"{share:.2%}",
                number(float(result.times[members].max())),
            )
        )
    print_table(("rate u", "output q", "rate", "kind", "share of neurons", "last arrival"), rows)
    if result.classes is not None:
        print("\nNeurons by the class at which their v starts largest, and by that at which their q ends largest:")
        _print_classes(result)


def _document(result: PairAlignment) -> dict[str, Any]:
    names, vectors, last = result.end_names, result.vectors, np.argmax(result.outputs, axis=1)
    neurons: list[dict[str, Any]] = []
    for j, name in enumerate(names):
        has_limit = result.indices[j] >= 0
        neuron = {
            "end": name,
            "extremal": vectors[j] if has_limit else None,
            "output": result.outputs[j] if has_limit else None,
            "rate": result.rates[result.indices[j]] if has_limit else None,
            "time": result.times[j],
            "crossings": result.crossings[j],
            "slides": result.slides[j],
            "direction": result.directions[j],
        }
        if result.classes is not None:
            neuron["class"] = result.classes[last[j]] if has_limit else None
        neurons.append(neuron)
    document: dict[str, Any] = {"neurons": neurons, "counts": result.counts, "why": result.why_open or None}
    if result.classes is not None:
        document |= {"classes": list(result.classes), "by_class": result.classes_from()}
    return document


def _print_classes(result: PairAlignment) -> None:
    accounts = result.classes_from()
    others = [end for end in ("dead", "saddle", "open") if any(row[end] for row in accounts)]
    header = ("class", "neurons", *(f"to {name}" for name in result.classes or ()), *others)
    print_table(
        header,
        [
            (
                str(row["class"]),
                str(row["neurons"]),
                *(str(count) for count in row["to"].values()),
                *(str(row[end]) for end in others),
            )
            for row in accounts
        ],
    )
