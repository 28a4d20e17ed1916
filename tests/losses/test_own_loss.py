"""A loss of one's own, through the public API alone: the code of docs/adding-a-loss.md, and one whose forces fade."""

import pickle
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import reluflow
from problems import small_problem
from reluflow.dynamics.stopping import AtTime
from reluflow.errors import InvalidInputError
from reluflow.losses import LOSSES, AbstractLoss, Formulas, LogisticLoss, SquareLoss, loss_named, register_loss
from reluflow.losses.compiled import apply, compiled

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adding-a-loss.md"


@pytest.fixture(scope="module")
def page():
    """The names the page's code defines."""
    names = {"__name__": "adding_a_loss"}
    exec(compile(re.search(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S)[1], "page", "exec"), names)
    return names


@dataclass(frozen=True)
class WarmLogisticLoss(AbstractLoss):
    """T ln(1 + exp(-y h / T)): with h = T h', the flow of z is sqrt(T) times the logistic flow of z / sqrt(T)."""

    temperature: float = 1.0
    name: ClassVar[str] = "warm-logistic"
    is_classification: ClassVar[bool] = True
    fades: ClassVar[bool] = True

    @property
    def formulas(self):
        T = self.temperature

        def value(h, y):
            return T * np.logaddexp(0.0, -y * h / T)

        def force(h, y):
            return y / (1.0 + np.exp(y * h / T))

        def curvature(h, y):
            return 0.25 / T / np.square(np.cosh(0.5 * h / T))

        def log_force(h, y):
            return -np.logaddexp(0.0, y * h / T)

        def log_curvature(h, y):
            return -np.log(T) - np.abs(h / T) - 2.0 * np.log1p(np.exp(-np.abs(h / T)))

        return Formulas(value, force, curvature, log_force, log_curvature)


def test_the_page_trains_by_flow_and_by_descent_to_one_limit(page):
    flow, descent, y = page["flow"], page["descent"], page["data"].y
    assert flow.outcome.code == "stationary"
    assert descent.predictions == pytest.approx(flow.predictions, abs=1e-5)
    assert np.max(np.abs(flow.predictions - y)) > 0.5  # on the straight part, where the square loss would pull harder
    square = reluflow.train(replace(page["problem"], loss=SquareLoss()), reluflow.EventDrivenFlow())
    assert np.max(np.abs(square.predictions - flow.predictions)) > 1e-3


def test_a_wide_huber_loss_is_the_square_loss(page):
    problem = replace(page["problem"], loss=page["HuberLoss"](width=1e3))
    runs = [reluflow.train(p, reluflow.EventDrivenFlow()) for p in (problem, replace(problem, loss=SquareLoss()))]
    assert runs[0].predictions == pytest.approx(runs[1].predictions, abs=1e-14)
    assert runs[0].steps == runs[1].steps
    assert np.array_equal(runs[0].events.times, runs[1].events.times)


@pytest.mark.parametrize("width", [12, 400])
@pytest.mark.parametrize("temperature", [0.1, 3.0])
def test_a_temperature_is_a_change_of_units(temperature, width):
    plain = small_problem("min-toy", width=width, scale=1e-2, seed=1, loss=LogisticLoss())
    root, network = np.sqrt(temperature), plain.network
    scaled = network.replace(w=root * network.w, a=root * network.a)
    warm = replace(plain, loss=WarmLogisticLoss(temperature=temperature), network=scaled)
    ours, theirs = (
        reluflow.train(p, reluflow.EventDrivenFlow(), until=AtTime(1e6), times=[20.0]) for p in (warm, plain)
    )
    for mine, other in ((ours.snapshots[0], theirs.snapshots[0]), (ours.snapshots[-1], theirs.snapshots[-1])):
        assert mine.outputs == pytest.approx(temperature * other.outputs, rel=1e-8)
    assert np.isfinite(ours.log_time)


@pytest.mark.parametrize("loss", [LogisticLoss(), SquareLoss(), WarmLogisticLoss(temperature=0.3)])
def test_compiled_formulas_are_the_formulas(loss):
    code = compiled(loss)
    for h in (-900.0, -1.5, 0.0, 0.2, 40.0, 900.0):
        for name in ("value", "force", "log_force"):
            with np.errstate(over="ignore"):
                expected = float(getattr(loss, name)(h, 1.0))
            assert apply(getattr(code, name), h, 1.0) == pytest.approx(expected, rel=1e-14, abs=1e-300)


def test_a_pickle_holds_the_loss_and_no_address():
    """An address of another process, followed after a resume, would crash the interpreter."""
    code = compiled(LogisticLoss())
    packed = pickle.dumps(code)
    assert pickle.loads(packed) == code
    assert b"LogisticLoss" in packed
    assert str(code.force).encode() not in packed
    assert code.force.to_bytes(8, "little") not in packed


def test_a_name_is_given_once():
    @dataclass(frozen=True)
    class Mine(SquareLoss):
        name: ClassVar[str] = "mine"

    try:
        assert register_loss(Mine) is Mine
        assert loss_named("mine", factor=2.0) == Mine(factor=2.0)
        with pytest.raises(InvalidInputError, match="`mine` must be a new name, got that of Mine"):
            register_loss(type("Other", (SquareLoss,), {"name": "mine"}))
    finally:
        LOSSES.pop("mine")
