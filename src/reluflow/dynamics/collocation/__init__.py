"""The exact flow at the size of real data, by collocation of the forces.

To be read in this order; each file knows those above it only. Kernels are machine code and hold nothing else.

- `tuning`: the tuned constants of all files below, with what each does.
- `radau`: the nodes of a step and polynomials on them.
- `class_forces_kernels`, `relative_forces`: the forces of the samples relative to their total, and how they change
  with the outputs.
- `spanned_problem`: the problem in coordinates of the space its samples span.
- `curvatures`: how forces answer to outputs, as numbers or as blocks.
- `vector_kernels`, `sliding_kernels`, `lone_neurons`: vectors, and polynomials of every output; the walls a neuron
  slides on; the neurons each on its own.
- `arrival_kernels`, `neuron_series_kernels`: what happens where a neuron comes to a wall; its power series between two
  events.
- `next_event_kernels`, `wall_survey_kernels`, `path_search_kernels`: walls that a piece of its path meets or leaves;
  the walls that it may meet at all; the first event of a piece.
- `path_workspace_kernels`, `neuron_path_kernels`: memory for the paths of many neurons; the path of one through a step.
- `largest_modes`, `outputs_kernel`: the strongest modes of a large symmetric matrix; how the forces of several outputs
  move these.
- `output_kernels`, `device_products`, `sample_forces`: outputs from pre-activations; large products on an accelerator;
  the samples as walls that pull.
- `tangent_kernels`, `tangent_kernel`, `outputs_modes`, `force_newton`: how forces move a single output; the strongest
  modes of how they move several; Newton's method for the forces.
- `carried_neurons`, `force_predictor`: the neurons carried through a step, and who must be again; the first guess of
  the forces.
- `fading_residual`: what Newton's method mends of forces that are exponentials of the outputs.
- `newton_matrices`, `force_step`: Newton's matrix as long as it serves; one step, solved.
- `present_forces`: how exactly the forces of now are known, how much they cancel, how they change.
- `remaining_span`, `negligible_samples`: coordinates of the span of few samples; those that a classifier fits so well
  that they move no neuron, left out of its steps.
- `rescaling`: growth of a classifier beyond all times that doubles hold, taken out of its neurons.
- `resting_limit`: where a run near its end tends to.
- `collocation_state`: the one owner of what changes, with the invariants and the order in which it may change.
- `step_attempt`, `collocation_run`: a step that is being tried; the run: steps, events, the clock.
- `collocation_flow`: the solver and its settings.
"""
