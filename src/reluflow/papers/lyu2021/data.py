"""The point sets of Lyu, Li, Wang & Arora (2021), by name [lyu2021]."""

from __future__ import annotations

from functools import partial

from reluflow.data.dataset import Dataset, Task
from reluflow.data.published import lyu2021, lyu2021_hinted
from reluflow.data.registered import DatasetParameter, RegisteredDataset, SuggestedSettings, size_parameters

_lyu = partial(
    RegisteredDataset, task=Task.CLASSIFICATION, paper="lyu2021", settings=SuggestedSettings("logistic", leak=0.5)
)
_LEAK = DatasetParameter("leak", float, 0.5, "leak of the activation the set is made for")


def _hinted(*, leak: float) -> Dataset:
    return lyu2021_hinted.figure1_right(leak=leak).dataset


DATASETS = (
    _lyu("lyu-symmetric", 6, 2, "symmetric, with a suboptimal KKT direction", lyu2021.figure1_left, (_LEAK,)),
    _lyu("lyu-middle", 14, 3, "one neuron wins at 0.75 of the best margin", lyu2021.figure1_middle, (_LEAK,)),
    _lyu("lyu-middle-sharp", 22, 3, "one neuron wins at 0.53 of the best margin", lyu2021.figure1_middle_sharp),
    _lyu("lyu-hinted", 7, 2, "three hints trap training at a suboptimal margin", _hinted, (_LEAK,)),
    _lyu(
        "lyu-gaussian",
        50,
        51,
        "Gaussian classes moved off their separator, plus the coordinate 0.1",
        lyu2021.table1,
        (*size_parameters(50, 50), DatasetParameter("shift", float, 0.45, "how far the classes are moved")),
        is_random=True,
    ),
    _lyu(
        "lyu-counterexample",
        3,
        2,
        "Theorem A.7 as printed fails here",
        lyu2021.counterexample,
        settings=SuggestedSettings("logistic", leak=0.1),
    ),
    _lyu("lyu-counterexample-mild", 3, 2, "Theorem A.7 as printed fails here, mildly", lyu2021.counterexample_mild),
    _lyu("lyu-counterexample-sharp", 3, 2, "close to those, but Theorem A.7 holds", lyu2021.counterexample_sharp),
    _lyu(
        "lyu-orthogonal",
        4,
        3,
        "orthogonally separable points for ReLU",
        lyu2021.orthogonal,
        settings=SuggestedSettings("logistic"),
    ),
    _lyu("lyu-ridge", 2, 2, "a boundary that a neuron may leave to either side", lyu2021.ridge),
)
