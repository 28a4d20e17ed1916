"""NewtonMatrices: Newton's matrix for the steps of a run, made anew where the last one does not serve."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.collocation.carried_neurons import IS_NODE, RULE, CarriedNeurons
from reluflow.dynamics.collocation.curvatures import answers_of, curved, forces_of
from reluflow.dynamics.collocation.fading_residual import FadingResidual
from reluflow.dynamics.collocation.force_newton import FewModes, ForceNewton, stiff_samples
from reluflow.dynamics.collocation.largest_modes import largest_modes
from reluflow.dynamics.collocation.outputs_kernel import OutputsKernel
from reluflow.dynamics.collocation.outputs_modes import largest_modes_by_device, largest_modes_of_outputs
from reluflow.dynamics.collocation.radau import RadauRule
from reluflow.dynamics.collocation.relative_forces import RelativeForces
from reluflow.dynamics.collocation.sample_forces import SampleForces
from reluflow.dynamics.collocation.tangent_kernel import TangentKernel
from reluflow.dynamics.collocation.tuning import (
    ANSWER_TOGETHER,
    DOUBLE_PRECISION_STIFFNESS,
    FEW_WEIGHTS,
    LOGARITHMIC_STIFFNESS,
    MATRICES_UNTIL_MODES,
    MODES_FROM_SAMPLES,
    NEARLY_ALL_SAMPLES,
    STALE_LENGTH,
    WEAK_MODE,
)

_MIDDLE_NODE = 2
_MIDDLE = int(np.flatnonzero(IS_NODE)[_MIDDLE_NODE])  # among the points


class _KernelModes(NamedTuple):
    """Columns and numbers with kernel = modes diag(values) modes^T, and the size of the neurons then."""

    modes: FloatArray  # (n K, r)
    values: FloatArray  # (r,)
    size: float


class NewtonMatrices:
    """Keeps Newton's matrix for the forces on a step while it serves, and what the next one is found from.

    Parameters
    ----------
    samples
        The constants of the run.

    Attributes
    ----------
    latest
        The matrix of the last step, or None.
    num_made
        How many were made.
    """

    def __init__(self, samples: SampleForces) -> None:
        self._samples = samples
        self.latest: ForceNewton | FewModes | None = None
        self.num_made = 0
        self._size = 1.0  # of the neurons of the latest matrix: kernels grow like it
        self._diagonal = np.zeros(0)  # of its kernel
        self._gram = samples.gram() if samples.has_one_force_each else np.zeros((0, 0))
        is_large = len(samples.X) > MODES_FROM_SAMPLES
        self._single_gram: NDArray[Any] = self._gram.astype(np.float32, copy=False) if is_large else self._gram
        self._memory: NDArray[Any] = np.empty(0, dtype=self._single_gram.dtype)
        self._modes: FloatArray | None = None
        self._kernel: _KernelModes | None = None  # of several outputs: Newton's matrix of other lengths has them, too
        self._untried = 0

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_memory": self._memory[:0]}

    def correction(
        self, carried: CarriedNeurons, given_back: RelativeForces, residual: FloatArray, length: float, *, is_slow: bool
    ) -> FloatArray:
        """How to change the forces at the nodes so that they miss nothing, from what they miss, shape (q, n K)."""
        newton = self.prepare(carried, given_back, residual, length, is_slow=is_slow)
        if not self._is_for_logarithms:
            return newton.solve(residual)
        diagonal = self._diagonal * (carried.sizes()[_MIDDLE] / self._size)
        at_nodes = self._fading(carried, given_back.forces, residual, length * RULE.nodes[:, None] * diagonal)
        return newton.solve(at_nodes.residual * self._samples.rate_signs)

    @property
    def _is_for_logarithms(self) -> bool:
        """Whether steps are so stiff that the logarithms of forces are what is nearly linear."""
        return self._samples.fades_alone and self._is_stiffer_than(LOGARITHMIC_STIFFNESS)

    def _is_stiffer_than(self, stiffness: float) -> bool:
        return self.latest is not None and self.latest.stiffness > stiffness

    def prepare(
        self, carried: CarriedNeurons, given_back: RelativeForces, residual: FloatArray, length: float, *, is_slow: bool
    ) -> ForceNewton | FewModes:
        """Newton's matrix for this step: the old one if it is near, a new one at mid-step where that was slow."""
        size = float(carried.sizes()[_MIDDLE])
        if self.latest is not None and not is_slow:
            change = length / self.latest.length * (size / self._size if self._is_for_logarithms else 1.0)
            if change > 0.0 and abs(np.log(change)) <= STALE_LENGTH:
                return self.latest
        if self._kernel is not None and not is_slow:
            self.latest = self._few_modes(self._kernel, carried, given_back, length)
        else:
            self.num_made += 1
            self.latest = self._made(carried, given_back, residual, length)
        self._size = size if size > 0.0 else 1.0
        return self.latest

    def _fading(
        self, carried: CarriedNeurons, forces: FloatArray, missing: FloatArray, answers: FloatArray
    ) -> FadingResidual:
        """Where forces (P, n) that are given back are made linear; `answers` are those of margins to the forces."""
        samples = self._samples
        shares = (forces * samples.rate_signs, missing * samples.rate_signs)
        answers = ANSWER_TOGETHER * answers * samples.steepness(carried.outputs[_MIDDLE])
        return FadingResidual.of(*shares, answers, samples.counted)

    def _few_modes(
        self, kernel: _KernelModes, carried: CarriedNeurons, given_back: RelativeForces, length: float
    ) -> FewModes:
        """Newton's matrix from the modes of a kernel of now or of an earlier step."""
        samples, size = self._samples, carried.sizes()[_MIDDLE]
        forces = given_back.forces[_MIDDLE_NODE] if samples.fades else None
        values = kernel.values * (size / kernel.size if size > 0.0 and kernel.size > 0.0 else 1.0)
        given = (curvatures_at_middle(self._samples, carried), forces, samples.rate_signs, length)
        return FewModes(_rule_of(carried), kernel.modes, values, *given)

    def _made(
        self, carried: CarriedNeurons, given_back: RelativeForces, residual: FloatArray, length: float
    ) -> ForceNewton | FewModes:
        """A new matrix at mid-step."""
        samples, kernel = self._samples, self._kernel_at_middle(carried)
        self._kernel, self._diagonal = None, kernel.diagonal().astype(np.float64)
        rule, size = _rule_of(carried), carried.sizes()[_MIDDLE]
        curvatures, forces = self._made_linear(carried, given_back, residual, length)
        if curvatures.ndim == 1:
            active = stiff_samples(length * curvatures * self._diagonal)
        else:
            active = forces_of(curvatures, stiff_samples(length * answers_of(curvatures, self._diagonal)))
        # of a kernel that is not made the largest modes cost less than a matrix for many weights
        has_few_weights = isinstance(kernel, TangentKernel) or self._untried or kernel.num_factors <= MODES_FROM_SAMPLES
        if has_few_weights and kernel.num_factors < FEW_WEIGHTS * len(active):
            modes = np.zeros((len(samples.rate_signs), kernel.num_factors))
            modes[active] = kernel.factors(active)
            kept = _KernelModes(modes, np.ones(kernel.num_factors), size)
            self._kernel = None if isinstance(kernel, TangentKernel) else kept
            return FewModes(rule, modes, kept.values, curvatures, forces, samples.rate_signs, length)
        self._untried = max(0, self._untried - 1)
        if len(active) > MODES_FROM_SAMPLES and not self._untried:
            if isinstance(kernel, OutputsKernel):
                which = np.unique(active // samples.num_outputs)
                dtype = np.dtype(np.float64 if self._is_stiffer_than(DOUBLE_PRECISION_STIFFNESS) else np.float32)
                found = self._largest_modes_of_outputs(kernel, curvatures, WEAK_MODE / length, which, dtype)
                self._kernel = None if found is None else _KernelModes(*found, size)
            else:
                found = self._largest_modes(kernel, active, np.sqrt(curvatures[active]), WEAK_MODE / length)
            if found is not None:
                return FewModes(rule, *found, curvatures, forces, samples.rate_signs, length)
            self._untried = MATRICES_UNTIL_MODES
        rows = kernel.rows(active)
        if curvatures.ndim == 1:
            rows *= curvatures[active, None]
        else:
            rows = curved(curvatures[active[:: samples.num_outputs] // samples.num_outputs], rows)
        return ForceNewton(rule, rows, active, forces, samples.rate_signs, length)

    def _kernel_at_middle(self, carried: CarriedNeurons) -> TangentKernel | OutputsKernel:
        """How forces move the outputs of the neurons as they are at mid-step."""
        samples = self._samples
        middles, mass = carried.paths.places[:, _MIDDLE], carried.mass * carried.kept[_MIDDLE]
        heights = samples.heights(middles[:, : samples.X.shape[1]])
        given = (middles, mass, samples.walls, samples.leak, samples.X)
        if samples.has_one_force_each:
            gram = self._gram if self._is_stiffer_than(DOUBLE_PRECISION_STIFFNESS) else self._single_gram
            return TangentKernel(*given, gram, heights=heights, moves_outputs=samples.moves_outputs)
        bias_rate = carried.bias_rate if samples.moves_bias else 0.0
        return OutputsKernel(*given, heights=heights, moves_outputs=samples.moves_outputs, bias_rate=bias_rate)

    def _made_linear(
        self, carried: CarriedNeurons, given_back: RelativeForces, residual: FloatArray, length: float
    ) -> tuple[FloatArray, FloatArray | None]:
        """How forces answer to outputs at mid-step, and forces that are shares of their sum there."""
        samples, middle = self._samples, slice(_MIDDLE_NODE, _MIDDLE_NODE + 1)
        if not self._is_for_logarithms:
            forces = given_back.forces[_MIDDLE_NODE] if samples.fades else None
            return curvatures_at_middle(samples, carried), forces
        answers = length * RULE.nodes[middle, None] * self._diagonal
        settled = self._fading(carried, given_back.forces[middle], residual[middle], answers).settled[0]
        total = np.sum(settled if samples.counted is None else settled[samples.counted])
        return settled * samples.steepness(carried.outputs[_MIDDLE]), samples.rate_signs * settled / total

    def _largest_modes_of_outputs(
        self, kernel: OutputsKernel, curvatures: FloatArray, smallest: float, which: IntArray, dtype: np.dtype[Any]
    ) -> tuple[FloatArray, FloatArray] | None:
        """The same of a kernel that is not made, among all forces on some samples, for all forces."""
        device = self._samples.on_device
        if device is not None:
            found = largest_modes_by_device(device, kernel, curvatures, smallest, self._modes)
        else:
            found = largest_modes_of_outputs(kernel, curvatures, smallest, which, dtype, self._modes)
        if found is None:
            return None
        self._modes = found.likely
        return found.modes, found.values

    def _largest_modes(
        self, kernel: TangentKernel, active: IntArray, weights: FloatArray, smallest: float
    ) -> tuple[FloatArray, FloatArray] | None:
        """Modes (n, r) of the kernel on active samples, seen through `weights`, and their strengths; None: too many."""
        n, device = len(self._gram), self._samples.on_device
        which, seen = active, weights
        if (
            device is not None or len(active) > NEARLY_ALL_SAMPLES * n
        ):  # to pick some out of a large matrix takes its time
            which, seen = np.arange(n), np.zeros(n)
            seen[active] = weights
        guess = None if self._modes is None else self._modes[which]
        if device is not None:
            found = device.largest_modes(kernel.parts, seen, smallest, guess)
        else:
            if self._memory.dtype != kernel.dtype or self._memory.size < len(which) ** 2:
                self._memory = np.empty(len(which) ** 2, dtype=kernel.dtype)  # kept: fresh memory takes its time, too
            found = largest_modes(kernel.among(which, seen, self._memory), smallest, guess)
        if found is None:
            return None
        modes = self._modes = np.zeros((n, len(found[1])))
        modes[which] = found[0]
        unseen = np.zeros_like(modes)
        unseen[active] = modes[active] / weights[:, None]
        return unseen, found[1]


def _rule_of(carried: CarriedNeurons) -> RadauRule:
    """The rule of a step along which kernels grow as neurons do."""
    sizes = carried.sizes()
    return RULE.grown(sizes[IS_NODE] / sizes[_MIDDLE]) if sizes[_MIDDLE] > 0.0 else RULE


def curvatures_at_middle(samples: SampleForces, carried: CarriedNeurons) -> FloatArray:
    """How forces answer to outputs at mid-step."""
    return np.asarray(samples.relative(carried.outputs[None, _MIDDLE]).curvatures[0])
