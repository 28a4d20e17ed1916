"""What the two solvers of the exact flow have in common.

To be read in this order; each file knows those above it only. Kernels are machine code and hold nothing else.

- `tuning`: the tuned constants, with what each does.
- `flow_kernels`: outputs, forces and velocities. (Roots of polynomials are in `reluflow.bernstein_kernels`, what
  happens at a wall in `geometry/boundary`.)
- `quadric`: |v|^2 - |w|^2 of neurons, which the flow keeps.
- `pull_errors`, `boundary_events`: pulls too small to have a sign; what an arrival at a wall does to a neuron.
- `stationary_limit`: where the flow tends to from a state near its end.
- `frozen_start`: the closed-form start at a tiny scale.
- `fading_clock`: time where forces fade along a step, and how late a double can still tell it.
"""
