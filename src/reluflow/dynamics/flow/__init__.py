"""The exact gradient flow, from event to event.

To be read in this order; each file knows those above it only. Kernels are machine code and hold nothing else.

- `walls`, `bernstein_kernels`: the data hyperplanes and what happens at one; the first root of a polynomial.
- `flow_kernels`, `step_kernels`: outputs, forces, velocities of the columns; a step of order eight and its dense form.
- `grouped_neurons_kernels`, `grouped_neurons`: who is in which group, and the columns that stand for them.
- `crossing_kernels`, `carrying_kernels`: who meets a wall within a step; the light ones carried through it.
- `boundary_events`, `slides`: what an arrival at a wall does to a neuron; when a slide ends.
- `stationary_limit`: where the flow tends to from a state near its end.
- `flow_state`: the one owner of what changes, with the invariants and the order in which it may change.
- `light_crossers`, `frozen_start`: crossers that do not end a step; the closed-form start at a tiny scale.
- `flow_run`: the run: steps, events, the clock.
- `event_driven`: the solver and its settings.
"""
