"""Does gradient descent follow the flow? The exact flow, with all its events, beside descent from the same start.

To be read in this order; each file knows those above it only:

- `sharpness`: the largest eigenvalue of the Hessian at a network, also where pieces of the loss meet.
- `watched_descent_kernels`, `watched_descent`: gradient descent with a record of the walls its neurons meet.
- `gate_history`: which walls each neuron met in which order, of a flow and of a descent, and where the two differ.
- `reference_flow`: the flow that descent is held against: its outputs at given times, its events, its limit.
- `error_bound`: the curvature along the flow, and how far it lets descent be away.
- `followed_rate`: one learning rate beside the flow: distance of the outputs, gates, limit.
- `rate_search`: the largest rate up to which something holds, and how ragged the boundary is.
- `stochastic`: how often SGD, or descent with momentum, ends where the flow does.
- `step_size`: the whole answer.
"""
