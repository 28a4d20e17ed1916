"""What a network provably is: KKT, max-margin, stationarity, each with its residuals.

Import from the file that is named for the thing, e.g. `from reluflow.certificates.certify import certify`: several
functions share the name of their file, and the files load Numba and the solvers.
"""
