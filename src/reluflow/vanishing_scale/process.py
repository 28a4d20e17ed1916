"""JumpProcess: what the flow becomes as its scale vanishes: saddles, and jumps between them on a slow clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.certificates.certificate import Certificate
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network
from reluflow.tables import RowsToFrame, html_table


@dataclass(frozen=True, eq=False)
class Saddle:
    """A place where the process waits: the neurons that are awake, at a stationary point of their own flow.

    Parameters
    ----------
    clock
        Since when, in units of log(1/scale).
    loss
        L there; samples whose loss fades for ever count as 0.
    network
        All neurons, those asleep exactly zero.
    certificate
        What the neurons awake are, beside one of size zero: a saddle has a neuron at zero that lowers the loss, tried.
    forces
        r_k = -c dl/dh there, shape (n,); 0 for samples that fade.
    """

    clock: float
    loss: float
    network: Network
    certificate: Certificate
    forces: FloatArray


@dataclass(frozen=True, eq=False)
class Jump:
    r"""A jump from one saddle to the next, which takes no time on the clock.

    Parameters
    ----------
    clock
        When, in units of log(1/scale).
    delay
        What the clock does not see: at a small scale the loss passes half-way between its two levels at the time
        clock log(1/scale) + delay, up to a power of the scale; nan where it is not known.
    loss_before, loss_after
        The two levels.
    neurons
        Those that wake up, counted from 0.
    extremal
        D that each of them is aligned with, shape (len(neurons), d); it grows at the rate |D|.
    is_tied
        Whether several bundles, of different directions, wake up at one time.
    runner_up
        The highest level $u$ of a neuron that stays asleep; at a small scale $\lambda$ its outputs, of size
        $\lambda^{2|u|}$, disturb the jump, so that two steps close to each other part only at very small scales.
    fallen_asleep
        Neurons that were awake, or woke up, and shrink for ever at the next saddle.
    times, losses
        The loss along the orbit; times count from clock log(1/scale).

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=20).problem()
    >>> jump = reluflow.forecast(problem).jumps[0]
    >>> round(jump.clock, 4), round(jump.loss_before, 4), round(jump.loss_after, 4)
    (1.3987, 0.31, 0.0875)
    """

    clock: float
    delay: float
    loss_before: float
    loss_after: float
    neurons: tuple[int, ...]
    extremal: FloatArray
    is_tied: bool
    runner_up: float
    fallen_asleep: tuple[int, ...]
    times: FloatArray
    losses: FloatArray

    def bundles(self) -> list[tuple[FloatArray, tuple[int, ...]]]:
        """Each extremal vector with the neurons that escape along it."""
        found: list[tuple[FloatArray, list[int]]] = []
        for vector, neuron in zip(self.extremal, self.neurons, strict=True):
            size = float(np.linalg.norm(vector))
            same = next((members for D, members in found if np.linalg.norm(D - vector) <= 1e-7 * size), None)
            if same is None:
                found.append((vector, [neuron]))
            else:
                same.append(neuron)
        return [(vector, tuple(members)) for vector, members in found]


@dataclass(frozen=True, eq=False)
class JumpProcess(RowsToFrame):
    """The path of the flow as its scale vanishes.

    Parameters
    ----------
    jumps
        In order of the clock.
    saddles
        Where it waits, one more than jumps: `saddles[i]` before `jumps[i]`, the last one the end.
    network
        The end: all neurons, those asleep exactly zero.
    loss
        L at the end; samples whose loss fades for ever count as 0.
    certificate
        What the end is, neurons asleep standing in the directions they have.
    is_exact
        Whether the process was followed to its end and everything on the way was decided.
    why
        If not, what was left open, in sentences.
    remarks
        What was open on the way and could not matter.
    faded
        Samples that are classified, with a loss that fades for ever, shape (n,).
    levels
        ln|z| of every neuron at the end, in units of log(1/scale); 0 awake, an upper bound where its way is open.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=20).problem()
    >>> process = reluflow.forecast(problem)
    >>> len(process.jumps), process.is_exact, round(process.loss, 6)
    (1, True, 0.087521)
    """

    jumps: tuple[Jump, ...]
    saddles: tuple[Saddle, ...]
    network: Network
    loss: float
    certificate: Certificate
    is_exact: bool
    why: str
    remarks: tuple[str, ...]
    faded: BoolArray
    levels: FloatArray

    @property
    def kind(self) -> str:
        """What the end is: a kind of `certify`, or "fading" where the loss of some samples fades for ever."""
        return "fading" if np.any(self.faded) else str(self.certificate.kind)

    def times_at(self, log_scale: float) -> FloatArray:
        """Times at which the flow at this (natural) logarithm of the scale passes half-way down its steps.

        Correct up to a power of the scale, where the steps lie apart; nan where a delay is not known.
        """
        if not log_scale < 0.0:
            raise InvalidInputError(f"`log_scale` must be negative, the logarithm of a small scale, got {log_scale}.")
        return np.array([-log_scale * jump.clock + jump.delay for jump in self.jumps])

    def loss_at(self, clock: float) -> float:
        """The level at a time of the clock; at a jump the level after it."""
        passed = [jump.loss_after for jump in self.jumps if jump.clock <= clock]
        return passed[-1] if passed else self.saddles[0].loss

    def sentence(self) -> str:
        """The process in one sentence."""
        if not self.jumps:
            start = "As the scale vanishes no neuron ever grows"
            return f"{start}." if self.is_exact else f"What happens as the scale vanishes is open. {self.why}"
        count = len(self.jumps)
        steps = "one step" if count == 1 else f"{count} steps"
        clocks = [f"{jump.clock:.3g}" if jump.clock < 100 else f"{jump.clock:.0f}" for jump in self.jumps]
        times = clocks[0] if count == 1 else f"{', '.join(clocks[:-1])} and {clocks[-1]}"
        sentence = f"As the scale vanishes the loss falls in {steps}, at {times} log(1/scale), to {self.loss:.4g}"
        return f"{sentence}." if self.is_exact else f"{sentence}; not all of this is decided. {self.why}"

    def table(self) -> list[dict[str, Any]]:
        """One row per jump."""
        return [
            {
                "clock": jump.clock,
                "loss before": jump.loss_before,
                "loss after": jump.loss_after,
                "neurons": len(jump.neurons),
                "rate": float(np.max(np.linalg.norm(jump.extremal, axis=1))),
                "delay": jump.delay,
            }
            for jump in self.jumps
        ]

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table())

    def __repr__(self) -> str:
        times = ", ".join(f"{jump.clock:.6g}" for jump in self.jumps)
        exact = "" if self.is_exact else ", not exact"
        return f"JumpProcess({len(self.jumps)} jumps at ({times}), loss {self.loss:.6g}{exact})"
