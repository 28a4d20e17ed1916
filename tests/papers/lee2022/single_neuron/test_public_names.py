"""The room's front door: every advertised name exists, and opening it loads nothing heavy."""

import subprocess
import sys

import pytest

import reluflow.papers.lee2022.single_neuron as room


def test_every_name_resolves():
    names = sorted(room._FILE_OF)
    assert len(names) > 40
    assert not set(names) & set(room._HOME), "a file named like a function would hide it once imported"
    for name in names:
        assert getattr(room, name).__name__ == name
    assert set(names) <= set(dir(room))


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = room.nothing


def test_the_door_is_light():
    code = (
        "import sys, reluflow.papers.lee2022.single_neuron as room;"
        "from reluflow.papers.lee2022.single_neuron import BalancedNeuron;"
        "print([m for m in ('scipy', 'numba') if m in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
