"""The tuned constants of collocation, in one table: what each does, and what was measured when it was chosen.

Where no measurement is given, the value was chosen by trial on the bench problems (`reluflow bench dense`) and nothing
more is recorded. Numba freezes these into machine code: after a change remove the `__pycache__/*.nb?` of this folder.
Sizes are relative unless something else is said; |z| is the norm of a neuron (w, v).
"""

from __future__ import annotations

import numpy as np

# -- the rule of a step -------------------------------------------------------------------------------------------
NUM_NODES = 5  # Radau nodes of a step; 5 was good in a first trial of the method, others were not tried here
CHECK_PLACES = (0.16, 0.43, 0.72, 0.94)  # between the nodes, where the interpolant of the forces is tested

# -- how exact a step must be -------------------------------------------------------------------------------------
MISFIT_PER_RTOL = 25.0  # misfit of the forces, in units of `rtol`; docs/dense.md shows what it does to the outputs
LARGEST_MISFIT = 1e-3  # looser steps hardly save work; four times as loose, small problems needed more steps
CANCELLED_PULLS = 1e-4  # pulls below this share of what makes them up are sums that cancel: forces need more digits
LEAST_MISFIT_SHARE = 1e-6  # at least this share of the misfit is allowed all the same
MISFIT_OF_ROUNDING = 0.3  # misfit that forces which are all rounding may have
START_MISFIT_SHARE = 0.3  # how much the misfit at the start, an extrapolation, counts beside those between the nodes
KINK_MISFIT = 0.03  # misfit of the interpolant beside a kink, in units of the kink's jump of slope per step
OUTPUT_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)  # what rounding leaves of the outputs, to the largest
PREDICTED_CHANGE = 0.3  # share of the largest force by which forces may be predicted to change by their present slopes

# -- the length of a step -----------------------------------------------------------------------------------------
FIRST_TURN = 0.03  # first step: how far the fastest neuron is boosted
LEAST_FIRST_SHARE = 0.1  # a step converted to another clock is at least this share of a first step there
STEP_SAFETY = 0.8  # of the length that the misfit asks for
STEP_EXPONENT = 0.25  # of the misfit in the next length
MOST_STEP_GROWTH = 2.5
MOST_STEP_SHRINKAGE = 0.1
REJECTED_SHRINKAGE = 0.7  # a step that was not exact enough is at least this much shorter
DIVERGED_SHRINKAGE = 0.4  # the same of a step whose iteration diverged, so that its misfit is not known
SHORTER_NEXT = 0.8  # of a rejected length: the longest that is tried next
SMALLEST_MISFIT_RATIO = 1e-12  # below it a misfit says nothing about the next length
MANY_EVENTS = 400  # events in a step from which shorter steps, whose forces are guessed well enough to need one
PRODUCTS_PER_EVENT = 5000  # iteration, are cheaper; products of numbers that take as long as one more event
GUESS_GAP_GOAL = 0.2  # gap of the guess that is then aimed at, in units of the tolerance
LEAST_GROWTH_BY_GUESS = 0.6  # least growth of the length for that reason
SHORT_STEP = 0.3  # a cut step shorter than this, in units of the one before, does not replace it in predictions
EARLIEST_CUT = 0.2  # a heavy kink earlier in a step, in units of it, is left behind by shrinking the step instead
EARLIEST_KINK = 1e-3  # a kink so near an end of a step is not worth another step
BEYOND_KINK = 1e-9  # how far beyond a heavy kink a step ends, in units of the step
SHORTEST_STEP = 1e-15  # of the rescaled time so far: a shorter step does not move the clock
TIME_REACHED = 1e-9  # a time so close, as a fraction of it, that no step fits in between is reached
STEP_LANDED = 1e-13  # a step that ends so close to the requested time, as a fraction of it, has reached it
AT_STEP_END = 1e-9  # a path that stops so close to an end of a step, in units of the usual step, stops there
BEYOND_STOP = 0.3  # of `AT_STEP_END`: how far beyond the stop of a path a step ends, so that the stop is seen
AT_ZERO = 1e-8  # a pre-activation or output weight below this fraction of |z|, where a path stops, is 0

