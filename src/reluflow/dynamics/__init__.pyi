"""The names of this package; `lazy_loader` reads them from here, and so do type checkers."""

from .checkpoint import Checkpoint as Checkpoint
from .collocation.collocation_flow import CollocationFlow as CollocationFlow
from .descent.gradient_descent import GradientDescent as GradientDescent
from .descent.grouped_descent import GroupedGradientDescent as GroupedGradientDescent
from .descent.stochastic_gradient_descent import StochasticGradientDescent as StochasticGradientDescent
from .event_driven.event_driven_flow import EventDrivenFlow as EventDrivenFlow
from .flow_choice import choose_flow as choose_flow
from .keep import Keep as Keep
from .problem import TrainingProblem as TrainingProblem
from .solver import AbstractRun as AbstractRun
from .solver import AbstractSolver as AbstractSolver
from .stopping import AbstractStoppingRule as AbstractStoppingRule
from .stopping import Aligned as Aligned
from .stopping import AtTime as AtTime
from .stopping import DirectionConverged as DirectionConverged
from .stopping import Exhausted as Exhausted
from .stopping import LossBelow as LossBelow
from .stopping import Stationary as Stationary
from .storage import load_trajectory as load_trajectory
from .storage import save_trajectory as save_trajectory
from .trajectory import Law as Law
from .trajectory import Outcome as Outcome
from .trajectory import TrainingInterrupted as TrainingInterrupted
from .trajectory import Trajectory as Trajectory
