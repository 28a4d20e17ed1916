"""Where a run ends: the stopping rules that ask a certificate, and what the end then provably is.

Reading order: `takeover` (can a light neuron still change a limiting direction), `limit` (the certified limit, and the
rule that stops where it is known), `undecided` (the limit of a run that is shown even where certifying it fails),
`limit_so_far` (the same of a run that was asked for a time and need not be near its limit),
`levelling` (the rule for classes that contradict each other; the end of any run).
"""