# -- the iteration on one step ------------------------------------------------------------------------------------
NEWTON_SHARE = 0.3  # the iteration ends when the forces change by less than this share of the tolerance
NOT_CARRIED_SHARE = 0.5  # share of that by which neurons that are not carried again may bend the forces
GIVE_UP_FROM = 30.0  # once the iteration is this close, in units of the tolerance, a hopeless step is given up
HOPELESS_KINK = 10.0  # a kink that bends guessed forces by so many tolerances, of a stiff step so many times what it
# damps: on 200 points in 784 dimensions 3 of 228 steps with one were solved, two thirds of those with lighter ones
HOPELESS_MISFIT = 2.0  # a misfit beyond so many tolerances will not be mended by what is left of the iteration
MOST_ITERATIONS = 12
STUCK_FROM, STUCK_CONTRACTION = 3, 0.7  # from this iteration on, a contraction worse than this is given up
SLOW_CONTRACTION = 0.25  # a contraction worse than this asks for a new tangent kernel
WORTH_A_MATRIX = 2.0  # iterations left, at the pace of the last one, from which a matrix of this step is worth its time
STIFF = 10.0  # norm of H J from which the misfit is told by what Newton's matrix leaves of it,
DAMPED_FROM = 0.1  # where it is more than this share of the tolerance
STALE_LENGTH = 0.25  # |ln| of the change of the step length beyond which Newton's matrix is factored anew
MOST_RELATIVE_CHANGE = 2.0  # relative forces are shares of a whole: under larger ones neurons would zigzag

# -- Newton's matrix ----------------------------------------------------------------------------------------------
MODES_FROM_SAMPLES = 400  # where more forces than these matter, only the largest modes of the tangent kernel are used
NEARLY_ALL_SAMPLES = 0.6  # share of the forces from which all are taken: picking some of a large matrix takes longer
MATRICES_UNTIL_MODES = 16  # where the modes were too many: matrices made until they are tried again
FEWEST_MODES = 32
SHARPENED, SHARPENED_AGAIN = 2, 1  # times that a subspace is multiplied by the kernel; one that an earlier kernel gave
LIKELY_MODE = 0.3  # a mode above this share of a weak one may be wanted of the next kernel
FEW_WEIGHTS = 0.7  # weights, per force that matters, up to which Newton's matrix is made for the weights
WEAK_MODE = 0.1  # a mode that bends the forces by less than this within a step is left to plain iteration
PLAIN_ITERATION_SHARE = 0.02  # forces that together answer by less than this within a step are left to it too
SINGLE_PRECISION_STIFFNESS = 1e3  # norm of H J up to which single precision steers the iteration as well as double
LOGARITHMIC_STIFFNESS = 1e3  # the same from which logarithms of forces that fade are mended: on 160 late steps of 4,000
# images 3 attempts failed where 90 did, 1e2 and 1e4 steps of 200 points apart took as long
ANSWER_TOGETHER = 10.0  # answer of a force to itself with which it is taken to settle, in units of its own: those that
# are like it move along; with 1, 1e-3 off, 30 random forces took 2 to 9 iterations, with 10 or 100 one or two
DOUBLE_PRECISION_STIFFNESS = 1e4  # norm of H J beyond which the tangent kernel is made in double precision
SINGLE_PRECISION_SAMPLES = 3000  # samples beyond which tangent kernels are made in single precision
KERNEL_BLOCK = 1024  # rows of a tangent kernel that are made at once
DEPENDENT_SINGULAR_VALUE = 1e-5  # below it normals of walls depend on each other
DEPENDENT_SQUARE = 1e-10  # the same as a share of a normal's square outside the span of the others
MOST_POLISHED_FORCES = 1500  # of several outputs; the modes of their kernel take seconds beyond
WEAKEST_MODE = 1e-12  # modes of the tangent kernel below this fraction of the largest take no part in the limit

