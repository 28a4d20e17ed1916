"""Bundles of neurons: by direction and by sign, with the dead and the light ones apart."""

from __future__ import annotations

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.network import Network
from reluflow.study.neuron_groups import neuron_groups

DATA = Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])


def _at(degrees, norm=1.0):
    return norm * np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


def test_neurons_ten_degrees_apart_are_two_bundles_and_one_degree_apart_one():
    w = [_at(40.0, 2.0), _at(40.5, 2.0), _at(50.0), _at(45.0), _at(200.0), _at(30.0, 1e-9)]
    network = Network(w=w, a=[1.0, 1.0, 1.0, -1.0, 1.0, 1.0])
    groups = neuron_groups(network, DATA)
    assert [(g.name, g.sign, g.neurons.tolist()) for g in groups] == [
        ("bundle", 1, [0, 1]),
        ("bundle", 1, [2]),
        ("bundle", -1, [3]),
        ("light", 1, [5]),
        ("dead", 1, [4]),
    ]
    total = 2.0 + 2.0 + 1.0 + 1.0 + 1.0 + 1e-9
    assert [g.share for g in groups] == pytest.approx([4 / total, 1 / total, 1 / total, 1e-9 / total, 1 / total])
    assert np.degrees(np.arctan2(*groups[0].direction[::-1])) == pytest.approx(40.25)
    assert groups[0].num_active == 2


def test_with_a_leak_no_neuron_is_dead():
    groups = neuron_groups(Network(w=[_at(200.0)], a=[1.0], leak=0.5), DATA)
    assert [g.name for g in groups] == ["bundle"]
    assert groups[0].num_active == 0
