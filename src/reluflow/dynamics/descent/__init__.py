"""Gradient descent: plain, grouped by activation pattern, stochastic.

To be read in this order; each file knows those above it only.

- `descent_kernels`: one iteration in machine code, shared by all.
- `descent_run`: the owner of a run's clock, and the way back from an overflow. A run stands at a whole iteration
  whenever it is read: neurons and clock are moved together, by one kernel or one assignment.
- `dense_step`: a step by matrix products, of any number of outputs and with an output bias.
- `gradient_descent`: the plain method, fused or through matrix products.
- `stochastic_gradient_descent`: on batches.
- `cone_group_kernels`, `grouped_descent_kernels`, `grouped_descent`: the same iterates, one matrix per cone.
"""
