"""Many runs: phase diagrams over thousands of cases, that survive anything.

>>> import reluflow
>>> result = reluflow.sweep("three-points", over={"scale": "1e-1,1e-4"}, measure=["end"], executor="serial")
>>> result.frame()["end"].tolist()
['interpolates', 'least-squares']
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
