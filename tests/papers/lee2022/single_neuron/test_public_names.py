"""The public names of the single-neuron model: each exists, and importing the package loads nothing heavy."""

import subprocess
import sys

import pytest

from reluflow.papers.lee2022 import single_neuron


def test_every_name_resolves():
    names = single_neuron.__all__
    assert len(names) > 40
    assert not set(names) & set(single_neuron._HOME), "a file named like a function would hide it once imported"
    for name in names:
        assert getattr(single_neuron, name).__name__ == name
    assert set(names) <= set(dir(single_neuron))


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="single_neuron attribute nothing"):
        _ = single_neuron.nothing


def test_importing_loads_neither_scipy_nor_numba():
    code = (
        "import sys, reluflow.papers.lee2022.single_neuron;"
        "from reluflow.papers.lee2022.single_neuron import BalancedNeuron;"
        "print([m for m in ('scipy', 'numba') if m in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
