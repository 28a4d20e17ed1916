"""The tuned constants of `EventDrivenFlow`: what each does, and what was seen when it was chosen.

None of them decides what is computed, only how fast and how exactly; where no measurement stands beside one, it was
chosen by trial on the problems of `reluflow bench flow`.
"""

# steps
LOOSEST_RTOL = 1e-10  # looser steps push sliding neurons off their walls: 6,995 crossings where there are 11 at 1e-7
STEP_SHARE = 0.3  # share of `rtol` that one step may cost; errors of a few hundred steps then add up to about rtol
OUTPUT_ERROR = 10.0  # of outputs, in units of `rtol`: at rest a step bounded by stability alone was off by 1.3
FIRST_RAPIDITY = 0.02  # first step: how far the fastest neuron is boosted
SAFETY, SHRINK, GROW = 0.9, 0.2, 5.0  # the usual controller of a method of order eight
AT_START, AHEAD = 1e-14, 1e-2  # fractions of a step: an event at its very start, and the look ahead that resolves it
MOST_IDLE_STEPS = 2000  # steps in a row, beyond one per neuron, that only resolve events and move no clock

# groups of neurons
DRIFTED = 0.9  # squared norm of a neuron's column, off 1, beyond which it is taken into the neuron's size
LARGE_COLUMN = 60.0  # squared norm of a propagator's row beyond which the propagator is applied to its neurons
LARGE_FRAME = 100.0  # the same for its whole squared norm, so that no neuron loses digits
WIDE = 8  # with this many times d + 1 neurons per group on average, every group has a propagator
FRAME_FROM = 2  # in a network that is not wide, a group has one from this many times d + 1 neurons on
SPARE_GROUPS = 64  # empty groups that are kept for neurons to come

# crossers
KINK_SHARE = 0.05  # share of the tolerance of a step that the neglected kinks of light crossers may cost
UNCLEAR = 1e-3  # a normal speed below this fraction of the pull is left to the careful, exact treatment

# separate parts
MOST_OWN_STEPS = 200  # of the first part within one step of the run, so that an interrupt is not left waiting
ON_WALL = 1e-9  # cosine below which a neuron counts as standing on a sample's wall: trapped ones are far from it

# operations counted for budgets of work, 1e9 a second: fitted to 23 runs, to a factor 2.2 (`benchmarks/work.py`)
OPERATIONS_A_STEP = 9e4
OPERATIONS_A_HEIGHT, OPERATIONS_A_WEIGHT = 6.0, 0.4  # of a column on a sample, at each force: in all, and per weight
