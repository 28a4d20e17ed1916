"""The names of this package; `lazy_loader` reads them from here, and so do type checkers."""

from .story import Study as Study
from .story import StudyInterrupted as StudyInterrupted
from .story import study as study
