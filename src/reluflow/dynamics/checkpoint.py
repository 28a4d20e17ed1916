"""Checkpoint: a long run on disk, so that it can be killed and go on bit by bit as if it had not been."""

from __future__ import annotations

import hashlib
import pickle
import sys
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from reluflow import numerics_version
from reluflow.data.atomic import replacing
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractSolver
from reluflow.errors import InvalidInputError


@dataclass
class Checkpoint:
    """A file that `train` writes now and then, and from which the same call goes on.

    The file holds the whole state of the run, so the numbers that follow are those of a run that was never stopped.
    It is removed when the run ends by itself. It is a pickle: open only files you wrote.

    Parameters
    ----------
    path
        Where the state goes.
    seconds
        How often it is written; also when Ctrl-C comes between two steps.

    Examples
    --------
    >>> import tempfile, reluflow
    >>> from pathlib import Path
    >>> problem = reluflow.Experiment("three-points", width=5).problem()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint(Path(folder) / "run.ckpt")
    ...     trajectory = reluflow.train(problem, reluflow.EventDrivenFlow(), checkpoint=checkpoint)
    ...     print(trajectory.outcome, checkpoint.path.exists())
    stationary False
    """

    path: Path
    seconds: float = 30.0
    _last: float = field(default_factory=time.monotonic, repr=False)

    def __post_init__(self) -> None:
        self.path = Path(self.path)
        if not self.path.resolve().parent.is_dir():
            raise InvalidInputError(f"`{self.path}` must lie in a folder that exists.")

    def is_due(self) -> bool:
        """Whether it is time to write again."""
        return time.monotonic() - self._last >= self.seconds

    def write(self, settings: dict[str, str], state: Any) -> None:
        """Replace the file by the present state."""
        with replacing(self.path) as stream:
            pickle.dump((settings, state), stream, protocol=pickle.HIGHEST_PROTOCOL)
        self._last = time.monotonic()

    def read(self, settings: dict[str, str]) -> Any | None:
        """The state of an earlier call of the same run; None if there is no file, a refusal if it is of another run."""
        if not self.path.exists():
            return None
        try:
            with self.path.open("rb") as stream:
                found, state = pickle.load(stream)
        except (pickle.UnpicklingError, EOFError, AttributeError, ValueError, TypeError, ImportError) as error:
            raise InvalidInputError(
                f"`{self.path}` is not a checkpoint that can be read: {error}; remove it."
            ) from error
        other = [f"`{name}`" for name, value in settings.items() if found.get(name) != value]
        if other:
            raise InvalidInputError(
                f"`{self.path}` is the checkpoint of another run, which had another {' and another '.join(other)}; "
                "give the same, remove the file or name another."
            )
        return state

    def remove(self) -> None:
        """Forget the file once the run has ended."""
        self.path.unlink(missing_ok=True)


def settings_of(problem: TrainingProblem, solver: AbstractSolver, **others: object) -> dict[str, str]:
    """Everything that shapes a run, by name: two runs with the same settings give the same numbers.

    Solvers, losses and stopping rules are frozen dataclasses, so their `repr` shows all there is, to the last digit of
    the last number of an array that one of them may hold.
    """
    network = problem.network
    digest = hashlib.sha256()
    outputs = network.a if network.num_outputs == 1 else network.v
    bias = () if network.b is None else (network.b,)
    for array in (problem.dataset.X, problem.dataset.y, network.w, outputs, network.weight, *bias):
        digest.update(f"{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    with np.printoptions(threshold=sys.maxsize, precision=None, floatmode="unique"):
        return {
            "problem": f"{digest.hexdigest()} {network.leak!r} {network.log_scale!r} {problem.loss!r} "
            f"{problem.weight_decay!r} {problem.trains_output_layer!r}"
            f"{'' if network.b is None else f' output bias {problem.trains_output_bias!r}'}",
            "solver": repr(solver),
            **{name: repr(value) for name, value in others.items()},
            "version": f"{version('reluflow')}, numerics {numerics_version.NUMERICS_VERSION}",
        }
