"""CollocationState: the state of a run by collocation, the order in which it may change, and what is read off it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.dynamics.collocation.carried_neurons import RULE
from reluflow.dynamics.collocation.force_predictor import ForcePredictor
from reluflow.dynamics.collocation.force_step import ForceStep, Solution
from reluflow.dynamics.collocation.lone_neurons import LoneNeurons
from reluflow.dynamics.collocation.negligible_samples import (
    NegligibleSamples,
    NegligibleState,
    choose_negligible,
    is_felt,
    may_leave_out,
    remaining_part,
    told_by_all,
)
from reluflow.dynamics.collocation.present_forces import PresentForces
from reluflow.dynamics.collocation.rescaling import margin_offsets_after
from reluflow.dynamics.collocation.resting_limit import POLISHED, polished
from reluflow.dynamics.collocation.sample_forces import Device, SampleForces
from reluflow.dynamics.collocation.spanned_problem import SpannedProblem
from reluflow.dynamics.collocation.tuning import FIRST_TURN, LEAST_FIRST_SHARE, REMAINING_SHARE, RESCALED_MARGIN
from reluflow.dynamics.event import EventRecorder
from reluflow.dynamics.gradient import Gradient, RelativePulls
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.reading import (
    RESTING_PULL,
    bias_square_of,
    cosines_with,
    network_of,
    pulled_towards,
    shrinks_for_ever,
)
from reluflow.dynamics.shared.boundary_events import BoundaryEvents
from reluflow.dynamics.shared.fading_clock import ORDINARY
from reluflow.dynamics.shared.pull_errors import GIVEN_OUTPUTS, pull_errors
from reluflow.dynamics.trajectory import Limit
from reluflow.dynamics.variant import gradient_of_variant, is_settled_variant, largest_pull, with_outputs_of
from reluflow.geometry.boundary.decision import Ridge
from reluflow.geometry.boundary.walls import Walls
from reluflow.network import Network


class CollocationState:
    """The one owner of what changes in a run: the neurons, the samples of its steps, and the forces of now.

    Invariants, each kept by the method named:

    1. `neurons`, `samples`, `force_step` and what is said of the forces are about the same samples: all of them, or
       the remaining ones while others are `negligible`. They change together, in `_go_on_with`.
    2. `outputs`, `forces` and `log_rate` belong to the neurons as they are. So whoever moves neurons calls `refresh`.
    3. Neurons, `outputs` and those of `negligible` are without the growth that was taken out, by `rescale` alone;
       `all_outputs`, `network` and what is read off the state are with it.
    4. `step` and `predictor` are told in the present clock: where `refresh` counts other samples in its rate, it tells
       the step anew and lets the predictor forget.

    Attributes
    ----------
    neurons, boundary
        Each on its own, and what happens to those that stand on walls.
    samples, force_step
        The samples of the steps, and how the forces on them are solved for.
    outputs, forces, log_rate
        h of those samples, the forces relative to R, and ln R (see `relative_forces`).
    negligible
        The other samples, or None.
    step, predictor
        Length of the next step in rescaled time; what is known of the forces on it.
    bias
        The output bias (K,), without the growth that was taken out, or None.
    decayed
        Weight decay so far: what no pull moves has shrunk by e to minus this.
    log_rescaling
        ln of the growth that has been taken out of the neurons (see `rescaling`).
    num_evaluations
        How often the forces were computed.
    output_error
        Of the outputs, relative to the largest output or label: that of the given neurons until a run carries them on.
    """

    def __init__(self, problem: TrainingProblem, recorder: EventRecorder, ridge: Ridge, device: Device) -> None:
        self._problem, self._ridge = problem, ridge
        self._span = SpannedProblem.of(problem)
        walls = Walls.of(self.spanned.dataset.X)
        self.neurons = LoneNeurons(self.spanned.network, walls, moves_outputs=problem.trains_output_layer)
        self.samples = SampleForces(self.spanned, walls, device=device)
        self.force_step = self._whole_step = ForceStep(self.samples)
        self._present = PresentForces(self.spanned, self.neurons, self.samples)
        self.bias = None if problem.network.b is None else np.array(problem.network.b)
        self._start_strength = largest_pull(self.spanned)
        self._neuron_pulls: FloatArray | None = None  # D of every neuron as it is, once it has been asked for
        self.negligible: NegligibleSamples | None = None
        self._may_leave_out = may_leave_out(self.samples, self.neurons)
        self._num_remaining = problem.dataset.n  # when they were last chosen
        self.outputs: FloatArray = np.zeros(problem.dataset.n * problem.num_outputs)
        self.log_rate, self.decayed, self.log_rescaling, self.num_evaluations = 0.0, 0.0, 0.0, 0
        self.step, self.predictor = 1.0, ForcePredictor(RULE)
        self.output_error = GIVEN_OUTPUTS
        self.boundary = BoundaryEvents(self.neurons, recorder, ridge, self.pull_errors)
        self.refresh()
        self.neurons.give_signs(self.pulls())
        waiting = self.neurons.standing_on_walls()
        for j, walls_of_j in waiting:
            self.settle(j, walls_of_j, 0.0, is_initial=True)
        self.has_begun_on_wall = bool(waiting)
        self.step = self.first_step()

    # -- what is so now -----------------------------------------------------------------------------------------

    @property
    def spanned(self) -> TrainingProblem:
        """The problem in the coordinates of the neurons."""
        return self._span.problem

    @property
    def has_stopped_on_ridge(self) -> bool:
        """Whether the flow is not unique from here, and is to end there."""
        return self.boundary.met_ridge and self._ridge == "stop"

    def pull_errors(self) -> FloatArray:
        """By how much the pulls of the walls may be off, shape (num_walls,)."""
        outputs = self.outputs if self.neurons.num_outputs == 1 else self.outputs.reshape(-1, self.neurons.num_outputs)
        return pull_errors(self.spanned, self.neurons.walls, outputs, self.output_error)

    def all_outputs(self) -> FloatArray:
        """h(x_k), of negligible samples too, shape (n,) or (n, K)."""
        outputs = np.exp(2.0 * self.log_rescaling) * self._outputs_of_all()
        return np.asarray(outputs.reshape(self._problem.dataset.zero_outputs().shape))

    def _outputs_of_all(self) -> FloatArray:
        """The same without the growth that was taken out."""
        return np.asarray(self.outputs) if self.negligible is None else self.negligible.outputs(self.outputs)

    def _counted_of_all(self) -> BoolArray | None:
        """Which samples are in the rate, negligible ones among them; None: all."""
        if self.negligible is None or self.samples.counted is None:
            return self.samples.counted
        counted = self.negligible.is_negligible.copy()
        counted[~self.negligible.is_negligible] = self.samples.counted
        return counted

    @property
    def log_sizes(self) -> FloatArray:
        """ln |(w_j, a_j)|, shape (m,)."""
        return np.asarray(self.neurons.log_norm + self.log_rescaling)

    def wall_names(self) -> IntArray:
        """The first sample of every wall of the steps, by its number among all samples."""
        if self.negligible is None:
            return self.samples.walls.first_sample
        return self.negligible.whole.walls.first_sample[self.negligible.remaining_walls]

    def pulls(self) -> FloatArray:
        """D of every neuron relative to R, shape (m, K, d)."""
        if self._neuron_pulls is None:
            neurons, (plus, minus), device = self.neurons, self._wall_pulls(), self.samples.on_device
            if device is None:
                self._neuron_pulls = neurons.pulls(plus, minus)
            else:
                felt = device.felt(device.sides(neurons.sides), plus, minus)
                of_outputs = felt[: neurons.num_neurons].transpose(1, 0, 2).copy()
                self._neuron_pulls = np.stack([neurons.along_walls(pull) for pull in of_outputs], axis=1)
        return self._neuron_pulls

    def first_step(self) -> float:
        """A step in which the neuron with the strongest pull turns by little, and none decays by much."""
        strongest = float(
            np.max(np.linalg.norm(self.pulls().reshape(self.neurons.num_neurons, -1), axis=1), initial=0.0)
        )
        fastest = max(strongest, self._problem.weight_decay)
        return FIRST_TURN / fastest if fastest > 0 else 1.0

    def rounding(self) -> float:
        """What rounding of the outputs does to the forces, relative to the largest."""
        return self._present.rounding(self.outputs, self.forces)

    def cancellation(self) -> float:
        """What the forces leave of each other in the pulls, as a share."""
        return self._present.cancellation(self.forces, self.pulls(), self.log_rate)

    def forces_ahead(self, moments: FloatArray) -> FloatArray:
        """Forces some time from now, if they go on as they do."""
        return self._present.ahead(self.outputs, self.forces, self.pulls(), moments)

    def _wall_pulls(self) -> tuple[FloatArray, FloatArray]:
        """What walls pull with on their positive and negative side, for every output, shapes (K, num_walls)."""
        return self.samples.of_walls(self.forces[None])

    # -- changes ------------------------------------------------------------------------------------------------

    def refresh(self, *, counts_all: bool = False) -> None:
        """Outputs and forces of the neurons as they are; samples that none acts on count in the rate on demand only."""
        neurons, log_rate = self.neurons, self.log_rate
        has_changed = self.samples.count(None if counts_all else neurons.walls.slopes(neurons.sides, neurons.leak))
        self.outputs = self.samples.outputs(neurons.shapes[:, None, :], neurons.mass)[0]
        if self.bias is not None:
            self.outputs = self.outputs + np.tile(self.bias, len(self.samples.X))
        forces, _, log_rates = self.samples.relative(self.outputs[None], with_curvatures=False)
        self.forces, self.log_rate = forces[0], float(log_rates[0])
        self._neuron_pulls = None
        if has_changed:  # another clock: the step covers the same time, unless that is no step at all there
            self.predictor.forget()
            first = self.first_step()
            step = self.step * float(np.exp(np.clip(self.log_rate - log_rate, -ORDINARY, ORDINARY)))
            self.step = min(max(step, LEAST_FIRST_SHARE * first), max(self.step, first))
        self.num_evaluations += 1

    def decay(self, duration: float) -> None:
        """Shrink the neurons by the weight decay of some time; they are not refreshed."""
        self.decayed += self._problem.weight_decay * duration
        self.neurons.decay(self.samples.shared_decay * duration)

    def rescale(self) -> None:
        """Shrink the neurons of a classifier until its smallest margin, if that is larger, is `RESCALED_MARGIN`."""
        if not (self.samples.fades and self._problem.moves_freely):
            return
        margins, counted = self.samples.margins(self.outputs), self.samples.counted_forces
        smallest = float(np.min(margins if counted is None else margins[counted]))
        if not smallest > RESCALED_MARGIN:
            return
        ratio = RESCALED_MARGIN / smallest
        whole = self.samples if self.negligible is None else self.negligible.whole
        margins, counted = whole.margins(self._outputs_of_all()), self._counted_of_all()
        offsets = np.zeros(len(margins)) if whole.margin_offsets is None else whole.margin_offsets
        is_margin = np.isfinite(margins)  # of the own class of a sample there is none
        is_margin &= True if counted is None else counted.repeat(whole.num_outputs)
        margins = np.where(is_margin, margins + offsets, 0.0)
        whole.margin_offsets = margin_offsets_after(margins, offsets, is_margin, ratio)
        if self.negligible is not None:
            self.samples.margin_offsets = whole.margin_offsets[whole.forces_of(~self.negligible.is_negligible)]
            self.negligible = self.negligible.rescaled(ratio)
        self.neurons.decay(-0.5 * float(np.log(ratio)))
        self.log_rescaling -= 0.5 * float(np.log(ratio))
        self.bias = None if self.bias is None else ratio * self.bias
        self.refresh()

    def settle(self, j: int, walls: list[int], time: float, *, is_initial: bool = False) -> None:
        """Decide where a neuron that stands on walls goes, and put it there."""
        neurons = self.neurons
        direction = neurons.directions(self.pulls())[j]  # of its output weights
        self._neuron_pulls = None
        plus, minus = (direction @ pulls for pulls in self._wall_pulls())
        self.boundary.settle(j, walls, (plus, minus), time, is_initial=is_initial)
        sign, key = int(neurons.output_sign[j]), neurons.sides[j].tobytes()
        for b in walls:
            neurons.pinned[j, b] = (key, sign, b) in self.boundary.ridges

    # -- samples that move no neuron -------------------------------------------------------------------------------

    def leave_out_negligible(self) -> None:
        """Leave samples out of the steps where few of those that are in them still move a neuron."""
        if (
            self._may_leave_out
            and np.count_nonzero(is_felt(self.samples, self.outputs)) <= REMAINING_SHARE * self._num_remaining
        ):
            self._choose_remaining(np.zeros(self._problem.dataset.n, dtype=bool))

    def negligible_after(self, found: Solution) -> NegligibleState | None:
        """Where negligible samples are after a step; None, with the samples chosen anew, where some matter again."""
        negligible, samples = self.negligible, self.samples
        assert negligible is not None
        after = negligible.at_end(self.neurons, found.moving, found.paths.ends)
        logs = samples.log_forces(found.outputs[-1])
        strongest = np.max(logs if samples.counted is None else logs[samples.counted])
        if not np.any(returning := negligible.returning(after, float(strongest))):
            return after
        self._choose_remaining(returning | ~negligible.is_negligible)
        return None

    def take_all_samples(self) -> None:
        """Take all samples into the steps again."""
        if self.negligible is not None:
            self._restore_all(self.negligible)
            self._num_remaining = self._problem.dataset.n
            self.predictor.forget()
            self.refresh()

    def _choose_remaining(self, kept: BoolArray) -> None:
        """Choose the samples of the steps anew, those in `kept` among them."""
        was_remaining = np.ones(len(kept), dtype=bool)
        if self.negligible is not None:
            was_remaining = ~self.negligible.is_negligible
            self._restore_all(self.negligible)
        negligible = choose_negligible(self.samples, self.spanned, self.neurons, self.outputs, kept)
        samples, neurons = remaining_part(negligible, self.spanned, self.neurons)
        self.negligible = negligible
        self._go_on_with(neurons, samples, ForceStep(samples))
        if np.any(~was_remaining & ~negligible.is_negligible):
            self.predictor.forget()
        else:
            self.predictor.narrow(samples.forces_of(~negligible.is_negligible[was_remaining]))
        self.refresh()
        self._num_remaining = int(np.count_nonzero(is_felt(self.samples, self.outputs)))

    def _restore_all(self, negligible: NegligibleSamples) -> None:
        """Go on with all samples; forces and what was predicted of them are still about the remaining ones."""
        whole = negligible.whole
        whole.counted = self._counted_of_all()
        self.outputs, self.negligible = self._outputs_of_all(), None
        self._go_on_with(negligible.among_all_walls(self.neurons), whole, self._whole_step)

    def _go_on_with(self, neurons: LoneNeurons, samples: SampleForces, force_step: ForceStep) -> None:
        self.neurons, self.samples, self.force_step = neurons, samples, force_step
        self._present = PresentForces(self.spanned, neurons, samples)
        self.boundary.follow(neurons)
        self._neuron_pulls = None

    # -- reading ------------------------------------------------------------------------------------------------

    def network(self) -> Network:
        """The network here; `log_scale` is 0 where the neurons fit a double."""
        neurons = self.neurons
        bias = None if self.bias is None else np.exp(2.0 * self.log_rescaling) * self.bias
        bias = bias if self._problem.trains_output_bias else self._problem.network.b
        fixed = (neurons.leak, neurons.weight, neurons.num_outputs)
        network = network_of(neurons.shapes, self.log_sizes, *fixed, bias)
        w = self._span.outward(told_by_all(network.w, self.negligible), network.log_scale, self.decayed)
        network = network.replace(w=w)
        return network if self._problem.trains_output_layer else with_outputs_of(self._problem.network, network)

    def gradient(self) -> Gradient:
        """Norms and angles of the gradient."""
        neurons, pulls = self.neurons, self.pulls()
        bias_square = bias_square_of(self._problem, self.forces.reshape(-1, neurons.num_outputs))
        if not self._problem.is_plain:
            w, pulls = self._span.rotated(neurons.w, pulls, neurons.log_norm, self.decayed)
            z, rotated = np.column_stack([w, neurons.v]), RelativePulls(pulls, self.log_total_force())
            return gradient_of_variant(self._problem, z, neurons.mass, rotated, self.log_rescaling, bias_square)
        pulls = pulls[:, 0]
        a, mass = neurons.shapes[:, -1], neurons.mass
        towards = np.einsum("ji,ji->j", neurons.w, pulls)
        square = float(mass @ (towards**2 + a**2 * np.einsum("ji,ji->j", pulls, pulls)))
        along, size = float(2.0 * mass @ (a * towards)), float(np.sum(mass))
        return Gradient.from_moments(square, along, size, self.log_total_force(), self.log_rescaling)

    def log_total_force(self) -> float:
        """ln R, with the growth that was taken out."""
        if self.log_rescaling == 0.0:
            return self.log_rate
        samples = self.samples if self.negligible is None else self.negligible.whole
        logs = samples.loss.log_force(self.all_outputs(), samples.labels)
        logs = np.max(logs, axis=1) if samples.num_outputs > 1 else logs
        counted = self._counted_of_all()
        strongest = float(np.max(logs if counted is None else logs[counted]))  # so far out it is all there is
        return strongest + float(np.log(samples.loss.sample_weight(len(logs))))

    def is_settled(self) -> bool:
        """Whether every neuron with a pull on it shrinks for ever against that pull, so that none will grow later."""
        pulls = self.pulls()
        if not self._problem.is_plain:
            return is_settled_variant(self._problem, *self._outward(pulls), self.all_outputs())
        pulls = pulls[:, 0]
        strengths = np.linalg.norm(pulls, axis=1) * np.exp(self.log_rate)
        is_pulled = strengths > RESTING_PULL * self._start_strength
        z = self.neurons.shapes[is_pulled]
        return bool(np.all(shrinks_for_ever(z[:, :-1], z[:, -1], pulls[is_pulled])))

    def misalignment(self) -> float:
        """Largest 1 - cos(w_j, D_j v_j) over the neurons that are pulled."""
        pulls, neurons = self.pulls(), self.neurons
        cosines = cosines_with(neurons.w, pulled_towards(neurons.v, pulls))
        return float(1.0 - np.min(cosines[np.any(pulls, axis=(1, 2))], initial=1.0))

    def last_state(self) -> Limit:
        """The state here as the end point of a run."""
        return Limit(self.network(), self.gradient().norm, False, 0, "The last state of the run, not polished.")

    def stationary_limit(self) -> Limit:
        """Where the flow tends to, by Newton's method in the final pattern; the state here where that fails."""
        here = self.last_state()
        has_grown_beside_bias = self.samples.moves_bias and self.log_rescaling != 0.0
        if not self._problem.moves_freely or has_grown_beside_bias:
            return replace(here, reason=f"Not polished: with {self._problem.variant} the last state is given as it is.")
        self.take_all_samples()
        neurons, kept = self.neurons, (self.neurons.shapes, self.bias)
        limit = polished(neurons, self.samples, self.bias)
        neurons.shapes, self.bias = limit.shapes, limit.bias
        self.refresh()
        heights = neurons.w @ neurons.walls.normals.T
        has_crossed = bool(np.any(neurons.sides * heights < -1e-9))
        there = replace(self.last_state(), is_polished=True, num_iterations=limit.num_iterations, reason=POLISHED)
        neurons.shapes, self.bias = kept
        self.refresh()
        if has_crossed:
            return replace(here, reason="Not polished: the rest of the way meets another boundary.")
        if limit.num_iterations == 0 or there.gradient_norm > here.gradient_norm:
            return replace(here, reason="Not polished: no Newton step in the final pattern brings the gradient down.")
        return there

    def _outward(self, pulls: FloatArray) -> tuple[FloatArray, RelativePulls]:
        """Shapes and pulls of the neurons in the coordinates of the given problem."""
        w = self._span.outward(told_by_all(self.neurons.w, self.negligible), self.neurons.log_norm, self.decayed)
        outward = self._span.pulls_outward(told_by_all(pulls, self.negligible))
        return np.column_stack([w, self.neurons.v]), RelativePulls(outward, self.log_rate)
