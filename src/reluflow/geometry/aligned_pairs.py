"""What the alignment of neurons with several outputs answers: PairAlignment, and AlignedPairs at one time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reluflow.arrays import FloatArray, IntArray, SignArray
from reluflow.errors import InvalidInputError
from reluflow.geometry.alignment import DEAD, END_NAMES, MAXIMUM, OPEN, SADDLE, AlignmentEvents
from reluflow.geometry.alignment_statuses import open_reasons
from reluflow.tables import RowsToFrame, html_table


@dataclass(frozen=True, eq=False)
class PairAlignment(RowsToFrame):
    """Where the neurons of a network with several outputs end in the vanishing-scale limit, and when.

    Parameters
    ----------
    ends
        One code per neuron; `alignment.END_NAMES` names them: `maximum` of |Gamma| on the sphere; `dead` where nothing
        pulls it; `saddle` where it tends to a pair that neurons beside it leave, or rests or shrinks for ever, as only
        chosen starts do; `open` where the flow is not unique or not finished. There is no `minimum`.
    statuses
        How its flow stopped; `alignment.STATUS_NAMES` names them.
    times
        Time of the last event: the neuron's entry into the cone it never leaves.
    crossings, slides
        How many samples it crossed, and on how many it began to slide.
    patterns
        Signs of <w, x_k> after the last event, shape (m, n); 0 where it slides, or where it died.
    directions, outputs
        Unit limits u of w (m, d) and q of v (m, K); where there is no limit, the directions at the last event.
    indices
        Row of `extremal` it tends to; -1 if none.
    extremal, extremal_outputs, extremal_ends
        The pairs that were reached, fastest first: rate times u, shape (k, d); q, shape (k, K); code of the end.
    w, v, log_norms
        State where the end was seen: the neuron is exp(log_norms) (w, v), with |w|^2 + |v|^2 = 1.
    starts
        The output weights at the start, (m, K).
    events
        What happened on the way.
    classes
        Names of the outputs, where they are classes.
    """

    ends: SignArray
    statuses: SignArray
    times: FloatArray
    crossings: IntArray
    slides: IntArray
    patterns: SignArray
    directions: FloatArray
    outputs: FloatArray
    indices: IntArray
    extremal: FloatArray
    extremal_outputs: FloatArray
    extremal_ends: SignArray
    w: FloatArray
    v: FloatArray
    log_norms: FloatArray
    starts: FloatArray
    events: AlignmentEvents
    classes: tuple[str, ...] | None = None

    @property
    def end_names(self) -> list[str]:
        """The ends in words."""
        return [END_NAMES[code] for code in self.ends]

    @property
    def counts(self) -> dict[str, int]:
        """How many neurons end in each way."""
        return {name: int(np.sum(self.ends == code)) for code, name in enumerate(END_NAMES)}

    @property
    def rates(self) -> FloatArray:
        """How fast neurons grow at the extremal pairs, shape (k,)."""
        return np.asarray(np.linalg.norm(self.extremal, axis=1))

    @property
    def vectors(self) -> FloatArray:
        """The extremal vector of each neuron, shape (m, d); zero where `indices` is -1."""
        return np.vstack([self.extremal, np.zeros((1, self.w.shape[1]))])[self.indices]

    @property
    def why_open(self) -> str:
        """How many neurons have no end here, and why; empty where all have one."""
        return open_reasons(self.statuses[self.ends == OPEN], len(self.ends))

    def classes_from(self) -> list[dict[str, Any]]:
        """What the neurons of each class do: those whose v is largest at its output, by where they end.

        One row per class, with the number of its neurons, how many of them end at pairs whose q is largest at the
        output of each class (`to`), and how many have no such end, by its name.
        """
        if self.classes is None:
            raise InvalidInputError("The outputs must be classes for an account by class, got numbers to fit.")
        first, last = np.argmax(self.starts, axis=1), np.argmax(self.outputs, axis=1)
        rows = []
        for c, name in enumerate(self.classes):
            ends, to = self.ends[first == c], last[first == c]
            reached = {other: int(np.sum((ends == MAXIMUM) & (to == e))) for e, other in enumerate(self.classes)}
            rest = {END_NAMES[code]: int(np.sum(ends == code)) for code in (DEAD, SADDLE, OPEN)}
            rows.append({"class": name, "neurons": len(ends), "to": reached, **rest})
        return rows

    def table(self) -> list[dict[str, Any]]:
        """One row per neuron, ready for a data frame."""
        return [
            {"end": name, "extremal": int(index), "time": float(time), "crossings": int(crossed)}
            for name, index, time, crossed in zip(self.end_names, self.indices, self.times, self.crossings, strict=True)
        ]

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items() if count)
        return f"PairAlignment({len(self.ends)} neurons: {counts}; {len(self.extremal)} extremal pairs reached)"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table())


@dataclass(frozen=True, eq=False)
class AlignedPairs:
    """The neurons at one time of the alignment flow: neuron j is exp(log_norms[j]) (w[j], v[j]), of norm 1.

    `patterns` is 0 where it slides or has died; `times` is the requested time, or that at which the flow stopped for
    want of a unique way on.
    """

    w: FloatArray
    v: FloatArray
    log_norms: FloatArray
    patterns: SignArray
    statuses: SignArray
    times: FloatArray
    events: AlignmentEvents
