"""The names of this package; `lazy_loader` reads them from here, and so do type checkers."""

from .case import Case as Case
from .plan import make_plan as make_plan
from .result import SweepResult as SweepResult
from .run import sweep as sweep
