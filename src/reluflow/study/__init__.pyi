"""The names of this package; `lazy_loader` reads them from here, and so do type checkers."""

from .summary import Study as Study
from .summary import StudyInterrupted as StudyInterrupted
from .summary import study as study
