"""Networks as CSV: exact round trip and refusals."""

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.network import Network, read_network, write_network


def test_round_trip_is_exact(tmp_path, rng):
    network = Network(rng.standard_normal((5, 3)), rng.standard_normal(5), leak=0.2, weight=rng.uniform(1, 2, 5))
    write_network(network, tmp_path / "network.csv")
    again = read_network(tmp_path / "network.csv", leak=0.2)
    for field in ("w", "a", "weight", "leak"):
        assert np.array_equal(getattr(again, field), getattr(network, field))


def test_weight_is_optional(tmp_path):
    (tmp_path / "n.csv").write_text("w1,w2,a\n1,2,3\n\n")
    network = read_network(tmp_path / "n.csv")
    assert np.array_equal(network.w, [[1.0, 2.0]])
    assert np.array_equal(network.weight, [1.0])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("w1,w2,a\n", "a header and no neuron"),
        ("x1,x2,y\n1,2,3\n", "must have the header w1,...,wd,a"),
        ("a\n1\n", "must have the header w1,...,wd,a"),
        ("w1,a\n1,two\n", "line 2 must hold numbers"),
        ("w1,a\n1\n", "line 2 has 1 cells where the header has 2"),
        ("w1,a\nnan,1\n", "finite"),
    ],
)
def test_refusals(tmp_path, content, words):
    (tmp_path / "n.csv").write_text(content)
    with pytest.raises(InvalidInputError, match=words):
        read_network(tmp_path / "n.csv")


def test_missing_file(tmp_path):
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_network(tmp_path / "none.csv")
