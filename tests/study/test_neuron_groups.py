"""Bundles of neurons: by direction and by sign, with the dead and the light ones apart."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.network import Network
from reluflow.study.group_sentences import about_groups
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


@pytest.mark.parametrize(
    ("dead", "words"), [(1, "1 is dead, 1 points in another direction"), (2, "2 are dead, 2 point in other directions")]
)
def test_one_neuron_is_not_several(dead, words):
    """A study of ten classes said "1 are dead"."""
    groups = neuron_groups(Network(w=[_at(40.0), _at(200.0)], a=[1.0, 1.0]), DATA)
    group = {g.name: replace(g, neurons=np.arange(dead)) for g in groups}["dead"]
    found = SimpleNamespace(dataset=DATA, groups=[groups[0], group, replace(group, name="rest")])
    assert about_groups(found)[0].endswith(f"; {words}.")
