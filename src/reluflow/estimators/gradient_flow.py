"""GradientFlowClassifier and GradientFlowRegressor: a two-layer ReLU network fitted by its gradient flow."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset, Task
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome, Trajectory
from reluflow.errors import InvalidInputError, MissingExtraError
from reluflow.losses import loss_named
from reluflow.network.initialization import initialization_named, neuron_rng

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data
except ImportError as error:
    raise MissingExtraError(
        "The estimators need scikit-learn, which is not installed: pip install 'reluflow[sklearn]'."
    ) from error


_METHODS = ("auto", "flow", "gd")
_MOST_STEP_CUTS = 12
_MOST_ITERATIONS = 20_000  # of a descent whose step had to be cut


class _GradientFlowEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What the two estimators share: the network, its training, and its outputs."""

    def __init__(
        self,
        *,
        width: int = 50,
        scale: float = 1e-2,
        init: str = "balanced",
        leak: float = 0.0,
        bias: bool = True,
        output_bias: bool = False,
        method: str = "auto",
        time: float = 100.0,
        lr: float = 5e-2,
        rtol: float = 1e-6,
        max_steps: int = 300,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.scale = scale
        self.init = init
        self.leak = leak
        self.bias = bias
        self.output_bias = output_bias
        self.method = method
        self.time = time
        self.lr = lr
        self.rtol = rtol
        self.max_steps = max_steps
        self.random_state = random_state

    def _train(
        self, X: FloatArray, y: FloatArray, loss: str, task: Task, classes: tuple[str, ...] | None = None
    ) -> None:
        if self.method not in _METHODS:
            raise InvalidInputError(f"`method` must be one of {', '.join(_METHODS)}, got {self.method!r}.")
        data = Dataset(X, y, task=task, classes=classes)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        samples = data.with_bias() if self.bias else data
        network = initialization_named(self.init)(
            samples, width=self.width, scale=self.scale, rng=neuron_rng(seed), leak=self.leak
        )
        if self.output_bias:
            network = network.replace(b=np.zeros(network.num_outputs))
        if (
            not np.any(samples.X) and not self.output_bias
        ):  # nothing moves a neuron on zero samples: the start is the end
            self.trajectory_: Trajectory | None = None
            self.network_ = network
            return
        problem = TrainingProblem(samples, loss_named(loss), network)
        self.trajectory_ = (
            self._by_descent(problem, float(self.time)) if self.method == "gd" else self._by_flow(problem)
        )
        self.network_ = self.trajectory_.network

    def _by_flow(self, problem: TrainingProblem) -> Trajectory:
        """The flow; where its steps do not suffice, descent takes over or a warning says so."""
        from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
        from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow

        flow = EventDrivenFlow if problem.has_single_output else CollocationFlow
        solver = flow(rtol=self.rtol, max_steps=self.max_steps)
        trajectory = train(problem, solver, until=float(self.time))
        if trajectory.outcome is Outcome.HORIZON or trajectory.outcome is Outcome.STATIONARY:
            return trajectory
        if self.method == "auto":
            rest = float(self.time) - trajectory.time
            return self._by_descent(replace(problem, network=trajectory.network), rest)
        warnings.warn(
            f"The flow ended with `{trajectory.outcome.code}` at time {trajectory.time:.4g} of {self.time:g}; raise "
            '`max_steps`, scale the features, or take method="auto".',
            ConvergenceWarning,
            stacklevel=4,
        )
        return trajectory

    def _by_descent(self, problem: TrainingProblem, time: float) -> Trajectory:
        """Gradient descent for a time, with a smaller step where the one asked for does not lower the loss."""
        from reluflow.dynamics.descent.gradient_descent import GradientDescent

        step = float(self.lr)
        for _ in range(_MOST_STEP_CUTS):
            trajectory = train(problem, GradientDescent(lr=step, iterations=max(1, round(time / step))), until=time)
            has_diverged = trajectory.outcome is Outcome.DIVERGED or not np.isfinite(trajectory.loss)
            if not has_diverged and trajectory.loss <= problem.initial_loss:
                break
            step /= 4.0
            time = min(time, _MOST_ITERATIONS * step)
        if step < self.lr:
            warnings.warn(
                f"Gradient descent with step {self.lr:g} did not lower the loss, so it took {step:g} for a time of "
                f"{time:.4g}; scale the features.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return trajectory

    def _outputs(self, X: Any) -> FloatArray:
        check_is_fitted(self, "network_")
        samples = validate_data(self, X, reset=False, dtype=np.float64)
        if self.bias:
            samples = np.column_stack([samples, np.ones(len(samples))])
        return self.network_.outputs(samples)


class GradientFlowClassifier(ClassifierMixin, _GradientFlowEstimator):  # type: ignore[misc]  # as above
    """Classes by a two-layer network: two by its sign and the logistic loss, more by its largest output and softmax.

    Parameters
    ----------
    width, scale, init, leak
        How the neurons are drawn; a small `scale` is the regime of early alignment.
    bias
        Give the neurons a hidden bias, as the constant coordinate 1.
    output_bias
        Give the network an output bias too, which starts at 0 and is trained.
    method, time
        "flow", the exact gradient flow, or "gd", gradient descent of step `lr`; "auto" is the flow for `max_steps`
        steps and descent from there; to this time.
    lr
        Step size of descent; cut, with a warning, where it does not lower the loss.
    rtol, max_steps
        Tolerance and steps of the flow; a "flow" that needs more warns and keeps what it has.
    random_state
        Fixes the draw.

    Attributes
    ----------
    network_
        The trained network.
    trajectory_
        Its way; under "auto" the part by the method that finished it.
    classes_
        The labels in the order of the outputs; of two, the second is 1.

    Examples
    --------
    >>> X, y = [[1.0, 0.2], [0.8, 1.0], [-1.0, -0.4], [-0.3, -0.9]], ["cat", "cat", "dog", "dog"]
    >>> model = GradientFlowClassifier(width=10, random_state=0).fit(X, y)
    >>> model.score(X, y)
    1.0
    """

    def fit(self, X: Any, y: Any) -> GradientFlowClassifier:
        """Train on samples X (n, d) with labels of two or more kinds."""
        samples, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("Classifier can't train when only one class is present.")
        if len(self.classes_) == 2:
            self._train(samples, np.where(codes == 1, 1.0, -1.0), "logistic", Task.CLASSIFICATION)
        else:
            names = tuple(str(c) for c in range(len(self.classes_)))  # labels of other types may read alike
            self._train(samples, codes.astype(np.float64), "softmax", Task.CLASSIFICATION, names)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """The outputs h(x): of two classes the log odds of the second, shape (n,), of more one each, shape (n, K)."""
        return self._outputs(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, shape (n, K), of the logistic or softmax model."""
        from scipy.special import expit, softmax

        outputs = self._outputs(X)
        if outputs.ndim == 2:
            return np.asarray(softmax(outputs, axis=1))
        return np.column_stack([expit(-outputs), expit(outputs)])

    def predict(self, X: Any) -> NDArray[Any]:
        """The class whose side h(x) is on, or whose output is the largest."""
        outputs = self._outputs(X)
        if outputs.ndim == 2:
            return np.asarray(self.classes_[np.argmax(outputs, axis=1)])
        return np.asarray(self.classes_[(outputs > 0).astype(int)])


class GradientFlowRegressor(RegressorMixin, _GradientFlowEstimator):  # type: ignore[misc]  # as above
    """Regression by a two-layer network, trained with the square loss; parameters as for `GradientFlowClassifier`.

    Examples
    --------
    >>> X, y = [[-1.0, 1.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 0.0, 1.0]
    >>> model = GradientFlowRegressor(width=30, scale=1.0, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.99)
    True
    """

    def fit(self, X: Any, y: Any) -> GradientFlowRegressor:
        """Train on samples X (n, d) with numbers y, shape (n,) or (n, K) for several targets."""
        samples, labels = validate_data(self, X, y, dtype=np.float64, y_numeric=True, multi_output=True)
        self._is_column = labels.ndim == 2 and labels.shape[1] == 1
        self._train(samples, np.asarray(labels, dtype=np.float64), "square", Task.REGRESSION)
        return self

    def predict(self, X: Any) -> FloatArray:
        """The network's output h(x), shape (n,), or (n, K) for several targets."""
        outputs = self._outputs(X)
        return outputs[:, None] if self._is_column else outputs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
