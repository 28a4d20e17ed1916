import numpy as np
import pytest

from geometry.oracles import bounded_subgradient
from reluflow.errors import InvalidInputError
from reluflow.geometry.subgradient import minimum_norm_subgradient


@pytest.mark.parametrize("leak", [0.0, 0.3, 1.0])
def test_agrees_with_scipy_on_any_pattern(leak):
    """Ties and dependent zeros included: D is unique even where eta is not."""
    rng = np.random.default_rng(21)
    for trial in range(150):
        n, d = int(rng.integers(1, 9)), int(rng.integers(1, 5))
        X = rng.integers(-2, 3, (n, d)).astype(float) if trial % 2 else rng.standard_normal((n, d))
        X = X[np.any(X, axis=1)]
        if not X.size:
            continue
        forces = rng.standard_normal(X.shape[0])
        pattern = rng.choice([-1, 0, 0, 1], X.shape[0])
        D, eta = minimum_norm_subgradient(X, forces, pattern, leak)
        np.testing.assert_allclose(D, bounded_subgradient(X, forces, pattern, leak), atol=1e-9)
        np.testing.assert_allclose((eta * forces) @ X, D, atol=1e-12)
        assert np.all((eta >= leak) & (eta <= 1))
        assert np.all(eta[pattern > 0] == 1)
        assert np.all(eta[pattern < 0] == leak)


def test_refusals():
    with pytest.raises(InvalidInputError, match="`pattern` must hold 2 values among -1, 0 and 1"):
        minimum_norm_subgradient(np.eye(2), [1.0, 1.0], [2, 0])
    with pytest.raises(InvalidInputError, match="`forces` must be finite, one for each of the 2 rows"):
        minimum_norm_subgradient(np.eye(2), [1.0], [1, 0])
    with pytest.raises(InvalidInputError, match=r"`leak` must lie in \[0, 1\], got 1.5"):
        minimum_norm_subgradient(np.eye(2), [1.0, 1.0], [1, 0], 1.5)
