"""The best direction in given activation patterns: the polish on its multipliers."""

from dataclasses import replace

import numpy as np
import pytest

from reluflow import Dataset
from reluflow.certificates import pattern_margin
from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.pattern_margin import max_margin_in_patterns
from reluflow.network.network import Network

DATA = Dataset([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.1]], [1, 1, -1])
NETWORK = Network(w=[[1.0, 0.3], [-0.2, 1.0], [-1.0, 0.0]], a=[1.0, 0.2, -1.0])


@pytest.mark.parametrize("left", [0.0, 1e-6, 1e-4])
def test_what_the_solver_leaves_of_a_group_that_should_vanish_is_seen_as_nothing(left, monkeypatch):
    """On scikit-learn's wine 1e-6 of the weight was left of such a group; polished with it, the direction was none."""
    real = pattern_margin.smallest_rate

    def rough(*args):
        solved = real(*args)
        vectors = (
            solved.vectors + left * np.array([[0.0, 1.0]]) * (np.linalg.norm(solved.vectors, axis=1) < 1e-8)[:, None]
        )
        assert left == 0.0 or np.any(vectors != solved.vectors)
        return replace(solved, vectors=vectors)

    monkeypatch.setattr(pattern_margin, "smallest_rate", rough)
    solved = max_margin_in_patterns(NETWORK, DATA)
    assert kkt_certificate(solved, DATA).residual < 1e-12
    assert np.linalg.norm(solved.w[1]) == 0.0


def test_many_dimensions_are_those_of_the_samples():
    """Coordinates in the span of the samples, and back."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((40, 2)))[0]
    lifted = Dataset(DATA.X @ basis.T, DATA.y)
    network = NETWORK.replace(w=NETWORK.w @ basis.T)
    small, large = max_margin_in_patterns(NETWORK, DATA), max_margin_in_patterns(network, lifted)
    assert np.allclose(large.w, small.w @ basis.T, atol=1e-12)
    assert np.allclose(large.a, small.a, atol=1e-12)
