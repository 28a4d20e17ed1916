"""The exact gradient flow, from event to event.

To be read in this order; each file knows those above it only. Kernels are machine code and hold nothing else.

- `bernstein_kernels`: the first root of a polynomial. (What happens at a wall is decided in `geometry/boundary`.)
- `flow_kernels`, `step_kernels`: outputs, forces, velocities of the columns; a step of order eight and its dense form.
- `grouped_neurons_kernels`, `grouped_neurons`: who is in which group, and the columns that stand for them.
- `sliding_kernels`, `lone_neurons`: the walls a neuron slides on; the neurons each on its own, for the second solver.
- `crossing_kernels`, `carrying_kernels`: who meets a wall within a step; the light ones carried through it.
- `pull_errors`, `boundary_events`, `slides`: pulls too small to have a sign; what an arrival at a wall does to a
  neuron; when a slide ends.
- `stationary_limit`: where the flow tends to from a state near its end.
- `flow_state`: the one owner of what changes, with the invariants and the order in which it may change.
- `light_crossers`, `frozen_start`: crossers that do not end a step; the closed-form start at a tiny scale.
- `fading_clock`: time where forces fade along a step, and how late a double can still tell it.
- `flow_run`: the run: steps, events, the clock.
- `event_driven`: the solver and its settings.

The flow at the size of real data, by collocation of the forces, stands on `bernstein_kernels`, `lone_neurons`,
`pull_errors`, `boundary_events`, `frozen_start` and one function of `stationary_limit`:

- `radau`: the nodes of a step and polynomials on them.
- `relative_forces`: the forces of the samples relative to their total, and how they change with the outputs.
- `spanned_problem`: the problem in coordinates of the space its samples span.
- `arrival_kernels`, `neuron_series_kernels`: what happens where a neuron comes to a wall; its power series between two
  events.
- `next_event_kernels`, `wall_survey_kernels`, `neuron_path_kernels`: the first event on a piece of its path; the walls
  that it may meet at all; its path through a step, wall by wall.
- `largest_modes`: the strongest modes of a large symmetric matrix.
- `output_kernels`, `device_products`, `sample_forces`: outputs from pre-activations; large products on an accelerator;
  the samples as walls that pull.
- `tangent_kernels`, `tangent_kernel`, `force_newton`: how forces move the outputs; Newton's method for the forces.
- `sweep`, `force_predictor`: the neurons carried through a step, and who must be again; the first guess of
  the forces.
- `force_step`: one step, solved.
- `present_forces`: how exactly the forces of now are known, how much they cancel, how they change.
- `sleeping_samples`: samples that a classifier fits so well that they move nobody, left out of its steps.
- `far_growth`: growth of a classifier beyond all times that doubles hold, taken out of its neurons.
- `resting_limit`: where a run near its end tends to.
- `collocation_state`: the one owner of what changes, with the invariants and the order in which it may change.
- `collocation_run`: the run: steps, events, the clock.
- `collocation`: the solver and its settings.
- `choice`: which of the two a problem gets.
- `branching`: neurons that go another way when a run is computed more exactly.
"""
