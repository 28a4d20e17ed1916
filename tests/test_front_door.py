"""The front door: every name opens its room, and only that room."""

import pytest

import reluflow


@pytest.mark.parametrize("name", [name for name in reluflow.__all__ if name != "__version__"])
def test_every_name_opens(name):
    assert getattr(reluflow, name) is not None
    assert name in dir(reluflow)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'train_faster'"):
        reluflow.train_faster  # noqa: B018


def test_study_is_a_room_whose_function_carries_its_name():
    from reluflow.study import Study, study

    assert isinstance(study(reluflow.load("three-points"), width=50), Study)


def test_five_lines_for_a_dataset_of_ones_own():
    data = reluflow.Dataset([[1.0, 0.2], [0.8, 1.0], [-1.0, -0.4]], [1, 1, -1])
    assert reluflow.linear_separator(data).separable
    assert reluflow.diagnose(data)["linearly-separable"].holds is True
