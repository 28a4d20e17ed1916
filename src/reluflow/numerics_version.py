"""The version of the numerics: part of the name of every kept result, so that a changed solver is seen.

Raise it with every change that may alter a computed number: a solver, a certificate, a theorem's measure, a sampler, an
initialisation. Results kept under another version are then computed again, by `reproduce` and by `sweep` alike;
`tests/test_numerics_version.py` holds a few numbers that must not move while it stays.
"""

from __future__ import annotations

NUMERICS_VERSION = 15
