"""The names of this package; `lazy_loader` reads them from here, and so do type checkers."""

from .process import Jump as Jump
from .process import JumpProcess as JumpProcess
from .process import Saddle as Saddle
