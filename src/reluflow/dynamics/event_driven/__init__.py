"""The exact flow from event to event, for few samples and any width: neurons of one cone move as one linear map.

To be read in this order; each file knows those above it only. Kernels are machine code and hold nothing else.

- `tuning`: the tuned constants, with what each does.
- `step_kernels`: a step of order eight and its dense form.
- `grouped_neurons_kernels`, `grouped_neurons`: who is in which group, and the columns that stand for them.
- `crossing_kernels`, `carrying_kernels`: who meets a wall within a step; the light ones carried through it.
- `slides`: when a slide ends.
- `next_step_kernels`, `event_kernels`: what is called at every step: the next one, and the way to its first event.
- `flow_state`: the one owner of what changes, with the invariants and the order in which it may change.
- `flow_run`: the run: steps, events, the clock.
- `event_driven_flow`: the solver and its settings.
- `separated_flow`: the same in independent parts, once no neuron can leave its pattern.
"""
