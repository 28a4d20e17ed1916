"""From the fields of an experiment to the objects of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from reluflow.data.dataset import Dataset
from reluflow.data.reading import Reading
from reluflow.data.registry import open_reading
from reluflow.errors import InvalidInputError
from reluflow.losses import AbstractLoss, loss_named
from reluflow.network import Network, circle_quadrature, initialization_named, is_network_file, neuron_rng, read_network
from reluflow.network.scale import log_of_scale

if TYPE_CHECKING:
    from reluflow.dynamics.flow_choice import ChosenFlow
    from reluflow.dynamics.problem import TrainingProblem
    from reluflow.dynamics.solver import AbstractSolver
    from reluflow.dynamics.stopping import AbstractStoppingRule
    from reluflow.experiment.experiment import Experiment


def reading_for(experiment: Experiment) -> Reading:
    """The data that are given, registered or in a file."""
    if experiment.X is None or experiment.y is None:
        return open_reading(experiment.data, experiment.choice, bias=experiment.bias, seed=experiment.seed)
    data = Dataset(experiment.X, experiment.y, name=experiment.data)
    data = data.with_class_indices() if experiment.loss == "softmax" else data
    data = data.standardised() if experiment.standardise else data
    data = data.with_bias() if experiment.bias else data
    data.check_samples()
    return Reading(data, "")


def loss_for(experiment: Experiment, dataset: Dataset) -> AbstractLoss:
    """The loss asked for, else the one that fits the labels."""
    name = experiment.loss or dataset.default_loss
    loss = loss_named(name, reduction=cast("Any", experiment.reduction), factor=experiment.factor)
    loss.check_labels(dataset.y, dataset.classes)
    return loss


def network_for(experiment: Experiment, dataset: Dataset) -> Network:
    """The neurons that are given, in a file, or drawn."""
    leak, scale, init, width = experiment.leak, experiment.scale, experiment.init, experiment.width
    if experiment.neurons is not None:
        w, a = [row[:-1] for row in experiment.neurons], [row[-1] for row in experiment.neurons]
        return Network(w, a, leak=leak, log_scale=log_of_scale(scale))
    if is_network_file(init):
        network = with_output_bias(read_network(init, leak=leak), experiment.output_bias)
        if network.d != dataset.d:
            raise InvalidInputError(
                f"`{init}` holds neurons of dimension {network.d} but the dataset has dimension {dataset.d}; "
                "`--bias` adds the constant coordinate, which a hidden bias needs."
            )
        return network
    scheme = initialization_named(init)
    if isinstance(width, str):
        if scheme.name != "balanced":
            raise InvalidInputError(f"`width` inf is available for init balanced, got {init!r}.")
        dataset.refuse_several_outputs("`--width inf`")
        quadrature = circle_quadrature(dataset, num_nodes=experiment.nodes, scale=scale, leak=leak)
        return with_output_bias(quadrature, experiment.output_bias)
    network = scheme(dataset, width=width, scale=scale, rng=neuron_rng(experiment.seed), leak=leak)
    return with_output_bias(network, experiment.output_bias)


def with_output_bias(network: Network, choice: str | None) -> Network:
    """The network without its output bias, with one that is 0 where it had none, or by default as it is."""
    if choice is None or (choice == "none") == (network.b is None):
        return network
    return network.replace(b=None if choice == "none" else [0.0] * network.num_outputs)


def flow_for(experiment: Experiment, problem: TrainingProblem) -> ChosenFlow:
    """The solver of the flow: the one named, or the faster one."""
    from reluflow.certificates.limits.levelling import may_be_stiff
    from reluflow.dynamics.flow_choice import choose_flow

    return choose_flow(
        problem,
        solver=experiment.solver,
        rtol=experiment.rtol,
        ridge=cast("Any", experiment.ridge),
        to_the_end=experiment.until in (None, "direction") and may_be_stiff(problem),
        device=cast("Any", experiment.device),
    )


def descent_for(experiment: Experiment) -> AbstractSolver:
    """Gradient descent, plain or stochastic; a time to run until stands for the number of iterations."""
    iterations, end = experiment.iterations, experiment.end_time
    if iterations is None:
        if end is None:
            raise InvalidInputError(f"`--iterations` must be given with --method {experiment.method}, or --until TIME.")
        iterations = max(1, round(end / experiment.lr))
    if experiment.method == "gd":
        from reluflow.dynamics.descent.gradient_descent import GradientDescent

        return GradientDescent(lr=experiment.lr, iterations=iterations)
    from reluflow.dynamics.descent.stochastic_gradient_descent import StochasticGradientDescent

    return StochasticGradientDescent(
        lr=experiment.lr, batch=experiment.batch, iterations=iterations, seed=experiment.seed
    )


def rule_for(experiment: Experiment, problem: TrainingProblem) -> AbstractStoppingRule:
    """The stopping rule that is named, else the end of training."""
    from reluflow.certificates.limits.levelling import end_of_training
    from reluflow.dynamics.stopping import Aligned, AtTime, Exhausted, Stationary

    if experiment.until is None:
        return end_of_training(problem) if experiment.method == "flow" else Exhausted()
    if experiment.end_time is not None:
        return AtTime(experiment.end_time)
    if experiment.until != "direction":
        return Stationary() if experiment.until == "stationary" else Aligned()
    if not problem.moves_freely:
        problem.refuse_variant("`--until direction`", "take stationary or a time.")
    if not problem.loss.is_classification:
        raise InvalidInputError(f"`--until direction` needs a classification loss, got {problem.loss.name}.")
    return end_of_training(problem)
