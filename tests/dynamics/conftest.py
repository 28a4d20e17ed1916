"""Datasets that several tests of the dynamics share."""

import pytest

from reluflow.data.published.boursier2024 import three_points as published_three_points


@pytest.fixture
def three_points():
    """Boursier & Flammarion (2024), App. B.1."""
    return published_three_points()
