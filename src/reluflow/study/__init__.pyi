"""The names of this package; `lazy_loader` reads them from here, and so do type checkers."""

from .whole_study import Study as Study
from .whole_study import StudyInterrupted as StudyInterrupted
from .whole_study import study as study
