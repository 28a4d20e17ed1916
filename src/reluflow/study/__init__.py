"""Everything about one dataset: the stages of a study, its findings, its report.

>>> import reluflow
>>> found = reluflow.study("three-points", width=20, seeds=0, theorems=())
>>> print(found.verdict()[1][:58])
On the samples it equals the least-squares linear function
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
