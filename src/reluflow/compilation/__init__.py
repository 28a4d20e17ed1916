"""Machine code: how kernels are declared, compiled on all cores before they are needed, and kept out of the clock.

Read `kernel.py` first (the two decorators), then `signature.py` (the annotations of a kernel are the types it is
compiled for) and `parallel.py` (compiling what is missing, in several processes).
"""
