"""Machine code: how kernels are declared, compiled on all cores before they are needed, and kept out of the clock.

Read `kernel.py` first (the two decorators), then `signature.py` (the annotations of a kernel are the types it is
compiled for), `library.py` (machine code that calls other kernels instead of copying them), `dispatcher.py` (how that
is found on disk again) and `parallel.py` (compiling what is missing, in several processes).
"""