# -- products -----------------------------------------------------------------------------------------------------
BLOCK_NUMBERS = 2**24  # numbers in one block of pre-activations
DEVICE_FROM_SAMPLES = 4000  # samples from which products on an accelerator are worth their compilation
DEVICE_ROWS, DEVICE_SAMPLES = 64, 2048  # neurons and samples are filled up to multiples of these with zeros there, as
# every shape is compiled anew
LARGE_PRODUCT = 2**18  # numbers in one product from which single precision, where it is enough, saves time
SINGLE_ROUNDING = 1e-7  # error of a product in single precision, relative to its factors' lengths
ROUNDING_SHARE = 0.05  # share of the allowed misfit that rounding may make up
PULLING_WALLS = 0.7  # share of walls that pull up to which the others are left out of a product
NEGLIGIBLE_PULL = 1e-20  # a pull below this share of the strongest is lost in its rounding; with 1e-10, which stiff
# steps magnify, the late steps of two thousand images stayed five times as short
WIDE_PULLS = 2**22  # numbers of the pulls of all walls beyond which, or where these outnumber what neurons feel, they
# are taken power by power
SPAN_SHARE = 0.8  # the span of the samples is used where its dimension is below this share of d
SMALL_DIMENSION = 16  # dimensions that are carried along anyway

# -- the path of a neuron -----------------------------------------------------------------------------------------
MOST_TERMS = 28  # of a power series
NEGLIGIBLE_TERM = 1e-17  # terms below this fraction of |z| end the series
LONGEST_PIECE = 0.6  # integral of |D| over one piece: the series then needs a dozen terms at most
NEXT_WINDOW, NEXT_PIECE = 4.0, 3.0  # how far to look after a piece that an event ended, and after one without
SHORTEST_WINDOW = 1e-4  # of a step
MOST_RAPIDITY = 40.0  # a neuron that would grow by e^40 in one step follows forces of a diverged iteration
MOST_FORESEEN_GROWTH = 40.0  # of ln |z|^2
PIECES_AHEAD = 6.0  # how far ahead walls are gathered, in units of what a piece can reach
LATER_DRIFT = 0.01  # of the way: what crossings on the way are foreseen to add to the drift
SOME_WALLS = 0.5  # heights computed, as a share of the walls, from which it is judged whether to survey all of them
HEIGHT_ROUNDING = 1e-11  # of |z|: a height that was followed is known to better than that
ON_WALL = 1e-14  # a pre-activation below this fraction of |z| is rounding
DEPENDENT_NORMAL = 1e-11  # what is left of a unit normal that the others span
MOSTLY_NORMAL = 0.7  # a vector that keeps less than this in a projection is projected once more
ORIGIN = 1e-11  # |w| below this fraction of |z|: all walls are met at once
BEFORE_ORIGIN = 1e-13  # a neuron that has arrived there is left so far from it, on the side it comes from
MOST_IDLE_EVENTS = 24  # events in a row that move no clock
MOST_MEETINGS = 100  # with every wall: a neuron that has more follows forces of a diverged iteration
MOST_EVENTS_PER_WALL = 50  # the same, of events that are recorded
EVENT_CAPACITY = 48  # events of a neuron in one step for which there is capacity at first
CAPACITY_FACTOR = 4  # times as much capacity, for neurons that meet more

# -- classifiers --------------------------------------------------------------------------------------------------
AT_CONTACT = 1e-8  # a sample that no neuron acted on is met: so close, in units of a first step
BEFORE_CONTACT = 1.0 - 1e-4  # a step that would go further ends at this share of the way to it
STEPS_COUNTING_ALL = 2  # steps after which samples that still no neuron acts on are left out of the rate again
NEGLIGIBLE_FROM_SIZE = 2**22  # numbers n d m of a problem from which leaving negligible samples out is worth the work
REMAINING_SHARE = 0.8  # share of the samples up to which the others are left out, and of those left to choose again
NEGLIGIBLE_LOG_FORCE = 50.0  # ln of how much weaker than the strongest force a negligible one is,
NEGLIGIBLE_MARGIN_SHARE = 0.1  # with this share of the margin of the strongest added
FELT_LOG_FORCE = 46.0  # a force within this of the strongest, e^-46 = 1e-20, is felt: steps that are stiff magnify it
RESCALED_MARGIN = 1e4  # smallest margin beyond which neurons are rescaled: at a time of e^10000, beyond any asked for
FADED_LEAD = 30.0  # a force e^-30 of the strongest moves no neuron within the growth that is followed
MOST_LOG_RESCALING = 300.0  # ln of the growth up to which outputs, which grow by its square, are doubles
