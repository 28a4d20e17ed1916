"""The deep single-neuron model: population flow in magnitude and angle, its closed forms, bounds and descent.

Names load when first used, because some files need SciPy or Numba and the front door must stay light.
"""

import lazy_loader

_HOME = {
    "angle": ("arc_excess", "deficit", "gap_between", "overlap"),
    "balanced_neuron": ("BalancedNeuron",),
    "balanced_trajectory": ("BalancedTrajectory",),
    "bounds": (
        "Band",
        "MagnitudeRange",
        "angle_band",
        "angle_rates",
        "magnitude_band",
        "magnitude_range",
        "published_magnitude_range",
        "rebuilt_magnitude_band",
        "vanishing_start_band",
    ),
    "comparison": ("comparison_solution", "escape_time", "inflection", "printed_upper_curve"),
    "descent": (
        "DescentRecord",
        "NeuronColumns",
        "balanced_columns",
        "planar_columns",
        "population_descent",
        "sample_descent",
    ),
    "descent_bounds": (
        "alignment_steps",
        "balance_drift",
        "descent_angle_band",
        "descent_magnitude_band",
        "descent_tolerance",
        "first_step_breaks_lower_bound",
    ),
    "euler_error": ("euler_prediction", "printed_euler_bound"),
    "exact_orbit": ("BalancedOrbit", "balanced_orbit"),
    "full_parameter_flow": ("ParameterTrajectory", "parameter_flow"),
    "gaussian_moments": (
        "active_curvature",
        "half_space_moment",
        "relu_kernel",
        "spherical_speed",
        "two_half_space_moment",
    ),
    "magnitude_angle_flow": ("balanced_flow",),
    "one_layer": ("one_layer_flow", "one_layer_tail_constant", "vanishing_start_upper_bound_holds_late"),
    "phases": ("TurningPoint", "has_two_phases", "one_layer_turning_point", "switches", "turning_point"),
    "population": (
        "NeuronGradient",
        "NeuronParameters",
        "balanced_parameters",
        "balanced_state",
        "population_gradient",
        "population_loss",
    ),
    "random_directions": ("cosine_tail", "cosine_tail_bound", "printed_intermediate_bound"),
}

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submod_attrs=_HOME)
