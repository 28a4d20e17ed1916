"""reluflow: a laboratory for how small-initialisation ReLU networks learn.

>>> import reluflow
>>> problem = reluflow.Experiment("three-points").problem()
>>> reluflow.extremal_vectors(problem).kinds
('maximum',)

`import reluflow` loads NumPy and nothing heavier; each name of `__init__.pyi` loads its file when it is first used.
"""

import lazy_loader

__version__ = "0.3.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
