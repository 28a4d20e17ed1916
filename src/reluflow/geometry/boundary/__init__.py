"""The physics at a data hyperplane, once, for the alignment phase and for the flow.

In reading order: `tolerance` (what counts as rounding), `walls` (the hyperplanes and what pulls on their two sides),
`minimum_norm` (the shortest vector a neuron on walls can follow), `decision` (where it goes), `origin` (the same where
all walls meet), `events` (the words for what happens).
"""
